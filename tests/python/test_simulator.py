"""Runs of uvmsim from Python: its counts, tables, and errors as exceptions."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import uvmpolicy as uvmp
from support import has_pandas
from uvmpolicy import _library

SMALL = "stream:bytes=4m,passes=2"


class Simulator(unittest.TestCase):
    """run, compare, bound and uvmsim."""

    def test_run_has_the_counts_of_uvmsim(self) -> None:
        row = uvmp.run(SMALL, "prefetch=tbn", oversub=120, seed=3)
        command = [
            _library.simulator_path(),
            "run",
            "--workload",
            SMALL,
            "--policy",
            "prefetch=tbn",
        ]
        command += ["--oversub", "120", "--seed", "3", "--format", "json"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        percent = row.pop("footprint_percent")
        self.assertEqual(row, json.loads(printed))
        self.assertEqual(row["oversub_percent"], 120)
        self.assertAlmostEqual(percent, 100 * row["footprint_bytes"] / row["memory_bytes"], 1)
        self.assertIsNone(row["time_ns"])
        self.assertEqual(row["seed"], 3)

    def test_compare_names_its_rows(self) -> None:
        policies = {"none": "prefetch=none", "driver": ""}
        rows = uvmp.compare(SMALL, policies, oversub=[120, 150], frame=False)
        self.assertEqual([row["name"] for row in rows], ["none", "driver"] * 2)
        self.assertEqual([row["oversub"] for row in rows], [120, 120, 150, 150])
        self.assertGreater(rows[0]["far_faults"], rows[1]["far_faults"])
        one = uvmp.compare(SMALL, "prefetch=none", frame=False, memory="64m")
        self.assertEqual((len(one), one[0]["evictions"]), (1, 0))
        with self.assertRaisesRegex(ValueError, "all"):
            uvmp.compare(SMALL, {"every": "all"}, frame=False)

    def test_notes_are_warnings(self) -> None:
        text = "over-subscription is 78.1 %, not 110 %"
        with self.assertWarnsRegex(uvmp.SimulatorNote, text) as told:
            row = uvmp.run("sgemm:n=640", oversub=110)
        self.assertEqual(told.filename, __file__)
        self.assertEqual(row["footprint_percent"], 78.1)
        with self.assertWarnsRegex(uvmp.SimulatorNote, text) as told:
            rows = uvmp.compare(
                "sgemm:n=640", ["prefetch=none", ""], oversub=[110, 125], frame=False
            )
        self.assertEqual(told.filename, __file__)
        self.assertEqual([row["footprint_percent"] for row in rows], [78.1, 78.1, 117.2, 117.2])
        with self.assertWarnsRegex(uvmp.SimulatorNote, text):
            uvmp.bound("sgemm:n=640", oversub=110, frame=False)
        with self.assertWarnsRegex(uvmp.SimulatorNote, text):
            uvmp.uvmsim("run", "--workload", "sgemm:n=640", "--oversub", "110")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            row = uvmp.run(SMALL, memory="64m")
        self.assertEqual(row["footprint_percent"], 18.8)

    @unittest.skipUnless(has_pandas, "pandas is not installed")
    def test_a_table_is_a_data_frame_where_pandas_is(self) -> None:
        frame = uvmp.compare([SMALL, "stream:bytes=2m"], ["nvidia-595", "prefetch=none"])
        self.assertEqual(type(frame).__name__, "DataFrame")
        self.assertEqual(len(frame), 4)
        faults = frame.groupby("workload")["far_faults"].min()
        self.assertEqual(len(faults), 2)
        self.assertEqual(type(uvmp.bound(SMALL)).__name__, "DataFrame")

    def test_a_bound_has_a_row_for_each_size_of_unit(self) -> None:
        rows = uvmp.bound(SMALL, oversub=150, frame=False)
        self.assertEqual([row["unit_bytes"] for row in rows], [4096, 65536, 2097152])
        run = uvmp.run(SMALL, "prefetch=none", oversub=150)
        self.assertLessEqual(rows[0]["misses"], run["far_faults"])

    def test_a_log_is_written_where_it_is_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            uvmp.run(SMALL, log=path, log_completions=True)
            self.assertIn(" complete ", path.read_text(encoding="utf-8"))

    def test_errors_carry_the_text_of_uvmsim(self) -> None:
        for wanted, arguments in (
            ("did you mean stream", {"workload": "streem"}),
            ("0..100", {"workload": SMALL, "policy": "threshold=101"}),
            ("did you mean --oversub", {"workload": SMALL, "ovesub": 125}),
            ("no_such_file", {"trace": "no_such_file"}),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(uvmp.SimulatorError, wanted):
                uvmp.run(**arguments)  # type: ignore[arg-type]
        with self.assertRaises(uvmp.SimulatorError):
            uvmp.uvmsim("no-such-command")

    def test_the_module_runs_uvmsim(self) -> None:
        command = [sys.executable, "-m", "uvmpolicy", "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertIn(uvmp.__version__, done.stdout)
