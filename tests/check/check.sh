#!/bin/sh
# Proves the rules of the core on what has been built: check.sh BUILD, with CC in the environment.
#
# One line a proof: "ok   ...", "FAIL ..." with details indented below it, or "skip ..." with the reason. Exits 1 if one
# failed. Writes only to BUILD/check. Needs a C compiler and binutils; a second C compiler and C++ if there are any.
set -u
export LC_ALL=C

build=$(cd "${1:?usage: check.sh BUILD}" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
: "${CC:=cc}"
here=tests/check
lib=$build/libuvmpolicy.a
major=$(sed -n 's/^#define UVMP_VERSION_MAJOR *//p' include/uvmpolicy/base.h)
so=$build/libuvmpolicy.so.$major
tmp=$build/check
rm -rf "$tmp"
mkdir -p "$tmp"
failed=0

warn=${WARN:?the warnings of the Makefile}
core="-std=c11 -Iinclude $warn -ffreestanding -fvisibility=hidden -fPIC"
nofpu=
case $(uname -m) in x86_64 | aarch64) nofpu=-mgeneral-regs-only ;; esac

skip() { echo "skip $1"; }
# verdict WHAT FILE: FILE holds the violations.
verdict()
{
	if [ -s "$2" ]; then
		echo "FAIL $1"
		sed 's/^/       /' "$2" | head -n 20
		failed=1
	else
		echo "ok   $1"
	fi
}
# each LOG PREFIX COMMAND...: runs COMMAND FILE for every core file; complaints go to LOG.
each()
{
	log=$1
	shift
	: > "$log"
	for file in libuvmpolicy/*/*.c; do
		"$@" "$file" >> "$log" 2>&1 || echo "$file: does not compile" >> "$log"
	done
}
compiles() { echo 'int x;' | $1 ${2:-} -xc -c - -o "$tmp/probe.o" > "$tmp/probe.log" 2>&1; }

# -- what is in the archive -----------------------------------------------------------------------------------------
# Linked into one relocatable object, so that calls between its members are resolved.
if ! $CC -nostdlib -r -Wl,--whole-archive "$lib" -Wl,--no-whole-archive -o "$tmp/all.o" > "$tmp/link.log" 2>&1; then
	verdict "the archive links into one object" "$tmp/link.log"
	exit 1
fi
machine=$(objdump -f "$tmp/all.o" | sed -n 's/^architecture: \([^,]*\).*/\1/p')

# _GLOBAL_OFFSET_TABLE_ is the linker's own name for position-independent code, not something to be provided.
nm -u "$tmp/all.o" | awk '{print $NF}' | grep -vxE 'memcpy|memset|memmove|memcmp|_GLOBAL_OFFSET_TABLE_' > "$tmp/undefined"
verdict "the archive needs nothing but memcpy, memset, memmove, memcmp" "$tmp/undefined"

cat include/uvmpolicy/*.h | tr '\n\t' '  ' | sed 's/UVMP_API/\n&/g' |
	sed -n 's/^UVMP_API[^;(]*[ *]\(uvmp_[a-z0-9_]*\)(.*/\1/p' | sort -u > "$tmp/declared"
sh $here/names.sh "$tmp/declared" "$tmp/all.o" > "$tmp/names"
verdict "every external name starts with uvmp_ (in a public header) or uvmpi_ (private)" "$tmp/names"

# Sections that are loaded and writable. .data.rel.ro holds constant tables of pointers: written once by the loader, which
# puts in the addresses, read-only from then on (and never written in a program at a fixed address).
objdump -h "$tmp/all.o" | awk '
	$1 ~ /^[0-9]+$/ {name = $2; size = $3; next}
	/ALLOC/ && !/READONLY/ && size !~ /^0+$/ {print name, "0x" size}' > "$tmp/writable"
nm "$tmp/all.o" | awk '$2 == "C" {print "common symbol", $3}' >> "$tmp/writable"
grep -v '^\.data\.rel\.ro' "$tmp/writable" > "$tmp/data"
verdict "no writable data, no bss, no common symbols" "$tmp/data"
echo "     (constant tables of pointers, read-only after relocation: $(
	size -A "$tmp/all.o" | awk '/^\.data\.rel\.ro/ {n += $2} END {print n + 0}') bytes)"

# Names of functions are dropped first: they could look like registers.
objdump -d --no-show-raw-insn "$tmp/all.o" | sed 's/<[^>]*>//g' > "$tmp/code"
case $machine in
i386:x86-64) fp='%[xyz]mm|%mm[0-7]|%st|^ *[0-9a-f]+:	f[a-z]' ;;
aarch64) fp='[	 ,{[][bhsdqv][0-9]+([^0-9a-z]|$)' ;;
*) fp= ;;
esac
if [ -n "$fp" ]; then
	grep -E "$fp" "$tmp/code" > "$tmp/fp"
	verdict "no floating-point or vector instruction ($(grep -c '^ *[0-9a-f]*:' "$tmp/code") instructions)" "$tmp/fp"
else
	skip "floating-point instructions: no pattern for machine '$machine'"
fi

# -- files that need each other -------------------------------------------------------------------------------------
# The objects of one program at a time: of uvmsim, of the pager with its runner and preload library, of the kernel module.
objects_of() # SOURCE...: the object that a program was linked from is the newest one
{
	for source in "$@"; do
		ls -t "$build/rel/${source%.c}.o" "$build/fast/${source%.c}.o" 2> /dev/null | head -n 1 > "$tmp/object"
		[ -s "$tmp/object" ] || echo "$source is in no program" >> "$tmp/cycles"
		cat "$tmp/object"
	done
}
no_cycles() # WHAT [--order DOCUMENT] OBJECT...
{
	what=$1
	shift
	sh $here/cycles.sh "$@" >> "$tmp/cycles" 2>&1
	[ "$1" != --order ] || shift 2
	verdict "no two files need each other, none needs a higher one: $what ($# objects)" "$tmp/cycles"
	: > "$tmp/cycles"
}
: > "$tmp/cycles"
core_objects=$(for source in libuvmpolicy/*/*.c; do echo "$build/rel/${source%.c}.o"; done)
common_objects=$(objects_of $(find adapters/common -name '*.c' 2> /dev/null | sort))
no_cycles "the core, in the order of docs/architecture.md" --order docs/architecture.md $core_objects
no_cycles "the simulator" $core_objects $common_objects $(objects_of $(find adapters/simulator -name '*.c' | sort))
no_cycles "the pager" $core_objects $common_objects $(objects_of $(find adapters/userspace -name '*.c' | sort))
# The kernel's own build leaves objects beside links to the sources; `make kernel` and `make kernel-test` make them. If one is
# missing or older than its source or a header, the sources are read as text.
module=$build/kernel/module
module_objects=
for source in adapters/kernel/emu_*.c; do
	object=$module/$(basename "$source" .c).o
	[ "$object" -nt "$source" ] && [ -z "$(find adapters/kernel adapters/common -name '*.h' -newer "$object")" ] || module_objects=none
	[ "$module_objects" = none ] || module_objects="$module_objects $object"
done
if [ "$module_objects" != none ]; then
	no_cycles "the kernel module" $core_objects $module_objects
else
	no_cycles "the kernel module, by its sources" $core_objects adapters/kernel/emu_*.c
fi

# -- the back ends of the memory ------------------------------------------------------------------------------------
grep -nE '"memory_backend_internal\.h"|(->|\.)pmm\>' libuvmpolicy/engine/*.[ch] |
	grep -vE '^[^:]*/((memory|victim)[a-z_]*\.c|memory_backend_internal\.h):' > "$tmp/backends"
verdict "only memory*.c and victim*.c know the two back ends of the memory" "$tmp/backends"

# -- without libc ---------------------------------------------------------------------------------------------------
case $machine in
i386:x86-64 | aarch64)
	{
		$CC $core -fno-stack-protector -O2 -nostdlib -static $here/freestanding.c "$lib" -o "$tmp/freestanding" &&
			{ "$tmp/freestanding" || echo "decision $? is wrong (see freestanding_main)"; }
	} > "$tmp/freestanding.log" 2>&1 || echo "does not link" >> "$tmp/freestanding.log"
	verdict "a static program without libc links and decides rightly" "$tmp/freestanding.log"
	;;
*) skip "program without libc: no entry code for machine '$machine'" ;;
esac

# -- the shared library ---------------------------------------------------------------------------------------------
nm -D --defined-only "$so" | awk '$2 != "A" {print $NF}' | sed 's/@.*//' | sort -u > "$tmp/exported"
{
	comm -13 "$tmp/declared" "$tmp/exported" | sed 's/$/: exported, but in no header/'
	comm -23 "$tmp/declared" "$tmp/exported" | sed 's/$/: in a header, but not exported/'
	grep -v '^uvmp_' "$tmp/exported" | sed 's/$/: does not start with uvmp_/'
} > "$tmp/api"
verdict "the shared library exports the functions of the headers and nothing else ($(wc -l < "$tmp/exported"))" "$tmp/api"
objdump -p "$so" | awk '$1 == "SONAME" {print $2}' > "$tmp/soname"
if [ "$(cat "$tmp/soname")" = "libuvmpolicy.so.$major" ]; then
	: > "$tmp/soname"
else
	echo "is not libuvmpolicy.so.$major" >> "$tmp/soname"
fi
verdict "its soname is libuvmpolicy.so.$major" "$tmp/soname"

# -- headers --------------------------------------------------------------------------------------------------------
: > "$tmp/c11"
for header in include/uvmpolicy/*.h; do
	echo "#include \"uvmpolicy/${header##*/}\"" |
		$CC -std=c11 $warn -Iinclude -fsyntax-only -xc - >> "$tmp/c11" 2>&1 || echo "$header" >> "$tmp/c11"
done
echo '#include <uvmpolicy/host.h>' |
	$CC -std=c11 $warn -Iinclude -Iadapters/common -fsyntax-only -xc - >> "$tmp/c11" 2>&1 || echo host.h >> "$tmp/c11"
for header in pager store; do
	echo "#include \"$header.h\"" |
		$CC -std=c11 $warn -Iadapters/userspace -fsyntax-only -xc - >> "$tmp/c11" 2>&1 || echo "$header.h" >> "$tmp/c11"
done
verdict "each header compiles alone as C11, the host kit's and the pager's too" "$tmp/c11"

cxx=
for name in ${CXX:-} "$(echo "$CC" | sed 's/gcc/g++/; s/clang/clang++/; s/^cc/c++/')" g++ clang++ c++; do
	if [ -z "$cxx" ] && echo 'int main() {}' | $name -xc++ - -o "$tmp/probe" > /dev/null 2>&1; then cxx=$name; fi
done
if [ -n "$cxx" ]; then
	warnxx="-std=c++17 $(echo "$warn" | sed 's/-Wstrict-prototypes//')"
	: > "$tmp/cxx"
	for header in include/uvmpolicy/*.h; do
		echo "#include \"uvmpolicy/${header##*/}\"" |
			$cxx $warnxx -Iinclude -fsyntax-only -xc++ - >> "$tmp/cxx" 2>&1 || echo "$header" >> "$tmp/cxx"
	done
	echo '#include <uvmpolicy/host.h>' |
		$cxx $warnxx -Iinclude -Iadapters/common -fsyntax-only -xc++ - >> "$tmp/cxx" 2>&1 || echo host.h >> "$tmp/cxx"
	for header in pager store; do # -Wshadow takes a function and a structure of one name for a mistake
		echo "#include \"$header.h\"" |
			$cxx $warnxx -Wno-shadow -Iadapters/userspace -fsyntax-only -xc++ - >> "$tmp/cxx" 2>&1 || echo "$header.h" >> "$tmp/cxx"
	done
	verdict "each header compiles alone as C++17, the host kit's and the pager's too ($cxx)" "$tmp/cxx"
	{
		$cxx $warnxx -Iinclude $here/header.cpp "$lib" -o "$tmp/header" &&
			{ "$tmp/header" || echo "exit status $? (see header.cpp)"; }
	} > "$tmp/cxx" 2>&1 || echo "does not link" >> "$tmp/cxx"
	verdict "a C++17 program links and runs" "$tmp/cxx"
else
	skip "C++17: no C++ compiler that can link a program"
fi

kernel="-D__KERNEL__ -nostdinc -I$here/kernel"
: > "$tmp/kernel"
for header in include/uvmpolicy/*.h; do
	echo "#include \"uvmpolicy/${header##*/}\"" |
		$CC $core $kernel -fsyntax-only -xc - >> "$tmp/kernel" 2>&1 || echo "$header" >> "$tmp/kernel"
done
verdict "each header compiles alone against kernel types" "$tmp/kernel"
in_kernel() { $CC $core $kernel -fsyntax-only "$1"; }
each "$tmp/kernel" in_kernel
verdict "the core compiles against kernel types" "$tmp/kernel"

# -- the core, file by file -----------------------------------------------------------------------------------------
case $($CC --version 2> /dev/null) in *clang*) other=gcc ;; *) other=clang ;; esac
if compiles $other; then
	with_other() { $other $core $nofpu -fsyntax-only "$1"; } # its code and stack: make CC=$other check
	each "$tmp/other" with_other
	verdict "the core is valid for $other too, without a warning" "$tmp/other"
else
	skip "second compiler: no $other here"
fi

# Stack of single functions, as optimised; and who calls whom, as written (-O0 neither inlines nor turns recursion to loops).
su=
compiles "$CC" -fstack-usage && su=-fstack-usage
mkdir "$tmp/o2" "$tmp/o0"
with_stack()
{
	$CC $core $nofpu -O2 -Wframe-larger-than=1024 $su -ffunction-sections -fno-jump-tables \
		-c "$1" -o "$tmp/o2/$(basename "$1" .c).o"
}
as_written() { $CC $core $nofpu -O0 -ffunction-sections -fno-jump-tables -c "$1" -o "$tmp/o0/$(basename "$1" .c).o"; }
calls()
{
	for object in "$1"/*.o; do
		{
			nm "$object"
			objdump -dr --no-show-raw-insn "$object"
			objdump -r "$object"
		} | awk -v file="$(basename "$object" .o).c" -f $here/calls.awk
	done | sort -u
}
each "$tmp/stack" with_stack
figures="no -fstack-usage here, -Wframe-larger-than only"
if [ -n "$su" ]; then
	cat "$tmp"/o2/*.su > "$tmp/usage"
	awk -F '\t' '$2 > 1024 || $3 == "dynamic"' "$tmp/usage" >> "$tmp/stack"
	calls "$tmp/o2" > "$tmp/calls"
	frame=$(sort -t '	' -k2,2nr "$tmp/usage" | awk -F '\t' 'NR == 1 {sub(/.*:/, "", $1); print $2, $1}')
	chain=$(awk -F '\t' -f $here/depth.awk "$tmp/usage" "$tmp/calls") # BYTES FIRST LAST
	figures="largest ${frame% *} in ${frame#* }; at most ${chain%% *} along a chain of calls, $(echo "${chain#* }" | sed 's/ / to /')"
fi
verdict "no function uses more than 1024 bytes of stack, none a variable amount ($figures)" "$tmp/stack"

# The page names the figures of one compiler.
page=docs/embedding-kernel.md
case $($CC --version 2> /dev/null | head -n 1),$machine,$su in
*clang*) skip "$page: its figures of the stack are those of gcc 12 on x86-64" ;;
*' 12.'*,i386:x86-64,?*)
	bytes=$(echo "${chain%% *}" | sed 's/\([0-9]\{3\}\)$/,\1/')
	first=${chain#* }
	stated="largest frame has ${frame% *} bytes (\`${frame#* }\`), the deepest chain of calls $bytes"
	stated="$stated (\`${first% *}\` to \`${first#* }\`)"
	tr -s ' \n' '  ' < $page | grep -qF "$stated" && : > "$tmp/page" || echo "$page lacks: $stated" > "$tmp/page"
	verdict "$page has the largest frame and the deepest chain" "$tmp/page"
	;;
*) skip "$page: its figures of the stack are those of gcc 12 on x86-64" ;;
esac

case $machine in
i386:x86-64 | aarch64)
	each "$tmp/recursion" as_written
	calls "$tmp/o0" > "$tmp/calls"
	[ "$(grep -c uvmp_ "$tmp/calls")" -gt 10 ] || echo "the call graph is empty: disassembly not understood" >> "$tmp/recursion"
	awk '$1 == $2 {print $1 " calls itself"}' "$tmp/calls" >> "$tmp/recursion"
	tsort "$tmp/calls" 2>> "$tmp/recursion" > /dev/null
	verdict "no recursion, also not through pointers ($(wc -l < "$tmp/calls") calls)" "$tmp/recursion"
	;;
*) skip "recursion: no pattern of calls for machine '$machine'" ;;
esac

exit $failed
