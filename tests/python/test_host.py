"""The host against a model of page tables and frames that is kept by its callbacks."""

from __future__ import annotations

import ctypes
import unittest
from typing import Any, Optional

import uvmpolicy as uvmp
from support import copies, prop, st

PAGE = 4096
BASE = 0x7F0000000000
RIGHTS = {"read": uvmp.Right.READ, "write": uvmp.Right.READ_WRITE}
POLICIES = [
    "",
    "prefetch=none",
    "prefetch=block evict=lru2m",
    "prefetch=tbn evict=tbne",
    "evict=lru4k",
    "prefetch=sl evict=sl64k",
    "preset=auto",
]


class Model:
    """A simulator: page tables, frames and the accesses that wait."""

    def __init__(self, test: unittest.TestCase, memory: int, policy: str, **options: Any) -> None:
        self.test = test
        self.tables: dict[tuple[int, int], tuple[Any, int, Optional[int]]] = {}
        self.waiting: dict[tuple[int, int, int], int] = {}
        self.answers: dict[str, int] = {"replay": 0, "cancel": 0}
        self.bytes = {"in": 0, "out": 0, "peer": 0}
        self.now_ns = 0
        self.log: list[str] = []
        self.is_on_cpu = options.get("is_on_cpu", False)
        self.left_cpu: set[int] = set()  # pages with an unmap of the CPU; mapped there at first
        self.host = uvmp.Host(
            memory,
            policy,
            map=self.map,
            unmap=self.unmap,
            copy_ns=self.copy_ns,
            replay=self.replay,
            cancel=self.cancel,
            log=self.log.append,
            **options,
        )

    def pages(self, row: Any) -> range:
        """Return the numbers of the pages of a mapping or copy."""
        self.test.assertEqual((row.address % PAGE, row.bytes % PAGE), (0, 0))
        return range(row.address // PAGE, (row.address + row.bytes) // PAGE)

    def passes(self, now_ns: int) -> None:
        """Check that time does not run backwards."""
        self.test.assertGreaterEqual(now_ns, self.now_ns)
        self.now_ns = now_ns

    def map(self, row: Any) -> None:
        """Enter pages in page tables."""
        self.passes(row.now_ns)
        for index, page in enumerate(self.pages(row)):
            frame = None if row.frame is None else row.frame + index * PAGE
            self.test.assertEqual(frame is None, row.holder == 0)
            self.tables[row.processor, page] = (row.right, row.holder, frame)

    def unmap(self, row: Any) -> None:
        """Remove pages from page tables, or reduce their rights."""
        self.passes(row.now_ns)
        for page in self.pages(row):
            if row.processor == 0 and page not in self.left_cpu and self.is_on_cpu:
                self.tables[0, page] = (uvmp.Right.READ_WRITE_ATOMIC, 0, None)
                self.left_cpu.add(page)
            right, holder, frame = self.tables.pop((row.processor, page))
            self.test.assertLess(row.right, right)
            if row.right != uvmp.Right.NONE:
                self.tables[row.processor, page] = (row.right, holder, frame)

    def copy_ns(self, row: Any) -> int:
        """Count a copy."""
        self.test.assertGreater(len(self.pages(row)), 0)
        if not row.is_zero_fill:
            kind = "in" if row.origin == 0 else "out" if row.to == 0 else "peer"
            self.bytes[kind] += row.bytes
        return 100 + int(row.bytes) // 16

    def fault(self, warp: int, page: int, access: str, now_ns: int, gpu: int = 1) -> None:
        """Report a miss."""
        key = (gpu, warp, BASE + page * PAGE)
        self.waiting[key] = self.waiting.get(key, 0) + 1
        self.host.fault(warp, BASE + page * PAGE, access, now_ns, processor=gpu)

    def answer(self, waiter: Any, kind: str) -> None:
        """Take an access from those that wait."""
        self.passes(waiter.now_ns)
        key = (waiter.processor, waiter.warp, waiter.address)
        self.test.assertGreater(self.waiting.get(key, 0), 0)
        self.waiting[key] -= 1
        self.answers[kind] += 1

    def replay(self, waiter: Any) -> None:
        """Check that the access is mapped when it can be retried."""
        self.answer(waiter, "replay")
        right = self.tables[waiter.processor, waiter.address // PAGE][0]
        self.test.assertGreaterEqual(right, RIGHTS[waiter.access.name.lower()])

    def cancel(self, waiter: Any, status: str) -> None:
        """Count a cancelled access."""
        self.answer(waiter, "cancel")

    def check(self) -> None:
        """Compare the model with the host."""
        counts = self.host.counts
        self.test.assertEqual(sum(self.waiting.values()), 0)
        self.test.assertEqual(counts["waiting"], 0)
        self.test.assertEqual(counts["replayed"], self.answers["replay"])
        self.test.assertEqual(counts["cancelled"], self.answers["cancel"])
        for kind in ("in", "out", "peer"):
            self.test.assertEqual(counts[f"bytes_{kind}"], self.bytes[kind])
            self.test.assertEqual(counts[f"pages_{kind}"] * PAGE, self.bytes[kind])
        frames: dict[tuple[int, int], int] = {}
        for (processor, page), (right, holder, frame) in self.tables.items():
            state = self.host.page(page * PAGE, processor=processor)
            self.test.assertIn(holder, state.resident)
            self.test.assertIn(processor, state.read)
            self.test.assertEqual(processor in state.write, right >= uvmp.Right.READ_WRITE)
            if frame is not None:
                self.test.assertLess(frame, self.host.capacity)
                self.test.assertEqual(frames.setdefault((holder, frame), page), page)


class Hosts(unittest.TestCase):
    """Runs, requests, errors."""

    @prop(
        st.lists(
            st.tuples(st.integers(0, 2047), st.sampled_from(["read", "write"]), st.integers(0, 9)),
            min_size=1,
            max_size=60,
        ),
        st.sampled_from(POLICIES),
        st.integers(1, 2),
        st.booleans(),
        examples=60,
    )
    def test_every_fault_is_answered_and_page_tables_agree(
        self, faults: list[tuple[int, str, int]], policy: str, gpus: int, is_on_cpu: bool
    ) -> None:
        if policy == "prefetch=sl evict=sl64k" or "auto" in policy:
            gpus = 1
        model = Model(self, 4 << 20, policy, gpus=gpus, is_on_cpu=is_on_cpu)
        now_ns = 0
        with model.host:
            for warp, (page, access, gap) in enumerate(faults):
                model.fault(warp, page, access, now_ns, gpu=1 + warp % gpus)
                if gap < 7:
                    continue
                now_ns += gap * 1000
                model.host.run(now_ns)
                now_ns = max(now_ns, model.now_ns)
            model.host.drain(now_ns)
            model.check()
            self.assertEqual(model.answers["replay"], len(faults))

    def test_two_runs_take_the_same_decisions(self) -> None:
        logs = []
        for _ in range(2):
            model = Model(self, 2 << 20, "prefetch=random evict=random4k", seed=7)
            for page in range(0, 2000, 3):
                model.fault(page, page * 7 % 2048, "write", page)
            model.host.drain(9999)
            logs.append(model.log)
        self.assertEqual(logs[0], logs[1])
        self.assertGreater(len(logs[0]), 100)

    def test_data_of_a_range_begins_on_the_cpu_or_nowhere(self) -> None:
        for default in (False, True):
            host = uvmp.Host(8 << 20, "prefetch=none", is_all_managed=False, is_on_cpu=default)
            host.add_range(BASE, PAGE)
            host.add_range(BASE + PAGE, PAGE, on_cpu=True)
            host.add_range(BASE + 2 * PAGE, PAGE, on_cpu=False)
            held = [host.page(BASE + i * PAGE).resident for i in range(3)]
            self.assertEqual(held, [[0] if default else [], [0], []])
            host.close()

    def test_requests_end_and_say_so(self) -> None:
        done: list[Any] = []
        host = uvmp.Host(8 << 20, done=done.append, is_all_managed=False, gpus=2)
        host.add_range(BASE, 2 << 20)
        with self.assertRaisesRegex(uvmp.Error, "CONFLICT"):
            host.add_range(BASE, PAGE)
        number = host.prefetch(BASE, 1 << 20, 1, 0)
        host.drain(0)
        self.assertEqual([(row.request, row.status) for row in done], [(number, "UVMP_OK")])
        self.assertEqual(host.page(BASE).resident, [1])
        host.advise(BASE, 1 << 20, "preferred", 2, 10)
        host.advise(BASE, 1 << 20, "read_duplicate", None, 10)
        host.drain(10)
        self.assertEqual(len(done), 3)
        host.free(BASE, 20)
        host.drain(20)
        with self.assertRaisesRegex(uvmp.Error, "^uvmp_host_page: .*not managed.*UNKNOWN"):
            host.page(BASE)
        with self.assertRaisesRegex(ValueError, "did you mean preferred"):
            host.advise(BASE, PAGE, "prefered", 1, 30)
        with self.assertRaises(uvmp.Error):
            host.prefetch(BASE, PAGE, 9, 30)

    def test_a_fault_outside_of_ranges_is_cancelled(self) -> None:
        told: list[Any] = []
        host = uvmp.Host(4 << 20, cancel=lambda *what: told.append(what), is_all_managed=False)
        host.fault(5, BASE, "read", 1)
        host.drain(1)
        self.assertEqual([(row.warp, status) for row, status in told], [(5, "UVMP_ERR_UNKNOWN")])

    def test_asynchronous_copies(self) -> None:
        begun: list[Any] = []
        woken: list[int] = []
        host = uvmp.Host(
            4 << 20,
            "prefetch=none",
            is_on_cpu=True,
            copy=begun.append,
            replay=lambda waiter: woken.append(waiter.now_ns),
        )
        host.fault(1, BASE, "read", 0)
        self.assertIsNone(host.run(0))
        self.assertEqual((len(begun), begun[0].bytes, begun[0].origin), (1, PAGE, 0))
        host.copied(begun[0].id, 5000)
        host.drain(5000)
        self.assertEqual(len(woken), 1)
        self.assertGreaterEqual(woken[0], 5000)
        with self.assertRaisesRegex(uvmp.Error, "STATE"):
            host.copied(begun[0].id, 6000)

    def test_an_exception_of_a_callable_ends_the_run(self) -> None:
        def fails(*what: Any) -> int:
            raise LookupError("no link")

        for name in ("copy_ns", "map", "replay", "log"):
            options: dict[str, Any] = {name: fails}
            host = uvmp.Host(4 << 20, is_on_cpu=True, **options)
            with self.subTest(name), self.assertRaisesRegex(LookupError, "no link"):
                host.fault(1, BASE, "read", 0)
                host.drain(0)
            with self.assertRaisesRegex(RuntimeError, "closed"):
                host.run(1)

    def test_a_duration_that_is_wrong_ends_the_run(self) -> None:
        accepted = "a number of nanoseconds, 0..18446744073709551615"
        answers: list[tuple[Any, type[Exception]]] = [
            (-1, ValueError),
            (2**64, ValueError),
            (float("nan"), ValueError),
            (None, TypeError),
            ("5", TypeError),
        ]
        for answer, error in answers:
            options: dict[str, Any] = {"copy_ns": lambda copy: answer}
            host = uvmp.Host(4 << 20, is_on_cpu=True, **options)
            host.fault(1, BASE, "read", 0)
            wanted = f"copy_ns returned {answer!r}; {accepted}"
            with self.subTest(wanted), self.assertRaisesRegex(error, wanted):
                host.drain(0)

    def test_callables_may_use_the_host_but_not_run_it(self) -> None:
        told: list[Any] = []

        def replay(waiter: Any) -> None:
            told.append(host.page(waiter.address).resident)
            for call in (lambda: host.run(9), host.close):
                with self.assertRaises(RuntimeError):
                    call()
            if waiter.warp < 3:
                host.fault(waiter.warp + 1, waiter.address + (2 << 20), "read", waiter.now_ns)

        host = uvmp.Host(16 << 20, replay=replay)
        host.fault(1, BASE, "read", 0)
        host.drain(0)
        self.assertEqual(told, [[1], [1], [1]])

    def test_wrong_options_are_errors(self) -> None:
        for options, wanted in (
            ({"memory_bytes": 0}, "memory_bytes"),
            ({"memory_bytes": 4 << 20, "policy": "threshold=101"}, "0..100"),
            ({"memory_bytes": 4 << 20, "page_bytes": 5000}, "page_bytes"),
            ({"memory_bytes": 4 << 20, "gpus": 64}, "gpus"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                uvmp.Host(**options)  # type: ignore[arg-type]
        for options, wanted in (
            ({"memory_bytes": 2**64 + (4 << 20)}, "memory_bytes: 18446744073713745920"),
            ({"memory_bytes": -1}, "memory_bytes: -1 is not accepted; 0..18446744073709551615"),
            ({"memory_bytes": 4 << 20, "utlbs": 2**32 + 1}, "utlbs: .*; 0..4294967295"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(ValueError, wanted):
                uvmp.Host(**options)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "did you mean gpus"):
            uvmp.Host(4 << 20, gpu=2)
        wanted = "memory_bytes: '16M' is not accepted; an integer, 0..18446744073709551615"
        with self.assertRaisesRegex(TypeError, wanted):
            uvmp.Host("16M")  # type: ignore[arg-type]
        for name in ("copy_ns", "copy", "map", "log"):
            with self.assertRaisesRegex(TypeError, f"{name}: 5 is not accepted; a callable"):
                uvmp.Host(4 << 20, **{name: 5})  # type: ignore[arg-type]
        host = uvmp.Host(4 << 20)
        for gpus, processor in ((1, 2), (1, 7), (1, -1), (2, 3)):
            wanted = f"processor: {processor} is not accepted; 0..{gpus}"
            with self.assertRaisesRegex(uvmp.Error, wanted):
                uvmp.Host(4 << 20, gpus=gpus).is_mapped(0, processor=processor)
        self.assertFalse(uvmp.Host(4 << 20, gpus=2).is_mapped(0, processor=2))
        with self.assertRaisesRegex(ValueError, "did you mean write"):
            host.fault(1, BASE, "wrte", 0)
        with self.assertRaisesRegex(TypeError, "access: None is not accepted; prefetch, read"):
            host.fault(1, BASE, None, 0)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "advice: None is not accepted; preferred"):
            host.advise(BASE, PAGE, None, 1, 0)  # type: ignore[arg-type]
        with self.assertRaises(uvmp.Error):
            host.fault(1, BASE, "read", 0, processor=7)
        for wrong in ({"address": -1}, {"address": 2**64}, {"now_ns": -1}, {"warp": 2**64}):
            row = {"warp": 1, "address": BASE, "access": "read", "now_ns": 0, **wrong}
            text = f"{next(iter(wrong))}: .* is not accepted; 0..18446744073709551615"
            with self.assertRaisesRegex(ctypes.ArgumentError, text):
                host.fault(**row)  # type: ignore[arg-type]
        with self.assertRaises(ctypes.ArgumentError):
            host.fault(1, BASE, "read", 0.5)  # type: ignore[arg-type]
        self.assertEqual(host.counts["faults"], 0)
        host.close()
        host.close()
        for call in (lambda: host.fault(1, 0, "read", 0), lambda: host.counts):
            with self.assertRaisesRegex(RuntimeError, "closed"):
                call()  # type: ignore[no-untyped-call]

    def test_copies_are_refused(self) -> None:
        with uvmp.Host(4 << 20) as host:
            for copied in copies(host):
                with self.assertRaisesRegex(TypeError, "class Host cannot be copied"):
                    copied()
            self.assertEqual(host.drain(0), 0)

    def test_touches_are_asked_for_where_they_count(self) -> None:
        self.assertFalse(uvmp.Host(4 << 20).wants_accesses)
        host = uvmp.Host(4 << 20, "evict=lru4k")
        self.assertTrue(host.wants_accesses)
        host.fault(1, BASE, "write", 0)
        host.drain(0)
        host.access(BASE)
        self.assertTrue(host.is_mapped(BASE, "write"))
        self.assertFalse(host.is_mapped(BASE + (1 << 21), "read"))
        kernel = host.begin_kernel(1, 5)
        self.assertEqual(kernel, 0)
        self.assertEqual(host.error, "")
