#!/bin/sh
# Instructions and nanoseconds of the library's functions: a row of the table (row.sh) per case and unit. Callgrind counts the
# instructions inside the function of the case, callees included: the median of the seeds, the same figures on every run of the
# same binary. Nanoseconds are the least of BENCH_REPEATS runs (default 30) with the first seed; they depend on the machine.
# usage: bench.sh BUILD [CASE...]. BENCH_SEEDS (default "1 2 3") may be set.
set -eu
build=$1
shift
seeds=${BENCH_SEEDS:-1 2 3}
repeats=${BENCH_REPEATS:-30}
if [ "${1:-}" = --count ]; then # FUNCTION CASE SEED CALLS: prints FUNCTION and the instructions of one run
	out=$build/callgrind.$$
	trap 'rm -f "$out"' EXIT
	valgrind --tool=callgrind --callgrind-out-file="$out" --instr-atstart=no --toggle-collect="$2" \
		"$build/bench" "$3" "$4" "$5" >/dev/null 2>"$out.log" || { cat "$out.log" >&2; rm -f "$out.log"; exit 1; }
	rm -f "$out.log"
	echo "$2 $(sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$out")"
	exit
fi
. "$(dirname "$0")/row.sh"

# counted CASE FUNCTION CALLS UNITS SEED...: the median of the instructions per unit
counted()
{
	name=$1 function=$2 calls=$3 units=$4
	shift 4
	for seed in "$@"; do echo "$function $name $seed $calls"; done |
		xargs -P "$(nproc)" -n 4 sh "$0" "$build" --count |
		awk -v function_="$function" -v n="$((calls * units))" '$1 == function_ {print int($2 / n)}' | sort -n |
		awk -v runs=$# '{v[NR] = $1} END {if (NR != runs) exit 1; print v[int((NR + 1) / 2)]}'
}

bench_begin
"$build/bench" | while IFS='|' read -r name function units calls original budget budget_ns floor unit text; do
	case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
	bound=-
	[ "$floor" = - ] || bound=$(counted "$name" "$floor" "$calls" "$units" "${seeds%% *}")
	row "$name" "$original" "$budget" "$(counted "$name" "$function" "$calls" "$units" $seeds)" "$bound" "instructions/$unit" "$text"
	row "$name" - "$budget_ns" "$("$build/bench" ns "$name" "${seeds%% *}" "$repeats")" - "ns/$unit" "$text"
done
[ $# != 0 ] || "$build/bench" arena
