"""Prefetchers and eviction orders written in Python.

A subclass of PrefetchPolicy or EvictionPolicy is a policy of your own. Its objects stand in place
of a name in Prefetcher and EvictionOrder, and in the `plugins` of Policy, Host, run and compare.
The policy text then names them: `prefetch=NAME`, `evict=NAME`, and their parameters as keys.

The state of a policy belongs to one engine or order: keep it in the objects that new_block,
new_range, new_processor, new_order and new_unit return, not in the policy itself.
"""

from __future__ import annotations

import abc
import ctypes
import functools
import operator
from typing import Any, Iterable, Mapping, Optional

from . import c
from .callbacks import Guard
from .errors import Error, unknown
from .masks import Pages, from_c, mask, to_c
from .owned import Owned

Parameter = tuple[int, int, int]  # least, greatest, default


class Plugin(abc.ABC):
    """What both kinds of policies have: name, parameters, state, descriptor."""

    name: str = ""
    summary: str = ""
    parameters: Mapping[str, Parameter] = {}
    traits: Mapping[str, Any] = {}
    _struct = ""

    @functools.cached_property
    def _guard(self) -> Guard:
        """What keeps an exception of a method."""
        return Guard()

    @functools.cached_property
    def _kept(self) -> list[Any]:
        """What the descriptor points to."""
        return []

    @functools.cached_property
    def _objects(self) -> list[Any]:
        """States, by the number in the engine's memory; 0: none yet."""
        return [None]

    @functools.cached_property
    def struct(self) -> Any:
        """The descriptor: struct uvmp_prefetch_plugin or uvmp_evict_plugin."""
        names = list(self.parameters)
        rows = (c.uvmp_plugin_parameter * max(len(names), 1))()
        for row, (key, (least, most, initial)) in zip(rows, self.parameters.items()):
            row.name, row.summary = self._text(key), self._text(f"{self.name}: {key}")
            row.min, row.max, row.initial = least, most, initial
        self._kept.append(rows)
        struct = c.sized(
            self._struct,
            parameters=len(names),
            parameter=rows if names else None,
            name=self._text(self.name),
            summary=self._text(self.summary or (type(self).__doc__ or "").split("\n")[0]),
        )
        for key, value in self.traits.items():
            if key not in struct.traits.member_names():
                what = f"policy {self.name}: trait {key}"
                raise TypeError(unknown(what, key, struct.traits.member_names()))
            setattr(struct.traits, key, value)
        self._fill(struct)
        return struct

    @abc.abstractmethod
    def _fill(self, struct: Any) -> None:
        """Set traits and functions of the descriptor."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the members that a copy gets: not the descriptor, which calls this object."""
        cached = functools.cached_property
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(Plugin, name, None), cached)
        }

    def _text(self, text: str) -> bytes:
        """Return text for C, which stays as long as the policy."""
        raw = text.encode()
        self._kept.append(raw)
        return raw

    def _has(self, method: str) -> bool:
        """Tell whether the subclass has a method of its own."""
        base = PrefetchPolicy if isinstance(self, PrefetchPolicy) else EvictionPolicy
        return getattr(type(self), method) is not getattr(base, method)

    def _set(self, struct: Any, function: str, call: Any) -> None:
        """Set a function of the descriptor."""
        pointer = struct.member_types()[function](self._guard.wrap(call))
        self._kept.append(pointer)
        setattr(struct, function, pointer)

    def _state(self, memory: Optional[int], make: Any, *arguments: Any) -> Any:
        """Return the object whose number the memory of the engine has; it is made once."""
        if not memory:
            return make(*arguments)
        place = ctypes.c_uint64.from_address(memory)
        if place.value == 0:
            place.value = len(self._objects)
            self._objects.append(make(*arguments))
        return self._objects[place.value]

    def values(self, array: Any) -> dict[str, int]:
        """Return the parameters by name."""
        return {key: array[index] for index, key in enumerate(self.parameters)}

    def reraise(self) -> None:
        """Raise the exception of a method, if there was one since the last call."""
        self._guard.reraise()

    def set_values(self, array: Any, parameters: Mapping[str, int]) -> None:
        """Set parameters by name; the others have their defaults."""
        for index, (_, _, initial) in enumerate(self.parameters.values()):
            array[index] = initial
        for key, value in parameters.items():
            if key not in self.parameters:
                what = f"policy {self.name}: parameter {key}"
                raise TypeError(unknown(what, key, self.parameters))
            least, most, _ = self.parameters[key]
            if not least <= value <= most:
                raise ValueError(f"{key}: {value} is not accepted; {least}..{most}")
            array[list(self.parameters).index(key)] = value


class PrefetchCall:
    """One decision of a prefetcher; sets of pages are numbers, see uvmpolicy.masks."""

    def __init__(self, policy: PrefetchPolicy, call: Any) -> None:
        self._policy, self._call = policy, call
        self.facts = call.facts.contents  # struct uvmp_prefetch_facts

    @property
    def faulted(self) -> int:
        """Pages that are about to move because they faulted."""
        return from_c(self.facts.faulted.contents)

    @property
    def resident(self) -> int:
        """Pages of the block that the destination has already."""
        return from_c(self.facts.resident.contents) if self.facts.resident else 0

    @property
    def candidates(self) -> int:
        """Pages that may be prefetched."""
        return from_c(self._call.candidates.contents)

    @property
    def pages(self) -> int:
        """Number of pages of the block."""
        return int(self.facts.block.pages)

    @property
    def to(self) -> int:
        """Destination processor."""
        return int(self.facts.to)

    @property
    def values(self) -> dict[str, int]:
        """Parameters of the policy, by name."""
        return self._policy.values(self._call.value)

    @property
    def block(self) -> Any:
        """State of the block: what new_block returned."""
        return self._policy._state(self._call.block, self._policy.new_block)

    @property
    def range(self) -> Any:
        """State of the range: what new_range returned."""
        return self._policy._state(self._call.range, self._policy.new_range)

    @property
    def processor(self) -> Any:
        """State of the destination: what new_processor returned."""
        return self._policy._state(self._call.processor, self._policy.new_processor)

    def random(self, bound: int) -> int:
        """Draw a number in 0..bound-1 from the engine's generator."""
        if not self._call.random:
            raise ValueError("the host gave no random numbers")
        return int(c.uvmp_random_below(self._call.random, bound))

    def follow(self, range_page: int) -> None:
        """Ask again for the block with this page of the range (trait walks_ranges)."""
        self._call.follow = range_page


class PrefetchPolicy(Plugin):
    """A prefetcher. A subclass has a name and the method `decide`.

    `parameters` are keys of the policy text: {"depth": (least, greatest, default)}. `traits` are
    members of struct uvmp_prefetch_traits, such as {"walks_ranges": True}.
    """

    _struct = "uvmp_prefetch_plugin"

    @abc.abstractmethod
    def decide(self, call: PrefetchCall) -> Optional[Pages]:
        """Return the pages to fetch with the faulted pages, in any form; None: no page.

        Pages that are not among call.candidates are ignored.
        """

    def left(self, block: Any, gone: int, touched: int, processor: int) -> None:
        """Learn that pages of a block were evicted; `block` is what new_block returned."""

    def touched(self, range_page: int, range_state: Any, block: Any) -> None:
        """Learn that a resident page was accessed."""

    def new_block(self) -> Any:
        """Return the state of a block."""

    def new_range(self) -> Any:
        """Return the state of a managed range."""

    def new_processor(self) -> Any:
        """Return the state of a destination."""

    def _fill(self, struct: Any) -> None:
        traits = struct.traits
        if self._has("left") and not (traits.has_touches or traits.has_memory):
            traits.has_memory = True
        if self._has("touched"):
            traits.counts_touches = True
        if self._has("new_block") or self._has("left"):
            traits.block_bytes = 8
        if self._has("new_range"):
            traits.range_bytes = 8
        if self._has("new_processor"):
            traits.processor_bytes = 8
        self._set(struct, "decide", self._decide)
        if self._has("left"):
            self._set(struct, "left", self._left)
        if self._has("touched"):
            self._set(struct, "touched", self._touched)

    def _decide(self, _: Any, pointer: Any) -> None:
        chosen = self.decide(PrefetchCall(self, pointer.contents))
        if chosen is not None:
            pointer.contents.pages[0] = to_c(mask(chosen))

    def _left(self, _: Any, block: Any, pointer: Any) -> None:
        departure = pointer.contents
        touched = from_c(departure.touched.contents) if departure.touched else 0
        state = self._state(block, self.new_block)
        self.left(state, from_c(departure.gone.contents), touched, departure.processor)

    def _touched(self, _: Any, values: Any, pointer: Any, range_: Any, block: Any) -> None:
        page = pointer.contents.range_page
        self.touched(page, self._state(range_, self.new_range), self._state(block, self.new_block))


class EvictCall:
    """A unit, and what the order knows of it."""

    def __init__(self, policy: EvictionPolicy, call: Any) -> None:
        self._policy, self._call = policy, call
        self.unit: int = call.unit
        self.key: int = call.key  # as last returned; 0: no touch yet
        self.clock: int = call.clock  # touches of all units so far
        self.is_listed: bool = call.is_listed  # may be evicted

    @property
    def values(self) -> dict[str, int]:
        """Parameters of the policy, by name."""
        return self._policy.values(self._call.value)

    @property
    def order(self) -> Any:
        """State of the order: what new_order returned."""
        return self._policy._state(self._call.state, self._policy.new_order)

    @property
    def state(self) -> Any:
        """State of the unit: what new_unit returned."""
        return self._policy._state(self._call.memory, self._policy.new_unit)


class EvictionPolicy(Plugin):
    """An eviction order. A subclass has a name and the method `touch`.

    The unit with the smallest key is evicted first; of equal keys, that which got its key first.
    `unit_pages` is the size of a unit in pages of 4 KiB: 1, 16 or 512. `traits` are members of
    struct uvmp_evict_traits.
    """

    unit_pages: int = 512
    _struct = "uvmp_evict_plugin"

    @abc.abstractmethod
    def touch(self, call: EvictCall) -> int:
        """Return the key of a unit that arrived or was touched, 0..2^64-1."""

    def victim(self, call: EvictCall) -> int:
        """Return call.key to let the next victim go, or a greater key to give it another place."""
        return call.key

    def removed(self, call: EvictCall) -> None:
        """Learn that a unit was evicted, freed or pinned."""

    def left(self, call: EvictCall, pages: int, untouched: int) -> None:
        """Learn that a unit was evicted, with how many pages; `untouched` had no touch."""

    def batch(self, order: Any) -> None:
        """Learn that a batch of faults begins; `order` is what new_order returned."""

    def new_order(self) -> Any:
        """Return the state of an order."""

    def new_unit(self) -> Any:
        """Return the state of a unit."""

    def _fill(self, struct: Any) -> None:
        struct.traits.unit_pages = self.unit_pages
        struct.state_bytes = 8 if self._has("new_order") else 0
        struct.unit_bytes = 8 if self._has("new_unit") else 0
        self._set(
            struct, "touch", lambda _, call: self._key(self.touch(EvictCall(self, call.contents)))
        )
        if self._has("victim"):
            self._set(
                struct,
                "victim",
                lambda _, call: self._key(self.victim(EvictCall(self, call.contents))),
            )
        if self._has("removed"):
            self._set(
                struct, "removed", lambda _, call: self.removed(EvictCall(self, call.contents))
            )
        if self._has("left"):
            self._set(
                struct,
                "left",
                lambda _, call, *pages: self.left(EvictCall(self, call.contents), *pages),
            )
        if self._has("batch"):
            self._set(
                struct,
                "batch",
                lambda _, state, values: self.batch(self._state(state, self.new_order)),
            )

    def _key(self, key: int) -> int:
        """Return a key that is in range."""
        text = f"policy {self.name}: key {key!r} is not accepted; 0..2^64-1"
        try:
            index = operator.index(key)
        except TypeError:
            raise TypeError(text) from None
        if not 0 <= index < 2**64:
            raise ValueError(text)
        return index


class PluginList(Owned):
    """struct uvmp_plugins: policies as the parser of the library takes them."""

    def __init__(self, policies: Iterable[Plugin]) -> None:
        self.policies = list(policies)
        for policy in self.policies:
            if not isinstance(policy, Plugin):
                raise TypeError(f"{policy!r} is no PrefetchPolicy and no EvictionPolicy")
        self.struct = c.sized("uvmp_plugins", version=c.UVMP_PLUGIN_VERSION)
        self._kept: list[Any] = []
        for kind, member, count in (
            (PrefetchPolicy, "prefetcher", "prefetchers"),
            (EvictionPolicy, "order", "orders"),
        ):
            chosen = [policy.struct for policy in self.policies if isinstance(policy, kind)]
            array = (ctypes.POINTER(c.STRUCTS[kind._struct]) * max(len(chosen), 1))()
            for index, struct in enumerate(chosen):
                array[index] = ctypes.pointer(struct)
            self._kept.append(array)
            setattr(self.struct, count, len(chosen))
            setattr(self.struct, member, array)

    def reraise(self) -> None:
        """Raise the exception of a policy, if there was one."""
        for policy in self.policies:
            policy.reraise()


def check_plugins(policies: Iterable[Plugin]) -> PluginList:
    """Return the list of policies; an error says what is wrong with it."""
    found = PluginList(policies)
    text = ctypes.create_string_buffer(c.UVMP_PLUGINS_ERROR_MAX)
    status = c.uvmp_plugins_check(found.struct, text, len(text))
    if status != 0:
        raise Error(status, text.value.decode())
    return found
