"""Single decisions: which pages are fetched with the faulted pages?"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

from . import c
from .enums import Choice, GroupKind, Grouping, Rule, number
from .errors import Error, check, in_range, unknown
from .masks import Pages, bounds, from_c, mask, pages, to_c
from .owned import Owned
from .plugin import PrefetchPolicy, check_plugins
from .policy import keys_by_name


_PAGES = 2**47  # of a range, at most: with offset and pages of 64 KiB, 2^64 bytes


@dataclass(frozen=True)
class Hint:
    """The answer of a prefetcher; sets of pages are numbers, see uvmpolicy.masks."""

    pages: int  # to fetch beside the faulted pages
    to: Optional[int]  # processor; None: prefetch nothing, ignore `pages`
    follow: Optional[int]  # page of the range whose block is asked next; None: no block
    subtrees: int  # where the chosen subtrees begin and end
    basic_blocks: int  # tbn, sl: set of chosen basic blocks
    rule: Any  # auto: why, a Rule

    @property
    def page_list(self) -> list[int]:
        """The page numbers to fetch; empty if nothing is to be prefetched."""
        return [] if self.to is None else pages(self.pages)


class Prefetcher(Owned):
    """A prefetcher with its state, for the VABlocks of one managed range.

    `name` and the further arguments are the prefetcher and its parameters, the members of struct
    uvmp_prefetch_params: Prefetcher("density", threshold=51). The range has `range_pages` pages
    and begins `offset` pages behind a boundary of 2 MiB. `seed` is for random prefetchers. In
    place of a name, a PrefetchPolicy is accepted (uvmpolicy.plugin).
    """

    def __init__(
        self,
        name: Union[str, PrefetchPolicy] = "density",
        *,
        range_pages: int = 512,
        offset: int = 0,
        page_bytes: int = 4096,
        seed: int = 1,
        **parameters: Any,
    ) -> None:
        self.plugin = None if isinstance(name, str) else name
        self.params = prefetch_params(name, **parameters)
        if self.plugin is None:
            self.traits = c.uvmp_prefetch_traits_of(self.params.prefetcher).contents
        else:
            self.traits = self.plugin.struct.traits
        self.range_pages = c.integer("range_pages", range_pages, range(1, _PAGES + 1))
        self.page_bytes = page_bytes
        self._geometry = c.uvmp_geometry()
        check(c.uvmp_geometry_init(self._geometry, page_bytes, 65536, 2097152), "page_bytes")
        self._start = c.integer("offset", offset, range(_PAGES)) * page_bytes
        self._last = self._start + range_pages * page_bytes - 1
        self.blocks: int = c.uvmp_geometry_block_count(self._geometry, self._start, self._last)
        self._random = ctypes.c_uint64(seed)
        self._range = _memory(self.traits.range_bytes)
        self._processors: dict[int, Any] = {}
        self._states: dict[int, Any] = {}
        self._trees: dict[int, Any] = {}
        self._memories: dict[int, Any] = {}

    def block(self, index: int) -> Any:
        """Return struct uvmp_block of a block of the range."""
        block = c.uvmp_block()
        status = c.uvmp_geometry_block(self._geometry, self._start, self._last, index, block)
        check(status, f"block {index} of {self.blocks}")
        return block

    def block_of(self, range_page: int) -> int:
        """Return the block that holds a page of the range."""
        page = c.integer("range_page", range_page, range(self.range_pages))
        address = self._start + page * self.page_bytes
        return int(c.uvmp_geometry_block_index(self._geometry, self._start, address))

    def _state(self, index: int, block: Any, to: int) -> Any:
        """Return the state of a block; it is made when it is first needed."""
        if index not in self._states:
            state = self._states[index] = c.uvmp_prefetch_state()
            c.uvmp_prefetch_state_init(state)
            state.random = ctypes.pointer(self._random)
            if self.traits.has_tree:
                tree = self._trees[index] = c.uvmp_tree()
                leaves = (block.pages + 15) // 16
                check(c.uvmp_tree_init(tree, 1 << (leaves - 1).bit_length()), "tree")
                state.tree = ctypes.pointer(tree)
            self._memories[index] = _memory(self.traits.block_bytes)
            state.block = _address(self._memories[index])
            state.range = _address(self._range)
        state = self._states[index]
        if to not in self._processors:
            self._processors[to] = _memory(self.traits.processor_bytes)
        state.processor = _address(self._processors[to])
        return state

    def decide(
        self, faulted: Pages, resident: Pages = 0, *, block: int = 0, to: int = 1, **facts: Any
    ) -> Hint:
        """Decide for a block: `faulted` pages are about to move to processor `to`.

        `resident` are the pages that `to` has already. Further facts are the members of struct
        uvmp_prefetch_facts. Sets of pages are given in any form of uvmpolicy.masks.
        """
        struct = c.uvmp_prefetch_facts()
        struct.block, struct.to = self.block(block), to
        struct.range_first = (struct.block.start - self._start) // self.page_bytes
        struct.range_pages = self.range_pages
        wanted = {"faulted": faulted, "resident": resident, **facts}
        wanted.setdefault("faulted_region", bounds(faulted))
        kept = set_members(struct, wanted)
        hint = c.uvmp_prefetch_hint()
        state = self._state(block, struct.block, to)
        if not mask(faulted) and not struct.is_follow:
            raise ValueError("faulted: a page must have faulted")
        status = c.uvmp_prefetch_decide(self.params, struct, state, hint)
        self._reraise()
        check(status, f"block {block} of {struct.block.pages} pages, to processor {to}")
        del kept  # the masks lived until here
        return Hint(
            pages=from_c(hint.pages),
            to=None if hint.to == c.UVMP_PROC_NONE else hint.to,
            follow=None if hint.follow == c.UVMP_PAGE_NONE else hint.follow,
            subtrees=from_c(hint.subtrees),
            basic_blocks=hint.basic_blocks,
            rule=Rule(hint.rule),
        )

    def walk(
        self,
        faulted: Pages,
        resident: Optional[Mapping[int, Pages]] = None,
        *,
        block: int = 0,
        to: int = 1,
        **facts: Any,
    ) -> list[tuple[int, Hint]]:
        """Decide for a block and for the blocks that its hints name, as (block, hint) in order.

        `resident` has the pages that `to` holds of each block. Further facts are those of the
        faulting block.
        """
        held = resident or {}
        hint = self.decide(faulted, held.get(block, 0), block=block, to=to, **facts)
        found = [(block, hint)]
        while hint.follow is not None:
            index = self.block_of(hint.follow)
            hint = self.decide(0, held.get(index, 0), block=index, to=to, is_follow=True)
            found.append((index, hint))
        return found

    def evicted(
        self,
        gone: Pages,
        *,
        block: int = 0,
        processor: int = 1,
        touched: Optional[Pages] = None,
        evicted_pages: int = 0,
    ) -> None:
        """Report that pages of a block were evicted from a processor.

        `touched` are the pages among them that were touched since they arrived, and
        `evicted_pages` is the number of pages that the processor has lost so far.
        """
        departure = c.uvmp_prefetch_departure(processor=processor, evicted_pages=evicted_pages)
        members: dict[str, Any] = {"gone": gone}
        if touched is not None:
            members["touched"] = touched
        kept = set_members(departure, members)
        state = self._state(block, self.block(block), processor)
        if self.plugin is not None:
            if self.plugin.struct.left and state.block:
                self.plugin.struct.left(None, state.block, departure)
        else:
            check(c.uvmp_prefetch_left(self.params.prefetcher, state.block, departure), "evicted")
        self._reraise()
        del kept
        if block in self._trees:
            for page in pages(gone):
                c.uvmp_tree_sub(self._trees[block], page, 1, self.params.quirks)

    def touched(self, page: int, *, block: int = 0, processor: int = 1, kernels: int = 0) -> None:
        """Report an access to a resident page, for prefetchers that learn from accesses."""
        struct = self.block(block)
        first = (struct.start - self._start) // self.page_bytes
        touch = c.uvmp_prefetch_touch(
            range_page=first + page, range_pages=self.range_pages, page=page, kernels=kernels
        )
        state = self._state(block, struct, processor)
        status = c.uvmp_prefetch_touched(self.params, touch, state)
        self._reraise()
        check(status, "touched")

    def _reraise(self) -> None:
        """Raise the exception of a method of the plugin."""
        if self.plugin is not None:
            self.plugin.reraise()


def prefetch_params(name: Union[str, PrefetchPolicy], **parameters: Any) -> Any:
    """Return struct uvmp_prefetch_params: the defaults of a prefetcher, and these parameters."""
    params = c.uvmp_prefetch_params()
    if not isinstance(name, str):
        check_plugins([name])
        check(c.uvmp_prefetch_params_init_plugin(params, name.struct), name.name)
        name.set_values(params.value, parameters)
        return params
    names = [c.uvmp_prefetch_name(value) for value in range(c.UVMP_PREFETCH_COUNT)]
    known = [text.decode() for text in names if text is not None]
    if name not in known:
        raise ValueError(unknown(f"prefetcher {name!r}", name, known))
    c.uvmp_prefetch_params_init(params, known.index(name))
    for key, value in parameters.items():
        if key not in params.member_names():
            what = f"prefetcher {name}: parameter {key}"
            raise TypeError(unknown(what, key, params.member_names()[1:]))
        _check_parameter(name, key, value)
        before = getattr(params, key)
        setattr(params, key, value)
        if not c.uvmp_prefetch_params_is_valid(params):
            raise Error(c.UVMP_ERR_RANGE, f"{key}={value} (default {before})")
    return params


def _check_parameter(name: str, member: str, value: Any) -> None:
    """Refuse a parameter that the prefetcher does not use, and a value that is out of range."""
    key = {"sequential_pages": "seq_pages"}.get(member, member)
    row = keys_by_name().get(key)
    if row is None or not row["used_by"].startswith("prefetch="):
        return  # quirks
    users = row["used_by"][len("prefetch=") :].split("|")
    if name not in users:
        raise TypeError(f"prefetcher {name}: {member}: used only by {', '.join(users)}")
    in_range(member, value, row["min"], row["max"])


def transfers(
    wanted: Pages, faulted: Pages = 0, *, grouping: Choice = "by_cause", latency: bool = False
) -> list[tuple[int, int, Any]]:
    """Cut pages into transfers, as (first, end, GroupKind), in ascending order."""
    groups = (c.uvmp_group * 1024)()
    found = ctypes.c_uint32()
    kind = number(Grouping, grouping)
    masks = (to_c(wanted), to_c(faulted))
    status = c.uvmp_prefetch_groups(kind, *masks, latency, groups, len(groups), found)
    check(status, "transfers")
    chosen = groups[: found.value]
    return [(row.pages.first, row.pages.end, GroupKind(row.kind)) for row in chosen]


def set_members(struct: Any, members: Mapping[str, Any]) -> list[Any]:
    """Set members of a structure: numbers, and sets of pages, regions and structures.

    Returns the objects that pointers in the structure point to.
    """
    kinds = struct.member_types()
    kept: list[Any] = []
    for name, value in members.items():
        kind = kinds.get(name)
        if kind is None:
            type(struct)(**{name: value})  # raises the error that names the nearest member
            raise TypeError(name)
        if name == "range_group" or value is None:
            regions = [c.uvmp_region(*pair) for pair in value or ()]
            array = (c.uvmp_region * len(regions))(*regions)
            kept.append(array)
            if regions:
                struct.range_group, struct.range_groups = array, len(regions)
        elif kind is ctypes.POINTER(c.uvmp_mask):
            pointed = to_c(mask(value))
            kept.append(pointed)
            setattr(struct, name, ctypes.pointer(pointed))
        elif kind is c.uvmp_region and not isinstance(value, ctypes.Structure):
            setattr(struct, name, c.uvmp_region(*value))
        elif isinstance(value, Mapping):
            setattr(struct, name, kind(**value))
        else:
            setattr(struct, name, value)
    return kept


def _memory(size: int) -> Any:
    """Return memory of `size` zeros, aligned to 8; None for 0."""
    return (ctypes.c_uint64 * ((size + 7) // 8))() if size else None


def _address(memory: Any) -> Any:
    """Return the address of memory; None for none."""
    return ctypes.addressof(memory) if memory is not None else None
