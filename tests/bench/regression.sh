#!/bin/sh
# Compares the instructions that bench.sh and speed.sh have counted (BUILD/bench.csv) with the recorded ones (baseline.csv, a row
# per compiler and case), and the figures of docs/performance.md with the recorded ones. Fails if a count exceeds the recorded one
# by more than 3 %, if a recorded case was not counted, or if the page has another figure. Counts depend on the compiler: with one
# that has no recorded row, nothing is compared, which is said.
# usage: regression.sh BUILD [BASELINE [PAGE]]
set -eu
measured=$1/bench.csv
baseline=${2:-$(dirname "$0")/baseline.csv}
page=${3:-$(dirname "$0")/../../docs/performance.md}
[ -f "$measured" ] || { echo "regression.sh: $measured is missing: run make bench first" >&2; exit 2; }
compiler=$(cut -d , -f 1 "$measured" | sed -n 2p)

awk -F , -v page="$page" '
	function thousands(n) { return n < 1000 ? n "" : thousands(int(n / 1000)) sprintf(",%03d", n % 1000) }
	BEGIN {
		while ((getline line < page) > 0)
			if (split(line, cell, / *[|] */) >= 4 && cell[2] ~ /^`/)
				shown[substr(cell[2], 2, length(cell[2]) - 2)] = cell[3]
	}
	FNR == 1 {next}
	FNR == 2 {compiler = $1} # the page shows the first one
	$1 != compiler {next}
	!($2 in shown) {printf "%s: no row in %s\n", $2, page; bad = 1; next}
	shown[$2] != thousands($3) {printf "%s: %s has %s, recorded are %s\n", $2, page, shown[$2], thousands($3); bad = 1}
	END {exit bad}' "$baseline" || { echo "the page and the recorded figures differ" >&2; exit 1; }

if ! cut -d , -f 1 "$baseline" | grep -qxF "$compiler"; then
	echo "instructions not compared: no recorded figures for $compiler"
	exit 0
fi
awk -F , -v compiler="$compiler" '
	FNR == 1 || $1 != compiler {next}
	NR == FNR {now[$2] = $3; next}
	!($2 in now) {printf "%s was not counted\n", $2; bad = 1; next}
	{
		compared++
		if (now[$2] * 100 > $3 * 103) {printf "%s: %d instructions, recorded are %d: %.1f %% more\n", $2, now[$2], $3, (now[$2] / $3 - 1) * 100; bad = 1}
		if (now[$2] * 100 < $3 * 97) printf "%s: %d instructions, recorded are %d: record the gain\n", $2, now[$2], $3
	}
	END {
		if (!bad) printf "instructions of %d cases are at most 3 %% above the recorded ones\n", compared
		exit bad
	}' "$measured" "$baseline" || { echo "more instructions than recorded in $baseline" >&2; exit 1; }
