"""api.json describes the headers: completely, with the types and the sizes of C."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from uvmpolicy import _library, c

ROOT = Path(__file__).resolve().parents[2]
DESCRIBE = ROOT / "adapters/python/tools/describe.py"
HEADERS = sorted((ROOT / "include/uvmpolicy").glob("*.h"))
if list((ROOT / "adapters/common").glob("host_*.c")):
    HEADERS += sorted((ROOT / "adapters/common/uvmpolicy").glob("*.h"))
COMPILER = os.environ.get("CC", "cc").split()
INCLUDES = [f"-I{ROOT}/include", f"-I{ROOT}/adapters/common"]


def declare(kind: dict[str, Any], name: str) -> str:
    """Return the declaration of a name with a type of api.json, in C."""
    const = "const " if kind.get("const") else ""
    if kind["kind"] in ("scalar", "typedef"):
        return f"{const}{kind['name']} {name}"
    if kind["kind"] in ("struct", "enum"):
        return f"{const}{kind['kind']} {kind['name']} {name}"
    if kind["kind"] == "void":
        return f"{const}void {name}"
    if kind["kind"] == "array":
        return declare(kind["of"], f"{name}[{kind['length']}]")
    if kind["kind"] == "function":
        arguments = (
            ", ".join(declare(row["type"], row["name"]) for row in kind["arguments"]) or "void"
        )
        return declare(kind["returns"], f"{name}({arguments})")
    to = kind["to"]
    inner = f"*{const}{name}"
    return declare(to, f"({inner})" if to["kind"] in ("function", "array") else inner)


def compatible(expression: str, kind: str, what: str) -> str:
    """Return an assertion that an expression has a type."""
    types = f"__typeof__({expression}), {kind}"
    return f'_Static_assert(__builtin_types_compatible_p({types}), "{what}");'


def program() -> str:
    """Return a C program that checks types when compiled, and prints sizes, offsets, values."""
    lines = ["#include <stdio.h>", "#include <stddef.h>"]
    lines += [f'#include "uvmpolicy/{header["name"]}"' for header in c.API["headers"]]
    for row in c.API["functions"]:
        if not row["inline"]:  # another type than that of the header is an error
            lines.append(declare({"kind": "function", **row}, row["name"]) + ";")
    lines.append("int main(void)\n{")
    for row in c.API["structs"]:
        name = row["name"]
        if row["fields"] is None:
            continue
        lines.append(f'printf("size {name} %zu\\n", sizeof(struct {name}));')
        for member in members(row["fields"]):
            lines.append(
                f'printf("offset {name}.{member["name"]} %zu\\n", '
                f'offsetof(struct {name}, {member["name"]}));'
            )
            declared = declare(member["type"], "")
            place = f'((struct {name} *)0)->{member["name"]}'
            lines.append(compatible(place, declared, f'{name}.{member["name"]}'))
    for row in c.API["enums"]:
        lines += [
            f'printf("value {value["name"]} %lld\\n", (long long){value["name"]});'
            for value in row["values"]
        ]
    for row in c.API["constants"]:
        if row["type"] == "string":
            lines.append(f'printf("value {row["name"]} %s\\n", {row["name"]});')
        else:
            form, kind = (
                ("%lld", "long long") if row["type"] == "int" else ("%llu", "unsigned long long")
            )
            lines.append(f'printf("value {row["name"]} {form}\\n", ({kind}){row["name"]});')
            lines.append(compatible(row["name"], row["type"], row["name"]))
    return "\n".join([*lines, "return 0;\n}\n"])


def members(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the members of a structure, those of unions without a name included."""
    found: list[dict[str, Any]] = []
    for row in rows:
        found += (
            members(row["type"]["fields"])
            if row["type"]["kind"] == "union" and not row["name"]
            else [row]
        )
    return found


class Api(unittest.TestCase):
    """The description against the headers, the C compiler and the shared library."""

    def test_api_json_is_current(self) -> None:
        made = subprocess.run(
            [sys.executable, str(DESCRIBE), *map(str, HEADERS)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        committed = (ROOT / "adapters/python/uvmpolicy/api.json").read_text(encoding="utf-8")
        self.assertTrue(made == committed, "the headers have changed: run make api")

    def test_every_public_function_is_described(self) -> None:
        declared: set[str] = set()
        for header in HEADERS:
            text = re.sub(r"/\*.*?\*/", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
            declared.update(re.findall(r"\bUVMP_API\b[^;(]*?\b(uvmp_\w+)\s*\(", text))
        described = {row["name"] for row in c.API["functions"] if not row["inline"]}
        self.assertGreater(len(declared), 250)
        self.assertEqual(declared, described)

    def test_the_library_exports_what_is_described(self) -> None:
        listed = subprocess.run(
            ["nm", "-D", "--defined-only", _library.library_path()],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        exported = set(re.findall(r" T (\w+)", listed))
        exported -= {  # entry.c
            "uvmsim_main",
            "uvmp_python_plugins",
            "uvmp_python_hint",
            "uvmp_plugin",
        }
        self.assertEqual(
            exported, {row["name"] for row in c.API["functions"] if not row["inline"]}
        )

    def test_types_sizes_offsets_and_values_are_those_of_c(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder) / "api.c", Path(folder) / "api"
            source.write_text(program(), encoding="utf-8")
            made = subprocess.run(
                [
                    *COMPILER,
                    "-std=gnu11",
                    "-w",
                    "-O0",
                    *INCLUDES,
                    str(source),
                    "-c",
                    "-o",
                    f"{binary}.o",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(made.returncode, 0, made.stderr[:4000])
            subprocess.run([*COMPILER, f"{binary}.o", "-o", str(binary)], check=True)
            lines = subprocess.run(
                [str(binary)], capture_output=True, text=True, check=True
            ).stdout.splitlines()
        self.assertGreater(len(lines), 1000)
        for line in lines:
            kind, name, value = line.split(" ", 2)
            if kind == "size":
                self.assertEqual(ctypes.sizeof(c.STRUCTS[name]), int(value), line)
            elif kind == "offset":
                struct, member = name.split(".")
                self.assertEqual(getattr(c.STRUCTS[struct], member).offset, int(value), line)
            else:
                self.assertEqual(str(c.CONSTANTS[name]), value, line)

    def test_comments_are_one_line_without_marks(self) -> None:
        rows = [
            row for kind in ("constants", "enums", "structs", "functions") for row in c.API[kind]
        ]
        rows += [member for row in c.API["structs"] for member in members(row["fields"] or [])]
        for row in rows:
            self.assertNotRegex(row["comment"], r"\n|/\*|\*/|^-- ", row["name"])
        described = sum(bool(row["comment"]) for row in c.API["functions"])
        self.assertGreater(described, 0.75 * len(c.API["functions"]))

    def test_every_name_resolves(self) -> None:
        for name in dir(c):
            self.assertIsNotNone(getattr(c, name, 0), name)

    def test_a_wrong_name_is_an_error_that_names_the_nearest(self) -> None:
        with self.assertRaisesRegex(AttributeError, "uvmp_no_such"):
            c.uvmp_no_such  # noqa: B018: the look-up is the test
        with self.assertRaisesRegex(TypeError, "did you mean faulted"):
            c.uvmp_prefetch_facts(fautled=None)
        with self.assertRaisesRegex(AttributeError, "did you mean faulted"):
            c.uvmp_prefetch_facts().fautled = None

    def test_a_member_refuses_what_its_type_cannot_hold(self) -> None:
        facts = c.uvmp_prefetch_facts(to=7)
        wanted = "to: .* is not accepted; 0..4294967295"
        for wrong in (-1, 2**32, 2**64 + 1):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, wanted):
                facts.to = wrong
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, wanted):
                c.uvmp_prefetch_facts(to=wrong)
        with self.assertRaises(TypeError):
            facts.to = 1.5
        self.assertEqual(facts.to, 7)
        facts.to = 2**32 - 1
        self.assertEqual(facts.to, 2**32 - 1)
        action = c.uvmp_action()  # has unions without names
        members = [name for name, kind in action.member_types().items() if kind is ctypes.c_uint32]
        self.assertGreater(len(members), 5)
        for name in members:
            with self.subTest(name), self.assertRaises(ValueError):
                setattr(action, name, 2**32)

    def test_a_header_that_is_not_understood_is_an_error(self) -> None:
        for text, wanted in (
            ("int x = {1;\n", "wanted"),
            ("#pragma once\n", "not understood"),
            ("UVMP_API void f(unknown_t x);\n", "a type"),
            ("struct s { int a[N]; };\n", "constant"),
        ):
            with self.subTest(text=text), tempfile.TemporaryDirectory() as folder:
                header = Path(folder) / "bad.h"
                header.write_text(text, encoding="utf-8")
                made = subprocess.run(
                    [sys.executable, str(DESCRIBE), str(header)],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((made.returncode, made.stdout), (1, ""))
                self.assertRegex(made.stderr, rf"^describe.py: bad.h.*{wanted}")


if __name__ == "__main__":
    unittest.main()
