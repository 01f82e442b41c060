"""Checks a file of `uvmsim run --timeline` against the JSON of the same run.

usage: timeline_check.py TIMELINE RUN
"""

import json
import sys
from collections import Counter


def whole_ns(microseconds: str) -> int:
    """The file has three decimals: ns, exactly."""
    whole, _, rest = microseconds.partition(".")
    assert len(rest) == 3, microseconds
    return int(whole) * 1000 + int(rest)


def main(timeline_path: str, run_path: str) -> None:
    with open(timeline_path, encoding="utf-8") as file:
        timeline = json.load(file, parse_float=whole_ns)
    with open(run_path, encoding="utf-8") as file:
        run = json.load(file)
    track = {}
    count: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    time: Counter[str] = Counter()
    ends: dict[int, int] = {}
    kernels = []
    stalls = []
    for event in timeline["traceEvents"]:
        assert event["pid"] == 1
        if event["name"] == "thread_name":
            track[event["tid"]] = event["args"]["name"]
        if event["ph"] == "M":
            continue
        assert event["ph"] == "X", event
        name, start, end = track[event["tid"]], event["ts"], event["ts"] + event["dur"]
        assert start >= ends.get(event["tid"], 0), f"events overlap on a track: {event}"
        ends[event["tid"]] = end
        count[name] += 1
        time[name] += event["dur"]
        sums[name] += event["args"].get("bytes", 0)
        sums["faults"] += event["args"].get("faults", 0)
        sums["merged"] += event["args"].get("merged", 0)
        if name == "kernels":
            kernels.append((start, end))
        if name.startswith("stalls"):
            stalls.append((start, end))
    said = timeline["otherData"]
    for key in ("workload", "policy", "seed", "time_ns", "h2d_bytes", "batches"):
        assert said[key] == run[key], key
    expected = {
        "batches": count["fault batches"],
        "replays": count["replays"],
        "evictions": count["evictions"],
        "h2d_copies": count["copies to the GPU"],
        "d2h_copies": count["copies to the CPU"],
        "h2d_bytes": sums["copies to the GPU"],
        "d2h_bytes": sums["copies to the CPU"],
        "faults_raw": sums["faults"],
        "faults_coalesced": sums["merged"],
        "kernel_ns": time["kernels"],
    }
    for key, value in expected.items():
        assert run[key] == value, f"{key}: the run says {run[key]}, the timeline {value}"
    for start, end in stalls:
        assert any(first <= start and end <= last for first, last in kernels), "a stall outside of every kernel"
    stalled = time["stalls: no warp can run"]
    # The last turn of an SM may end after its kernel.
    assert 0 <= stalled + run["compute_ns"] - run["kernel_ns"] <= 10000 * (len(kernels) + 1), stalled


main(*sys.argv[1:])
