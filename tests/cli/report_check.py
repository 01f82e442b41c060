"""Checks a file of --report: HTML that fetches nothing, and data that are those of the run.

usage: report_check.py REPORT RUN COMMAND
RUN: the JSON of the same command without --report; null: none. COMMAND: how the command to repeat begins.
"""

import html.parser
import json
import re
import sys
from typing import Any

FETCHED = re.compile(r"""\b(?:src|href|srcset)\s*=|url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(""", re.I)


class Page(html.parser.HTMLParser):
    """Collects the texts of the elements, and complains about any that fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.data = ""
        self.is_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        assert not {"src", "href", "srcset", "action", "onload", "onerror"} & set(names), (tag, names)
        assert tag in KNOWN, f"an element that the report does not write: {tag}"
        self.is_data = names.get("id") == "data"
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag
        self.is_data = False

    def handle_data(self, data: str) -> None:
        if self.is_data:
            self.data += data
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


KNOWN = set(
    "html head meta title style body header h1 h2 p pre code details summary dl dt dd noscript main section table thead "
    "tbody tr th td footer script".split()
)


def total(cells: list[int]) -> int:
    return sum(cells[1::2])


def counts(histogram: list[list[int]]) -> int:
    return sum(count for _, count in histogram)


def check_pictures(pictures: dict[str, Any], run: dict[str, Any]) -> None:
    """Merging loses no page and no batch."""
    expected = {
        "far_faults": total(pictures["faulted"]),
        "pages_prefetched": total(pictures["prefetched"]),
        "pages_evicted": total(pictures["evicted"]),
        "pages_thrashed": total(pictures["again"]),
        "batches": counts(pictures["batch_faults"]),
        "h2d_copies": counts(pictures["copy_to_gpu_bytes"]),
        "d2h_copies": counts(pictures["copy_to_cpu_bytes"]),
        "h2d_bytes": sum(pictures["to_gpu_bytes"].values()),
        "d2h_bytes": sum(pictures["to_cpu_bytes"].values()),
    }
    for key, value in expected.items():
        assert run[key] == value, f"{key}: the run says {run[key]}, the pictures {value}"
    cells = pictures["rows"] * pictures["columns"]
    for plane in ("faulted", "prefetched", "again", "evicted", "left"):
        assert sum(pictures[plane][0::2]) < max(cells, 1)
    if pictures["return_sample"] == 1:
        assert counts(pictures["return_distance_pages"]) <= run["pages_thrashed"]


def main(report_path: str, run_path: str, command: str) -> None:
    with open(report_path, encoding="utf-8") as file:
        text = file.read()
    with open(run_path, encoding="utf-8") as file:
        runs = json.load(file)
    page = Page()
    page.feed(text)
    assert not page.open, page.open
    for style in page.texts["style"]:
        assert not FETCHED.search(style)
    script = re.findall(r"<script[^>]*>(.*?)</script>", text, re.S)[2]  # after the data and the library
    assert not FETCHED.search(script) and "http" not in script
    data = json.loads(page.data)
    assert data["uvmsim_report"] == 1 and data["command"].startswith(command)
    assert data["command"] in page.texts["pre"]
    if runs is not None and data["log"]:
        check_pictures(data["log"]["pictures"], runs)
        return
    expected = runs if isinstance(runs, list) else [] if runs is None else [runs]
    if "--uncertainty" in command or len(data["runs"]) > len(expected) == 1:
        expected = expected[:1]  # the JSON of run says the draws in one object
    for said, run in zip(data["runs"], expected):
        for key in run:
            assert said["run"][key] == run[key] or key.startswith("bound_"), key
    assert len(data["runs"]) >= len(expected)
    drawn = [entry for entry in data["runs"] if entry["pictures"]]
    for entry in drawn:
        check_pictures(entry["pictures"], entry["run"])
    assert len(drawn) > 0 or not data["runs"]
    sizes = [bound["memory_bytes"] for bound in data["bounds"]]
    assert len(set(sizes)) == len(sizes)


main(*sys.argv[1:])
