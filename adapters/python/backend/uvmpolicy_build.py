"""Build backend of the package (PEP 517 and 660), with Python's standard library alone.

pip runs it for `pip install .`, without a network: it has no build requirements. It compiles the
shared library and uvmsim with make and a C compiler, from the checkout around this folder or from
the sources in the sdist.

Environment: CC and CFLAGS as for make; UVMPOLICY_BUILD names a folder of make with the library and
uvmsim, which are then copied, not compiled.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Optional

HERE = Path(__file__).resolve().parents[1]
LIBRARY, SIMULATOR = "libuvmpolicy-python.so", "uvmsim"
SOURCES = [  # of the repository, in the sdist
    "LICENSE",
    "Makefile",
    "adapters/*.mk",
    "adapters/*/*.mk",
    "adapters/common/**/*.[ch]",
    "adapters/simulator/**/*.[ch]",
    "adapters/simulator/html/*.css",
    "adapters/simulator/html/*.js",
    "adapters/python/*.c",
    "adapters/simulator/models/*",
    "include/uvmpolicy/*.h",
    "libuvmpolicy/**/*.[ch]",
    "tests/**/*.mk",
]
Settings = Optional[dict[str, Any]]


class BuildError(Exception):
    """The package cannot be built; the text says why."""


def source() -> Path:
    """Return the folder of the C sources: that of the sdist, or the checkout."""
    inside = HERE / "source"
    root = inside if inside.is_dir() else HERE.parents[1]
    if not (root / "libuvmpolicy").is_dir():
        raise BuildError(f"{root} has no C sources: build from a checkout or from an sdist")
    return root


def project() -> dict[str, str]:
    """Return the texts of [project] in pyproject.toml, and the version, which api.json has."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    table = text[text.index("[project]") :]
    found = dict(re.findall(r'(?m)^([\w-]+) = "([^"]*)"$', table))
    with (HERE / "uvmpolicy" / "api.json").open(encoding="utf-8") as file:
        found["version"] = json.load(file)["version"]
    return found


def metadata() -> str:
    """Return the metadata of the package (PKG-INFO, METADATA)."""
    about = project()
    return (
        f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
        f"Summary: {about['description']}\nLicense: MIT\n"
        f"Requires-Python: {about['requires-python']}\n"
    )


def base_name() -> str:
    """Return name and version as in names of files."""
    about = project()
    return f"{about['name']}-{about['version']}"


def tag() -> str:
    """Return the tag of a wheel for any Python 3 on this platform."""
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"py3-none-{platform}"


def compiled(folder: Path) -> list[Path]:
    """Return the library and the simulator, compiled in `folder` unless they exist."""
    ready = os.environ.get("UVMPOLICY_BUILD")
    if ready:
        found = [Path(ready) / LIBRARY, Path(ready) / SIMULATOR]
        for path in found:
            if not path.is_file():
                raise BuildError(f"UVMPOLICY_BUILD: {path} does not exist")
        return found
    program = os.environ.get("MAKE", "make")
    if shutil.which(program) is None:
        raise BuildError("make is not installed (Debian: apt-get install make gcc libc6-dev)")
    targets = [folder / LIBRARY, folder / SIMULATOR]
    command = [program, "-s", f"-j{os.cpu_count() or 1}", f"BUILD={folder}"]
    command += [
        f"{name}={os.environ.get(name, default)}"
        for name, default in (("CC", "cc"), ("CFLAGS", "-O2"))
    ]
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
    }
    done = subprocess.run(
        [*command, *map(str, targets)],
        cwd=source(),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError("make failed:\n" + "\n".join(done.stdout.splitlines()[-30:]))
    return targets


# -- wheels ---------------------------------------------------------------------------------------


class Wheel:
    """A wheel that is written file by file."""

    def __init__(self, path: Path) -> None:
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.records: list[str] = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file; equal files give equal wheels."""
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def close(self) -> None:
        """Add the metadata and the list of files."""
        folder = f"{base_name()}.dist-info"
        self.add(f"{folder}/METADATA", metadata().encode())
        self.add(f"{folder}/WHEEL", wheel_text().encode())
        record = f"{folder}/RECORD"
        self.zip.writestr(
            zipfile.ZipInfo(record, (1980, 1, 1, 0, 0, 0)),
            "\n".join([*self.records, f"{record},,", ""]),
        )
        self.zip.close()


def wheel_text() -> str:
    """Return the text of the file WHEEL."""
    return (
        "Wheel-Version: 1.0\nGenerator: uvmpolicy_build\nRoot-Is-Purelib: false\n"
        f"Tag: {tag()}\n"
    )


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the build requirements: there are none."""
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel
get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the metadata without a build."""
    folder = Path(metadata_directory) / f"{base_name()}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(wheel_text(), encoding="utf-8")
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """Compile the library and the simulator, and build a wheel with both."""
    name = f"{base_name()}-{tag()}.whl"
    with tempfile.TemporaryDirectory() as folder:
        binaries = compiled(Path(folder))
        wheel = Wheel(Path(wheel_directory) / name)
        for path in package_files():
            wheel.add(f"uvmpolicy/{path.name}", path.read_bytes())
        for path in binaries:
            wheel.add(f"uvmpolicy/bundled/{path.name}", path.read_bytes(), 0o755)
        wheel.close()
    return name


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """Build a wheel that points to this folder; the library is compiled in build/."""
    compiled(source() / "build")
    name = f"{base_name()}-{tag()}.whl"
    wheel = Wheel(Path(wheel_directory) / name)
    wheel.add("uvmpolicy.pth", f"{HERE}\n".encode())
    wheel.close()
    return name


def package_files() -> list[Path]:
    """Return the files of the package: modules, api.json, py.typed."""
    folder = HERE / "uvmpolicy"
    return sorted([*folder.glob("*.py"), folder / "api.json", folder / "py.typed"])


# -- source distribution --------------------------------------------------------------------------


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build an archive with the package, this backend and the C sources."""
    base = base_name()
    files = {f"uvmpolicy/{path.name}": path for path in package_files()}
    files["pyproject.toml"] = HERE / "pyproject.toml"
    files["backend/uvmpolicy_build.py"] = HERE / "backend" / "uvmpolicy_build.py"
    root = source()
    for pattern in SOURCES:
        for path in root.glob(pattern):
            if path.is_file():
                files[f"source/{path.relative_to(root).as_posix()}"] = path
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add_to(archive, f"{base}/PKG-INFO", metadata().encode())
        for name in sorted(files):
            add_to(archive, f"{base}/{name}", files[name].read_bytes())
    with (Path(sdist_directory) / f"{base}.tar.gz").open("wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressor:
            compressor.write(packed.getvalue())
    return f"{base}.tar.gz"


def add_to(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file to an archive; equal files give equal archives."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    archive.addfile(info, io.BytesIO(data))
