"""Run the tests of this folder and print one line for each, as the scripts of tests/cli do.

usage: run.py [WORD...]: only the tests with one of these words in their names
"""

from __future__ import annotations

import sys
import time
import traceback
import unittest
from pathlib import Path
from typing import Any


class Lines(unittest.TestResult):
    """Prints a line for each test."""

    def startTest(self, test: unittest.TestCase) -> None:
        """Note the time."""
        super().startTest(test)
        self.began = time.monotonic()

    def name(self, test: Any) -> str:
        """Return the name of a test: file and method."""
        parts = test.id().split(".")
        file, method = parts[0].removeprefix("test_"), parts[-1].removeprefix("test_")
        return f"{file}: {method.replace('_', ' ')}"

    def addSuccess(self, test: unittest.TestCase) -> None:
        """Print that a test passed."""
        print(f"ok   {self.name(test)} ({time.monotonic() - self.began:.1f} s)", flush=True)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Print why a test was left out."""
        super().addSkip(test, reason)
        print(f"skip {self.name(test)}: skipped: {reason}", flush=True)

    def failed(self, test: Any, error: Any) -> None:
        """Print what went wrong."""
        print(f"FAIL {self.name(test)}")
        lines = "".join(traceback.format_exception(*error)).splitlines()
        print("\n".join("     " + line for line in lines[-60:]), flush=True)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        """Count and print a failure."""
        super().addFailure(test, err)
        self.failed(test, err)

    def addError(self, test: Any, err: Any) -> None:
        """Count and print an error, also one of a whole file."""
        super().addError(test, err)
        self.failed(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: Any) -> None:
        """Count and print a failure of a part of a test."""
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.failed(subtest, err)


def main() -> int:
    """Run the tests."""
    loader = unittest.TestLoader()
    if sys.argv[1:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]]
    tests = loader.discover(str(Path(__file__).parent))
    result = Lines()
    tests.run(result)
    if result.testsRun == 0:
        print("FAIL no test was found")
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
