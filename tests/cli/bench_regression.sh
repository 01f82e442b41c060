#!/bin/sh
# The gate over instruction counts (tests/bench/regression.sh) fails when it has to: planted counts, no measurement.
# usage: bench_regression.sh BUILD
set -u
gate=tests/bench/regression.sh
dir=$1/bench_regression.$$
failures=0
mkdir -p "$dir"
trap 'rm -rf "$dir"' EXIT

expect() { # STATUS TEXT PATTERN: the gate's status, and what it prints
	output=$(sh $gate "$dir" "$dir/baseline.csv" "$dir/page.md" 2>&1)
	status=$?
	if [ "$status" = "$1" ] && echo "$output" | grep -q "$3"; then
		echo "ok   $2"
	else
		echo "FAIL $2: exit status $status: $output"
		failures=$((failures + 1))
	fi
}
count() { # COMPILER ACCESS FAULT: what was counted
	printf 'compiler,name,instructions\n%s,access,%s\n%s,fault,%s\n' "$1" "$2" "$1" "$3" >"$dir/bench.csv"
}
page() { printf '| case | instructions |\n|---|---|\n| `access` | %s | one |\n| `fault` | %s | two |\n' "$1" "$2" >"$dir/page.md"; }

printf 'compiler,name,instructions\ncc 1,access,200\ncc 1,fault,10000\n' >"$dir/baseline.csv"
page 200 10,000
expect 2 'no measurement' 'bench.csv is missing: run make bench'
count 'cc 1' 200 10000
expect 0 'equal counts' '2 cases are at most 3 %'
count 'cc 1' 206 10300
expect 0 'three percent more' '2 cases are at most 3 %'
count 'cc 1' 207 10000
expect 1 'more than three percent' '^access: 207 instructions, recorded are 200: 3.5 % more'
count 'cc 1' 200 10301
expect 1 'one instruction beyond the bound' '^fault: 10301 instructions, recorded are 10000: 3.0 % more'
count 'cc 1' 150 10000
expect 0 'fewer instructions' '^access: 150 instructions, recorded are 200: record the gain'
count 'cc 1' 200 10000 && sed -i 3d "$dir/bench.csv"
expect 1 'a case that was not counted' '^fault was not counted'
count 'cc 2' 900 10000
expect 0 'another compiler' 'not compared: no recorded figures for cc 2'
count 'cc 1' 200 10000
page 200 9,108
expect 1 'a stale figure on the page' '^fault: .* has 9,108, recorded are 10,000'
page 200 10,000 && sed -i 3d "$dir/page.md"
expect 1 'a figure that is missing on the page' '^access: no row in'
[ $failures = 0 ]
