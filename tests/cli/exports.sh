#!/bin/sh
# The kernel module exports what the headers declare: every public function, each once, and nothing else. Without a
# kernel. usage: exports.sh [EXPORTS.C]
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
exports=${1:-adapters/kernel/exports.c}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. tests/cli/support/verdict.sh

# As in tests/check/check.sh, which holds the same list against the shared library.
cat include/uvmpolicy/*.h | tr '\n\t' '  ' | sed 's/UVMP_API/\n&/g' |
	sed -n 's/^UVMP_API[^;(]*[ *]\(uvmp_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$work/declared"
sed -n 's/^EXPORT_SYMBOL(\([a-z0-9_]*\));$/\1/p' "$exports" | sort >"$work/exported"
comm -23 "$work/declared" "$work/exported" >"$work/missing"
[ "$(wc -l <"$work/declared")" -gt 100 ] || echo "the headers are not understood" >>"$work/missing"
no_lines "$exports has every public function ($(wc -l <"$work/declared"))" "$work/missing"
comm -13 "$work/declared" "$work/exported" >"$work/extra"
no_lines "$exports has nothing that is not public, and nothing twice" "$work/extra"
grep -n EXPORT "$exports" | grep -vE '^[0-9]+:(EXPORT_SYMBOL\([a-z0-9_]*\);| \*)' >"$work/odd"
no_lines "$exports: every export in one form, EXPORT_SYMBOL(name);" "$work/odd"
exit $failed
