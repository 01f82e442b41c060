#!/bin/sh
# The gate over instruction counts (tests/bench/regression.sh) fails when it has to: planted counts, no measurement. The scripts
# beside it that record counts and write the page agree with it.
# usage: bench_regression.sh BUILD
set -u
bench=$PWD/tests/bench
mkdir -p "$1/bench_regression.$$"
dir=$(cd "$1/bench_regression.$$" && pwd)
failures=0
trap 'rm -rf "$dir"' EXIT

verdict() { # WANTED_STATUS TEXT PATTERN, of $status and $output
	if [ "$status" = "$1" ] && echo "$output" | grep -q "$3"; then
		echo "ok   $2"
	else
		echo "FAIL $2: exit status $status: $output"
		failures=$((failures + 1))
	fi
}
expect() { # STATUS TEXT PATTERN: the gate's status, and what it prints
	output=$(sh "$bench/regression.sh" "$dir" "$dir/baseline.csv" "$dir/page.md" 2>&1)
	status=$?
	verdict "$@"
}
rewrite() { # SED_SCRIPT FILE
	sed "$1" "$2" >"$dir/new" && mv "$dir/new" "$2"
}
count() { # COMPILER ACCESS FAULT: what was counted
	{
		echo compiler,name,original,budget,now,lower_bound,unit,text
		echo "$1,access,,,$2,,instructions/access,one"
		echo "$1,access,,,1.5,,ns/access,one"
		echo "$1,fault,9,8,$3,,instructions/fault,two"
	} >"$dir/bench.csv"
}
page() { # ACCESS FAULT
	printf '<!-- bench: ^instructions -->\n| `access` | | | %s | | | instructions/access | one |\n' "$1" >"$dir/page.md"
	printf '| `fault` | 9 | | %s | 8 | | instructions/fault | two |\n<!-- end -->\nfurther text\n' "$2" >>"$dir/page.md"
}
baseline() { # ACCESS WHY FAULT WHY
	printf 'compiler,name,instructions,why\ncc 1,access,%s,%s\ncc 1,fault,%s,%s\n' "$@" >"$dir/baseline.csv"
}
commit() { git -C "$dir" -c user.name=test -c user.email=test@example.org commit -q -m change baseline.csv; }

baseline 200 first 10000 first
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
count 'cc 1' 200 10000 && rewrite 4d "$dir/bench.csv"
expect 1 'a case that was not counted' '^fault was not counted'
count 'cc 1' 200 10000 && echo 'cc 1,new,,,7,,instructions/call,three' >>"$dir/bench.csv"
expect 1 'a case that is not recorded' '^new: 7 instructions, none are recorded'
count 'cc 1' 200 10000 && rewrite '4s/10000,,/10000,10000,/' "$dir/bench.csv"
expect 0 'a lower bound that is met' '2 cases are at most 3 %'
rewrite '4s/10000,10000,/10000,10001,/' "$dir/bench.csv"
expect 1 'a lower bound above the count' '^fault: the lower bound 10001 exceeds 10000'
count 'cc 2' 900 10000
expect 0 'another compiler' 'not compared: no recorded figures for cc 2'
count 'cc 1' 200 10000
page 200 9,108
expect 1 'a stale figure on the page' '^fault: .* has 9,108, recorded are 10,000'
page 200 10,000 && rewrite 2d "$dir/page.md"
expect 1 'a figure that is missing on the page' '^access: no row in'
page 200 10,000
baseline 200 '' 10000 first
expect 1 'a row without a reason' '^access: no reason'

# the reasons of changes, by the history of the file
baseline 200 first 10000 first
expect 0 'no history' 'reasons not compared: no earlier version'
if command -v git >/dev/null 2>&1; then
	git init -q "$dir" && git -C "$dir" add baseline.csv && commit
	expect 0 'one version' 'reasons not compared: no earlier version'
	count 'cc 1' 190 10000
	baseline 190 first 10000 first && page 190 10,000
	expect 1 'a figure changed and its reason did not' '^access: 190 instructions, before 200, for the same reason'
	commit
	expect 1 'the same, committed' '^access: 190 instructions, before 200, for the same reason'
	baseline 190 'faster look-up' 10000 first
	commit
	expect 0 'a reason that was added later' '2 cases are at most 3 %'
	baseline 195 'slower look-up' 10000 first && page 195 10,000
	expect 0 'a figure and its reason changed' '2 cases are at most 3 %'
fi

# record.sh and page.sh
baseline 195 'slower look-up' 10000 first
count 'cc 1' 180 10000
output=$(sh "$bench/record.sh" "$dir" 'packed keys' "$dir/baseline.csv" && sh "$bench/page.sh" "$dir" "$dir/page.md" &&
	cat "$dir/baseline.csv")
status=$?
verdict 0 'a new figure is recorded' '^cc 1,access,180,packed keys$'
verdict 0 'an equal figure keeps its reason' '^cc 1,fault,10000,first$'
expect 0 'the page is written from the same counts' '2 cases are at most 3 %'
output=$(cat "$dir/page.md")
verdict 0 'text behind the table stays' '^further text$'
printf '<!-- scale: scale.csv -->\nold\n<!-- end -->\n<!-- scale: none.csv -->\nkept\n<!-- end -->\n' >>"$dir/page.md"
printf 'policy,1g,64g\nprefetch=none,1000,1500\n' >"$dir/scale.csv"
output=$(sh "$bench/page.sh" "$dir" "$dir/page.md" && tr '\n' '~' <"$dir/page.md")
status=$?
verdict 0 'a table over footprints' \
	'~| policy | 1g | 64g | 64g/1g |~|---|---|---|---|~| `prefetch=none` | 1,000 | 1,500 | 1.50 |~<!-- end -->'
verdict 0 'a table without a file stays' '~kept~'
printf '<!-- pager: ^latency -->\nold\n<!-- end -->\n<!-- pager: ^scan -->\nold\n<!-- end -->\n' >>"$dir/page.md"
cat >"$dir/pager.csv" <<'END'
section,what,system,unit,min,median,max,ratio
latency,4 KiB,loop,us,1,1,1,1
latency,4 KiB,pager: fresh,us,1,1.5,2,1.5
latency,4 KiB,pager: stored,us,1,2,2,1.51
scan,all,pager: room,GB/s,1,2,2,0.8
END
output=$(sh "$bench/page.sh" "$dir" "$dir/page.md" && tr '\n' '~' <"$dir/page.md")
status=$?
verdict 0 'rows that miss the goal are named' \
	'~Of 2 rows of the pager, 1 reach the goal; these miss it:~~.*~| 4 KiB | pager: stored | 1.51 |~<!-- end -->'
verdict 0 'all rows reach the goal' '| 0.80 |~~Of 1 rows of the pager, 1 reach the goal.~<!-- end -->'
output=$(sh "$bench/record.sh" "$dir" 'one, two' "$dir/baseline.csv" 2>&1)
status=$?
verdict 2 'a reason with a comma' 'the reason holds a comma: one, two'
[ $failures = 0 ]
