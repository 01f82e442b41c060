#!/bin/sh
# Fuzzes every target for FUZZ_SECONDS (default 30) from its seed corpus; finds are kept under BUILD/fuzz/.
# usage: fuzz.sh BUILD TARGET...
set -u
build=$1
shift
failed=0 passed=0
for target in "$@"; do
	name=$(basename "$target")
	kept=$build/fuzz/corpus/${name#fuzz_}
	dict=fuzz/dict/${name#fuzz_}.dict
	mkdir -p "$kept"
	if [ "$name" = fuzz_policy ] && [ -x "$build/uvmsim" ]; then # the words of the policy string, as the library defines them
		dict=$build/fuzz/policy.dict
		sh tests/policies/tables.sh "$build/uvmsim" dict >"$dict"
	fi
	if "$target" -max_total_time="${FUZZ_SECONDS:-30}" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="$build/fuzz/$name-" $([ -f "$dict" ] && echo "-dict=$dict") "$kept" "fuzz/corpus/${name#fuzz_}" \
		>"$build/fuzz/$name.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz/$name.log") inputs," \
			"$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$build/fuzz/$name.log" | tail -n 1) edges"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		tail -n 30 "$build/fuzz/$name.log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
