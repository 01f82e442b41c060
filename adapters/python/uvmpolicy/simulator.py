"""Runs of the simulator uvmsim: dictionaries, or data frames where pandas is installed."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import warnings
from typing import Any, Iterable, Iterator, Mapping, Optional, Union

from . import _library
from .plugin import Plugin
from .process import in_copy

Row = dict[str, Any]
Setting = Union[str, int, float, bool, "os.PathLike[str]", None]
Settings = Union[Setting, Iterable[Setting]]


NOTE = "uvmsim: note: "


class SimulatorError(Exception):
    """uvmsim refused its arguments or its input; the text is that of uvmsim."""


class SimulatorNote(UserWarning):
    """A note of uvmsim: the run differs from what was asked, or a result needs care."""


def uvmsim(*arguments: str, plugins: Iterable[Plugin] = ()) -> str:
    """Run uvmsim with these arguments and return what it prints.

    With `plugins`, policies written in Python, uvmsim runs in a copy of this process: what these
    policies change in Python is lost at its end. Notes of uvmsim are warnings, `SimulatorNote`.
    """
    output, notes = _call(arguments, plugins)
    _warn(notes)
    return output


def _call(arguments: Iterable[str], plugins: Iterable[Plugin]) -> tuple[str, list[str]]:
    """Run uvmsim; return what it prints and its notes."""
    policies = list(plugins)
    if policies:
        status, output, errors = in_copy(list(arguments), policies)
    else:
        command = [_library.simulator_path(), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        status, output, errors = done.returncode, done.stdout, done.stderr
    lines = [line for line in errors.splitlines() if line.strip()]
    if status != 0:
        text = "\n".join(line.removeprefix("uvmsim: ") for line in lines)
        raise SimulatorError(text or f"uvmsim ended with status {status}")
    return output, [line.removeprefix(NOTE) for line in lines if line.startswith(NOTE)]


def _warn(notes: Iterable[str]) -> None:
    """Show each note once, at the line that called the function of this module."""
    for note in dict.fromkeys(notes):
        warnings.warn(note, SimulatorNote, stacklevel=3)


def run(
    workload: Optional[str] = None,
    policy: Optional[str] = None,
    *,
    plugins: Iterable[Plugin] = (),
    **settings: Setting,
) -> Row:
    """Simulate a workload with one policy, and return the counts of the run.

        run("sgemm:n=1280", "prefetch=tbn", oversub=125, gpu="titan-v")

    The settings are the options of `uvmsim run`: trace, gpu, memory, oversub, seed, until, log and
    more; docs/uvmsim.md describes them and the keys of the answer. Times are in nanoseconds, and
    None without a GPU; `footprint_percent` is the footprint in percent of the memory. Plugins are
    policies written in Python, which `policy` may name. Notes are warnings, `SimulatorNote`.
    """
    arguments = _arguments(workload, [] if policy is None else [policy], settings)
    text, notes = _call(["run", *arguments, "--format", "json"], plugins)
    _warn(notes)
    return _rows(text)[0]


def compare(
    workload: Union[None, str, Iterable[str]] = None,
    policies: Union[str, Iterable[str], Mapping[str, str]] = (),
    *,
    plugins: Iterable[Plugin] = (),
    frame: Optional[bool] = None,
    **settings: Settings,
) -> Any:
    """Simulate workloads with several policies: a row for each.

        compare(["sgemm", "bfs"], ["nvidia-595", "prefetch=tbn"], oversub=[110, 125])

    `policies` are texts, or texts by name, which becomes the column `name`; "all" stands for every
    preset. A setting that is a list is run with each of its values, and becomes a column. The
    answer is a data frame if pandas is installed, else a list of dictionaries; `frame` asks for
    one of both. `plugins` are policies written in Python, which the texts may name. Notes are
    warnings, `SimulatorNote`.
    """
    names = list(policies) if isinstance(policies, Mapping) else None
    texts = list(policies.values()) if isinstance(policies, Mapping) else policies
    chosen = [texts] if isinstance(texts, str) else list(texts)
    own = list(plugins)
    found: list[Row] = []
    notes: list[str] = []
    for one in _each({"workload": workload, **settings}):
        arguments = _arguments(one.pop("workload"), chosen, one)
        text, told = _call(["compare", *arguments, "--format", "json"], own)
        rows = _rows(text)
        notes += told
        if names is not None and len(rows) != len(names):
            raise ValueError("a name stands for one policy; `all` has no name")
        for index, row in enumerate(rows):
            name = {} if names is None else {"name": names[index]}
            asked = {key: one[key] for key in one if _is_list(settings[key]) and key not in row}
            found.append({**name, **asked, **row})
    _warn(notes)
    return table(found, frame)


def bound(
    workload: Optional[str] = None, *, frame: Optional[bool] = None, **settings: Setting
) -> Any:
    """Return the least traffic and faults that any policy can reach, by size of unit."""
    arguments = _arguments(workload, [], settings)
    rows: list[Row] = []
    text, notes = _call(["bound", *arguments, "--format", "json"], ())
    _warn(notes)
    for run_row in _rows(text):
        units = run_row.pop("units")
        rows += [{**run_row, **unit} for unit in units]
    return table(rows, frame)


def table(rows: list[Row], frame: Optional[bool] = None) -> Any:
    """Return rows as a data frame, if `frame` says so or pandas is installed; else the rows."""
    if frame is False:
        return rows
    try:
        import pandas
    except ImportError:
        if frame:
            raise
        return rows
    return pandas.DataFrame(rows)


def _is_list(value: Any) -> bool:
    """Tell whether a setting has several values."""
    return not isinstance(value, (str, int, float, os.PathLike, type(None)))


def _each(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk every combination of the values of settings."""
    values = [list(value) if _is_list(value) else [value] for value in settings.values()]
    for combination in itertools.product(*values):
        yield dict(zip(settings, combination))


def _rows(text: str) -> list[Row]:
    """Return the rows of uvmsim's JSON, with the footprint in percent of the memory."""
    parsed = json.loads(text)
    rows: list[Row] = parsed if isinstance(parsed, list) else [parsed]
    for row in rows:
        memory = row.get("memory_bytes")
        percent = round(100 * row["footprint_bytes"] / memory, 1) if memory else None
        row["footprint_percent"] = percent
    return rows


def _arguments(
    workload: Optional[str], policies: Iterable[str], settings: Mapping[str, Setting]
) -> list[str]:
    """Return the options of uvmsim for these settings."""
    found = [] if workload is None else ["--workload", workload]
    for policy in policies:
        found += ["--policy", str(policy)]
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            found.append(option)
        elif value is not None and value is not False:
            found += [option, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return found


def main() -> int:
    """Run the uvmsim of this package: `python3 -m uvmpolicy run ...`."""
    return subprocess.run([_library.simulator_path(), *sys.argv[1:]], check=False).returncode
