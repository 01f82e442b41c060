"""Callables that C calls: an exception is kept, and raised when the C function has returned."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional


class Guard:
    """Keeps the first exception of a group of callbacks."""

    def __init__(self) -> None:
        self.failure: Optional[BaseException] = None
        self.report: Optional[Callable[[BaseException], Any]] = None  # called with it at once

    def wrap(self, call: Callable[..., Any], otherwise: Any = 0) -> Callable[..., Any]:
        """Return a callback that never raises: after an exception, calls answer `otherwise`."""

        @functools.wraps(call)
        def guarded(*arguments: Any) -> Any:
            if self.failure is not None:
                return otherwise
            try:
                return call(*arguments)
            except BaseException as error:  # also Ctrl-C: C code cannot pass it on
                self.failure = error
                if self.report is not None:
                    self.report(error)
                return otherwise

        return guarded

    def reraise(self) -> None:
        """Raise the exception that was kept, once."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
