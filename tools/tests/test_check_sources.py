import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_sources
import source_tree

HEADER = "// What it is.\n#pragma once\n"


def words(path, text):
    return " / ".join(problem for _, problem in check_sources.check_cpp(pathlib.PurePath(path), text))


class Blanking(unittest.TestCase):
    def test_blanks_and_keeps_lines(self):
        text = 'a("throw"); // throw\n/* throw\n */ b(\'"\', 1\'000); R"x(throw ")x"; c\n'
        code = source_tree.blank_comments_and_strings(text)
        self.assertNotIn("throw", code)
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertIn("1'000", code)
        self.assertIn("; c", code)

    def test_unfinished_text_ends(self):
        for text in ('"abc', "/* abc", 'R"(abc', "'", "//"):
            self.assertEqual(len(source_tree.blank_comments_and_strings(text)), len(text))


class CheckCpp(unittest.TestCase):
    def test_plain_code_passes(self):
        self.assertEqual(words("src/probe/a.cpp", "int f() {\n  return open_count(2);\n}\n"), "")
        self.assertEqual(words("src/probe/a.hpp", HEADER + "struct A {};\n"), "")

    def test_system_headers(self):
        for header in ("unistd.h", "sys/stat.h", "fstream", "filesystem", "dlfcn.h"):
            text = f"#include <{header}>\n"
            self.assertIn(header, words("src/probe/a.cpp", text))
            self.assertEqual(words("src/host/a.cpp", text), "")
            self.assertEqual(words("src/probe/a_test.cpp", text), "")
            self.assertEqual(words("apps/angio/a.cpp", text), "")

    def test_calls(self):
        for call in ("getenv(\"A\")", "std::getenv(\"A\")", "::open(p, 0)", "std::abort()", "exit(1)", "printf(\"x\")"):
            self.assertIn("libraries", words("src/probe/a.cpp", f"void f() {{\n  {call};\n}}\n"), call)
        self.assertEqual(words("src/host/a.cpp", "int f() {\n  return ::open(p, 0);\n}\n"), "")
        self.assertIn("exit", words("src/host/a.cpp", "void f() {\n  exit(1);\n}\n"))
        self.assertEqual(words("src/probe/a.cpp", "void f() {\n  file.open(1);\n  p->exit(2);\n}\n"), "")

    def test_printing(self):
        self.assertIn("print", words("src/views/a.cpp", "#include <iostream>\n"))
        self.assertIn("print", words("src/views/a.cpp", "void f() {\n  std::cerr << 1;\n}\n"))
        self.assertIn("print", words("src/views/a.cpp", "void f() {\n  fmt::print(x);\n}\n"))

    def test_threads(self):
        self.assertIn("threads", words("src/probe/a.cpp", "std::jthread t(f);\n"))
        self.assertEqual(words("apps/angio/a.cpp", "std::thread t(f);\n"), "")
        self.assertEqual(words("src/probe/a.cpp", "// Threads: a driver may hang.\nstd::thread t(f);\n"), "")

    def test_throw(self):
        self.assertIn("throw", words("apps/angio/a.cpp", "void f() {\n  throw 1;\n}\n"))
        self.assertEqual(words("src/base/a.cpp", "// never throw\nauto s = \"throw\";\n"), "")

    def test_mutable_static(self):
        self.assertIn("mutable static", words("src/model/a.cpp", "void f() {\n  static int n = 0;\n}\n"))
        self.assertEqual(words("src/model/a.cpp", "void f() {\n  static const int n = 0;\n}\n"), "")
        self.assertEqual(words("src/model/a.hpp", HEADER + "struct A {\n  static A make(int a = 1);\n};\n"), "")

    def test_headers(self):
        self.assertIn("comment", words("src/model/a.hpp", "#pragma once\n"))
        self.assertIn("pragma once", words("src/model/a.hpp", "// What.\n"))
        self.assertIn("fmt/", words("src/model/a.hpp", HEADER + "#include <fmt/format.h>\n"))
        self.assertEqual(words("src/base/a.hpp", HEADER + "#include <fmt/format.h>\n"), "")

    def test_file_length(self):
        text = "int a;\n" * 801
        self.assertIn("801 lines", words("src/model/a.cpp", text))
        self.assertEqual(words("src/model/a.cpp", "// Long: one table of the kernel's names.\n" + text), "")

    def test_function_length(self):
        def function(lines):
            return "namespace a {\n\nvoid f(int a,\n       int b) {\n" + "  a();\n" * lines + "}\n\n}  // namespace a\n"
        self.assertEqual(words("src/model/a.cpp", function(70)), "")
        self.assertIn("function of 92 lines", words("src/model/a.cpp", function(90)))
        method = "class A {\n  void f() {\n" + "    a();\n" * 90 + "  }\n};\n"
        self.assertIn("function of 92 lines", words("src/model/a.cpp", method))
        table = "constexpr T kTable[] = {\n" + "    {f(1)},\n" * 90 + "};\n"
        self.assertEqual(words("src/model/a.cpp", table), "")


class CheckTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "team" / "checkout"
        (self.root / "apps" / "angio").mkdir(parents=True)
        (self.root / "tests" / "cases" / "topo" / "one").mkdir(parents=True)

    def test_markers(self):
        (self.root / "notes.md").write_text("fine\nTO" + "DO later\n")
        self.assertIn("notes.md:2", check_sources.check(self.root)[0])

    def test_places_of_this_machine(self):
        (self.root / "a.md").write_text(f"see {self.root}/build and {self.root.parent}/shared\n")
        (self.root / "b.md").write_text(f"fine: x{self.root} {self.root.parent}s\n")
        found = check_sources.check(self.root)
        self.assertTrue(found and all("a.md:1" in problem for problem in found), found)

    def test_commands_need_page_and_case(self):
        (self.root / "apps" / "angio" / "topo_command.cpp").write_text("int a;\n")
        self.assertEqual(len(check_sources.check(self.root)), 2)
        page = self.root / "apps" / "angio" / "topo_command.md"
        page.write_text("# angio topo: show it\n")
        (self.root / "tests" / "cases" / "topo" / "one" / "cmd").write_text("$ANGIO topo a.snap\n")
        self.assertEqual(check_sources.check(self.root), [])
        page.write_text("#angio topo : show it\n")
        self.assertIn("topo_command.md:1", check_sources.check(self.root)[0])


if __name__ == "__main__":
    unittest.main()
