"""Policies written in Python: equal to built-in ones where they do the same, and safe if wrong."""

from __future__ import annotations

import os
import unittest
from typing import Any, Optional

import uvmpolicy as uvmp
from support import copies, page_sets, prop, st
from uvmpolicy import c, masks

SMALL = "stream:bytes=4m,passes=3"


class Whole(uvmp.PrefetchPolicy):
    """The whole block, as prefetch=block."""

    name = "whole"

    def decide(self, call: Any) -> int:
        return int(call.candidates)


class Window(uvmp.PrefetchPolicy):
    """Pages behind the last faulted page, in following blocks too."""

    name = "window"
    parameters = {"window_pages": (1, 512, 32)}
    traits = {"walks_ranges": True}

    def new_range(self) -> dict[str, int]:
        return {"rest": 0}

    def decide(self, call: Any) -> Optional[range]:
        first = call.faulted.bit_length()
        wanted = call.range["rest"] if call.facts.is_follow else call.values["window_pages"]
        end = min(first + wanted, call.pages)
        call.range["rest"] = wanted - (end - first)
        following = call.facts.range_first + call.pages
        if call.range["rest"] and following < call.facts.range_pages:
            call.follow(following)
        return range(first, end) if end > first else None


class Lru(uvmp.EvictionPolicy):
    """The least recently touched unit, as lru2m and lru4k."""

    name = "my_lru"

    def touch(self, call: Any) -> int:
        return int(call.clock)


class Clock(uvmp.EvictionPolicy):
    """Second chance, as clock2m."""

    name = "my_clock"

    def new_unit(self) -> dict[str, bool]:
        return {"referenced": False}

    def new_order(self) -> dict[str, int]:
        return {"turn": 0}

    def touch(self, call: Any) -> int:
        if call.is_listed:
            call.state["referenced"] = True
            return int(call.key)
        call.state["referenced"] = False
        call.order["turn"] += 1
        return int(call.order["turn"])

    def victim(self, call: Any) -> int:
        if not call.state["referenced"]:
            return int(call.key)
        call.state["referenced"] = False
        call.order["turn"] += 1
        return int(call.order["turn"])


class Lfu(uvmp.EvictionPolicy):
    """The unit with the fewest touches, also before its last eviction, as lfu2m."""

    name = "my_lfu"

    def new_unit(self) -> list[int]:
        return [0]

    def touch(self, call: Any) -> int:
        call.state[0] += 1
        return int(call.state[0] << 32 | call.clock)


class Broken(uvmp.PrefetchPolicy):
    """Fails at its third decision."""

    name = "broken"

    def __init__(self, error: BaseException) -> None:
        self.error, self.decisions = error, 0

    def decide(self, call: Any) -> None:
        self.decisions += 1
        if self.decisions == 3:
            raise self.error


class NoPickle(Exception):
    """An exception that cannot be copied to another process."""

    def __init__(self, one: Any, two: Any) -> None:
        super().__init__(f"{one} {two}")
        self.lock = lambda: None


class Plugins(unittest.TestCase):
    """Decisions, runs and errors."""

    @prop(
        st.lists(st.tuples(st.sampled_from("tttrfe"), st.integers(0, 11)), max_size=80),
        st.sampled_from([(Lru, "lru2m"), (Lru, "lru4k"), (Clock, "clock2m"), (Lfu, "lfu2m")]),
        examples=200,
    )
    def test_orders_in_python_decide_as_built_in_ones(
        self, calls: list[tuple[str, int]], pair: tuple[Any, str]
    ) -> None:
        kind, name = pair
        own, built_in = uvmp.EvictionOrder(kind(), 12), uvmp.EvictionOrder(name, 12)
        for call, unit in calls:
            if call == "e":
                self.assertEqual(own.evict(), built_in.evict())
                continue
            for order in (own, built_in):
                if call == "t":
                    order.touch(unit)
                elif call == "r":
                    order.remove(unit)
                elif name != "lfu2m":  # lfu2m clears its count then
                    order.forget(unit)
            self.assertEqual(len(own), len(built_in))
        while (unit := built_in.evict()) is not None:  # type: ignore[assignment]
            self.assertEqual(own.evict(), unit)
        self.assertIsNone(own.evict())

    @prop(page_sets, page_sets)
    def test_prefetchers_in_python_decide_as_built_in_ones(
        self, faulted: set[int], resident: set[int]
    ) -> None:
        faulted, resident = faulted or {3}, resident - faulted
        own = uvmp.Prefetcher(Whole()).decide(faulted, resident)
        built_in = uvmp.Prefetcher("block").decide(faulted, resident)
        self.assertEqual((own.page_list, own.to), (built_in.page_list, built_in.to))

    @prop(st.integers(0, 511), st.integers(1, 512))
    def test_a_prefetcher_goes_on_in_the_next_block(self, page: int, depth: int) -> None:
        prefetcher = uvmp.Prefetcher(Window(), range_pages=1024, window_pages=depth)
        walk = prefetcher.walk([page])
        pages = [512 * block + near for block, hint in walk for near in hint.page_list]
        self.assertEqual(pages, list(range(page + 1, page + 1 + depth)))

    def test_runs_of_uvmsim_take_the_same_decisions(self) -> None:
        plugins = [Whole(), Lru()]
        Lru.traits = {"has_granularity": True, "has_reserve": True}
        self.addCleanup(setattr, Lru, "traits", {})
        pairs = [
            ("prefetch=whole evict=lru2m", "prefetch=block evict=lru2m"),
            ("prefetch=block evict=my_lru", "prefetch=block evict=lru2m"),
        ]
        keys = ("far_faults", "evictions", "pages_evicted", "refaults", "batches", "d2h_bytes")
        for own, built_in in pairs:
            a = uvmp.run(SMALL, own, plugins=plugins, oversub=150)
            b = uvmp.run(SMALL, built_in, oversub=150)
            self.assertEqual([a[key] for key in keys], [b[key] for key in keys])
        rows = uvmp.compare(SMALL, [own for own, _ in pairs], plugins=plugins, frame=False)
        self.assertEqual([row["evictions"] for row in rows], [0, 0])

    def test_an_exception_ends_a_run_and_is_raised(self) -> None:
        for error in (KeyError("lost"), NoPickle(1, 2)):
            wanted = RuntimeError if isinstance(error, NoPickle) else KeyError
            calls: list[Any] = [uvmp.run, uvmp.compare]
            for call in calls:
                with self.assertRaises(wanted) as caught:
                    call(SMALL, "prefetch=broken", plugins=[Broken(error)])
                self.assertIn("in decide", str(caught.exception.__cause__))
        with self.assertRaisesRegex(uvmp.SimulatorError, "did you mean broken"):
            uvmp.run(SMALL, "prefetch=brokn", plugins=[Broken(KeyError())])
        self.assertEqual(uvmp.run(SMALL, "prefetch=none")["seed"], 1)
        self.assertEqual(os.getpid(), PROCESS)

    def test_an_exception_ends_a_single_decision(self) -> None:
        prefetcher = uvmp.Prefetcher(Broken(KeyError("lost")))
        prefetcher.decide([1])
        prefetcher.decide([1])
        with self.assertRaisesRegex(KeyError, "lost"):
            prefetcher.decide([1])
        self.assertEqual(prefetcher.decide([1]).page_list, [])

    def test_an_exception_ends_a_host(self) -> None:
        host = uvmp.Host(8 << 20, "prefetch=broken", plugins=[Broken(KeyError("lost"))])
        with self.assertRaisesRegex(KeyError, "lost"):
            for turn in range(9):
                host.fault(turn, turn << 21, "read", turn)
                host.drain(turn)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            host.run(100)

    def test_answers_that_are_wrong_are_errors(self) -> None:
        class Wrong(uvmp.EvictionPolicy):
            """Returns what is no key."""

            name = "wrong"
            answer: Any = None

            def touch(self, call: Any) -> Any:
                return self.answer

        for answer, wanted in ((-1, ValueError), (2**64, ValueError), ("a", TypeError)):
            policy = Wrong()
            policy.answer = answer
            text = f"policy wrong: key {answer!r} is not accepted; 0..2\\^64-1"
            with self.assertRaisesRegex(wanted, text):
                uvmp.EvictionOrder(policy, 4).touch(1)

        class Beyond(Whole):
            """Returns pages that may not be prefetched."""

            name = "beyond"

            def decide(self, call: Any) -> int:
                return masks.ALL

        hint = uvmp.Prefetcher(Beyond()).decide([5], range(100, 512))
        self.assertEqual(hint.page_list, [page for page in range(100) if page != 5])

    def test_descriptors_that_are_wrong_are_errors(self) -> None:
        for name, traits, wanted in (
            ("Upper", {}, "name"),
            ("density", {}, "density"),
            ("own", {"is_off": True}, "is_off"),
            ("own", {"no_such": True}, "no_such"),
        ):
            kind = type("Kind", (Whole,), {"name": name, "traits": traits})
            with self.subTest(wanted), self.assertRaisesRegex((uvmp.Error, TypeError), wanted):
                uvmp.Prefetcher(kind())
        with self.assertRaisesRegex(TypeError, "window_pagse.*window_pages"):
            uvmp.Prefetcher(Window(), window_pagse=3)
        with self.assertRaisesRegex(ValueError, "1..512"):
            uvmp.Prefetcher(Window(), window_pages=513)
        with self.assertRaisesRegex(TypeError, "no parameters"):
            uvmp.EvictionOrder("lru4k", 4, depth=1)
        with self.assertRaisesRegex(TypeError, "no PrefetchPolicy"):
            uvmp.Policy("", plugins=["whole"])  # type: ignore[list-item]
        for base, method in ((uvmp.PrefetchPolicy, "decide"), (uvmp.EvictionPolicy, "touch")):
            kind = type("Empty", (base,), {"name": "empty"})
            with self.assertRaisesRegex(TypeError, f"Empty .*method '?{method}"):
                kind()

    def test_a_copy_calls_its_own_methods(self) -> None:
        original = Window()
        self.assertEqual(uvmp.Prefetcher(original, window_pages=1).decide([5]).page_list, [6])
        for copied in copies(original):
            own = copied()
            own.decide = lambda call: [9]
            self.assertEqual(uvmp.Prefetcher(own).decide([5]).page_list, [9])
        policy = uvmp.Policy("prefetch=window window_pages=7", [original])
        for copied in copies(policy):
            self.assertEqual(copied(), policy)

    def test_policy_texts_have_plugins_and_their_parameters(self) -> None:
        policy = uvmp.Policy("prefetch=window window_pages=7 evict=my_lru", [Window(), Lru()])
        self.assertEqual((policy["window_pages"], policy["evict"]), ("7", "my_lru"))
        self.assertEqual(uvmp.Policy(policy.text, [Window(), Lru()]).text, policy.text)
        with self.assertRaisesRegex(uvmp.PolicyError, "1..512"):
            uvmp.Policy("prefetch=window window_pages=0", [Window()])
        with self.assertRaises(uvmp.PolicyError):
            uvmp.Policy("prefetch=window")

    def test_methods_learn_evictions_and_accesses(self) -> None:
        class Learner(uvmp.PrefetchPolicy):
            """Fetches what was evicted."""

            name = "learner"

            def new_block(self) -> dict[str, int]:
                return {"gone": 0}

            def new_range(self) -> list[int]:
                return []

            def decide(self, call: Any) -> int:
                return int(call.block["gone"])

            def left(self, block: Any, gone: int, touched: int, processor: int) -> None:
                block["gone"] |= gone

            def touched(self, range_page: int, range_state: Any, block: Any) -> None:
                range_state.append(range_page)
                block["gone"] |= 1 << 9

        prefetcher = uvmp.Prefetcher(Learner(), range_pages=1024)
        self.assertEqual(prefetcher.decide([1], block=1).page_list, [])
        prefetcher.evicted([2, 3], block=1)
        prefetcher.touched(8, block=1)
        self.assertEqual(prefetcher.decide([1], block=1).page_list, [2, 3, 9])
        self.assertEqual(prefetcher.decide([1], block=0).page_list, [])
        row = uvmp.run(SMALL, "prefetch=learner", plugins=[Learner()], oversub=150)
        self.assertGreater(row["evictions"], 0)
        self.assertEqual(c.uvmp_prefetch_plugin.decide.size, 8)


PROCESS = os.getpid()
