#!/bin/sh
# Runs everything that `make test` builds. usage: test.sh BUILD PROGRAM...
set -u
if [ "$1" = one ]; then # test.sh one LOGS PROGRAM [ARGUMENT]: runs it, says how it went; called by what is below
	log=$2/$(basename "$3").log
	shift 2
	case $1 in
	*/fuzz_*) what="$(basename "$1"), its corpus" count='s/^\([0-9]*\) inputs$/\1/p' ;;
	*.sh) what=$1 count='/^ok/p' && set -- sh "$@" ;;
	*) what=$(basename "$1") count='s/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' ;;
	esac
	"$@" >"$log" 2>&1
	status=$?
	[ "$1" = sh ] && passed=$(sed -n "$count" "$log" | wc -l) || passed=$(sed -n "$count" "$log" | tail -n 1)
	{
		[ $status = 0 ] && echo "ok   $what: $passed passed"
		[ $status = 0 ] || { echo "FAIL $what (exit status $status)" && tail -n 40 "$log" | sed 's/^/     /'; }
		grep -hE '^UVMP_TEST_SEED|skipped' "$log" | sed 's/^/       /'
	} >"$log.lines"
	cat "$log.lines"
	exit 0
fi

build=$1
shift
logs=$build/logs
mkdir -p "$logs"

# A program a line, with its argument; those that take long first.
programs() {
	echo "tests/cli/cli.sh $build/san/uvmsim"
	for program in "$@"; do echo "$program"; done
	echo "tests/cli/vectors.sh $build/san/uvmsim"
	echo tests/cli/exports.sh
	for script in kernel_examples preload examples uvmp_run programs pager_decisions; do # all but the first: programs under the pager
		echo "tests/cli/$script.sh $build"
	done
	find "$build/san" -maxdepth 1 -name 'fuzz_*' ! -name '*.d' ! -name '*.o' | sort |
		while read -r target; do echo "$target fuzz/corpus/${target##*/fuzz_}"; done
}

programs "$@" | xargs -P "$(nproc)" -L 1 sh "$0" one "$logs" | tee "$logs/programs"
passed=$(sed -n 's/^ok   .*: \([0-9]*\) passed$/\1/p' "$logs/programs" | awk '{sum += $1} END {print sum + 0}')
failed=$(grep -c '^FAIL ' "$logs/programs")

note() { # NAME STATUS PASSED LOG: one line, the output if it failed
	if [ "$2" = 0 ]; then
		passed=$((passed + $3))
		echo "ok   $1: $3 passed"
	else
		failed=$((failed + 1))
		echo "FAIL $1 (exit status $2)"
		tail -n 40 "$4"
	fi
}

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
