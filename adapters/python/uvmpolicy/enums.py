"""Enumerations of the library as classes, and names of enumerators in arguments."""

from __future__ import annotations

import enum
import operator
from typing import Any, Union

from . import c
from .errors import unknown

Choice = Union[int, str]  # an enumerator: number, member of a class of this module, or name


def _enumeration(name: str, struct: str, prefix: str) -> Any:
    """Return an IntEnum with the names of a C enumeration, without their prefix."""
    values = c.ENUMS[struct]
    return enum.IntEnum(
        name, {key.removeprefix(prefix): value for key, value in values.items()}, module=__name__
    )


Access = _enumeration("Access", "uvmp_access", "UVMP_ACCESS_")
Advice = _enumeration("Advice", "uvmp_advice", "UVMP_ADVISE_")
Cause = _enumeration("Cause", "uvmp_cause", "UVMP_CAUSE_")
Right = _enumeration("Right", "uvmp_right", "UVMP_RIGHT_")
Rule = _enumeration("Rule", "uvmp_rule", "UVMP_RULE_")
Grouping = _enumeration("Grouping", "uvmp_grouping", "UVMP_GROUPING_")
GroupKind = _enumeration("GroupKind", "uvmp_group_kind", "UVMP_GROUP_")
ThrashKind = _enumeration("ThrashKind", "uvmp_thrash_hint_kind", "UVMP_THRASH_")
MigrateCause = _enumeration("MigrateCause", "uvmp_migrate_cause", "UVMP_MIGRATE_")
Operation = _enumeration("Operation", "uvmp_operation", "UVMP_OPERATION_")
Duplication = _enumeration("Duplication", "uvmp_read_duplication", "UVMP_DUPLICATION_")
Remote = _enumeration("Remote", "uvmp_remote", "UVMP_REMOTE_")


def number(kind: Any, value: Choice) -> int:
    """Return the number of an enumerator that is given as number or name, in any case."""
    if hasattr(value, "__index__"):
        return operator.index(value)
    argument = kind.__name__.lower()
    names = [name for name in kind.__members__ if name != "COUNT"]
    lower = [name.lower() for name in names]
    if not isinstance(value, str):
        raise TypeError(f"{argument}: {value!r} is not accepted; {', '.join(lower)}")
    key = value.upper().replace("-", "_")
    if key in names:
        return int(kind[key])
    raise ValueError(unknown(f"{argument} {value!r}", key.lower(), lower))
