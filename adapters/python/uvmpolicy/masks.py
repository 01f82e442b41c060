"""Sets of pages of one VABlock.

In this package a set of pages is a number: bit p is set if page p is in the set. Functions that
take a set also accept page numbers (`[0, 5]`, `range(16)`, `{3}`), and arrays of numpy: truth
values, one for each page, or page numbers. `to_array` makes an array of numpy of a number.
"""

from __future__ import annotations

import operator
import sys
from typing import Any, Iterable, Union

from . import c

PAGES = 512  # of the largest VABlock
ALL = (1 << PAGES) - 1

Pages = Union[int, Iterable[int], Any]  # a set of pages in any of the forms above


def mask(pages: Pages) -> int:
    """Return the set of pages as a number."""
    if isinstance(pages, int):
        value = int(pages)
    elif hasattr(pages, "dtype"):  # of numpy
        value = _of_array(pages)
    else:
        value = 0
        for page in pages:
            if isinstance(page, bool):
                raise TypeError("a list of truth values: give page numbers, or an array of numpy")
            value |= 1 << _page(page)
    if value < 0 or value >> PAGES:
        raise ValueError(f"a set of pages has bits 0..{PAGES - 1}")
    return value


def _page(page: Any) -> int:
    """Return a page number that is in range."""
    number = operator.index(page)
    if not 0 <= number < PAGES:
        raise ValueError(f"page {number} is not accepted; 0..{PAGES - 1}")
    return number


def _of_array(array: Any) -> int:
    """Return the set of an array of numpy."""
    if array.ndim == 0:
        return operator.index(array.item())
    if array.ndim != 1:
        raise ValueError(f"an array of pages has 1 dimension, not {array.ndim}")
    if array.dtype.kind == "b":
        if array.size > PAGES:
            raise ValueError(f"an array has {array.size} truth values; at most {PAGES}")
        bits = bytearray((array.size + 7) // 8)
        for page in array.nonzero()[0].tolist():
            bits[page // 8] |= 1 << page % 8
        return int.from_bytes(bits, "little")
    return mask(array.tolist())


def pages(value: Pages) -> list[int]:
    """Return the page numbers of a set, ascending."""
    bits = mask(value)
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def count(value: Pages) -> int:
    """Return the number of pages of a set."""
    return bin(mask(value)).count("1")


def runs(value: Pages) -> list[tuple[int, int]]:
    """Return the maximal runs of pages of a set, as [first, end)."""
    bits = mask(value)
    found, first = [], 0
    while bits:
        skip = (bits & -bits).bit_length() - 1
        bits >>= skip
        length = (~bits & (bits + 1)).bit_length() - 1
        first += skip
        found.append((first, first + length))
        bits >>= length
        first += length
    return found


def region(first: int, end: int) -> int:
    """Return the set of the pages [first, end)."""
    if not 0 <= first <= end <= PAGES:
        raise ValueError(f"the region [{first}, {end}) is not accepted; within 0..{PAGES}")
    return (1 << end) - (1 << first)


def bounds(value: Pages) -> tuple[int, int]:
    """Return the smallest region [first, end) that has the whole set; (0, 0) for the empty set."""
    bits = mask(value)
    return ((bits & -bits).bit_length() - 1, bits.bit_length()) if bits else (0, 0)


def to_array(value: Pages, length: int = PAGES) -> Any:
    """Return a set as an array of numpy: a truth value for each of the first `length` pages."""
    import numpy

    packed = numpy.frombuffer(mask(value).to_bytes(PAGES // 8, "little"), dtype=numpy.uint8)
    return numpy.unpackbits(packed, bitorder="little")[:length].astype(bool)


def to_c(value: Pages) -> Any:
    """Return a set as struct uvmp_mask."""
    packed = mask(value).to_bytes(PAGES // 8, "little")
    if sys.byteorder == "big":
        packed = _swapped(packed)
    return c.uvmp_mask.from_buffer_copy(packed)


def from_c(struct: Any) -> int:
    """Return the set of a struct uvmp_mask."""
    packed = bytes(struct)
    if sys.byteorder == "big":
        packed = _swapped(packed)
    return int.from_bytes(packed, "little")


def _swapped(words: bytes) -> bytes:
    """Return words of 64 bits in the other order of bytes."""
    return b"".join(words[first : first + 8][::-1] for first in range(0, len(words), 8))
