"""Objects with state in C."""

from __future__ import annotations

from typing import Any


class Owned:
    """An object that owns state in C. A copy would share this state, and free it again."""

    def __reduce__(self) -> Any:
        """Refuse copy.copy, copy.deepcopy and pickle, which all call this method."""
        name = type(self).__name__
        raise TypeError(f"an object of class {name} cannot be copied or pickled; make another one")
