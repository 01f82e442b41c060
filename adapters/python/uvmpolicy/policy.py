"""Policies: the text that selects the decisions and their parameters."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Iterable

from . import c
from .errors import PolicyError, check
from .plugin import Plugin, check_plugins


class Policy:
    """A policy, parsed from its text (docs/policies.md); "" is the policy of NVIDIA's driver.

    `plugins` are policies written in Python, which the text may name (uvmpolicy.plugin).
    A text that is not accepted raises PolicyError, which names the word and the accepted values.
    """

    def __init__(self, text: str = "", plugins: Iterable[Plugin] = ()) -> None:
        self.struct = c.sized("uvmp_policy")
        error = c.uvmp_policy_error()
        if not isinstance(text, str):
            raise TypeError(f"text: {text!r} is not accepted; a string")
        raw = text.encode()
        size = ctypes.sizeof(self.struct)
        self.plugins = check_plugins(plugins)
        if self.plugins.policies:
            status = c.uvmp_policy_parse_plugins_size(
                raw, len(raw), self.plugins.struct, self.struct, size, error
            )
        else:
            status = c.uvmp_policy_parse_size(raw, len(raw), self.struct, size, error)
        if status != 0:
            known = self.plugins.struct if self.plugins.policies else None
            text = error.text.decode() + _hint(raw, known, error)
            raise PolicyError(status, text, error.offset, error.length)

    @property
    def text(self) -> str:
        """The canonical text: every key that the policy uses, with its value."""
        buffer = ctypes.create_string_buffer(c.UVMP_POLICY_TEXT_MAX)
        check(c.uvmp_policy_print(self.struct, buffer, len(buffer)), "policy")
        return buffer.value.decode()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Policy({self.text!r})"

    def __reduce__(self) -> Any:
        """Copy and pickle a policy as its text and its plugins."""
        return type(self), (self.text, self.plugins.policies)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __getitem__(self, key: str) -> str:
        """Return the value of a key, as text."""
        for word in self.text.split():
            name, _, value = word.partition("=")
            if name == key:
                return value
        raise KeyError(key)

    @property
    def needs(self) -> dict[str, Any]:
        """What the policy needs of its host: touches, access counters, page sizes and more."""
        needs = c.sized("uvmp_needs")
        check(c.uvmp_policy_needs(self.struct, needs), "needs")
        return {name: value for name, value in needs.as_dict().items() if name != "size"}


def _hint(raw: bytes, plugins: Any, error: Any) -> str:
    """Return the nearest valid word as `; did you mean WORD?`, or nothing."""
    find = getattr(c.library, "uvmp_python_hint", None)
    if find is None:  # another library, of $UVMPOLICY_LIBRARY
        return ""
    find.restype = ctypes.c_char_p
    known = ctypes.byref(plugins) if plugins is not None else None
    hint: bytes = find(ctypes.c_char_p(raw), known, ctypes.byref(error))
    return hint.decode()


def keys() -> list[dict[str, Any]]:
    """Return every key of the policy text: name, summary, range, default, accepted names."""
    found: list[dict[str, Any]] = []
    key = c.sized("uvmp_policy_key")
    while c.uvmp_policy_key_at(len(found), key):
        row = {
            "name": key.name.decode(),
            "summary": key.summary.decode(),
            "used_by": key.used_by.decode(),
            "min": key.min,
            "max": key.max,
            "initial": key.initial,
            "choices": None,
        }
        if key.is_choice:
            choices: list[str] = []
            while (choice := c.uvmp_policy_choice(len(found), len(choices))) is not None:
                choices.append(choice.decode())
            row["choices"] = choices
        found.append(row)
    return found


@functools.lru_cache(maxsize=None)
def keys_by_name() -> dict[str, dict[str, Any]]:
    """Return the keys of the policy text by name."""
    return {row["name"]: row for row in keys()}


def presets() -> list[dict[str, str]]:
    """Return every preset: name, summary, and the keys in which it differs from nvidia-595."""
    found: list[dict[str, str]] = []
    while preset := c.uvmp_policy_preset_at(len(found)):
        row = preset.contents
        found.append({name: getattr(row, name).decode() for name in ("name", "summary", "text")})
    return found
