#!/bin/sh
# Runs the tests that the Makefile built, one more at a time than there are processors.
#
# usage: test.sh BUILD TEST...          run each TEST
#        test.sh --nearest WORD NAME... print the names that are nearest to WORD
#
# A TEST is a program in BUILD, a script in tests/cli or soak_pager (ten seconds of the pager's long soak). A fuzz target gets its
# corpus, a script gets what its line "usage: NAME.sh ..." names: BUILD or UVMSIM. A new script in tests/cli is found by itself.
set -u

# The lines of a log that explain a failure, at most 150, indented. cmocka and the sanitizers write to stderr; its messages about
# the tests that pass go to stdout.
explain() { # LOG ERRORS
	{
		grep -vE '^\[(  PASSED|==========)' "$2" | head -n 120
		case $(file_kind "$1") in
		script) grep -vnE '^(ok|skip|skipped:) ' "$1" | cut -d: -f1 | around "$1" ;;
		cmocka) grep -vE '^\[( RUN  |       OK|==========|  PASSED)' "$1" | tail -n 20 ;;
		*) tail -n 30 "$1" ;;
		esac
	} | awk 'NR <= 150 {print "     " $0} END {if (NR > 150) print "     ... " NR - 150 " more lines"}'
	echo "     all of the output: $1${2:+, $2}"
}
file_kind() {
	if grep -q '^ok   ' "$1"; then echo script; elif grep -q '^\[ RUN ' "$1"; then echo cmocka; else echo other; fi
}
# The numbered lines of a file, three lines before each, and "--" where lines are left out.
around() {
	awk -v file="$1" '{for (i = $1 - 3; i <= $1; i++) if (i > 0) shown[i] = 1}
		END {while ((getline line < file) > 0) {n++; if (shown[n]) {if (last && n > last + 1) print "--"; print line; last = n}}}'
}

if [ "$1" = --one ]; then # test.sh --one BUILD TEST: runs it and reports; called by what is below
	build=$2 test=$3 name=$(basename "$3") log=$2/logs/$(basename "$3").log
	count='s/^\[  PASSED  \] \([0-9]*\) test.*/\1/p'
	what=$name
	case $name in
	fuzz_*)
		set -- "$test" "fuzz/corpus/${name#fuzz_}"
		what="$name, its corpus" count='s/^\([0-9]*\) inputs$/\1/p'
		;;
	*.sh)
		case $(sed -n "s/^#.*usage: $name *\([A-Z]*\).*/\1/p" "$test" | head -n 1) in
		UVMSIM) set -- sh "$test" "${UVMSIM:-$build/san/uvmsim}" ;;
		BUILD) set -- sh "$test" "$build" ;;
		*) set -- sh "$test" ;;
		esac
		what=$test count=
		;;
	soak_pager)
		what="${test#"$build"/}, 10 s"
		log=$build/logs/$(echo "${test#"$build"/}" | tr / -).log
		set -- "$test" 10 random 8 8
		count=
		;;
	*) set -- "$test" ;;
	esac
	errors=$log.errors
	began=$(date +%s)
	if [ "$1" = sh ]; then # a script's lines and those of its programs belong together
		: >"$errors"
		"$@" >"$log" 2>&1
	else
		"$@" >"$log" 2>"$errors"
	fi
	status=$?
	if [ -n "$count" ]; then passed=$(cat "$log" "$errors" | sed -n "$count" | tail -n 1); else passed=$(grep -c '^ok' "$log"); fi
	[ $status != 0 ] || [ -n "$passed" ] || { status='0, but it counts no tests' && passed=0; }
	{
		if [ "$status" = 0 ]; then
			echo "ok   $what: $passed passed"
		else
			echo "FAIL $what (exit status $status)"
			explain "$log" "$errors"
		fi
		cat "$log" "$errors" | grep -E '^UVMP_TEST_SEED|^life of seed|skipped' | sed 's/^/       /'
	} >"$log.lines"
	cat "$log.lines"
	echo "$(($(date +%s) - began)) $what" >>"$build/logs/seconds"
	exit 0
fi

if [ "$1" = --nearest ]; then # by the fewest letters that must change, where the word fits best; short names first
	shift
	word=$1
	shift
	for name in "$@"; do echo "$name"; done | awk -v word="$word" '
		function least(a, b, c) {return a < b ? (a < c ? a : c) : (b < c ? b : c)}
		function apart(w, n,   i, j, row, up, left, best) { # w against any part of n
			for (j = 0; j <= length(n); j++) row[j] = 0
			for (i = 1; i <= length(w); i++) {
				left = row[0]; row[0] = i
				for (j = 1; j <= length(n); j++) {
					up = row[j]
					row[j] = least(up + 1, row[j - 1] + 1, left + (substr(w, i, 1) != substr(n, j, 1)))
					left = up
				}
			}
			best = row[0]
			for (j = 1; j <= length(n); j++) if (row[j] < best) best = row[j]
			return best
		}
		{print apart(word, $1), length($1), $1}' | sort -k1,1n -k2,2n -k3 | head -n 3 | sed 's/^[0-9]* [0-9]* //'
	exit 0
fi

build=$1
shift
logs=$build/logs
mkdir -p "$logs"
: >"$logs/seconds"
began=$(date +%s)

# One more than processors: some tests wait most of the time.
for test in "$@"; do echo "$test"; done | xargs -P "$(($(nproc) + 1))" -I '{}' sh "$0" --one "$build" '{}' | tee "$logs/programs"
passed=$(sed -n 's/^ok   .*: \([0-9]*\) passed$/\1/p' "$logs/programs" | awk '{sum += $1} END {print sum + 0}')
failed=$(grep -c '^FAIL ' "$logs/programs")
[ "$(grep -cE '^(ok  |FAIL) ' "$logs/programs")" = $# ] || { failed=$((failed + 1)) && echo "FAIL not every test reported"; }

if [ "$failed" != 0 ]; then
	echo
	echo "failed:"
	grep '^FAIL ' "$logs/programs"
fi
echo
echo "$passed passed, $failed failed, $(($(date +%s) - began)) s"
[ "$failed" = 0 ]
