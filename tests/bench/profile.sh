#!/bin/sh
# Where the instructions go, by callgrind: of a case of the bench, inside its function, and of a run of uvmsim. Self cost: without
# callees. The same figures on every run of the same binary.
# usage: profile.sh BUILD [CASE [COMMAND...]]; PROFILE_ROWS (default 15) may be set
set -eu
build=$1
name=${2:-service-1000}
[ $# -lt 2 ] || shift
shift
[ $# -gt 0 ] || set -- run --workload random:bytes=256m,passes=1 --memory 192M
out=$build/profile.out
trap 'rm -f "$out"' EXIT

# shares TITLE: of the functions in $out
shares()
{
	callgrind_annotate --auto=no --threshold=100 "$out" 2>/dev/null | awk -v title="$1" '
		/PROGRAM TOTALS/ {total = $1; gsub(/,/, "", total); printf "%s: %d instructions\n", title, total; next}
		total && $1 ~ /^[0-9,]+$/ {
			count = $1
			gsub(/,/, "", count)
			sub(/ \[[^]]*\]$/, "")
			sub(/\x27[0-9]+$/, "")
			sub(/^.*:/, "")
			sum[$0] += count # a function and what of other files is inlined into it
		}
		END {for (name in sum) printf "%6.1f %%  %s\n", 100 * sum[name] / total, name}' |
		{ read -r first; echo "$first"; sort -rn; } | head -n "$((${PROFILE_ROWS:-15} + 1))"
}

row=$("$build/bench" | grep "^$name|") || { echo "profile.sh: no case is named $name; $build/bench lists them" >&2; exit 2; }
IFS='|' read -r name function _ calls _ <<END
$row
END
valgrind --tool=callgrind --callgrind-out-file="$out" --instr-atstart=no --toggle-collect="$function" \
	"$build/bench" "$name" 1 "$calls" >/dev/null 2>&1 || { echo "profile.sh: bench $name failed" >&2; exit 1; }
shares "bench $name; inside $function"
valgrind --tool=callgrind --callgrind-out-file="$out" "$build/uvmsim" "$@" --format json >/dev/null 2>&1 ||
	{ echo "profile.sh: uvmsim $* failed" >&2; exit 1; }
echo
shares "uvmsim $*"
