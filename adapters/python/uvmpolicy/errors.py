"""Statuses of the library as exceptions."""

from __future__ import annotations

import difflib
from typing import Any, Iterable

from . import c


class Error(Exception):
    """A call of the library failed; `status` is the enumerator of enum uvmp_status, by name."""

    def __init__(self, status: int, text: str = "") -> None:
        names = {value: name for name, value in c.ENUMS["uvmp_status"].items()}
        self.code = status
        self.status: str = names.get(status, str(status))
        line: str = c.uvmp_status_text(status).decode()
        super().__init__(f"{text}: {line} ({self.status})" if text else f"{line} ({self.status})")


class PolicyError(Error):
    """A policy string does not parse; `offset` and `length` are those of the wrong word."""

    def __init__(self, status: int, text: str, offset: int, length: int) -> None:
        super().__init__(status)
        self.text, self.offset, self.length = text, offset, length
        self.args = (text,)


def check(status: int, text: str = "") -> None:
    """Raise an error unless the status is UVMP_OK; `text` says what failed."""
    if status != 0:
        raise Error(status, text)


def in_range(name: str, value: Any, least: int, most: int) -> int:
    """Return an integer argument in least..most."""
    try:
        return c.integer(name, value, range(least, most + 1))
    except ValueError as error:
        raise Error(c.UVMP_ERR_RANGE, str(error)) from None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the text of an error: what is unknown, the nearest known name, and all of them."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{what} is unknown{hint} (accepted: {', '.join(names) or 'none'})"
