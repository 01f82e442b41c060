"""Every block of Python in README.md and docs/*.md runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
import unittest
import warnings

import uvmpolicy as uvmp
from support import ROOT

BLOCK = re.compile(r"(?ms)^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Docs(unittest.TestCase):
    """Blocks of the pages."""

    def test_blocks_print_what_the_pages_say(self) -> None:
        blocks = 0
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            for match in BLOCK.finditer(text):
                line = text[: match.start()].count("\n") + 1
                printed = io.StringIO()
                with self.subTest(f"{page.name}:{line}"), tempfile.TemporaryDirectory() as folder:
                    before = os.getcwd()
                    os.chdir(folder)
                    try:
                        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                            warnings.simplefilter("error", uvmp.SimulatorNote)
                            exec(compile(match[1], f"{page.name}:{line}", "exec"), {})
                    finally:
                        os.chdir(before)
                    if match[2] is not None:
                        self.assertEqual(printed.getvalue(), match[2])
                blocks += 1
        self.assertGreater(blocks, 4)
