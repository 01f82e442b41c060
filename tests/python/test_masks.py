"""Sets of pages: numbers, page numbers, arrays of numpy, and struct uvmp_mask agree."""

from __future__ import annotations

import unittest
from typing import Any

from support import big_sets, has_numpy, page_sets, prop, st
from uvmpolicy import c, masks


class Masks(unittest.TestCase):
    """Conversions in both directions, and the functions of mask.h."""

    @prop(st.one_of(page_sets, st.sets(st.integers(0, 511), max_size=512)))
    def test_every_form_is_the_same_set(self, pages: set[int]) -> None:
        mask = masks.mask(pages)
        self.assertEqual(mask, sum(1 << page for page in pages))
        self.assertEqual(masks.pages(mask), sorted(pages))
        self.assertEqual(masks.mask(sorted(pages)), mask)
        self.assertEqual(masks.from_c(masks.to_c(mask)), mask)
        self.assertEqual(masks.count(mask), len(pages))

    @prop(st.one_of(big_sets, page_sets), st.integers(0, 511))
    def test_the_library_sees_the_same_pages(self, pages: Any, page: int) -> None:
        mask = masks.mask(pages)
        struct = masks.to_c(mask)
        self.assertEqual(c.uvmp_mask_weight(struct), masks.count(mask))
        bounds = c.uvmp_mask_bounds(struct)
        self.assertEqual((bounds.first, bounds.end), masks.bounds(mask))
        self.assertEqual(struct.word[page // 64] >> page % 64 & 1, mask >> page & 1)
        runs, run = [], c.uvmp_mask_next_run(struct, 0)
        while run.end:
            runs.append((run.first, run.end))
            run = c.uvmp_mask_next_run(struct, run.end)
        self.assertEqual(runs, masks.runs(mask))
        self.assertEqual(sum(masks.region(*pair) for pair in runs), mask)

    @prop(big_sets, big_sets, st.integers(0, 600))
    def test_set_operations_are_those_of_numbers(self, a: int, b: int, by: int) -> None:
        result = c.uvmp_mask()
        for function, wanted in (
            (c.uvmp_mask_or, a | b),
            (c.uvmp_mask_and, a & b),
            (c.uvmp_mask_andnot, a & ~b),
        ):
            function(result, masks.to_c(a), masks.to_c(b))
            self.assertEqual(masks.from_c(result), wanted)
        c.uvmp_mask_shift_up(result, masks.to_c(a), by)
        self.assertEqual(masks.from_c(result), a << by & masks.ALL)
        c.uvmp_mask_shift_down(result, masks.to_c(a), by)
        self.assertEqual(masks.from_c(result), a >> by)

    @unittest.skipUnless(has_numpy, "numpy is not installed")
    def test_arrays_of_numpy(self) -> None:
        import numpy

        for pages in ([], [0], [511], [3, 5, 64, 511], list(range(512))):
            mask = masks.mask(pages)
            array = masks.to_array(mask)
            self.assertEqual((array.dtype, array.shape), (numpy.dtype(bool), (512,)))
            self.assertEqual(array.nonzero()[0].tolist(), pages)
            self.assertEqual(masks.mask(array), mask)
            self.assertEqual(masks.mask(numpy.array(pages, dtype=numpy.int32)), mask)
        self.assertEqual(masks.mask(numpy.array([True, False, True])), 5)
        self.assertEqual(masks.mask(numpy.uint64(6)), 6)
        self.assertEqual(masks.to_array(5, 4).tolist(), [True, False, True, False])
        for wrong in (numpy.zeros((2, 2), bool), numpy.zeros(513, bool), numpy.array([512])):
            with self.assertRaises(ValueError):
                masks.mask(wrong)
        with self.assertRaises(TypeError):
            masks.mask(numpy.array([0.5]))

    def test_what_is_no_set_is_an_error(self) -> None:
        for wrong in ([512], [-1], -1, 1 << 512):
            with self.assertRaises(ValueError):
                masks.mask(wrong)
        for wrong_type in ([True, False], ["a"], [0.5], 1.5, None):
            with self.assertRaises(TypeError):
                masks.mask(wrong_type)
        for region in ((3, 2), (0, 513), (-1, 4)):
            with self.assertRaises(ValueError):
                masks.region(*region)
