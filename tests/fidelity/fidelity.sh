#!/bin/sh
# Published figures against simulated ones. usage: fidelity.sh UVMSIM BUILD [PATTERN]
# Without PATTERN: everything; writes docs/fidelity.md, docs/fidelity/* and tests/fidelity/results.txt. With PATTERN, a regular
# expression: only rows whose heading and label match, printed; nothing is written but under BUILD.
# Environment: FIDELITY_LONG=1: also the long runs (else what results.txt knows of them is shown). FIDELITY_PICTURES=PATTERN:
# the pictures whose names match, instead of all (without PATTERN) or none. FIDELITY_ACCEPT=1: a row that fell out is noted, not
# an error. FIDELITY_LIMIT=SECONDS: of one run (default 1800). FIDELITY_REUSE=1: take the numbers of runs that an earlier call
# recorded under BUILD/fidelity-runs with the same program, models and scripts. Exit status: 1 if a row that results.txt has as
# inside is no longer inside.
set -eu
uvmsim=$1 build=$2 pattern=${3:-}
here=$(dirname "$0")
known=$here/results.txt
pictures=${FIDELITY_PICTURES:-$([ -n "$pattern" ] || echo .)}
work=$(mktemp -d "${TMPDIR:-/tmp}/fidelity.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
jobs=${FIDELITY_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}
tab=$(printf '\t')
# Runs are recorded under a checksum of everything that they depend on but their command line.
store=$build/fidelity-runs/$(cat "$uvmsim" adapters/simulator/models/*.gpu adapters/simulator/models/*.host \
	adapters/simulator/models/*.link tests/data/gtx1080ti.txt \
	"$here"/batches.awk "$here"/faults.awk "$here"/pattern.awk "$here"/sharing.awk "$here"/sparse.awk "$here"/*.vec "$here"/instant.* |
	cksum | tr ' ' -)
mkdir -p "$store"
for list in runs names rows points figures kept text; do : >"$work/$list"; done
awk -v work="$work" -v pattern="${pattern:-.}" -v pictures="$pictures" -v long="${FIDELITY_LONG:-}" \
	-f "$here/reasons.awk" -f "$here/plan.awk" "$here/rows.txt" "$here/figures.txt"
if [ ! -s "$work/rows" ] && [ ! -s "$work/figures" ]; then
	echo "fidelity.sh: no row or figure matches the regular expression \`$pattern'" >&2
	exit 2
fi

# One run: its numbers as `key value` lines, or what went wrong as the one line `error`.
cat >"$work/run.sh" <<'R'
number=$1 uvmsim=$3 work=$4 here=$5 store=$6 limit=${FIDELITY_LIMIT:-1800}
recorded=$store/$(printf %s "$2" | cksum | tr ' ' -)
if [ -n "${FIDELITY_REUSE:-}" ] && [ -f "$recorded.run" ]; then
	[ ! -f "$recorded.csv" ] || cp "$recorded.csv" "$work/$number.csv"
	cp "$recorded.run" "$work/$number.run"
	exit
fi
# shellcheck disable=SC2086 # words on purpose; none of them holds blanks
set -- $2
command=$1
shift
# --gpu MODEL:KEY=VALUE is that shipped model with one key changed.
case "$*" in
*--gpu\ *:*=*\ --workload*)
	model=${2%%:*} key=${2#*:}
	sed "s|^${key%%=*} *=.*|${key%%=*} = ${key#*=}|" "adapters/simulator/models/$model.gpu" >"$work/$number.gpu"
	shift 2
	set -- --gpu "$work/$number.gpu" "$@"
	;;
esac
# --gpu MODEL --trace FILE.awk is what that prints.
case "$*" in
*--trace\ *.awk*)
	awk -f "$4" >"$work/$number.trace"
	gpu=$2
	shift 4
	set -- --gpu "$gpu" --trace "$work/$number.trace" "$@"
	;;
esac
kind=$command
case $command in
pattern | batches | faults) command=run && set -- "$@" --log "$work/$number.log" ;; # what is drawn is in the log
esac
[ "$command" != run ] || set -- "$@" --format json
if [ "$command" = sharing ]; then # of a trace, as it comes
	timeout "$limit" "$uvmsim" trace "$@" 2>"$work/$number.err" | awk -f "$here/sharing.awk" >"$work/$number.part"
	command=none
fi
status=0
[ "$command" = none ] ||
	timeout "$limit" "$uvmsim" "$command" "$@" >"$work/$number.out" 2>"$work/$number.err" || status=$?
[ "$status" -ne 124 ] || echo "not done within $limit s" >"$work/$number.err"
# A check that fails has numbers too; a run that ends early has none.
if [ "$command" != none ] && { [ "$status" -eq 0 ] || { [ "$status" -eq 1 ] && [ "$command" != run ]; }; }; then
	case $command in
	run) tr ',' '\n' <"$work/$number.out" | sed -n 's/.*"\([a-z0-9_]*\)": \([0-9][0-9]*\)}*$/\1 \2/p' ;;
	measured) sed -n 's/^\([0-9]*\) of \([0-9]*\) faults agree.*/agree \1\nfaults \2/p' "$work/$number.out" ;;
	check) sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/passed \1\nfailed \2/p' "$work/$number.out" ;;
	esac >"$work/$number.part"
	case $kind in
	pattern) awk -f "$here/pattern.awk" "$work/$number.log" "$work/$number.log" >"$work/$number.csv" ;;
	faults) awk -f "$here/faults.awk" "$work/$number.log" >>"$work/$number.part" ;;
	batches)
		awk -v keys="$work/$number.keys" -f "$here/batches.awk" "$work/$number.log" >"$work/$number.csv"
		cat "$work/$number.keys" >>"$work/$number.part"
		;;
	esac
	rm -f "$work/$number.log"
fi
if [ ! -s "$work/$number.part" ]; then
	printf 'error %s\n' "$(tail -n 1 "$work/$number.err" | sed 's/.*: //' | cut -c1-80)" >"$work/$number.part"
else
	[ ! -f "$work/$number.csv" ] || cp "$work/$number.csv" "$recorded.csv"
	cp "$work/$number.part" "$recorded.part" && mv "$recorded.part" "$recorded.run"
fi
mv "$work/$number.part" "$work/$number.run"
[ ! -t 2 ] || printf '\r%s of %s runs ' "$(find "$work" -name '*.run' | wc -l)" "$(wc -l <"$work/runs")" >&2
R
# shellcheck disable=SC2016 # the inner shell's
tr '\t' '\n' <"$work/runs" | sed "s/.*/'&'/" | xargs -n 2 -P "$jobs" \
	sh -c 'sh "$2/run.sh" "$5" "$6" "$1" "$2" "$3" "$4"' sh "$uvmsim" "$work" "$here" "$store"
[ ! -t 2 ] || echo >&2

# stdin: lines that begin with an expression; stdout: the same with the value before it. An expression is awk's.
values() {
	awk -F '\t' -v work="$work" -f "$here/values.awk" | while IFS= read -r row; do
		expression=${row%%"$tab"*}
		case $expression in
		error*) value=$expression ;;
		*) value=$(awk "BEGIN { printf \"%.15g\", ($expression) }" 2>/dev/null) || value='error: not a number' ;;
		esac
		printf '%s\t%s\n' "$value" "${row#*"$tab"}"
	done
}

# Rows: value, date, row. Those of long runs that were not run come from the list.
awk -F '\t' -v OFS='\t' '{ print $7, $0 }' "$work/rows" | values >"$work/valued"
if [ -f "$known" ]; then cp "$known" "$work/known"; else : >"$work/known"; fi
awk -F '\t' -v OFS='\t' -v known="$work/known" -v today="$(date +%F)" '
	FILENAME == known { value[$1] = $2; date[$1] = $4; next }
	{ row = $0; sub(/^[^\t]*\t/, "", row) }
	$10 == 0 { print $1, "", row }
	$10 == 1 { print ($2 in value ? value[$2] : "error: a long run, not done yet"), date[$2], row }
	$10 == 2 { print $1, today, row }' "$work/known" "$work/valued" >"$work/table"

# The document. Its last line on standard error counts the rows inside.
status=0
{
	cat "$here/head.md"
	awk -F '\t' -v work="$work" -v known="$work/known" -v list="$work/results" -f "$here/report.awk" \
		"$work/known" "$work/text" "$work/figures" "$work/table" || echo lost >"$work/lost"
	# shellcheck disable=SC2016 # Markdown's quotes
	printf '\n## Commands\n\nThe names in the expressions above, and what `uvmsim` is called with (runs also with `--format json`):'
	# shellcheck disable=SC2016
	printf '\n\n```text\n'
	awk -F '\t' '{ printf "%-16s %s\n", $1, $2 }' "$work/names"
	echo '```'
} >"$work/document"
[ ! -f "$work/lost" ] || status=1

# Pictures: data, then SVG where gnuplot is.
mkdir -p "$build/fidelity"
awk -F '\t' -v OFS='\t' '{ print $4, $0 }' "$work/points" | values >"$work/drawn"
while IFS=$tab read -r name _ _ _ style _; do
	! grep -qxF "$name" "$work/kept" || continue
	csv=$build/fidelity/$name.csv
	number=$(awk -F '\t' -v name="$name" '$1 == name { gsub(/.*#|\).*/, "", $4); print $4; exit }' "$work/points")
	if [ "$style" = pattern ] || [ "$style" = cloud ]; then # the run's own points
		[ -f "$work/$number.csv" ] || continue
		cp "$work/$number.csv" "$csv"
	else
		awk -F '\t' -v name="$name" -f "$here/csv.awk" "$work/drawn" >"$csv"
	fi
	drawn="${drawn:-} $name"
done <"$work/figures"
if [ -n "${drawn:-}" ]; then
	command -v gnuplot >/dev/null || export PLOT_CHECK=1
	[ -z "${PLOT_CHECK:-}" ] || echo 'fidelity: gnuplot is not installed: no pictures drawn, only their data written' >&2
	# shellcheck disable=SC2086 # names without blanks
	sh "$here/plot.sh" "$build/fidelity" $drawn || status=1
fi

if [ -n "$pattern" ]; then
	cat "$work/document"
	exit "$status"
fi
mkdir -p docs/fidelity
cp "$work/document" docs/fidelity.md
for file in "$build"/fidelity/*; do [ ! -f "$file" ] || cp "$file" docs/fidelity/; done
# What fell out stays in the list of results until it is accepted, so that the next run says it again.
if [ "$status" -eq 0 ] || [ -n "${FIDELITY_ACCEPT:-}" ]; then
	cp "$work/results" "$known"
	status=0
fi
sh "$here/accuracy.sh" docs/accuracy.md || status=1
exit "$status"
