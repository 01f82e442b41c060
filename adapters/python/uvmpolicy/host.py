"""The host kit: a whole memory manager. Faults go in; copies, mappings and replays come out."""

from __future__ import annotations

import ctypes
import numbers
from types import TracebackType
from typing import Any, Callable, Iterable, NamedTuple, Optional

from . import c
from .callbacks import Guard
from .enums import Access, Advice, Cause, Choice, Right, number
from .errors import Error, check, in_range
from .owned import Owned
from .placement import proc_list
from .plugin import Plugin, check_plugins


class Copy(NamedTuple):
    """A copy of contiguous pages between two memories, or (is_zero_fill) pages of zeros."""

    id: int  # for Host.copied
    address: int
    bytes: int
    origin: Optional[int]  # processor; None: zeros
    to: int  # processor
    from_frame: Optional[int]  # offset in the memory of GPU `origin`; None: not a GPU
    to_frame: Optional[int]  # offset in the memory of GPU `to`; None: not a GPU
    cause: Any  # a Cause
    part: int  # 0 begins a transfer; 1, 2, ... continue it with another frame
    is_zero_fill: bool
    now_ns: int


class Mapping(NamedTuple):
    """Contiguous pages that enter or leave the page tables of a processor."""

    processor: int
    holder: int  # processor whose memory the pages lie in
    address: int
    bytes: int
    frame: Optional[int]  # of the first page, in the memory of GPU `holder`; None: CPU memory
    right: Any  # a Right. map: from now on; unmap: what remains
    now_ns: int


class Waiter(NamedTuple):
    """A stalled access."""

    processor: int
    warp: int
    address: int
    access: Any  # an Access
    since_ns: int
    now_ns: int


class Done(NamedTuple):
    """A request that has ended; `status` is a name of enum uvmp_status."""

    request: int
    status: str
    now_ns: int


class Page(NamedTuple):
    """State of one page."""

    resident: list[int]  # processors that hold it
    read: list[int]  # processors that may read it
    write: list[int]  # processors that may write it
    frame: Optional[int]  # offset in the memory of the processor that was asked for


def _done(pointer: Any) -> Done:
    """Return struct uvmp_host_done as a tuple."""
    row = pointer.contents
    return Done(row.request, STATUS[row.status], row.now_ns)


def _given(
    name: str, call: Any, *convert: Callable[[Any], Any], result: Any = None
) -> Optional[Callable[..., Any]]:
    """Return a callback that converts what C gives it, behind `user`; None for None."""
    if call is None:
        return None
    if not callable(call):
        raise TypeError(f"{name}: {call!r} is not accepted; a callable or None")

    def callback(_: Any, *values: Any) -> Any:
        answer = call(*(turn(value) for turn, value in zip(convert, values)))
        return answer if result is None else result(answer)

    return callback


def _duration(value: Any) -> int:
    """Return a time in nanoseconds that is in range."""
    accepted = f"a number of nanoseconds, 0..{2**64 - 1}"
    is_number = isinstance(value, numbers.Real)
    if not is_number:
        raise TypeError(f"copy_ns returned {value!r}; {accepted}")
    if not 0 <= value < 2**64:
        raise ValueError(f"copy_ns returned {value}; {accepted}")
    return int(value)


STATUS = {value: name for name, value in c.ENUMS["uvmp_status"].items()}


def _frame(offset: int) -> Optional[int]:
    """Return the offset of a frame; None in place of UVMP_HOST_NO_FRAME."""
    return None if offset == c.UVMP_HOST_NO_FRAME else offset


def _copy(pointer: Any) -> Copy:
    """Return struct uvmp_host_copy as a tuple."""
    row = pointer.contents
    return Copy(
        row.id,
        row.address,
        row.bytes,
        None if row.is_zero_fill else getattr(row, "from"),
        row.to,
        _frame(row.from_frame),
        _frame(row.to_frame),
        Cause(row.cause),
        row.part,
        row.is_zero_fill,
        row.now_ns,
    )


def _mapping(pointer: Any) -> Mapping:
    """Return struct uvmp_host_mapping as a tuple."""
    row = pointer.contents
    frame = _frame(row.frame)
    right = Right(row.right)
    return Mapping(row.processor, row.holder, row.address, row.bytes, frame, right, row.now_ns)


def _waiter(pointer: Any) -> Waiter:
    """Return struct uvmp_host_waiter as a tuple."""
    row = pointer.contents
    access = Access(row.access)
    return Waiter(row.processor, row.warp, row.address, access, row.since_ns, row.now_ns)


class Host(Owned):
    """The CPU and GPUs with `memory_bytes` each, managed by a policy.

    The callables get what happens, at the simulator's own time, inside `run`:

        map(Mapping), unmap(Mapping)   the page tables change; unmap is the TLB shoot-down
        copy_ns(Copy) -> int           returns how long a copy takes, in nanoseconds; or:
        copy(Copy)                     begins a copy, whose end `copied` reports
        replay(Waiter)                 a stalled access can be retried
        cancel(Waiter, status)         a stalled access will never be served
        done(Done)                     a request has ended
        limit(gpu, stopped_sms, extra_blocks, now_ns)
        log(line)                      a line of the decision log

    Each may be left out. An exception in one of them ends `run` with this exception; the host is
    then closed. `plugins` are policies written in Python, which `policy` may name. Further
    options are the members of struct uvmp_host_options: gpus, page_bytes, is_on_cpu, seed,
    batch_ns, fault_ns, replay_ns and more. In contrast to C, all addresses are managed,
    unless is_all_managed=False is given and ranges are added.
    """

    def __init__(
        self,
        memory_bytes: int,
        policy: str = "",
        *,
        plugins: Iterable[Plugin] = (),
        map: Optional[Callable[[Mapping], Any]] = None,
        unmap: Optional[Callable[[Mapping], Any]] = None,
        copy_ns: Optional[Callable[[Copy], int]] = None,
        copy: Optional[Callable[[Copy], Any]] = None,
        replay: Optional[Callable[[Waiter], Any]] = None,
        cancel: Optional[Callable[[Waiter, str], Any]] = None,
        done: Optional[Callable[[Done], Any]] = None,
        limit: Optional[Callable[[int, int, int, int], Any]] = None,
        log: Optional[Callable[[str], Any]] = None,
        **options: Any,
    ) -> None:
        self._handle: Any = None
        self._guard = Guard()
        self._running = False
        members = {"is_all_managed": True, **options, "memory_bytes": memory_bytes}
        struct = c.sized("uvmp_host_options", **members)
        self._policy = str(policy).encode()
        struct.policy = self._policy
        self._gpus: int = struct.gpus or 1  # 0: the default
        self._plugins = check_plugins(plugins)
        if self._plugins.policies:
            struct.plugins = ctypes.pointer(self._plugins.struct)
        self._kept: list[Any] = []

        wanted: dict[str, Optional[Callable[..., Any]]] = {
            "map": _given("map", map, _mapping),
            "unmap": _given("unmap", unmap, _mapping),
            "copy_ns": _given("copy_ns", copy_ns, _copy, result=_duration),
            "copy": _given("copy", copy, _copy),
            "replay": _given("replay", replay, _waiter),
            "cancel": _given("cancel", cancel, _waiter, STATUS.__getitem__),
            "done": _given("done", done, _done),
            "limit": _given("limit", limit, int, int, int, int),
            "log": _given("log", log, bytes.decode),
        }
        kinds = struct.member_types()
        for name, call in wanted.items():
            if call is not None:
                pointer = kinds[name](self._guard.wrap(call))
                self._kept.append(pointer)
                setattr(struct, name, pointer)
        error = ctypes.create_string_buffer(c.UVMP_HOST_ERROR_MAX)
        self._handle = c.uvmp_host_open(struct, error) or None
        if self._handle is None:
            raise ValueError(error.value.decode())

    # -- lifetime -----------------------------------------------------------------------------

    def close(self) -> None:
        """Free the host; every later call is an error. No effect on a closed host."""
        if self._running:
            raise RuntimeError("a callback cannot close its host")
        if self._handle is not None:
            c.uvmp_host_close(self._handle)
            self._handle = None

    def __enter__(self) -> Host:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and not self._running:
            c.uvmp_host_close(self._handle)
            self._handle = None

    @property
    def _open(self) -> Any:
        """The handle of a host that is open."""
        if self._handle is None:
            raise RuntimeError("the host is closed")
        return self._handle

    def _check(self, status: int) -> None:
        """Raise the error of a call, with the text of the library."""
        if status != 0:
            raise Error(status, c.uvmp_host_error(self._open).decode())

    # -- memory of the program ----------------------------------------------------------------

    def add_range(self, base: int, bytes: int, on_cpu: Optional[bool] = None) -> None:
        """Manage the pages that [base, base + bytes) touches: an allocation.

        on_cpu: True: the data are on the CPU at first; False: pages are zeroed at their first
        access. Default: the option is_on_cpu.
        """
        if on_cpu is None:
            self._check(c.uvmp_host_add_range(self._open, base, bytes))
        else:
            home = c.UVMP_CPU if on_cpu else c.UVMP_PROC_NONE
            self._check(c.uvmp_host_add_range_on(self._open, base, bytes, home))

    def _request(self, status: int) -> int:
        """Return the number of the request that was queued."""
        self._check(status)
        return int(c.uvmp_host_last_request(self._open))

    def free(self, base: int, now_ns: int) -> int:
        """Free the range added at `base`; return the number of the request."""
        return self._request(c.uvmp_host_free(self._open, base, now_ns))

    def free_part(self, base: int, bytes: int, now_ns: int) -> int:
        """Free the managed pages inside [base, base + bytes); return the number of the request."""
        return self._request(c.uvmp_host_free_part(self._open, base, bytes, now_ns))

    def prefetch(self, base: int, bytes: int, processor: int, now_ns: int) -> int:
        """Move pages to a processor, as cudaMemPrefetchAsync; return the number of the request."""
        return self._request(c.uvmp_host_prefetch(self._open, base, bytes, processor, now_ns))

    def advise(
        self, base: int, bytes: int, advice: Choice, processor: Optional[int], now_ns: int
    ) -> int:
        """Advise, as cudaMemAdvise; `processor` may be None; return the number of the request."""
        proc = c.UVMP_PROC_NONE if processor is None else processor
        kind = number(Advice, advice)
        return self._request(c.uvmp_host_advise(self._open, base, bytes, kind, proc, now_ns))

    # -- accesses and time --------------------------------------------------------------------

    def fault(
        self, warp: int, address: int, access: Choice, now_ns: int, *, processor: int = 1
    ) -> None:
        """Report that an access of a warp missed; `replay` or `cancel` answers.

        Processor 0 is the CPU; `warp` is then its thread.
        """
        kind = number(Access, access)
        self._check(c.uvmp_host_fault_on(self._open, processor, warp, address, kind, now_ns))

    def access(self, address: int, access: Choice = "read", *, processor: int = 1) -> None:
        """Report an access that hit, for policies that use accesses (wants_accesses)."""
        self._check(c.uvmp_host_access(self._open, processor, address, number(Access, access)))

    @property
    def wants_accesses(self) -> bool:
        """Does the policy use accesses to pages that are mapped?"""
        return bool(c.uvmp_host_wants_accesses(self._open))

    def run(self, now_ns: int) -> Optional[int]:
        """Perform what is due; return the time of the next call, None until an event."""
        if self._running:
            raise RuntimeError("a callback cannot run its host")
        self._running = True
        try:
            following: int = c.uvmp_host_run(self._open, now_ns)
        finally:
            self._running = False
        try:
            self._guard.reraise()
            self._plugins.reraise()
        except BaseException:
            self.close()
            raise
        return None if following == 2**64 - 1 else following

    def drain(self, now_ns: int) -> int:
        """Run until no work is left before the next event; return the time of the last work."""
        while (following := self.run(now_ns)) is not None:
            now_ns = following
        return now_ns

    def copied(self, id: int, now_ns: int, status: int = 0) -> None:
        """Report the end of a copy of the callable `copy`; a negative status: it failed."""
        self._check(c.uvmp_host_copied(self._open, id, status, now_ns))

    def begin_kernel(self, gpu: int, now_ns: int) -> int:
        """Report that a kernel begins on a GPU (runtime=on); return its number."""
        kernel = ctypes.c_uint64()
        service = c.uvmp_host_service(self._open)
        check(c.uvmp_service_begin_kernel(service, gpu, now_ns, kernel), f"GPU {gpu}")
        return kernel.value

    def end_kernel(self, kernel: int, now_ns: int) -> None:
        """Report that a kernel ended."""
        service = c.uvmp_host_service(self._open)
        check(c.uvmp_service_end_kernel(service, kernel, now_ns), f"kernel {kernel}")

    # -- queries ------------------------------------------------------------------------------

    def is_mapped(self, address: int, access: Choice = "read", *, processor: int = 1) -> bool:
        """Tell whether the page tables of a processor allow an access now."""
        kind = number(Access, access)
        proc = in_range("processor", processor, 0, self._gpus)
        return bool(c.uvmp_host_is_mapped(self._open, proc, address, kind))

    def page(self, address: int, *, processor: int = 1) -> Page:
        """Return the state of a page."""
        page = c.sized("uvmp_host_page_state")
        self._check(c.uvmp_host_page(self._open, processor, address, page))
        return Page(
            proc_list(page.resident),
            proc_list(page.read),
            proc_list(page.write),
            _frame(page.frame),
        )

    @property
    def counts(self) -> dict[str, int]:
        """Sums over all GPUs since the host was opened: faults, copies, evictions and more."""
        counts = c.sized("uvmp_host_counts")
        self._check(c.uvmp_host_count(self._open, counts))
        return {name: value for name, value in counts.as_dict().items() if name != "size"}

    @property
    def capacity(self) -> int:
        """Bytes of frames of a GPU."""
        return int(c.uvmp_host_capacity(self._open))

    @property
    def error(self) -> str:
        """Text of the latest failure of a call; "" if no call has failed."""
        text: bytes = c.uvmp_host_error(self._open)
        return text.decode()
