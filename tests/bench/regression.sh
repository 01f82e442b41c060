#!/bin/sh
# The gate over instructions. baseline.csv holds a row per compiler and case: compiler,name,instructions,why. It fails if
#   - a count of the bench (BUILD/bench.csv) exceeds the recorded one by more than 3 %, or a recorded case was not counted;
#   - docs/performance.md shows another figure than the recorded one of the first compiler;
#   - a lower bound of the bench exceeds the count beside it;
#   - a row has no `why`, or the last change of the file changed a figure and not its `why`: the reason of the present figure.
# Counts depend on the compiler: with one that has no recorded row, they are not compared, and the script says so.
# usage: regression.sh BUILD [BASELINE [PAGE]]
set -eu
measured=$1/bench.csv
baseline=${2:-$(dirname "$0")/baseline.csv}
page=${3:-$(dirname "$0")/../../docs/performance.md}
[ -f "$measured" ] || { echo "regression.sh: $measured is missing: run make bench first" >&2; exit 2; }
compiler=$(cut -d , -f 1 "$measured" | sed -n 2p)
former=$1/baseline.former
trap 'rm -f "$former"' EXIT

# before FILE: the file as it was before its last change, be that committed or not.
before()
(
	cd "$(dirname "$1")"
	name=$(basename "$1")
	git cat-file -e "HEAD:./$name" 2>/dev/null || exit 1
	git diff --quiet HEAD -- "$name" || { git show "HEAD:./$name"; exit; }
	commit=$(git log -1 --format=%H -- "$name")
	git show "$commit^:./$name" 2>/dev/null
)

if before "$baseline" >"$former"; then
	awk -F , '
		FNR == 1 {next}
		{key = $1 "," $2; why = $0; sub(/^[^,]*,[^,]*,[^,]*,?/, "", why)}
		NR == FNR {count[key] = $3; reason[key] = why; next}
		key in count && count[key] != $3 && reason[key] == why {
			printf "%s: %d instructions, before %d, for the same reason: write why\n", $2, $3, count[key]
			bad = 1
		}
		END {exit bad}' "$former" "$baseline" || { echo "figures of $baseline changed without a reason" >&2; exit 1; }
else
	echo "reasons not compared: no earlier version of $baseline"
fi

awk -F , -v page="$page" '
	function thousands(n) { return n < 1000 ? n "" : thousands(int(n / 1000)) sprintf(",%03d", n % 1000) }
	BEGIN {
		while ((getline line < page) > 0)
			if (split(line, cell, / *[|] */) >= 9 && cell[2] ~ /^`/ && cell[8] ~ /^instructions\//)
				shown[substr(cell[2], 2, length(cell[2]) - 2)] = cell[5]
	}
	FNR == 1 {next}
	NF < 4 || $4 == "" {printf "%s: no reason\n", $2; bad = 1}
	FNR == 2 {compiler = $1} # the page shows the first one
	$1 != compiler {next}
	!($2 in shown) {printf "%s: no row in %s\n", $2, page; bad = 1; next}
	shown[$2] != thousands($3) {printf "%s: %s has %s, recorded are %s\n", $2, page, shown[$2], thousands($3); bad = 1}
	END {exit bad}' "$baseline" || { echo "the page and the recorded figures differ, or a reason is missing" >&2; exit 1; }

awk -F , '
	$7 ~ /^instructions\// && $6 != "" && $6 + 0 > $5 + 0 {printf "%s: the lower bound %d exceeds %d\n", $2, $6, $5; bad = 1}
	END {exit bad}' "$measured" || { echo "a lower bound exceeds the measured count" >&2; exit 1; }

if ! cut -d , -f 1 "$baseline" | grep -qxF "$compiler"; then
	echo "instructions not compared: no recorded figures for $compiler"
	exit 0
fi
awk -F , -v compiler="$compiler" '
	FNR == 1 || $1 != compiler {next}
	NR == FNR {if ($7 ~ /^instructions\//) now[$2] = $5; next}
	!($2 in now) {printf "%s was not counted\n", $2; bad = 1; next}
	{
		compared++
		if (now[$2] * 100 > $3 * 103) {
			printf "%s: %d instructions, recorded are %d: %.1f %% more\n", $2, now[$2], $3, (now[$2] / $3 - 1) * 100
			bad = 1
		}
		if (now[$2] * 100 < $3 * 97) printf "%s: %d instructions, recorded are %d: record the gain\n", $2, now[$2], $3
		seen[$2] = 1
	}
	END {
		for (name in now) if (!(name in seen)) {printf "%s: %d instructions, none are recorded: record them\n", name, now[name]; bad = 1}
		if (!bad) printf "instructions of %d cases are at most 3 %% above the recorded ones\n", compared
		exit bad
	}' "$measured" "$baseline" || { echo "more instructions than recorded in $baseline" >&2; exit 1; }
