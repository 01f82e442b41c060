#!/bin/sh
# Line and branch coverage of the core. usage: coverage.sh BUILD PROGRAM...
set -eu
build=$1
status=0
shift
find "$build/cov" -name '*.gcda' -delete
for program in "$@"; do
	"$program" >"$build/cov/$(basename "$program").log" 2>&1 || {
		echo "FAIL $program"
		tail -n 40 "$build/cov/$(basename "$program").log"
		exit 1
	}
done
"$build/cov/uvmsim" check tests/vectors/*/*.vec
rm -rf "$build/coverage"
mkdir -p "$build/coverage"
# One pass reads the counters; the reports come from it. gcovr 5.2 fails with 2 (lines) or 4 (branches).
gcovr --root . --object-directory "$build/cov" --filter 'libuvmpolicy/' --filter 'include/uvmpolicy/' --json "$build/coverage/coverage.json" "$build/cov"
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --html-details "$build/coverage/index.html"
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --branches
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --fail-under-line 100 --fail-under-branch 100 \
	--print-summary >"$build/coverage/summary.txt" || status=$?
grep -E '^(lines|branches):' "$build/coverage/summary.txt"
echo "HTML: $build/coverage/index.html"
exit $status
