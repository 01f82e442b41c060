"""uvmsim in a copy of this process, so that it can call policies that are written in Python."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings
from typing import IO, Any, Sequence

from . import _library, c
from .plugin import Plugin, check_plugins


class PluginError(Exception):
    """The traceback of a policy's exception, in the process where it was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def in_copy(arguments: list[str], policies: Sequence[Plugin]) -> tuple[int, str, str]:
    """Run uvmsim with policies written in Python; return exit status, output and errors.

    An exception of a policy ends uvmsim and is raised here.
    """
    plugins = check_plugins(policies)
    main = c.library.uvmsim_main
    own = c.library.uvmp_python_plugins
    own.argtypes, own.restype = [ctypes.POINTER(c.uvmp_plugins)], None
    words = ["uvmsim", *arguments, "--plugin", _library.library_path()]
    argv = (ctypes.c_char_p * (len(words) + 1))(*(os.fsencode(word) for word in words), None)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with tempfile.TemporaryFile() as failure:
            sys.stdout.flush()
            sys.stderr.flush()
            flush = ctypes.CDLL(None).fflush
            flush(None)
            child = _fork()
            if child == 0:
                status = 1
                try:
                    os.dup2(output.fileno(), 1)
                    os.dup2(errors.fileno(), 2)
                    for policy in policies:
                        policy._guard.report = lambda error: _report(error, failure)
                    own(plugins.struct)
                    status = main(len(words), argv)
                    flush(None)
                finally:
                    os._exit(status)
            status = _wait(child)
            _raise(failure)
        return status, _text(output), _text(errors)


def _fork() -> int:
    """Copy this process. Other threads do not run in the copy, and uvmsim does not need them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _wait(child: int) -> int:
    """Wait for the copy and return its exit status; end it if this process is interrupted."""
    try:
        _, raw = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    return os.waitstatus_to_exitcode(raw)


def _report(error: BaseException, failure: IO[bytes]) -> None:
    """Write an exception for the first process, and end this one, which may be one of several."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        packed = pickle.dumps((error, text))
        pickle.loads(packed)
    except Exception:  # an exception that cannot be copied
        packed = pickle.dumps((RuntimeError(str(error)), text))
    os.pwrite(failure.fileno(), packed, 0)
    os._exit(1)


def _raise(failure: IO[bytes]) -> None:
    """Raise the exception that a policy raised in the copy."""
    failure.seek(0)
    packed = failure.read()
    if packed:
        found: tuple[Any, str] = pickle.loads(packed)
        raise found[0] from PluginError(found[1])


def _text(file: IO[bytes]) -> str:
    """Return what a file holds."""
    file.seek(0)
    return file.read().decode()
