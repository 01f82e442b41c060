"""The decisions of a GPU unified-memory (UVM) driver.

    Host             a whole memory manager: faults in, copies and mappings out
    run, compare     runs of the simulator uvmsim, as dictionaries or data frames
    Prefetcher       which pages are fetched with the faulted pages?
    EvictionOrder    which unit of memory is evicted?
    fetch            which faults does a batch hold, which are duplicates, in which order?
    destination      where should a page be resident?
    rights           who maps it, who loses access?
    Thrashing        does a page bounce between processors?
    migrates         does a page migrate, or is it accessed remotely?
    PrefetchPolicy, EvictionPolicy
                     a prefetcher or an eviction order of your own, written in Python
    Policy           the text that selects the decisions and their parameters
    masks            sets of pages: numbers, page numbers, arrays of numpy
    c                the C API, by its C names

docs/python.md has examples.
"""

from . import c, masks
from .enums import Access, Advice, Cause, MigrateCause, Right, Rule, ThrashKind
from .errors import Error, PolicyError
from .evict import EvictionOrder
from .host import Host
from .faults import Batch, Fault, fetch
from .placement import Place, Rights, Thrashing, ThrashHint, destination, migrates, processors
from .placement import rights
from .plugin import EvictionPolicy, PrefetchPolicy
from .policy import Policy, keys, presets
from .prefetch import Hint, Prefetcher, transfers
from .simulator import SimulatorError, SimulatorNote, bound, compare, run, uvmsim

__version__: str = c.API["version"]

__all__ = [
    "Access",
    "Advice",
    "Batch",
    "Cause",
    "Error",
    "EvictionOrder",
    "EvictionPolicy",
    "Fault",
    "Hint",
    "Host",
    "MigrateCause",
    "Place",
    "Policy",
    "PolicyError",
    "PrefetchPolicy",
    "Prefetcher",
    "Right",
    "Rights",
    "Rule",
    "SimulatorError",
    "SimulatorNote",
    "ThrashHint",
    "ThrashKind",
    "Thrashing",
    "bound",
    "c",
    "compare",
    "destination",
    "fetch",
    "keys",
    "masks",
    "migrates",
    "presets",
    "processors",
    "rights",
    "run",
    "transfers",
    "uvmsim",
]
