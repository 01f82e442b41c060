"""Find and load the shared library, and find the simulator."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path
from typing import Optional

BUNDLED = Path(__file__).parent / "bundled"  # of an installed package
CHECKOUT = Path(__file__).resolve().parents[3] / "build"  # where make builds
NAME = "libuvmpolicy-python.so"


class LibraryError(ImportError):
    """The shared library is missing, or does not fit this package."""


def built(name: str) -> Optional[str]:
    """Return the path of a file in the package, or where make builds; None without one."""
    for folder in (BUNDLED, CHECKOUT):
        if (folder / name).exists():
            return str(folder / name)
    return None


def library_path() -> str:
    """Return the path of the shared library: $UVMPOLICY_LIBRARY, or that of the package."""
    found = os.environ.get("UVMPOLICY_LIBRARY") or built(NAME)
    if found:
        return found
    raise LibraryError(
        f"{NAME} is not in {BUNDLED}: install the package with pip, or run make in the checkout, "
        "or name the library in the environment variable UVMPOLICY_LIBRARY"
    )


def load() -> ctypes.CDLL:
    """Load the shared library."""
    path = library_path()
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise LibraryError(f"{path} cannot be loaded: {error}") from None


def simulator_path() -> str:
    """Return the path of uvmsim: $UVMSIM, that of the package, or the first one of $PATH."""
    found = os.environ.get("UVMSIM") or built("uvmsim") or shutil.which("uvmsim")
    if found:
        return found
    raise FileNotFoundError(
        f"uvmsim is neither in {BUNDLED} nor in $PATH: install the package with pip, or run make "
        "in the checkout, or name the program in the environment variable UVMSIM"
    )
