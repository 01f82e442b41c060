"""Single decisions: which faults does a batch hold, which are duplicates, in which order?"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, Iterable, Union

from . import c
from .enums import Access, Choice, number
from .errors import check


@dataclass
class Fault:
    """A fault of a GPU. The last two members are answers of `fetch`."""

    address: int
    access: Choice = "read"
    gpu: int = 1
    va_space: int = 1
    utlb: int = 0
    instance: int = 0
    aperture: int = 9
    subcontext: int = 0
    timestamp_ns: int = 0
    merged: int = 1  # faults that this one stands for, itself included
    accesses: int = 0  # set of their accesses: bit 1 << access


@dataclass
class Batch:
    """A batch of faults, in the order in which they are serviced."""

    fetched: int  # raw faults that the batch took from the buffer
    faults: list[Fault] = field(default_factory=list)
    _entries: Any = field(default=None, repr=False)
    _order: Any = field(default=None, repr=False)

    def bins(self, block_bytes: int = 2097152) -> list[list[Fault]]:
        """Return the faults by VABlock: one list for each block that is serviced."""
        found: list[list[Fault]] = []
        c.integer("block_bytes", block_bytes, range(1, 2**63 + 1))
        first = 0
        while first < len(self.faults):
            start = self.faults[first].address // block_bytes * block_bytes
            a_bin = c.uvmp_fault_bin()
            last = start + block_bytes - 1
            count = len(self.faults)
            status = c.uvmp_fault_bin_next(self._entries, self._order, count, first, last, a_bin)
            check(status, "bin")
            found.append(self.faults[first : first + a_bin.count])
            first += a_bin.count
        return found


def fetch(
    faults: Iterable[Union[Fault, int]],
    *,
    max_batch: int = 256,
    page_bytes: int = 4096,
    coalesce: bool = True,
    quirks: bool = True,
) -> Batch:
    """Fetch one batch from a fault buffer with these faults, merge duplicates, and order the rest.

    A number is a fault that reads this address. The batch takes at most `max_batch` faults; its
    member `fetched` says how many.
    """
    raised = _raised(faults)
    if not raised:
        return Batch(0)
    capacity = len(raised) + 1
    entries = (c.uvmp_fault * capacity)()
    for entry, fault in zip(entries, raised):
        for name in ("address", "utlb", "instance", "aperture", "subcontext", "timestamp_ns"):
            setattr(entry, name, getattr(fault, name))
        entry.access = number(Access, fault.access)
        entry.type = c.UVMP_FAULT_INVALID_PTE
        entry.is_valid = True
    buffer = c.uvmp_fault_buffer(entry=entries, capacity=capacity, cached_put=len(raised))
    params = c.uvmp_fetch_params(
        max_batch=max_batch, page_bytes=page_bytes, coalesce=coalesce, quirks=quirks
    )
    utlbs = max(fault.utlb for fault in raised) + 1
    size = c.uvmp_fault_max_batch(max_batch, capacity)
    batch = c.uvmp_fault_batch(
        entry=(c.uvmp_fault * size)(), capacity=size, utlb=(c.uvmp_utlb * utlbs)(), utlbs=utlbs
    )
    mode = c.UVMP_FETCH_BATCH_READY
    check(c.uvmp_fault_fetch(params, mode, len(raised), buffer, batch), "fetch")
    for index in range(batch.cached):  # the host looks up the channel
        batch.entry[index].va_space = raised[index].va_space
        batch.entry[index].gpu = raised[index].gpu
    order = (ctypes.c_uint32 * batch.coalesced)()
    c.uvmp_fault_order_batch(batch, order, None)
    return Batch(batch.cached, [_answer(batch.entry[i]) for i in order], batch.entry, order)


def _raised(faults: Any) -> list[Fault]:
    """Return the argument `faults` of `fetch`, with addresses as faults."""
    accepted = "Fault objects and addresses"
    if not hasattr(faults, "__iter__"):
        raise TypeError(f"faults: {faults!r} is not accepted; an iterable of {accepted}")
    found = list(faults)
    for index, fault in enumerate(found):
        if hasattr(fault, "__index__"):
            found[index] = Fault(fault)
        elif not isinstance(fault, Fault):
            raise TypeError(f"faults: item {index}, {fault!r}, is not accepted; {accepted}")
    return found


def _answer(entry: Any) -> Fault:
    """Return a fetched entry as a fault."""
    members = ("address", "gpu", "va_space", "utlb", "instance", "aperture", "subcontext")
    return Fault(
        **{name: getattr(entry, name) for name in members},
        access=Access(entry.access),
        timestamp_ns=entry.timestamp_ns,
        merged=entry.num_instances,
        accesses=entry.access_mask,
    )
