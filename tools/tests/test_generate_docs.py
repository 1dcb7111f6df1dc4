import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import generate_docs

PAGE = """# angio topo: draw a machine

Reads `FILE`, or this machine.

    angio topo [FILE]

## Options

| option | effect |
|---|---|
| `--format a\\|b` | text, json |

- one \\ thing
.hidden line
```
.code - here
```
"""


class GenerateDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("apps/angio", "data/rules", "packaging", "docs"):
            (self.root / name).mkdir(parents=True)
        (self.root / "apps/angio/topo_command.md").write_text(PAGE)
        (self.root / "packaging/angio.md").write_text("# angio: look\n\nWords.\n")
        (self.root / "data/rules/a.toml").write_text(
            '[[rule]]\nid = "pcie.link.narrow"\nsummary = "Narrow"\nseverity = "warning"\nconfidence = "documented"\n'
            'layer = "hardware"\nexplain = "Why."\ndisprove = "lspci"\nsources = ["PCIe 5.0"]\n'
            '[[rule.fix]]\ntext = "Reseat"\ncommand = "true"\nrisk = "down"\nroot = true\n')

    def test_man_page(self):
        page = generate_docs.man_page(PAGE, "1.2", ["angio", "angio topo"])
        self.assertIn("angio-topo \\- draw a machine", page)
        self.assertIn(".SH OPTIONS\n.TP\n\\fB\\-\\-format a|b\\fR\ntext, json", page)
        self.assertNotIn("effect", page)
        self.assertIn("one \\e thing", page)
        self.assertIn("\\&.hidden line", page)
        self.assertIn(".nf\n\\&.code \\- here\n.fi", page)
        self.assertIn("Reads \\fBFILE\\fR, or", page)
        self.assertIn("\\fBangio\\fR(1)", page)

    def test_manual_folder(self):
        generate_docs.write_manual(self.root, self.root / "out", "1.2")
        self.assertEqual(sorted(p.name for p in (self.root / "out").iterdir()),
                         ["angio-topo.1", "angio.1", "angio.bash"])
        self.assertIn("topo) options=\"--format --help\"", (self.root / "out/angio.bash").read_text())

    def test_variables(self):
        folder = self.root / "data/env"
        folder.mkdir()
        (folder / "a.toml").write_text(
            '# NCCL: first. Format: data/README.md.\n[[variable]]\nname = "NCCL_X"\ncomponent = "nccl"\nkind = "integer"\nminimum = 0\nmaximum = 7\n'
            'special_values = ["-1"]\ndefaults = [{value = "1"}, {since = "2.14.3", value = "-1"}]\nsince = "2.5.6"\n'
            'effect = "Does | it"\nrisk = "slow <x>"\nuniform = true\ndocumented = true\nreplaced_by = "NCCL_Y"\n')
        page = generate_docs.variables_page(self.root)
        self.assertIn("\n## NCCL: first\n", page)
        self.assertIn("| `NCCL_X` since 2.5.6 | `-1` (2.14.3), `1` | 0 to 7, -1 | Does \\| it. Instead: `NCCL_Y` "
                      "| slow &lt;x>; all ranks | yes |\n", page)

    def test_pages(self):
        page = generate_docs.rules_page(self.root)
        self.assertIn("| [pcie.link.narrow](#pcielinknarrow) | warning | Narrow |", page)
        self.assertIn("- Fix: Reseat: `true` (needs root; down)", page)
        self.assertIn("### Options", generate_docs.commands_page(self.root))


if __name__ == "__main__":
    unittest.main()
