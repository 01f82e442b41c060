"""`pip install .` works in an empty environment without a network; the sdist has what it needs."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any

import uvmpolicy as uvmp
from support import ROOT
from uvmpolicy import _library

PACKAGE = ROOT / "adapters/python"
sys.path.insert(0, str(PACKAGE / "backend"))
import uvmpolicy_build as backend  # noqa: E402

BUILD = Path(_library.library_path()).parent

# pip finds no index, and every proxy is a closed port.
OFFLINE = {
    **{key: value for key, value in os.environ.items() if not key.startswith(("UVM", "PYTHON"))},
    "UVMPOLICY_BUILD": str(BUILD),
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
}


class Install(unittest.TestCase):
    """Wheel, sdist and pip."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        before = os.environ.get("UVMPOLICY_BUILD")
        os.environ["UVMPOLICY_BUILD"] = str(BUILD)
        self.addCleanup(self.restore, before)

    @staticmethod
    def restore(before: Any) -> None:
        """Put the environment back."""
        os.environ.pop("UVMPOLICY_BUILD")
        if before is not None:
            os.environ["UVMPOLICY_BUILD"] = before

    def test_pip_installs_it_without_a_network(self) -> None:
        for module in ("venv", "ensurepip"):
            try:
                __import__(module)
            except ImportError:
                self.skipTest(f"the module {module} is not installed (Debian: python3-venv)")
        environment = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        python = str(environment / "bin/python")
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", str(PACKAGE)],
            env=OFFLINE,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        program = (
            "import uvmpolicy as u; print(u.__file__);"
            "print(u.Prefetcher().decide([5]).page_list);"
            "print(u.compare('stream:bytes=2m', 'prefetch=none')[0]['far_faults'])"
        )
        lines = subprocess.run(
            [python, "-c", program],
            env=OFFLINE,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        self.assertTrue(lines[0].startswith(str(environment)), lines[0])
        self.assertEqual(lines[1], str([page for page in range(16) if page != 5]))
        self.assertEqual(int(lines[2]), uvmp.run("stream:bytes=2m", "prefetch=none")["far_faults"])

    def test_a_wheel_lists_its_files_and_is_reproducible(self) -> None:
        for name in (backend.LIBRARY, backend.SIMULATOR):
            (self.folder / name).write_bytes(b"a program")
        os.environ["UVMPOLICY_BUILD"] = str(self.folder)
        digests = set()
        for turn in ("a", "b"):
            (self.folder / turn).mkdir()
            path = self.folder / turn / backend.build_wheel(str(self.folder / turn))
            digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertEqual(len(digests), 1)
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            record = [name for name in names if name.endswith("/RECORD")][0]
            listed = [line.split(",")[0] for line in wheel.read(record).decode().splitlines()]
            self.assertEqual(sorted(listed), sorted(names))
            modes = {name: wheel.getinfo(name).external_attr >> 16 & 0o777 for name in names}
        self.assertEqual(modes["uvmpolicy/bundled/uvmsim"], 0o755)
        for module in (PACKAGE / "uvmpolicy").glob("*.py"):
            self.assertIn(f"uvmpolicy/{module.name}", names)
        self.assertIn("uvmpolicy/api.json", names)
        self.assertRegex(path.name, r"^uvmpolicy-[0-9.]+-py3-none-\w+\.whl$")

    def test_an_sdist_has_every_file_of_the_build(self) -> None:
        name = backend.build_sdist(str(self.folder))
        first = (self.folder / name).read_bytes()
        backend.build_sdist(str(self.folder))
        self.assertEqual((self.folder / name).read_bytes(), first)
        with tarfile.open(self.folder / name) as archive:
            members = archive.getnames()
            archive.extractall(self.folder)
        base = name.removesuffix(".tar.gz")
        root = self.folder / base / "source"
        # Compiled files name their headers, and make names what it would compile.
        needed: set[str] = set()
        command = ["make", "-n", "BUILD=built", "built/libuvmpolicy-python.so", "built/uvmsim"]
        environment = {key: value for key, value in os.environ.items() if "MAKE" not in key}
        made = subprocess.run(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        objects = set(re.findall(r"built/(\S+)\.o\b", made.stdout))
        self.assertGreater(len(objects), 100)
        for stem in objects:
            rule = (BUILD / f"{stem}.d").read_text(encoding="utf-8").split("\n\n")[0]
            words = rule.replace("\\\n", " ").split(":")[1].split()
            needed.update(os.path.normpath(word) for word in words if not word.startswith("/"))
        generated = {os.path.relpath(BUILD / name, ROOT) for name in ("models.inc", "html.inc")}
        present = {member.removeprefix(f"{base}/source/") for member in members}
        missing = sorted(needed - generated - present)
        self.assertEqual(missing, [])
        self.assertIn(f"{base}/pyproject.toml", members)
        self.assertIn(f"{base}/backend/uvmpolicy_build.py", members)

    def test_what_cannot_be_built_is_an_error(self) -> None:
        os.environ["UVMPOLICY_BUILD"] = str(self.folder)
        with self.assertRaisesRegex(backend.BuildError, "libuvmpolicy-python.so does not exist"):
            backend.build_wheel(str(self.folder))
