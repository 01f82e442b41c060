#!/bin/sh
# The test runner itself (tests/test.sh, make test TEST=): what it prints when a test fails, that it fails, that a wrong name is
# an error with the nearest right ones. usage: runner.sh
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: "${CC:=cc}"
show='cat'
. tests/cli/support/verdict.sh
runs() { # STATUS NAME TEST...
	wanted=$1 what=$2
	shift 2
	expect "$wanted" "$what" sh tests/test.sh "$work" "$@"
}
says_not() {
	for text in "$@"; do
		! grep -qF -- "$text" "$work/out"
		verdict $? "$name: does not say \"$text\""
	done
}

# A program of cmocka: the third of sixty tests fails; or the third crashes.
{
	printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <stdlib.h>\n'
	printf '#include <cmocka.h>\n'
	printf '#ifndef BAD\n#define BAD assert_int_equal(17, 18)\n#endif\n'
	for i in $(seq 60); do
		[ "$i" = 3 ] && echo 'static void number_3(void **state) { (void)state; BAD; }' && continue
		echo "static void number_$i(void **state) { (void)state; }"
	done
	echo 'int main(void) { const struct CMUnitTest tests[] = {'
	for i in $(seq 60); do echo "cmocka_unit_test(number_$i),"; done
	echo '}; return cmocka_run_group_tests(tests, NULL, NULL); }'
} >"$work/units.c"
$CC "$work/units.c" -lcmocka -o "$work/test_one_fails" || exit 1
$CC -DBAD=assert_true\(1\) "$work/units.c" -lcmocka -o "$work/test_none_fails" || exit 1
$CC -DBAD='((volatile char *)malloc(1))[1] = 1' -fsanitize=address "$work/units.c" -lcmocka -o "$work/test_crashes" || exit 1
printf '#!/bin/sh\nexit 0\n' >"$work/test_silent"
chmod +x "$work/test_silent"

# Scripts of sixty lines: the fortieth fails; all pass.
for script in bad good; do
	cat >"$work/$script.sh" <<-END
		# usage: $script.sh BUILD
		for i in \$(seq 60); do
			if [ \$i = 40 ] && [ $script = bad ]; then echo "FAIL line 40"; echo "     its reason"; else echo "ok   line \$i"; fi
		done
		echo "ok   \$1"
		[ $script = good ]
	END
done
printf '# usage: skips.sh BUILD\necho "skipped: no pager here"\n' >"$work/skips.sh"

runs 0 'all pass' "$work/test_none_fails" "$work/good.sh" "$work/skips.sh"
says "ok   test_none_fails: 60 passed" "ok   $work/good.sh: 61 passed" "       skipped: no pager here" '121 passed, 0 failed'
runs 1 'a unit test fails' "$work/test_one_fails" "$work/test_none_fails"
says 'FAIL test_one_fails (exit status 1)' '[  ERROR   ] --- 0x11 != 0x12' 'units.c' '[  FAILED  ] number_3' '60 passed, 1 failed'
says_not number_2 number_60
runs 1 'a unit test crashes' "$work/test_crashes"
says 'FAIL test_crashes' 'AddressSanitizer: heap-buffer-overflow' 'in number_3'
runs 1 'a program without tests' "$work/test_silent"
says 'FAIL test_silent (exit status 0, but it counts no tests)'
runs 1 'a script fails' "$work/bad.sh" "$work/good.sh"
says "FAIL $work/bad.sh (exit status 1)" '     FAIL line 40' '     its reason' '     ok   line 37' '61 passed, 1 failed'
says_not 'line 36' 'line 42'
runs 1 'a test that is not there' "$work/test_missing"
says 'FAIL test_missing'

# makes STATUS NAME TEST: what `make test TEST=...` would run, by make's dry run
makes() {
	expect "$1" "$2" "${MAKE:-make}" -n test-run TEST="$3"
	grep 'tests/test.sh build ' "$work/out" | tail -n 1 >"$work/line"
}
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
makes 0 'TEST=test_policy, exactly' test_policy
[ "$(cat "$work/line")" = 'sh tests/test.sh build build/san/test_policy' ]
verdict $? "$name"
makes 0 'TEST=prefetch, a part of names' prefetch
grep -q ' build/san/test_prefetch .* build/san/prop_prefetch' "$work/line" ||
	grep -q ' build/san/prop_prefetch .* build/san/test_prefetch' "$work/line"
verdict $? "$name: unit and property tests"
! grep -qE 'test_policy|cli\.sh' "$work/line"
verdict $? "$name: no others"
makes 0 'TEST of two words' 'test_policy vectors.sh'
grep -q 'build/san/test_policy tests/cli/vectors.sh$' "$work/line"
verdict $? "$name"
expect 2 'TEST of a wrong word' "${MAKE:-make}" -s test-run TEST='test_policy prefetsh'
says 'make test: no test is named prefetsh; the nearest are: prefetchers fuzz_prefetch prop_prefetch'
# every script of tests/cli says what it takes
for script in tests/cli/*.sh; do
	grep -q "^#.*usage: ${script##*/}" "$script"
	verdict $? "$script has a line of usage"
done
exit $failed
