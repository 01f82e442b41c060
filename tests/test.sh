#!/bin/sh
# Runs everything that `make test` builds. usage: test.sh BUILD PROGRAM...
set -u
build=$1
shift
logs=$build/logs
mkdir -p "$logs"
passed=0 failed=0

note() { # NAME STATUS PASSED LOG: one line per program, its output if it failed
	if [ "$2" = 0 ]; then
		passed=$((passed + $3))
		echo "ok   $1: $3 passed"
	else
		failed=$((failed + 1))
		echo "FAIL $1 (exit status $2)"
		tail -n 40 "$4"
	fi
}

for program in "$@"; do
	name=$(basename "$program")
	"$program" >"$logs/$name.log" 2>&1
	status=$?
	note "$name" $status "$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$logs/$name.log" | tail -n 1)" "$logs/$name.log"
	grep -hE '^UVMP_TEST_SEED|skipped' "$logs/$name.log" | sed 's/^/       /'
done

for target in "$build"/san/fuzz_*; do
	case $target in *.d | *.o) continue ;; esac
	name=$(basename "$target")
	"$target" "fuzz/corpus/${name#fuzz_}" >"$logs/$name.log" 2>&1
	status=$?
	note "$name, its corpus" $status "$(sed -n 's/^\([0-9]*\) inputs$/\1/p' "$logs/$name.log")" "$logs/$name.log"
done

for script in vectors cli; do
	sh "tests/cli/$script.sh" "$build/san/uvmsim" >"$logs/$script.log" 2>&1
	status=$?
	note "tests/cli/$script.sh" $status "$(grep -c '^ok' "$logs/$script.log")" "$logs/$script.log"
done

sh tests/cli/exports.sh >"$logs/exports.log" 2>&1
note tests/cli/exports.sh $? "$(grep -c '^ok' "$logs/exports.log")" "$logs/exports.log"

for script in kernel_examples preload examples uvmp_run programs pager_decisions; do # all but the first: programs under the pager
	sh "tests/cli/$script.sh" "$build" >"$logs/$script.log" 2>&1
	status=$?
	note "tests/cli/$script.sh" $status "$(grep -c '^ok' "$logs/$script.log")" "$logs/$script.log"
	grep -h '^skipped' "$logs/$script.log" | sed 's/^/       /'
done

# A little of the pager's long soak (make soak): with the address sanitizer, and at full speed. Seeds change.
for soak in "$build/san/soak_pager" "$build/soak_pager"; do
	name=${soak#"$build"/}
	log=$logs/$(echo "$name" | tr / -).log
	"$soak" 10 random 8 8 >"$log" 2>&1
	status=$?
	note "$name, 10 s" $status "$(grep -c '^ok: every word' "$log")" "$log"
	grep -hE 'seed|skipped' "$log" | sed 's/^/       /'
done

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
