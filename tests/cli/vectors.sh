#!/bin/sh
# Every vector file in the repository: check passes all of it, and decide restores it from its input lines, byte for byte,
# read from a file and from standard input. usage: vectors.sh UVMSIM
set -u
uvmsim=$1
root=$(dirname "$0")/../..
work=$(mktemp -d "$(dirname "$uvmsim")/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

verdict() { # NAME STATUS
	if [ "$2" = 0 ]; then
		echo "ok   $1"
	else
		failed=1
		echo "FAIL $1"
		[ -s "$work/err" ] && sed 's/^/     /' "$work/err"
		tail -n 8 "$work/out" | cut -c 1-200 | sed 's/^/     /'
	fi
}

found=0
for file in "$root"/tests/vectors/*/*.vec; do
	[ -f "$file" ] || continue
	found=$((found + 1))
	name=$(basename "$(dirname "$file")")/$(basename "$file")

	"$uvmsim" check "$file" >"$work/out" 2>"$work/err"
	status=$?
	case $(tail -n 1 "$work/out") in
	"0 passed"*) status=1 ;;
	*", 0 failed") ;;
	*) status=1 ;;
	esac
	verdict "$name: check: $(tail -n 1 "$work/out")" $status

	grep -v '^=> ' "$file" >"$work/stripped"
	"$uvmsim" decide "$work/stripped" >"$work/decided" 2>"$work/err" && cmp "$work/decided" "$file" >"$work/out" 2>&1
	verdict "$name: decide restores the file" $?
	"$uvmsim" decide - <"$work/stripped" >"$work/decided" 2>"$work/err" && cmp "$work/decided" "$file" >"$work/out" 2>&1
	verdict "$name: decide restores it from standard input" $?
done

: >"$work/out"
[ $found -ge 11 ]
verdict "$found vector files" $?
exit $failed
