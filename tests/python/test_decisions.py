"""Single decisions against naive models in Python, and errors of wrong arguments."""

from __future__ import annotations

import array
import unittest
from collections import OrderedDict
from typing import Any, Iterator

import uvmpolicy as uvmp
from support import copies, page_sets, prop, st
from uvmpolicy import c, masks
from uvmpolicy.prefetch import prefetch_params


def naive_density(
    pages: int,
    offset: int,
    faulted: set[int],
    resident: set[int],
    thrashing: set[int],
    percent: int,
) -> set[int]:
    """Return what the density prefetcher fetches: docs/driver-rules.md, density, corrected."""
    first_big = -offset % 16
    last_big = first_big + (pages - first_big) // 16 * 16 if pages >= first_big + 16 else 0
    if not last_big:
        first_big = 0
    padding = 16 - first_big if first_big else 0
    units = [range(0, first_big), range(last_big, pages)]
    units += [range(page, page + 16) for page in range(first_big, last_big, 16)]
    occupied = resident | faulted
    for unit in units:
        if faulted & set(unit) and not thrashing & set(unit):
            occupied |= set(unit)
    leaves = pages + padding
    chosen: set[int] = set()
    for page in faulted:
        size = 1
        while True:
            first = (page + padding) // size * size
            node = range(first, min(first + size, leaves))
            is_set = sum(leaf - padding in occupied for leaf in node)
            if is_set * 100 > percent * len(node):
                region = {leaf - padding for leaf in node} if size > 1 else {page}
                best = region
            elif size == 1:
                best = set()
            if size >= leaves:
                break
            size *= 2
        chosen |= best
    return {page for page in chosen if 0 <= page < pages} - faulted - thrashing


class Prefetch(unittest.TestCase):
    """Prefetchers."""

    def test_one_page_brings_its_big_page(self) -> None:
        hint = uvmp.Prefetcher("density").decide([5])
        self.assertEqual(hint.page_list, [page for page in range(16) if page != 5])
        self.assertEqual((hint.to, hint.follow), (1, None))

    @prop(
        st.integers(1, 512),
        st.integers(0, 15),
        page_sets,
        st.sets(st.integers(0, 511), max_size=300),
        st.sets(st.integers(0, 511), max_size=3),
        st.one_of(st.sampled_from([25, 50, 75]), st.integers(1, 100)),
        examples=300,
    )
    def test_density_is_the_naive_density(
        self,
        pages: int,
        offset: int,
        faulted: set[int],
        resident: set[int],
        thrashing: set[int],
        percent: int,
    ) -> None:
        pages = min(pages, 512 - offset)
        faulted = {page % pages for page in faulted} or {0}
        resident = {page % pages for page in resident} - faulted
        thrashing = {page % pages for page in thrashing} - faulted
        prefetcher = uvmp.Prefetcher(
            "density", range_pages=pages, offset=offset, threshold=percent, quirks=False
        )
        hint = prefetcher.decide(faulted, resident, thrashing=thrashing)
        wanted = naive_density(pages, offset, faulted, resident, thrashing, percent)
        self.assertEqual(hint.page_list, sorted(wanted))

    @prop(page_sets, page_sets, st.sampled_from(["none", "block", "sl", "density", "tbn"]))
    def test_no_prefetcher_names_faulted_pages(
        self, faulted: set[int], resident: set[int], name: str
    ) -> None:
        faulted, resident = faulted or {7}, resident - faulted
        hint = uvmp.Prefetcher(name).decide(faulted, resident)
        self.assertFalse(set(hint.page_list) & faulted)
        if name == "none":
            self.assertEqual(hint.page_list, [])
        if name == "block":
            self.assertEqual(set(hint.page_list), set(range(512)) - faulted - resident)
        if name == "sl":
            blocks = {page // 16 for page in faulted}
            near = {page for page in range(512) if page // 16 in blocks}
            self.assertEqual(set(hint.page_list), near - faulted - resident)

    def test_walks_go_on_in_following_blocks(self) -> None:
        prefetcher = uvmp.Prefetcher("locality", range_pages=2048)
        walk = prefetcher.walk([500])
        self.assertEqual([block for block, _ in walk], [0, 1])
        self.assertEqual(walk[0][1].page_list, list(range(501, 512)))
        self.assertEqual(walk[1][1].page_list, list(range(0, 116)))

    def test_a_tree_forgets_evicted_pages(self) -> None:
        prefetcher = uvmp.Prefetcher("tbn")
        first = prefetcher.decide([0])
        resident = {0, *first.page_list}
        again = prefetcher.decide([17], resident)
        prefetcher.evicted(resident | {17} | set(again.page_list))
        self.assertEqual(prefetcher.decide([0]).page_list, first.page_list)

    def test_the_order_of_transfers(self) -> None:
        found = [(first, end, kind.name) for first, end, kind in uvmp.transfers(range(8), [2])]
        self.assertEqual(found, [(0, 2, "PREFETCH"), (2, 3, "FAULT"), (3, 8, "PREFETCH")])
        with self.assertRaisesRegex(ValueError, "did you mean single"):
            uvmp.transfers([1], grouping="singel")

    def test_wrong_arguments_are_errors(self) -> None:
        with self.assertRaisesRegex(ValueError, "'dense' is unknown; did you mean density"):
            uvmp.Prefetcher("dense")
        with self.assertRaisesRegex(TypeError, "treshold is unknown; did you mean threshold"):
            uvmp.Prefetcher("density", treshold=3)
        with self.assertRaisesRegex(uvmp.Error, "threshold: 101 is not accepted; 0..100"):
            uvmp.Prefetcher("density", threshold=101)
        with self.assertRaisesRegex(uvmp.Error, "sequential_pages: 0 is not accepted; 1..512"):
            uvmp.Prefetcher("sequential", sequential_pages=0)
        with self.assertRaisesRegex(uvmp.Error, "quirks=False"):
            uvmp.Prefetcher("density", threshold=0, quirks=False)
        with self.assertRaisesRegex(TypeError, "tbn: threshold: used only by density, next"):
            uvmp.Prefetcher("tbn", threshold=5)
        with self.assertRaisesRegex(TypeError, "sequential_pages: used only by sequential$"):
            uvmp.Prefetcher("density", sequential_pages=4)
        with self.assertRaisesRegex(TypeError, "threshold: '5' is not accepted; an integer"):
            uvmp.Prefetcher("density", threshold="5")
        for name in ("tbn", "density"):
            self.assertFalse(prefetch_params(name, quirks=False).quirks)
        self.assertEqual(prefetch_params("sequential", sequential_pages=4).sequential_pages, 4)
        with self.assertRaisesRegex(TypeError, "did you mean is_first_touch"):
            uvmp.Prefetcher().decide([1], is_first_tuch=True)
        with self.assertRaisesRegex(ValueError, "faulted"):
            uvmp.Prefetcher().decide([])
        with self.assertRaises(uvmp.Error) as caught:
            uvmp.Prefetcher(range_pages=8).decide([9])
        self.assertEqual(caught.exception.status, "UVMP_ERR_RANGE")
        with self.assertRaisesRegex(uvmp.Error, "block 3 of 1"):
            uvmp.Prefetcher().decide([1], block=3)
        with self.assertRaisesRegex(uvmp.Error, "page_bytes"):
            uvmp.Prefetcher(page_bytes=5000)
        with self.assertRaisesRegex(
            ValueError, "range_pages: 0 is not accepted; 1..140737488355328"
        ):
            uvmp.Prefetcher(range_pages=0)
        with self.assertRaisesRegex(ValueError, "offset: -1 is not accepted; 0..140737488355327"):
            uvmp.Prefetcher(offset=-1)
        longest = uvmp.Prefetcher(range_pages=2**47, offset=2**47 - 1, page_bytes=65536)
        self.assertEqual(longest.blocks, 2**42 + 1)
        for page in (-1, 512, 600):
            wanted = f"range_page: {page} is not accepted; 0..511"
            with self.assertRaisesRegex(ValueError, wanted):
                uvmp.Prefetcher().block_of(page)
        self.assertEqual(uvmp.Prefetcher(offset=500).block_of(511), 1)
        self.assertEqual(prefetch_params("density").threshold, 51)


class Evict(unittest.TestCase):
    """Eviction orders."""

    @prop(
        st.lists(st.tuples(st.sampled_from("tttref"), st.integers(0, 19)), max_size=120),
        st.sampled_from(["lru4k", "lru2m"]),
    )
    def test_lru_is_the_naive_lru(self, calls: list[tuple[str, int]], name: str) -> None:
        order, model = uvmp.EvictionOrder(name, 20), OrderedDict()  # type: ignore[var-annotated]
        for call, unit in calls:
            if call == "t":
                order.touch(unit)
                model[unit] = None
                model.move_to_end(unit)
            elif call == "r":
                order.remove(unit)
                model.pop(unit, None)
            elif call == "f":
                order.forget(unit)
                model.pop(unit, None)
            else:
                wanted = model.popitem(last=False)[0] if model else None
                self.assertEqual(order.evict(), wanted)
            self.assertEqual(list(order.ranking()), list(model))
            self.assertEqual(len(order), len(model))
            self.assertEqual(unit in order, unit in model)

    @prop(st.lists(st.integers(0, 15), min_size=1, max_size=100))
    def test_lfu_is_the_naive_lfu(self, touches: list[int]) -> None:
        order = uvmp.EvictionOrder("lfu2m", 16)
        uses: dict[int, int] = {}
        last: dict[int, int] = {}
        for now, unit in enumerate(touches):
            order.touch(unit)
            uses[unit] = uses.get(unit, 0) + 1
            last[unit] = now
        ranking = sorted(uses, key=lambda unit: (uses[unit], last[unit]))
        self.assertEqual(list(order.ranking()), ranking)

    @prop(
        st.lists(st.integers(0, 63), min_size=1, max_size=80),
        st.sampled_from("lru2m lru4k random4k sl64k tbne lfu2m clock2m mhpe auto".split()),
    )
    def test_every_order_evicts_each_unit_once(self, touches: list[int], name: str) -> None:
        order = uvmp.EvictionOrder(name, 64)
        for unit in touches:
            order.touch(unit)
        found = []
        while (victim := order.evict()) is not None:
            found.append(victim)
        self.assertEqual(sorted(found), sorted(set(touches)))
        self.assertEqual(len(order), 0)

    def test_wrong_arguments_are_errors(self) -> None:
        for name, words in (("lru", "root chunks"), ("lru4", "did you mean lru4k.*lru2m")):
            with self.assertRaisesRegex(ValueError, words):
                uvmp.EvictionOrder(name, 8)
        for units in (0, -1, c.UVMP_UNITS_MAX + 1):
            wanted = f"units: {units} is not accepted; 1..1073741824"
            with self.assertRaisesRegex(uvmp.Error, wanted):
                uvmp.EvictionOrder("lru4k", units)
        with self.assertRaisesRegex(ValueError, "reserve: 100 is not accepted; 0..99"):
            uvmp.EvictionOrder("lru4k", 8, reserve=100)
        with self.assertRaisesRegex(TypeError, "reserve: None is not accepted; .*0..99"):
            uvmp.EvictionOrder("lru4k", 8, reserve=None)  # type: ignore[arg-type]
        with self.assertRaisesRegex(uvmp.Error, "unit 8"):
            uvmp.EvictionOrder("lru4k", 8).touch(8)
        with self.assertRaisesRegex(TypeError, "random"):
            list(uvmp.EvictionOrder("random4k", 8).ranking())


class Faults(unittest.TestCase):
    """Fetching, merging and ordering of faults."""

    accesses = ["prefetch", "read", "write", "atomic_weak", "atomic_strong"]

    @prop(
        st.lists(
            st.tuples(st.integers(0, 40), st.sampled_from(accesses), st.integers(0, 3)),
            min_size=1,
            max_size=60,
        )
    )
    def test_a_batch_is_sorted_and_complete(self, raised: list[tuple[int, str, int]]) -> None:
        faults = [uvmp.Fault(page * 65536 + 9, access, utlb=u) for page, access, u in raised]
        batch = uvmp.fetch(faults)
        self.assertEqual(batch.fetched, len(faults))
        self.assertEqual(sum(fault.merged for fault in batch.faults), len(faults))
        keys = [(fault.address, -int(fault.access)) for fault in batch.faults]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual({key for key, _ in keys}, {page * 65536 for page, _, _ in raised})
        for fault in batch.faults:
            here = {acc for page, acc, _ in raised if page * 65536 == fault.address}
            for access in uvmp.Access:
                if fault.accesses >> access & 1:
                    self.assertIn(access.name.lower(), here)
        bins = batch.bins()
        self.assertEqual([fault for one in bins for fault in one], batch.faults)
        blocks = [{fault.address >> 21 for fault in one} for one in bins]
        self.assertEqual(sorted(min(one) for one in blocks), [min(one) for one in blocks])
        self.assertTrue(all(len(one) == 1 for one in blocks))

    def test_a_batch_has_a_limit(self) -> None:
        batch = uvmp.fetch(range(0, 4096 * 300, 4096), max_batch=100)
        self.assertEqual((batch.fetched, len(batch.faults)), (100, 100))
        self.assertEqual(uvmp.fetch([]).faults, [])
        self.assertEqual(uvmp.fetch([]).bins(), [])
        with self.assertRaisesRegex(ValueError, "block_bytes: 0 is not accepted; 1"):
            uvmp.fetch([0]).bins(0)
        with self.assertRaises(uvmp.Error):
            uvmp.fetch([0], page_bytes=12)
        with self.assertRaisesRegex(ValueError, "did you mean write"):
            uvmp.fetch([uvmp.Fault(0, "wrote")])
        with self.assertRaisesRegex(
            TypeError, "^faults: item 1, None, is not accepted; Fault obj"
        ):
            uvmp.fetch([0, None])  # type: ignore[list-item]
        with self.assertRaisesRegex(TypeError, "^faults: 5 is not accepted; an iterable of Fault"):
            uvmp.fetch(5)  # type: ignore[arg-type]


class LikeNumpy:
    """Like an array of numpy with processor 0: `__index__` is there, and refuses."""

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    def __iter__(self) -> Iterator[int]:
        return iter([0])


class Placement(unittest.TestCase):
    """Residency, rights, thrashing, remote accesses."""

    def test_destinations(self) -> None:
        self.assertEqual(uvmp.destination(1, "read", [0]).to, 1)
        preferred = uvmp.destination(1, "read", [0], preferred=0)
        self.assertEqual((preferred.to, preferred.nearest), (0, 0))
        two = uvmp.processors(2)
        duplicate = uvmp.destination(2, "read", [1], system=two, duplication=1)
        self.assertTrue(duplicate.is_duplicate)
        with self.assertRaises(uvmp.Error):
            uvmp.destination(2, "read", [1])
        with self.assertRaisesRegex(TypeError, "did you mean preferred"):
            uvmp.destination(1, "read", prefered=0)
        with self.assertRaisesRegex(TypeError, "access: None is not accepted; prefetch, read"):
            uvmp.destination(1, None)  # type: ignore[arg-type]
        for wrong in (-3, [1, -3], 5, "none"):
            with self.assertRaisesRegex(ValueError, r"^accesses: -?\d is not accepted; 0\.\.4$"):
                uvmp.destination(1, wrong)  # type: ignore[arg-type]
        self.assertEqual(uvmp.destination(1, "read", array.array("B", [0])).nearest, 0)
        self.assertEqual(uvmp.destination(1, "read", LikeNumpy()).nearest, 0)
        with self.assertRaisesRegex(TypeError, "^preferred"):
            uvmp.destination(1, "read", preferred=[1])
        for holders in ([-1], [64]):
            with self.assertRaisesRegex(ValueError, r"^resident: \S+ is not accepted; 0\.\.63$"):
                uvmp.destination(1, "read", holders)
        with self.assertRaisesRegex(TypeError, "^resident: None is not accepted; a number with a"):
            uvmp.destination(1, "read", None)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "1..63"):
            uvmp.processors(64)

    @prop(st.integers(1, 3), st.sets(st.integers(0, 3)), st.sampled_from(["read", "write"]))
    def test_a_writer_loses_no_right(self, requester: int, holders: set[int], access: str) -> None:
        system = uvmp.processors(3)
        place = uvmp.destination(requester, access, holders, system=system)
        self.assertIn(place.to, {requester, *holders})
        self.assertEqual(place.nearest is None, not holders)
        rights = uvmp.rights(requester, place.to, access, system=system, read=holders)
        self.assertNotIn(requester, rights.victims)
        self.assertGreaterEqual(
            rights.right, uvmp.Right[access.upper().replace("WRITE", "READ_WRITE")]
        )

    def test_a_page_that_bounces_is_throttled_or_pinned(self) -> None:
        detector = uvmp.Thrashing(threshold=3, pin_threshold=2)
        kinds, now = [], 1000
        for turn in range(60):
            now += 10000
            requester = turn % 2
            hint = detector.decide(7, requester, now, resident=[1 - requester])
            kinds.append(hint.kind.name)
            if hint.kind == uvmp.ThrashKind.NONE:
                detector.migrated(7, 8, requester, now)
                detector.revoked(7, 8, 1 - requester, now)
            if hint.kind == uvmp.ThrashKind.THROTTLE:
                self.assertGreater(hint.until_ns, now)
                now = hint.until_ns
        self.assertEqual(kinds[0], "NONE")
        self.assertIn("THROTTLE", kinds)
        self.assertIn("PIN", kinds)
        self.assertEqual(detector.unpin(now), [])
        self.assertEqual(detector.unpin(now + 10**12), [(0, 7)])
        with self.assertRaisesRegex(TypeError, "did you mean threshold"):
            uvmp.Thrashing(treshold=3)
        for name, value, accepted in (
            ("threshold", 8, "1..7"),
            ("pin_threshold", 999, "1..255"),
            ("nap", 500, "1..100"),
            ("lapse_us", 0, "1..1000000000"),
            ("epoch", 0, "1..1000000"),
            ("pages", 513, "1..512"),
            ("pages", 0, "1..512"),
        ):
            wanted = f"^{name}: {value} is not accepted; {accepted}: value out of range"
            with self.assertRaisesRegex(uvmp.Error, wanted):
                uvmp.Thrashing(**{name: value})
        with self.assertRaisesRegex(uvmp.Error, "vote_threshold: 0 is not accepted; 1..1000000"):
            uvmp.Thrashing(vote_threshold=0, quirks=False)
        uvmp.Thrashing(vote_threshold=0, threshold=7, pin_threshold=255, nap=100, pages=1)
        with self.assertRaisesRegex(uvmp.Error, "page 512"):
            detector.decide(512, 1, now)

    def test_remote_access_by_count(self) -> None:
        decided = [uvmp.migrates(count, mode="always", threshold=8) for count in range(1, 10)]
        self.assertEqual(decided, [False] * 7 + [True] * 2)
        self.assertTrue(uvmp.migrates(1, mode="always", is_write=True))
        with self.assertRaisesRegex(ValueError, "adaptive"):
            uvmp.migrates(1, mode="adaptiv")


class Copies(unittest.TestCase):
    """Copies of the objects of this package."""

    def test_state_in_c_is_not_copied(self) -> None:
        for made in (uvmp.EvictionOrder("lru4k", 8), uvmp.Prefetcher(), uvmp.Thrashing()):
            for copied in copies(made):
                wanted = f"class {type(made).__name__} cannot be copied"
                with self.subTest(wanted), self.assertRaisesRegex(TypeError, wanted):
                    copied()

    def test_a_policy_is_copied_as_its_text(self) -> None:
        policy = uvmp.Policy("prefetch=tbn evict=tbne")
        for copied in copies(policy):
            self.assertEqual(copied(), policy)


class Policies(unittest.TestCase):
    """Policy texts."""

    def test_a_text_is_parsed_and_printed(self) -> None:
        policy = uvmp.Policy("prefetch=tbn evict=lru2m")
        self.assertEqual((policy["prefetch"], policy["evict"]), ("tbn", "lru2m"))
        self.assertEqual(uvmp.Policy(policy.text), policy)
        self.assertTrue(policy.needs["touches"])
        self.assertEqual(uvmp.Policy()["prefetch"], "density")
        with self.assertRaises(KeyError):
            policy["nothing"]

    def test_an_error_names_word_and_values(self) -> None:
        with self.assertRaisesRegex(uvmp.PolicyError, "101 is not accepted; 0..100") as caught:
            uvmp.Policy("evict=lru threshold=101")
        error = caught.exception
        self.assertEqual((error.offset, error.length), (10, 13))
        self.assertEqual(error.status, "UVMP_ERR_RANGE")

        with self.assertRaisesRegex(TypeError, "text: None is not accepted; a string"):
            uvmp.Policy(None)  # type: ignore[arg-type]

    def test_an_error_names_the_nearest_word(self) -> None:
        for text, word in (
            ("prefetch=dens", "density"),
            ("threshhold=5", "threshold"),
            ("nvidia-59", "nvidia-595"),
        ):
            with self.assertRaisesRegex(uvmp.PolicyError, f"; did you mean {word}[?]$"):
                uvmp.Policy(text)

    def test_keys_and_presets_are_those_of_the_library(self) -> None:
        keys = {key["name"]: key for key in uvmp.keys()}
        self.assertEqual(keys["threshold"]["max"], 100)
        self.assertIn("tbn", keys["prefetch"]["choices"])
        self.assertIsNone(keys["threshold"]["choices"])
        for preset in uvmp.presets():
            self.assertIsInstance(uvmp.Policy(preset["name"]).text, str)

    @prop(st.data())
    def test_canonical_texts_are_stable(self, data: Any) -> None:
        keys = data.draw(
            st.lists(
                st.sampled_from(uvmp.keys()), max_size=4, unique_by=lambda key: str(key["name"])
            )
        )
        words = []
        for key in keys:
            if key["choices"]:
                words.append(f"{key['name']}={data.draw(st.sampled_from(key['choices']))}")
            else:
                words.append(f"{key['name']}={data.draw(st.integers(key['min'], key['max']))}")
        try:
            policy = uvmp.Policy(" ".join(words))
        except uvmp.PolicyError as error:
            self.assertIn(error.status, ("UVMP_ERR_CONFLICT", "UVMP_ERR_RANGE"))
            return
        self.assertEqual(uvmp.Policy(policy.text).text, policy.text)
        for word in words:
            self.assertEqual(policy[word.split("=")[0]], word.split("=")[1])

    def test_every_status_has_a_text(self) -> None:
        for name, value in c.ENUMS["uvmp_status"].items():
            error = uvmp.Error(value, "here")
            self.assertEqual(error.status, name)
            self.assertRegex(str(error), rf"^here: .+ \({name}\)$")
        self.assertEqual(masks.PAGES, c.UVMP_MASK_BITS)
