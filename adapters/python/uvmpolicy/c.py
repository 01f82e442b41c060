"""The C API: every structure, enumeration, constant and function of the headers, by its C name.

Everything is built from api.json, the description of the headers:

    from uvmpolicy import c

    c.uvmp_status_text(c.UVMP_ERR_RANGE)             a function and an enumerator
    facts = c.uvmp_prefetch_facts(to=1)              a structure; other members are 0
    c.ENUMS["uvmp_access"]                           an enumeration: names and values
    c.sized("uvmp_needs")                            a structure with its `size` set

Functions take and return what ctypes takes and returns. An integer that its C type cannot hold is
an error: ctypes.ArgumentError of a function, ValueError of a member, when a structure is made and
when a member is assigned later. A member that does not exist is an error, too. Elements of arrays
are not checked. Statuses are numbers. The other modules of this package are easier to use: masks
are numbers, and an error is an exception.
"""

from __future__ import annotations

import ctypes
import difflib
import functools
import json
import operator
from pathlib import Path
from typing import Any

from . import _library

with (Path(__file__).parent / "api.json").open(encoding="utf-8") as _file:
    API: dict[str, Any] = json.load(_file)

_SCALARS: dict[str, Any] = {
    "char": ctypes.c_char,
    "int": ctypes.c_int,
    "bool": ctypes.c_bool,
    "size_t": ctypes.c_size_t,
    **{
        f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}

# Names and values of each enumeration, and the type of each constant.
ENUMS: dict[str, dict[str, int]] = {
    row["name"]: {value["name"]: value["value"] for value in row["values"]} for row in API["enums"]
}
CONSTANTS: dict[str, int | str] = {row["name"]: row["value"] for row in API["constants"]}
CONSTANTS.update((name, value) for values in ENUMS.values() for name, value in values.items())
STRUCTS: dict[str, Any] = {}
FUNCTIONS: dict[str, dict[str, Any]] = {row["name"]: row for row in API["functions"]}
_TYPEDEFS: dict[str, dict[str, Any]] = {row["name"]: row["type"] for row in API["typedefs"]}


def _enum_type(name: str) -> Any:
    """Return the integer type that C compilers choose for an enumeration."""
    return ctypes.c_int32 if min(ENUMS[name].values()) < 0 else ctypes.c_uint32


def type_of(described: dict[str, Any]) -> Any:
    """Return the type of ctypes for a type of api.json; None for void."""
    kind = described["kind"]
    if kind == "scalar":
        return _SCALARS[described["name"]]
    if kind == "enum":
        return _enum_type(described["name"])
    if kind == "struct":
        return STRUCTS[described["name"]]
    if kind == "typedef":
        return type_of(_TYPEDEFS[described["name"]])
    if kind == "array":
        return type_of(described["of"]) * described["length"]
    if kind == "void":
        return None
    if kind == "pointer":
        to = described["to"]
        if to["kind"] == "void":
            return ctypes.c_void_p
        if to["kind"] == "scalar" and to["name"] == "char" and to.get("const"):
            return ctypes.c_char_p
        if to["kind"] == "function":
            return ctypes.CFUNCTYPE(
                type_of(to["returns"]), *(type_of(row["type"]) for row in to["arguments"])
            )
        return ctypes.POINTER(type_of(to))
    raise ValueError(f"api.json: type {kind}")


# The accepted numbers of each integer type: ctypes alone would drop the upper bits of others.
_RANGES: dict[Any, range] = {
    kind: range(0, 256**size)
    if kind(-1).value > 0
    else range(-(256**size) // 2, 256**size // 2)
    for name, kind in _SCALARS.items()
    if name.endswith("_t") or name == "int"
    for size in [ctypes.sizeof(kind)]
}


def integer(name: str, value: Any, accepted: range) -> int:
    """Return an integer that is in range; arguments and members may also be those of numpy."""
    limits = f"{accepted[0]}..{accepted[-1]}"
    try:
        number = operator.index(value)
    except TypeError:
        text = f"{name}: {value!r} is not accepted; an integer, {limits}"
        raise TypeError(text) from None
    if number not in accepted:
        raise ValueError(f"{name}: {number} is not accepted; {limits}")
    return number


class _Argument:
    """An integer argument of a function, in place of its type in `argtypes`."""

    def __init__(self, name: str, kind: Any) -> None:
        self.name, self.kind, self.accepted = name, kind, _RANGES[kind]
        self.least, self.most = self.accepted[0], self.accepted[-1]

    def from_param(self, value: Any) -> Any:
        """Return what ctypes passes to the function."""
        if type(value) is int and self.least <= value <= self.most:  # the usual case, fast
            return self.kind(value)
        if isinstance(value, self.kind):
            return value
        return self.kind(integer(self.name, value, self.accepted))


class Structure(ctypes.Structure):
    """A structure of the C API. An unknown member is an error that names the nearest one."""

    def __init__(self, *values: Any, **members: Any) -> None:
        for name in members:
            if name not in self.member_types():
                raise TypeError(self._no_member(name))
        super().__init__(*values, **members)  # assigns each member, which checks it

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign a member; ctypes alone would drop upper bits of numbers that are too large."""
        kind: Any = self.member_types().get(name)
        if kind is None and not name.startswith("_"):
            raise AttributeError(self._no_member(name))
        if kind in _RANGES and not isinstance(value, kind):
            value = integer(name, value, _RANGES[kind])
        super().__setattr__(name, value)

    @classmethod
    def _no_member(cls, name: str) -> str:
        known = cls.member_types()
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"members: {', '.join(known)}"
        return f"struct {cls.__name__} has no member {name}; {hint}"

    @classmethod
    @functools.lru_cache(maxsize=None)
    def member_types(cls) -> dict[str, Any]:
        """Return the types of the members by name, those of unions without a name included."""
        found: dict[str, Any] = {}
        for name, kind in getattr(cls, "_fields_", ()):
            found.update(
                kind._fields_ if name in getattr(cls, "_anonymous_", ()) else [(name, kind)]
            )
        return found

    @classmethod
    def member_names(cls) -> list[str]:
        """Return the names of the members."""
        return list(cls.member_types())

    def as_dict(self) -> dict[str, Any]:
        """Return the members that are numbers, truth values or text."""
        plain = {name: getattr(self, name) for name in self.member_names()}
        return {
            name: value for name, value in plain.items() if isinstance(value, (bool, int, bytes))
        }

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"{type(self).__name__}({members})"


def _members(struct: str, rows: list[dict[str, Any]]) -> tuple[list[tuple[str, Any]], list[str]]:
    """Return _fields_ and _anonymous_ of a structure."""
    fields: list[tuple[str, Any]] = []
    unnamed: list[str] = []
    for row in rows:
        name, kind = row["name"], row["type"]
        if kind["kind"] == "union":
            members, _ = _members(struct, kind["fields"])
            union = type(f"{struct}_union", (ctypes.Union,), {"_fields_": members})
            name = name or f"_{len(unnamed)}"
            unnamed.append(name)
            fields.append((name, union))
        else:
            fields.append((name, type_of(kind)))
    return fields, unnamed


def _build_structs() -> None:
    """Build the classes of all structures; pointers may point to structures that follow."""
    for row in API["structs"]:
        STRUCTS[row["name"]] = type(
            row["name"], (Structure,), {"__doc__": row["comment"], "__module__": __name__}
        )
    for row in API["structs"]:
        if row["fields"] is not None:
            fields, unnamed = _members(row["name"], row["fields"])
            if unnamed:
                STRUCTS[row["name"]]._anonymous_ = unnamed
            STRUCTS[row["name"]]._fields_ = fields


_build_structs()
library = _library.load()


def _function(row: dict[str, Any]) -> Any:
    """Return a function of the library with the types of its arguments."""
    if row["inline"]:
        raise AttributeError(f"{row['name']} is inline: the library does not export it")
    function = getattr(library, row["name"], None)
    if function is None:
        raise AttributeError(
            f"{_library.library_path()} has no {row['name']}: it is of another version"
        )
    kinds = [(argument["name"], type_of(argument["type"])) for argument in row["arguments"]]
    function.argtypes = [
        _Argument(name, kind) if kind in _RANGES else kind for name, kind in kinds
    ]
    function.restype = type_of(row["returns"])
    function.__doc__ = row["comment"]
    return function


def __getattr__(name: str) -> Any:
    """Return a constant, an enumerator, a structure or a function by its C name."""
    if name in CONSTANTS:
        value = CONSTANTS[name]
    elif name in FUNCTIONS:
        value = _function(FUNCTIONS[name])
    elif name in STRUCTS:
        value = STRUCTS[name]
    elif name in _TYPEDEFS:
        value = type_of(_TYPEDEFS[name])
    else:
        raise AttributeError(f"the C API has no {name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return every name of the C API."""
    return sorted(
        {
            *globals(),
            *CONSTANTS,
            *STRUCTS,
            *_TYPEDEFS,
            *(name for name, row in FUNCTIONS.items() if not row["inline"]),
        }
    )


def sized(name: str, /, **members: Any) -> Any:
    """Return a structure whose first member, `size`, is its size."""
    struct = STRUCTS[name]
    return struct(size=ctypes.sizeof(struct), **members)


def _check_version() -> None:
    """Refuse a library of another major version; before version 1, of another minor version."""
    found = __getattr__("uvmp_version")().decode()
    parts = 1 if not API["version"].startswith("0.") else 2
    if found.split(".")[:parts] != API["version"].split(".")[:parts]:
        raise _library.LibraryError(
            f"{_library.library_path()} has version {found}, this package is for {API['version']}"
        )


_check_version()
