#!/bin/sh
# Line and branch coverage of the core. usage: coverage.sh BUILD PROGRAM...
set -eu
build=$1
status=0
shift
find "$build/cov" -name '*.gcda' -delete
# As many at a time as there are processors: libgcov locks a file of counters while it adds to it.
# shellcheck disable=SC2016 # of the inner shell
printf '%s\n' "$@" | xargs -P "$(nproc)" -I PROGRAM sh -c 'log=$2/$(basename "$1").log
	"$1" >"$log" 2>&1 || { echo "FAIL $1"; tail -n 40 "$log"; exit 1; }' sh PROGRAM "$build/cov" || exit 1
"$build/cov/uvmsim" check tests/vectors/*/*.vec
rm -rf "$build/coverage"
mkdir -p "$build/coverage"
# One pass reads the counters; the reports come from it. gcovr 5.2 fails with 2 (lines) or 4 (branches).
gcovr --root . --object-directory "$build/cov" --filter 'libuvmpolicy/' --filter 'include/uvmpolicy/' \
	--json "$build/coverage/coverage.json" "$build/cov"
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --html-details "$build/coverage/index.html"
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --branches
gcovr --root . --add-tracefile "$build/coverage/coverage.json" --fail-under-line 100 --fail-under-branch 100 \
	--print-summary >"$build/coverage/summary.txt" || status=$?
grep -E '^(lines|branches):' "$build/coverage/summary.txt"
echo "HTML: $build/coverage/index.html"
exit $status
