#!/bin/sh
# The examples of the pager, built as their first lines say against what `make install` has installed, each at a
# quarter of its memory with several policies and stores; and `make examples`, which needs no installed library.
# usage: examples.sh BUILD
set -u
build=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

ok() { echo "ok   $1"; }
fail()
{
	echo "FAIL $1"
	[ ! -f "$tmp/out" ] || sed 's/^/     /' "$tmp/out"
	failed=1
}
check() # NAME COMMAND...
{
	what=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then ok "$what"; else fail "$what"; fi
}

# make examples compiles with the headers of the repository, not with installed ones: each uvmpolicy/ header that a program names
# is one that the build copied.
rm -rf "$build/examples"
check "make examples" ${MAKE:-make} -s examples BUILD="$build"
for name in sgemm_out_of_core bfs_out_of_core sort_out_of_core own_store; do
	headers=$(grep -c '^#include [<"]uvmpolicy/' docs/examples/$name.c)
	found=$(grep -o "[^ ]*/include/uvmpolicy/[a-z]*\.h" "$build/examples/$name.d" 2>"$tmp/out" | grep -c "^$build/")
	check "make examples: $name, $found of its $headers headers from the build" test -x "$build/examples/$name" -a \
		"$headers" -gt 0 -a "$found" = "$headers"
done

# The prefix is moved after installation, so that nothing but the installed files is used.
check "make install DESTDIR" ${MAKE:-make} -s install BUILD="$build" DESTDIR="$tmp/installed" PREFIX=/usr
for file in include/uvmpolicy/pager.h include/uvmpolicy/store.h lib/libuvmpolicy-pager.a lib/libuvmpolicy-pager.so \
	lib/pkgconfig/libuvmpolicy-pager.pc; do
	check "installed: $file" test -s "$tmp/installed/usr/$file"
done
export PKG_CONFIG_PATH="$tmp/installed/usr/lib/pkgconfig" LD_LIBRARY_PATH="$tmp/installed/usr/lib"
cp docs/examples/*.c "$tmp"
cd "$tmp" || exit 1
for name in sgemm_out_of_core bfs_out_of_core sort_out_of_core own_store; do
	line=$(sed -n 's/^ \*   cc \(.*\) -o .*/\1/p' $name.c) # the line that the document gives
	line=$(echo "$line" | sed 's/pkg-config/pkg-config --define-variable=prefix=$tmp\/installed\/usr/')
	check "$name.c compiles by its own line" sh -c "tmp=$tmp; ${CC:-cc} $line -Wall -Wextra -Werror -o $name"
	if [ $name != own_store ]; then
		lines=$(wc -l <$name.c)
		check "$name.c has $lines lines, less than 100" test "$lines" -lt 100
	fi
done
[ $failed = 0 ] || exit 1

./own_store >own 2>&1
if grep -q userfaultfd own; then
	echo "skipped: $(cat own)"
	exit 0
fi
check "a store of one's own" grep -q '^own_store right: [23][0-9] MiB written' own

# NAME SIZE: right with each policy and store, and more came back than fits.
runs()
{
	for policy in "evict=lru2m granularity=64k" "prefetch=tbn evict=tbne"; do
		for store in mem zstd file:"$tmp/store"; do
			for ahead in 0 1; do
				rm -f "$tmp/store"
				case $store in zstd | file:*) [ $ahead = 1 ] || continue ;; esac
				what="$1 -n $2, $policy, ${store%%:*}, -f $ahead"
				timeout 60 "./$1_out_of_core" -n "$2" -p "$policy" -s "$store" -f $ahead >out 2>&1
				status=$?
				in=$(sed -n 's/.* \([0-9]*\) MiB in.*/\1/p' out)
				if [ $status = 0 ] && grep -q "^$1 right: " out && [ "${in:-0}" -gt 8 ]; then ok "$what"; else fail "$what"; fi
			done
		done
	done
}
runs sgemm 1728
runs bfs 18
runs sort 2

# Fetched ahead, fewer threads wait for faults.
for example in "sgemm 1728" "bfs 18" "sort 2"; do
	name=${example% *}
	for ahead in 0 1; do
		"./${name}_out_of_core" -n "${example#* }" -p "prefetch=none evict=lru2m granularity=64k" -f $ahead 2>&1 |
			sed -n 's/.* \([0-9]*\) faults.*/\1/p' >faults.$ahead
	done
	check "$name: $(cat faults.0) faults without fetching ahead, $(cat faults.1) with it" test "$(cat faults.1)" -lt "$(cat faults.0)"
done

# Bad input: what is wrong, exit status 2.
for bad in "sgemm -n x" "sgemm -n -5" "sgemm -n 65473" "sgemm -b 7" "sgemm -b x" "sgemm -b -1" \
	"bfs -n 5" "bfs -n -5" "bfs -n 42" "bfs -n 28" "bfs -n 18x" "bfs -n 4294967306" "bfs -b 8m" \
	"sort -n 0" "sort -n -5" "sort -n 1048577" "sort -n 2k" "sort -b -1" "sort -p no=1" "sort -s nowhere" "bfs -q" "sgemm extra"; do
	set -- $bad
	program=./$1_out_of_core
	shift
	timeout 60 "$program" "$@" >out 2>&1
	status=$?
	if [ $status = 2 ] && [ "$(wc -l <out)" -le 2 ] && grep -q ': ' out; then ok "refused: $bad"; else fail "refused: $bad"; fi
done
exit $failed
