"""What the tests share: hypothesis if it is installed, numpy and pandas likewise."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import unittest
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
has_numpy = importlib.util.find_spec("numpy") is not None
has_pandas = importlib.util.find_spec("pandas") is not None

try:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies

    st: Any = strategies
except ImportError:

    class Absent:
        """Stands for the strategies of hypothesis in the decorators of skipped tests."""

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments, **named: self

        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return self

    st = Absent()

    def prop(*strategies: Any, examples: int = 100, **named: Any) -> Callable[[Any], Any]:
        """Skip a property test."""
        return unittest.skip("hypothesis is not installed (Debian: python3-hypothesis)")

else:

    def prop(*strategies: Any, examples: int = 100, **named: Any) -> Callable[[Any], Any]:
        """Run a test for arguments that hypothesis draws: the same ones in every run."""
        chosen = settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        return lambda test: chosen(given(*strategies, **named)(test))


def copies(original: Any) -> list[Callable[[], Any]]:
    """Return the ways to copy an object."""
    return [
        lambda: copy.copy(original),
        lambda: copy.deepcopy(original),
        lambda: pickle.loads(pickle.dumps(original)),
    ]


page_sets = st.sets(st.integers(0, 511), max_size=40)
big_sets = st.integers(0, 2**512 - 1)  # dense sets
