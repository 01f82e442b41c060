#!/bin/sh
# Published figures against simulated ones: the rows of rows.txt, as a Markdown document on standard output; the last line on
# standard error counts those within their tolerance. usage: fidelity.sh UVMSIM ROWS [PATTERN]; PATTERN: only rows whose first
# field matches. A run that several rows name is run once.
set -eu
uvmsim=$1 rows=$2 pattern=${3:-.}
work=$(mktemp -d "${TMPDIR:-/tmp}/fidelity.XXXXXX")
trap 'rm -rf "$work"' EXIT
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

# Every run gets a number and a file of `key value` lines.
grep -v '^#' "$rows" | grep ' | ' | awk -F ' [|] ' -v pattern="$pattern" '
	$1 ~ pattern { for (i = 6; i <= NF; i++) if (!($i in seen)) { seen[$i] = ++n; print n "\t" $i } }' >"$work/runs"
cat >"$work/run.sh" <<'R'
number=$1 args=$2
# shellcheck disable=SC2086 # words on purpose; none of them holds blanks
"$3" run --format json $args 2>"$4/$number.err" | tr ',' '\n' | sed -n 's/.*"\([a-z0-9_]*\)": \([0-9][0-9]*\)}*$/\1 \2/p' >"$4/$number"
[ -s "$4/$number" ] || { echo "run failed: uvmsim run $args: $(cat "$4/$number.err")" >&2; exit 1; }
[ ! -t 2 ] || printf '\r%s runs done ' "$(find "$4" -name '[0-9]*' ! -name '*.err' -size +0 | wc -l)" >&2
R
tr '\t' '\n' <"$work/runs" | sed "s/'/\\\\'/g; s/.*/'&'/" |
	xargs -n 2 -P "$jobs" sh -c 'sh "$3/run.sh" "$4" "$5" "$2" "$3"' sh x "$uvmsim" "$work" || exit 1

cat <<'T'
# How close are the simulated times and counts?

`make fidelity` runs every row of `tests/fidelity/rows.txt` on the models of [models.md](models.md) and writes this page. One model per GPU; no
constant belongs to a row. The tolerance is 10 % for counts and bytes, 25 % for times; orderings are right or not. More rows
are to come (the page is as young as the machine).
T
awk -v work="$work" -v pattern="$pattern" -F ' [|] ' '
	FILENAME == work "/runs" { split($0, part, "\t"); number[part[2]] = part[1]; next }
	/^## / { heading = $0; next }
	/^#/ || NF < 6 || $1 !~ pattern { next }
	{
		print heading "\t" $1 "\t" $2 "\t" $3 "\t" $4 "\t" $5
		for (i = 6; i <= NF; i++) printf "\t%s", number[$i]
		print ""
	}' "$work/runs" "$rows" >"$work/table"
# The expressions are awk programs: one for each row, with its keys filled in.
while IFS= read -r row; do
	IFS= read -r numbers
	printf '%s\n' "$row" | tr '\t' '\n' >"$work/fields"
	expression=$(sed -n 6p "$work/fields")
	i=0
	for number in $numbers; do
		i=$((i + 1))
		letter=$(printf 'ABCDEFGH' | cut -c$i)
		while read -r key value; do
			case $expression in
			*"$key($letter)"*) expression=$(printf '%s' "$expression" | sed "s/\\b$key($letter)/$value/g") ;;
			esac
		done <"$work/$number"
	done
	awk -v expression="$expression" "BEGIN { print ($expression) + 0 }" >"$work/value"
	paste -d '\t' "$work/value" - <<-V
		$row
	V
done <"$work/table" | awk -F '\t' '
	function shown(x) { return x == int(x) ? sprintf("%d", x) : x >= 100 ? sprintf("%.0f", x) : sprintf("%.2f", x) }
	{
		value = $1; published = $4; unit = $5; tolerance = $6
		if ($2 != heading) { heading = $2; print "\n" heading "\n\n| figure | published | simulated | error | |\n|---|---|---|---|---|" }
		if (unit == "ordering") {
			good = value == 1; error = ""; simulated = good ? "so it is" : "not so"; published = "so it is"
		} else if (split(published, range, /\.\./) == 2) {
			good = value >= range[1] && value <= range[2]; error = ""; simulated = shown(value) " " unit
			published = range[1] " to " range[2] " " unit
		} else {
			percent = 100 * (value / published - 1); good = percent <= tolerance && percent >= -tolerance
			error = sprintf("%+.1f %%", percent); simulated = shown(value) " " unit; published = published " " unit
		}
		rows++; inside += good
		print "| " $3 " | " published " | " simulated " | " error " | " (good ? "inside" : "**misses**") " |"
	}
	END {
		print "\n" inside " of " rows " rows are inside."
		print inside " of " rows " rows inside" > "/dev/stderr"
	}'
