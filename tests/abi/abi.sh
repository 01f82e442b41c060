#!/bin/sh
# Records the binary interface of a shared library, or compares the library with a record (docs/abi.md). Added functions and larger
# _COUNT enumerators are no difference. Needs abidw and abidiff of abigail-tools. usage: abi.sh record LIBRARY HEADERS RECORD
#                       abi.sh check LIBRARY HEADERS RECORD
set -eu
[ $# = 4 ] || { sed -n 's/^# usage: //p' "$0" >&2; exit 2; }
here=$(dirname "$0")
library=$2 headers=$3 record=$4
# Types that no public header defines are left out: what opaque structures hold may change.
write() {
	abidw --headers-dir "$headers" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --out-file "$1" "$library"
}
case $1 in
record)
	write "$record"
	;;
check)
	[ -f "$record" ] || { echo "abi.sh: $record is missing: make abi-record" >&2; exit 2; }
	now=$(mktemp)
	trap 'rm -f "$now"' EXIT
	write "$now"
	report=$(abidiff --no-added-syms --no-show-locs --suppressions "$here/allowed.supp" "$record" "$now") || {
		echo "$report"
		echo "FAIL $library differs from $record: restore the interface, or make abi-record if docs/abi.md allows the change"
		exit 1
	}
	echo "ok   $library has the interface of $record"
	;;
*) sed -n 's/^# usage: //p' "$0" >&2; exit 2 ;;
esac
