"""Single decisions: where is a page resident, who maps it, does it thrash, does it migrate?"""

from __future__ import annotations

import ctypes
import operator
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Union

from . import c
from .enums import Access, Choice, MigrateCause, Remote, Right, ThrashKind, number
from .errors import check, in_range
from .owned import Owned
from .policy import keys_by_name

Procs = Union[int, Iterable[int]]  # a set of processors: a number with bit p, or processor numbers


def processors(gpus: int = 1) -> Any:
    """Return struct uvmp_processors: GPUs access all memory, the CPU accesses its own."""
    if not 1 <= gpus < c.UVMP_PROCS_MAX:
        raise ValueError(f"{gpus} GPUs are not accepted; 1..{c.UVMP_PROCS_MAX - 1}")
    struct = c.uvmp_processors(count=gpus + 1)
    everyone = (2 << gpus) - 1
    struct.can_access[0] = struct.native_atomics[0] = 1
    for gpu in range(1, gpus + 1):
        struct.can_access[gpu] = everyone
        struct.native_atomics[gpu] = everyone & ~1
        struct.fast_link[gpu] = everyone & ~1 & ~(1 << gpu)
    return struct


def proc_set(procs: Procs, argument: str = "processors") -> int:
    """Return a set of processors as a number; `argument` is its name in errors."""
    given: Any = procs
    if hasattr(given, "__index__") and not hasattr(
        given, "__iter__"
    ):  # an array of numpy has both
        return operator.index(given)
    try:
        members = set(given)
    except TypeError:
        accepted = "a number with a bit for each processor, or processor numbers"
        raise TypeError(f"{argument}: {given!r} is not accepted; {accepted}") from None
    return sum(1 << c.integer(argument, proc, range(c.UVMP_PROCS_MAX)) for proc in members)


def proc_list(procs: int) -> list[int]:
    """Return the processors of a set, ascending."""
    return [proc for proc in range(c.UVMP_PROCS_MAX) if procs >> proc & 1]


@dataclass(frozen=True)
class Place:
    """Where a page goes."""

    to: int  # processor
    nearest: Optional[int]  # closest holder; None: resident nowhere
    row: int  # of the table [driver: residency-choice], 1..12
    is_duplicate: bool  # copy it: the other holders keep theirs


def destination(
    requester: int,
    accesses: Union[Choice, Iterable[Choice]] = "read",
    resident: Procs = 0,
    *,
    system: Any = None,
    **facts: Any,
) -> Place:
    """Decide where a page goes that a processor accesses [driver: residency-choice].

    `resident` are the processors that hold the page. `system` is struct uvmp_processors, see
    `processors`; further facts are the members of struct uvmp_residency_facts.
    """
    given: Any = accesses
    is_single = isinstance(given, str) or not hasattr(given, "__iter__")
    bits = 0
    for kind in [given] if is_single else given:
        bits |= 1 << c.integer("accesses", number(Access, kind), range(c.UVMP_ACCESS_NONE))
    holders = proc_set(resident, "resident")
    struct = c.uvmp_residency_facts(
        requester=requester, accesses=bits, resident=holders, **_facts(facts)
    )
    place = c.uvmp_residency_place()
    check(c.uvmp_residency_select(system or processors(), struct, place), "destination")
    nearest = None if place.nearest == c.UVMP_PROC_NONE else place.nearest
    return Place(place.to, nearest, place.row, place.is_duplicate)


@dataclass(frozen=True)
class Rights:
    """Rights on a page after its move."""

    right: Any  # of the requester, a Right
    victims: list[int]  # processors that lose rights
    left: Any  # the Right that victims keep
    others: list[int]  # processors to map as well, with `others_right`
    others_right: Any
    others_atomic: list[int]  # processors to map with every right
    leaves_discarded: bool  # the page was written: it is no longer discarded


def rights(
    requester: int, to: int, access: Choice = "read", *, system: Any = None, **facts: Any
) -> Rights:
    """Decide which processors map a page, and with which rights [driver: other-mappings].

    `to` is the holder that the requester uses. Further facts are the members of struct
    uvmp_map_facts; the right of the process is `read_write_atomic` unless it is given.
    """
    members = {"right": c.UVMP_RIGHT_READ_WRITE_ATOMIC, **_facts(facts)}
    members["right"] = number(Right, members["right"])
    struct = c.uvmp_map_facts(requester=requester, to=to, access=number(Access, access), **members)
    result = c.uvmp_map()
    check(c.uvmp_residency_map(system or processors(), struct, result), "rights")
    return Rights(
        right=Right(result.right),
        victims=proc_list(result.victims),
        left=Right(result.left),
        others=proc_list(result.others),
        others_right=Right(result.others_right),
        others_atomic=proc_list(result.others_atomic),
        leaves_discarded=result.leaves_discarded,
    )


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with sets of processors as numbers, and flags for `preferred` and `pin`."""
    single = ("preferred", "pin")
    found = {
        name: proc_set(value, name)
        if hasattr(value, "__iter__") and not isinstance(value, str) and name not in single
        else value
        for name, value in facts.items()
        if value is not None
    }
    for name in single:
        if name in found:
            found.setdefault(f"has_{name}", True)
    return found


@dataclass(frozen=True)
class ThrashHint:
    """What to do with a page that may thrash."""

    kind: Any  # ThrashKind: NONE, PIN or THROTTLE
    pin_to: Optional[int]  # PIN: processor
    procs: list[int]  # PIN: processors that should reach the page
    until_ns: int  # THROTTLE: not serviced before


class Thrashing(Owned):
    """The driver's detector of thrashing, for one address space [driver: thrashing].

    Blocks have numbers of the caller's choice. The arguments are the members of struct
    uvmp_thrash_params: threshold, pin_threshold, lapse_us, nap, epoch, pin and more.
    """

    def __init__(self, *, system: Any = None, pages: int = 512, **parameters: Any) -> None:
        params = c.uvmp_thrash_params()
        c.uvmp_thrash_params_init(params)
        c.uvmp_thrash_params(**parameters)  # refuses unknown names
        for name, value in parameters.items():
            setattr(params, name, value)
        self.system = system or processors()
        self.pages = in_range("pages", pages, 1, c.UVMP_MASK_BITS)
        self._space = c.uvmp_thrash_space()
        check(c.uvmp_thrash_space_init(self._space, params), "parameters")
        _check_corrected(params, self._space.params)
        self._blocks: dict[int, tuple[Any, Any]] = {}

    def _block(self, index: int) -> Any:
        """Return a block; it is made, with its memory, when it is first needed."""
        if index not in self._blocks:
            block = c.uvmp_thrash_block()
            check(c.uvmp_thrash_block_init(block, index, self.pages), "block")
            size = c.uvmp_thrash_array_size(self.pages)
            memory = (ctypes.c_uint64 * ((size + 7) // 8))()
            check(c.uvmp_thrash_block_give(block, memory, size), "block")
            self._blocks[index] = (block, memory)
        return self._blocks[index][0]

    def migrated(
        self,
        first: int,
        end: int,
        to: int,
        now_ns: int,
        *,
        block: int = 0,
        cause: Choice = "fault",
        is_copy: bool = False,
    ) -> None:
        """Report that the pages [first, end) of a block migrated to a processor."""
        event = c.uvmp_thrash_migration(
            region=c.uvmp_region(first, end),
            to=to,
            final_to=to,
            cause=number(MigrateCause, cause),
            is_copy=is_copy,
            now_ns=now_ns,
        )
        check(c.uvmp_thrash_migrate(self._space, self._block(block), event), "migrated")

    def revoked(self, first: int, end: int, proc: int, now_ns: int, *, block: int = 0) -> None:
        """Report that a processor lost access to the pages [first, end) of a block."""
        region = c.uvmp_region(first, end)
        check(
            c.uvmp_thrash_revoke(self._space, self._block(block), region, proc, now_ns), "revoked"
        )

    def decide(
        self,
        page: int,
        requester: int,
        now_ns: int,
        *,
        block: int = 0,
        resident: Procs = 0,
        preferred: Optional[int] = None,
    ) -> ThrashHint:
        """Decide what to do with a fault on a page; `resident` are the page's holders."""
        facts = c.uvmp_thrash_facts(
            page=page, requester=requester, residents=proc_set(resident, "resident"), now_ns=now_ns
        )
        if preferred is not None:
            facts.preferred, facts.has_preferred = preferred, True
        hint = c.uvmp_thrash_hint()
        status = c.uvmp_thrash_decide(self._space, self._block(block), self.system, facts, hint)
        check(status, f"page {page}")
        pin_to = None if hint.pin_to == c.UVMP_PROC_NONE else hint.pin_to
        return ThrashHint(ThrashKind(hint.kind), pin_to, proc_list(hint.procs), hint.until_ns)

    def unpin(self, now_ns: int) -> list[tuple[int, int]]:
        """Unpin the pages whose time has come, as (block, page)."""
        found: list[tuple[int, int]] = []
        block = ctypes.POINTER(c.uvmp_thrash_block)()
        page, is_found = ctypes.c_uint32(), ctypes.c_bool()
        while True:
            status = c.uvmp_thrash_unpin(self._space, now_ns, block, page, is_found)
            check(status, "unpin")
            if not is_found.value:
                return found
            found.append((block.contents.id, page.value))


def _check_corrected(asked: Any, in_force: Any) -> None:
    """Refuse parameters in place of which the detector uses its defaults.

    With quirks, 500 in place of vote_threshold=0 is not refused [driver: vote-threshold-zero].
    """
    keys = {"threshold": "thrash_threshold", "vote_threshold": "lapse_votes"}
    for name in asked.member_names():
        value = getattr(asked, name)
        if value == getattr(in_force, name) or (name == "vote_threshold" and asked.quirks):
            continue
        row = keys_by_name()[keys.get(name, name)]
        in_range(name, value, max(row["min"], 1), row["max"])


def migrates(
    count: int,
    *,
    mode: Choice = "adaptive",
    threshold: int = 8,
    penalty: int = 2,
    rounds: int = 0,
    is_write: bool = False,
    is_oversubscribed: bool = False,
    total_pages: int = 1,
    free_pages: int = 1,
) -> bool:
    """Decide whether a page migrates, or is accessed remotely [uvmsmart: migrate-or-remote].

    `count` is the number of accesses to its basic block, this one included; `rounds` how often the
    block was evicted and came back.
    """
    params = c.uvmp_remote_params(
        remote=number(Remote, mode), threshold=threshold, penalty=penalty
    )
    pressure = c.uvmp_pressure(total_pages=total_pages, free_pages=free_pages, quirks=True)
    facts = c.uvmp_remote_facts(
        count=count,
        rounds=rounds,
        is_write=is_write,
        is_oversubscribed=is_oversubscribed,
        pressure=pressure,
    )
    verdict = c.uvmp_remote_verdict()
    check(c.uvmp_remote_decide(params, facts, verdict), "migrates")
    return bool(verdict.migrates)
