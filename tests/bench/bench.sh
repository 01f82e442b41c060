#!/bin/sh
# Instructions per decision, counted by callgrind inside the named function (callees included): the same figures on every run of
# the same binary. The medians also go into BUILD/bench.csv (compiler,name,instructions), for regression.sh.
# usage: bench.sh BUILD. BENCH_SEEDS (default "1 2 3") and BENCH_CALLS (default 2000) may be set.
set -eu
build=$1
seeds=${BENCH_SEEDS:-1 2 3}
calls=${BENCH_CALLS:-2000}
out=$build/callgrind.out
compiler=$(cc --version | head -n 1 | tr , ' ')
echo compiler,name,instructions >"$build/bench.csv"
trap 'rm -f "$out"' EXIT

echo "instructions per unit; $calls calls per seed, seeds: $seeds; $(cc --version | head -n 1)"
printf '%-13s %9s %9s %9s   %s\n' case min median max unit
"$build/bench" | while read -r name function units text; do
	for seed in $seeds; do
		valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect="$function" \
			"$build/bench" "$name" "$seed" "$calls" >/dev/null 2>&1 || { echo "bench $name failed" >&2; exit 1; }
		total=$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' "$out")
		echo $((total / (calls * units)))
	done | sort -n | {
		values=$(cat)
		n=$(echo "$values" | wc -l)
		median=$(echo "$values" | sed -n "$(((n + 1) / 2))p")
		printf '%-13s %9s %9s %9s   %s\n' "$name" "$(echo "$values" | head -n 1)" "$median" \
			"$(echo "$values" | tail -n 1)" "$text"
		echo "$compiler,$name,$median" >>"$build/bench.csv"
	}
done
"$build/bench" arena
