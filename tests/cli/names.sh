#!/bin/sh
# The check of prefixes (tests/check/names.sh) sees planted names, and only these. usage: names.sh
set -eu
cd "$(dirname "$0")/../.."
CC=${CC:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

printf 'evict\nuvmp_decide\n' > "$tmp/declared"
# expect WHAT SOURCE LINES: the check over this source prints LINES.
expect()
{
	echo "$2" | $CC -xc -O0 -c - -o "$tmp/object.o"
	printed=$(sh tests/check/names.sh "$tmp/declared" "$tmp/object.o")
	if [ "$printed" = "$3" ]; then
		echo "ok   $1"
	else
		printf 'FAILED: %s. Printed:\n%s\nexpected:\n%s\n' "$1" "$printed" "$3"
		failed=1
	fi
}

right='int uvmp_decide(void) { return 0; } int uvmpi_help(void) { return 0; }'
right="$right static int help(void) { return 1; } int (*const uvmpi_table[])(void) = {help};"
expect "a public, a private and a static function" "$right" ""
expect "a private function with the prefix of public ones" "$right int uvmp_help(void) { return 2; }" \
	"uvmp_help: in no public header, but does not start with uvmpi_"
expect "a private function and a private table without a prefix" \
	"$right int help_more(void) { return 2; } const int table[] = {1};" \
	"help_more: in no public header, but does not start with uvmpi_
table: in no public header, but does not start with uvmpi_"
expect "a public function without a prefix" "$right int evict(void) { return 2; }" "evict: public, but does not start with uvmp_"
expect "an object without public functions" "int uvmpi_help(void) { return 0; }" "no public function at all"
exit $failed
