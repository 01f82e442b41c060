"""Find and load the shared library, and find the simulator."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from pathlib import Path

BUNDLED = Path(__file__).parent / "bundled"
NAME = "libuvmpolicy-python" + (".dylib" if sys.platform == "darwin" else ".so")


class LibraryError(ImportError):
    """The shared library is missing, or does not fit this package."""


def library_path() -> str:
    """Return the path of the shared library: $UVMPOLICY_LIBRARY, or the one in the package."""
    chosen = os.environ.get("UVMPOLICY_LIBRARY")
    if chosen:
        return chosen
    bundled = BUNDLED / NAME
    if bundled.exists():
        return str(bundled)
    raise LibraryError(
        f"{bundled} does not exist: install the package with pip, or name the library in the "
        "environment variable UVMPOLICY_LIBRARY (make builds build/libuvmpolicy-python.so)"
    )


def load() -> ctypes.CDLL:
    """Load the shared library."""
    path = library_path()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded: {error}") from None


def simulator_path() -> str:
    """Return the path of uvmsim: $UVMSIM, the one in the package, or the first one of $PATH."""
    chosen = os.environ.get("UVMSIM")
    if chosen:
        return chosen
    bundled = BUNDLED / "uvmsim"
    if bundled.exists():
        return str(bundled)
    found = shutil.which("uvmsim")
    if found:
        return found
    raise FileNotFoundError(
        "uvmsim is not in the package, not in $PATH and not named by the environment variable "
        "UVMSIM: install the package with pip, or build it with make"
    )
