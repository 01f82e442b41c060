#!/bin/sh
# The programs of docs/ten-minutes.md, in C, C++ and Python, built as the page says: each prints what the page shows.
# usage: ten_minutes.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd) || exit 1
: "${CC:=cc}" "${CXX:=c++}"
page=docs/ten-minutes.md
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
verdict() { # NAME: $tmp/log holds what is wrong
	if [ -s "$tmp/log" ]; then
		echo "FAIL $1" && sed 's/^/     /' "$tmp/log" | head -n 20
		failed=$((failed + 1))
	else
		passed=$((passed + 1))
	fi
}
# The commands and answers of the page: `$ ./ten ARGUMENT`, and the line behind it.
awk '/^\$ \.\/ten/ { sub(/^\$ \.\/ten ?/, ""); argument = $0; getline; print argument "|" $0 }' "$page" >"$tmp/shown"
[ "$(wc -l <"$tmp/shown")" -ge 4 ] || echo "$page shows fewer than four runs" >"$tmp/log"
verdict 'the page shows runs'

run_all() { # NAME PROGRAM...
	name=$1
	shift
	while IFS='|' read -r argument want; do
		"$@" ${argument:+"$argument"} >"$tmp/out" 2>&1
		echo "$want" | diff - "$tmp/out" >"$tmp/log"
		verdict "$name $argument: as the page shows"
	done <"$tmp/shown"
}
: >"$tmp/log"
$CC -std=c11 -Wall -Wextra -Werror -Iinclude -Iadapters/common docs/examples/ten_minutes.c "$build/libuvmpolicy-host.a" \
	-o "$tmp/c" 2>"$tmp/log"
verdict 'C: compiles'
run_all C "$tmp/c"
if command -v "$CXX" >/dev/null 2>&1; then
	$CXX -std=c++17 -Wall -Wextra -Werror -Iinclude -Iadapters/common docs/examples/ten_minutes.cpp "$build/libuvmpolicy-host.a" \
		-o "$tmp/cpp" 2>"$tmp/log"
	verdict 'C++: compiles'
	run_all C++ "$tmp/cpp"
else
	echo "       skipped: C++: there is no $CXX"
fi
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
	export PYTHONPATH=adapters/python PYTHONDONTWRITEBYTECODE=1 UVMPOLICY_LIBRARY="$build/libuvmpolicy-python.so"
	run_all Python python3 docs/examples/ten_minutes.py
else
	echo '       skipped: Python: there is no Python 3.9 or later'
fi
# The lines of each program, as the table says.
: >"$tmp/log"
for file in docs/examples/ten_minutes.c docs/examples/ten_minutes.cpp docs/examples/ten_minutes.py; do
	grep -q "](examples/${file##*/}) | $(wc -l <"$file") |" "$page" || echo "$file has $(wc -l <"$file") lines" >>"$tmp/log"
done
verdict 'the table has the numbers of lines'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
