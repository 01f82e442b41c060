#!/bin/sh
# The libraries of the pager: the shared one exports the functions of pager.h and store.h, the archive has no private names beside
# them, and the preload library keeps its pager to itself. A program with functions of the same names as private ones runs with
# each. usage: pager_library.sh BUILD
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd)
: "${CC:=cc}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. tests/cli/support/verdict.sh
major=$(sed -n 's/^SOMAJOR := //p' Makefile)
shared=$build/libuvmpolicy-pager.so.$major
cat adapters/userspace/pager.h adapters/userspace/store.h | tr '\n\t' '  ' | sed 's/UVMP_PAGER_API/\n&/g' |
	sed -n 's/^UVMP_PAGER_API[^;(]*[ *]\(uvmp_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$tmp/declared"
[ "$(wc -l <"$tmp/declared")" -ge 20 ] || echo 'the headers are not understood' >"$tmp/out"
touch "$tmp/out"
no_lines "pager.h and store.h declare $(wc -l <"$tmp/declared") functions" "$tmp/out"

nm -D --defined-only "$shared" | awk '$2 != "A" {print $NF}' | sed 's/@.*//' | sort -u | diff "$tmp/declared" - >"$tmp/out" 2>&1
no_lines 'the shared library exports these functions, and nothing else' "$tmp/out"
objdump -p "$shared" | awk '$1 == "SONAME" {print $2}' | grep -vxF "libuvmpolicy-pager.so.$major" >"$tmp/out"
no_lines "its soname is libuvmpolicy-pager.so.$major" "$tmp/out"
nm -D -u "$shared" | grep -E ' uvmpi?_' >"$tmp/out"
no_lines 'it needs no other library of ours' "$tmp/out"

nm -g --defined-only "$build/libuvmpolicy-pager.a" 2>/dev/null | awk 'NF == 3 {print $3}' | sort >"$tmp/archive"
grep -vE '^uvmpi?_' "$tmp/archive" >"$tmp/out"
no_lines 'the archive has no name without prefix' "$tmp/out"
comm -23 "$tmp/declared" "$tmp/archive" >"$tmp/out"
no_lines 'the archive has these functions' "$tmp/out"
uniq -d "$tmp/archive" >"$tmp/out"
no_lines 'the archive has no name twice' "$tmp/out"
nm -D --defined-only "$build/libuvmp-preload.so" | grep " uvmp_" >"$tmp/out"
no_lines 'the preload library exports no function of its pager' "$tmp/out"

# The private names, as functions of a program.
nm -g --defined-only "$build"/rel/adapters/userspace/*.o "$build"/rel/adapters/common/packer.o |
	awk '$2 == "T" && $3 !~ /^uvmp_/ && $3 != "main" {print $3}' |
	grep -E '^(areas|pages|pager|packer|uffd|trace_file|waiting)_' | sort -u >"$tmp/private"
: >"$tmp/out"
[ "$(wc -l <"$tmp/private")" -ge 40 ] || echo "only $(wc -l <"$tmp/private")" >"$tmp/out"
no_lines "$(wc -l <"$tmp/private") private names are known" "$tmp/out"
{
	sed 's/.*/int &(void);\nint &(void)\n{\n\treturn 1;\n}/' "$tmp/private"
	cat docs/examples/own_store.c
} >"$tmp/program.c"
mkdir -p "$tmp/include/uvmpolicy"
cp adapters/userspace/pager.h adapters/userspace/store.h "$tmp/include/uvmpolicy"
zstd=
[ "$(cat "$build/zstd_flags")" = '' ] || zstd=-lzstd
for library in "$build/libuvmpolicy-pager.a" "$shared"; do
	what="a program with such functions, ${library##*/}"
	: >"$tmp/out"
	# shellcheck disable=SC2086
	$CC -I"$tmp/include" "$tmp/program.c" "$library" $zstd -lpthread -o "$tmp/program" >"$tmp/out" 2>&1 ||
		echo 'does not link' >>"$tmp/out"
	no_lines "$what, links" "$tmp/out"
	LD_LIBRARY_PATH=$build "$tmp/program" >"$tmp/printed" 2>&1
	if grep -q userfaultfd "$tmp/printed"; then echo "skipped: $what: $(head -n 1 "$tmp/printed")" && continue; fi
	grep -q '^own_store right' "$tmp/printed" || cat "$tmp/printed" >"$tmp/out"
	no_lines "$what, runs" "$tmp/out"
done
exit $failed
