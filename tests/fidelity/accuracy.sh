#!/bin/sh
# Checks which rows count (check.awk) and makes the tables of the page again from rows.txt and results.txt, without any run.
# Makes the tables of docs/validation.md and the list that `uvmsim list gpus` shows, too.
# usage: accuracy.sh PAGE. Exit status: 1 if a row is counted that must not be.
set -eu
here=$(dirname "$0")
status=0
awk -v models=adapters/simulator/models -f "$here/check.awk" "$here/rows.txt" "$here/results.txt" >&2 || status=1
made=$(mktemp)
awk -f "$here/accuracy.awk" "$here/rows.txt" "$here/results.txt" "$1" >"$made" && cat "$made" >"$1"
page=docs/validation.md list=adapters/simulator/models/validation.list
validation() { # OPTIONS FILE...
	awk -v models=adapters/simulator/models "$@"
}
set -- "$here/calibration.txt" "$here/rows.txt" "$here/results.txt"
validation -f "$here/validation.awk" "$@" "$page" >"$made" && cat "$made" >"$page"
validation -v list=1 -f "$here/validation.awk" "$@" >"$made" && cat "$made" >"$list"
rm -f "$made"
exit "$status"
