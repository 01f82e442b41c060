"""Single decisions: which unit of memory is evicted?"""

from __future__ import annotations

import ctypes
from typing import Any, Iterator, Optional, Union

from . import c
from .errors import check, in_range, unknown
from .owned import Owned
from .plugin import EvictionPolicy, check_plugins


class EvictionOrder(Owned):
    """An eviction order over the units 0..units-1 (pages, basic blocks or large pages).

    `name` is the order as in the policy text: lru2m, lru4k, random4k, sl64k, tbne, lfu2m, clock2m,
    mhpe or auto. `reserve` is the percentage of units that are skipped at the cold end. In place
    of a name, an EvictionPolicy is accepted (uvmpolicy.plugin), with its parameters.
    """

    def __init__(
        self,
        name: Union[str, EvictionPolicy],
        units: int,
        *,
        reserve: int = 0,
        seed: int = 1,
        **parameters: int,
    ) -> None:
        units = in_range("units", units, 1, c.UVMP_UNITS_MAX)
        self.struct = c.uvmp_evict()
        self._random = ctypes.c_uint64(seed)
        if isinstance(name, str):
            if parameters:
                raise TypeError(f"the order {name} has no parameters, not {', '.join(parameters)}")
            self._init(name, units)
        else:
            self._init_plugin(name, units, parameters)
        accepted = range(c.UVMP_EVICT_RESERVE_MAX + 1)
        self.struct.reserve_percent = c.integer("reserve", reserve, accepted)

    def _init(self, name: str, units: int) -> None:
        """Begin an order of the library."""
        self.plugin: Optional[EvictionPolicy] = None
        evictor = order_number(name)
        size = c.uvmp_evict_size(evictor, units)
        self._memory = (ctypes.c_uint64 * ((size + 7) // 8))()
        check(
            c.uvmp_evict_init(self.struct, evictor, units, self._memory, size),
            f"evict={name}, {units} units",
        )
        self.traits = c.uvmp_evict_traits_of(evictor).contents

    def _init_plugin(self, plugin: EvictionPolicy, units: int, parameters: dict[str, int]) -> None:
        """Begin an order that is written in Python."""
        check_plugins([plugin])
        self.plugin = plugin
        values = (ctypes.c_uint32 * c.UVMP_PLUGIN_VALUES_MAX)()
        plugin.set_values(values, parameters)
        size = c.uvmp_evict_plugin_size(plugin.struct, units)
        self._memory = (ctypes.c_uint64 * ((size + 7) // 8))()
        status = c.uvmp_evict_init_plugin(
            self.struct, plugin.struct, values, units, self._memory, size
        )
        self._check(status, f"{plugin.name}, {units} units")
        self.traits = plugin.struct.traits

    def _check(self, status: int, text: str) -> None:
        """Raise the exception of a method of the plugin, or the error of the library."""
        if self.plugin is not None:
            self.plugin.reraise()
        check(status, text)

    def __len__(self) -> int:
        """Return the number of units that may be evicted."""
        return int(self.struct.count)

    def __contains__(self, unit: int) -> bool:
        """Tell whether a unit may be evicted."""
        return bool(c.uvmp_evict_contains(self.struct, unit))

    def touch(self, unit: int) -> None:
        """Report that a unit arrived or was touched."""
        self._check(c.uvmp_evict_touch(self.struct, unit), f"unit {unit}")

    def remove(self, unit: int) -> None:
        """Report that a unit was evicted, or is pinned."""
        self._check(c.uvmp_evict_remove(self.struct, unit), f"unit {unit}")

    def forget(self, unit: int) -> None:
        """Remove a unit and its history: its number will name other memory."""
        self._check(c.uvmp_evict_forget(self.struct, unit), f"unit {unit}")

    def weigh(self, unit: int, frequency: int) -> None:
        """Set the frequency of a unit (lfu2m)."""
        self._check(c.uvmp_evict_weigh(self.struct, unit, frequency), f"unit {unit}")

    def own(self, unit: int, owner: int) -> None:
        """Set the owner of the group of a unit (auto)."""
        self._check(c.uvmp_evict_own(self.struct, unit, owner), f"unit {unit}")

    def spare(self, unit: int, is_spared: bool = True) -> None:
        """Spare a unit while other units may be evicted (sl64k, tbne, lfu2m)."""
        self._check(c.uvmp_evict_spare(self.struct, unit, is_spared), f"unit {unit}")

    def batch(self) -> None:
        """Report that a batch of faults begins (mhpe, auto)."""
        self._check(c.uvmp_evict_batch(self.struct), "batch")

    def left(self, unit: int, pages: int, untouched: int = 0) -> None:
        """Report that a removed unit was evicted with `pages` pages (mhpe, auto)."""
        self._check(c.uvmp_evict_left(self.struct, unit, pages, untouched), f"unit {unit}")

    def victim(self) -> Optional[int]:
        """Choose a victim, which stays listed until it is removed; None if there is no unit."""
        unit = ctypes.c_uint32()
        status = c.uvmp_evict_victim(self.struct, self._random, unit)
        if self.plugin is not None:
            self.plugin.reraise()
        if status == c.UVMP_ERR_NO_MEMORY:
            return None
        check(status, "victim")
        return unit.value

    def evict(self) -> Optional[int]:
        """Choose a victim and remove it; None if there is no unit."""
        unit = self.victim()
        if unit is not None:
            self.remove(unit)
        return unit

    def after(self, unit: int) -> Optional[int]:
        """Return the unit that replaces a victim that cannot be evicted; None behind the last."""
        following = ctypes.c_uint32(unit)
        status = c.uvmp_evict_next(self.struct, self._random, following)
        if status == c.UVMP_ERR_NO_MEMORY:
            return None
        self._check(status, f"unit {unit}")
        return following.value

    def ranking(self) -> Iterator[int]:
        """Walk the units from the victim on. An order that draws at random has no ranking."""
        if self.traits.is_random:
            raise TypeError("an order that draws at random has no ranking")
        unit = self.victim()
        while unit is not None:
            yield unit
            unit = self.after(unit)

    def together(self, unit: int) -> list[int]:
        """Return the units to evict with a victim (auto); empty for other orders."""
        chosen = c.uvmp_evict_together(self.struct, unit)
        first = unit - unit % c.UVMP_EVICT_GROUP_UNITS
        return [first + bit for bit in range(c.UVMP_EVICT_GROUP_UNITS) if chosen >> bit & 1]


def order_number(name: str) -> int:
    """Return the enumerator of an eviction order."""
    names = [c.uvmp_evict_name(value) for value in range(c.UVMP_EVICT_COUNT)]
    known = [text.decode() for text in names if text is not None]
    if name == "lru":
        raise ValueError("lru is the order of root chunks, in pmm.h; similar: lru2m")
    if name not in known:
        raise ValueError(unknown(f"order {name!r}", name, known[1:]))
    return known.index(name)


def closure(tree: Any, evictable: int = 0xFFFFFFFF) -> int:
    """Return the set of basic blocks that TBNe evicts with a victim that has left the tree."""
    return int(c.uvmp_evict_tbn_closure(tree, evictable))
