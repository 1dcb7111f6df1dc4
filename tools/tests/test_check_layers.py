import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_layers

LAYERS = {
    "base": {"floor": 0, "deps": [""]},
    "host": {"floor": 1, "deps": ["base"]},
    "model": {"floor": 1, "deps": ["base"]},
    "probe": {"floor": 2, "deps": ["host"]},
}


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in LAYERS:
            (self.root / "src" / name).mkdir(parents=True)

    def problems(self, path, text, layers=None):
        (self.root / path).write_text(text)
        return check_layers.check(self.root, layers or LAYERS)

    def test_declared_and_own_headers_pass(self):
        text = '#include "probe/a.hpp"\n#include "host/root.hpp"\n#include "support/x.hpp"\n#include <vector>\n'
        self.assertEqual(self.problems("src/probe/a.cpp", text), [])

    def test_sibling_fails(self):
        found = self.problems("src/host/a.cpp", '\n#include "model/machine.hpp"\n')
        self.assertEqual(len(found), 1)
        self.assertIn("src/host/a.cpp:2", found[0])
        self.assertIn("same floor or higher", found[0])

    def test_higher_floor_fails(self):
        self.assertEqual(len(self.problems("src/base/a.hpp", '#  include "probe/a.hpp"\n')), 1)

    def test_undeclared_lower_floor_fails(self):
        found = self.problems("src/probe/a.cpp", '#include "base/text.hpp"\n')
        self.assertIn("add it to DEPS in src/probe/CMakeLists.txt", found[0])

    def test_library_unknown_to_cmake_fails(self):
        (self.root / "src" / "new").mkdir()
        self.assertIn("src/new", check_layers.check(self.root, LAYERS)[0])

    def test_bad_tables_fail(self):
        bad = dict(LAYERS, host={"floor": 1, "deps": ["model"]})
        self.assertIn("only lower floors", check_layers.check_table(bad)[0])
        missing = dict(LAYERS, host={"floor": 1, "deps": ["ghost"]})
        self.assertIn("does not exist", check_layers.check_table(missing)[0])


if __name__ == "__main__":
    unittest.main()
