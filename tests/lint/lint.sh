#!/bin/sh
# Format and static analysis, in about a minute: lint.sh BUILD
#
#   clang-format  every public header, also the pager's, obeys .clang-format and has at most 110 columns
#   clang-tidy    the checks of .clang-tidy, over the core and the hosts: mistakes, and functions of more than 60 lines
#   cppcheck      the same files; tests/lint/suppressions lists what it takes for a mistake and is none
#
#   black, mypy   the Python files obey PEP 8 with at most 99 columns, and their types fit; skipped where they are not installed;
#                 libraries that are not installed (numpy, hypothesis) are taken as untyped
#
# One line a check: "ok   ..." or "FAIL ..." with details below it. Exit status 1: one failed. BUILD holds models.inc.
set -u
export LC_ALL=C
build=${1:?usage: lint.sh BUILD}
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

verdict() # WHAT FILE: FILE holds what is wrong
{
	if [ -s "$2" ]; then
		echo "FAIL $1"
		sed 's/^/       /' "$2" | head -n 40
		failed=1
	else
		echo "ok   $1"
	fi
}

headers="$(ls include/uvmpolicy/*.h adapters/*/uvmpolicy/*.h adapters/*/uvmpolicy/*.hpp)"
headers="$headers adapters/userspace/pager.h adapters/userspace/store.h"
sources=$(find libuvmpolicy adapters/common adapters/simulator adapters/userspace adapters/cuda -name '*.c' | sort)
include="-Iinclude -Ilibuvmpolicy -Iadapters/common -Iadapters/simulator -Iadapters/userspace -Itests/support/cuda -I$build"

# shellcheck disable=SC2086 # lists
{
	clang-format --dry-run -Werror --ferror-limit=3 $headers 2>&1 | grep 'error:'
	for header in $headers; do
		expand "$header" | awk -v file="$header" 'length > 110 {print file ":" FNR ": " length " columns"}'
	done
} > "$tmp/format"
# shellcheck disable=SC2086
verdict "clang-format: $(echo $headers | wc -w) public headers" "$tmp/format"

# shellcheck disable=SC2086,SC2016 # lists; expanded by the inner shell
echo $sources | tr ' ' '\n' | xargs -P "$(nproc)" -n 8 sh -c '
	include=$1
	shift
	clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE -DUVMSIM_VERSION=\"\" -DUVMP_LIBDIR=\"\" $include 2>&1' tidy "$include" |
	grep -E '(error|warning): ' | sed "s,^$PWD/,," | sort -u > "$tmp/tidy"
# shellcheck disable=SC2086
verdict "clang-tidy: $(echo $sources | wc -w) files" "$tmp/tidy"

# shellcheck disable=SC2086
cppcheck -q --enable=warning,performance,portability --std=c11 -j"$(nproc)" -D_GNU_SOURCE $include \
	--suppressions-list=tests/lint/suppressions --template='{file}:{line}: {severity}: {message} [{id}]' $sources 2> "$tmp/cppcheck"
# shellcheck disable=SC2086
verdict "cppcheck: $(echo $sources | wc -w) files" "$tmp/cppcheck"

# C, make and scripts; one without an ending of these is known by its first line.
{
	find Makefile libuvmpolicy include adapters tests fuzz docs -name '*.[ch]' -o -name '*.hpp' -o -name '*.mk' -o -name Makefile \
		-o -name '*.sh' -o -name '*.awk' -o -name '*.py'
	find .ci adapters tests fuzz docs -type f -exec awk 'FNR == 1 && /^#!/ {print FILENAME} {nextfile}' {} +
} | sort -u | xargs awk 'length > 132 {print FILENAME ":" FNR ": " length " characters"}' > "$tmp/long"
verdict 'C, make, shell, awk and Python: no line has more than 132 characters' "$tmp/long"

scripts=$(find adapters/python tests/python -name '*.py' | sort)
if command -v black >/dev/null 2>&1 && command -v mypy >/dev/null 2>&1; then
	# shellcheck disable=SC2086
	{
		black --quiet --check --line-length 99 $scripts 2>&1 ||
			echo 'black -l 99 changes a file: run it over adapters/python and tests/python'
		awk 'length > 99 {print FILENAME ":" FNR ": " length " columns"}' $scripts
		MYPYPATH=adapters/python:adapters/python/backend mypy --strict --ignore-missing-imports --no-error-summary \
			--cache-dir="$build/mypy" $scripts 2>&1
	} > "$tmp/python"
	# shellcheck disable=SC2086
	verdict "black and mypy: $(echo $scripts | wc -w) files" "$tmp/python"
else
	echo 'ok   Python files: skipped: black or mypy is not installed (Debian: black, mypy)'
fi
exit $failed
