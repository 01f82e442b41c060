#!/bin/sh
# make amalgamation: one source and one header, the same bytes each time. They compile as C11 with each compiler, for 32 bits and
# without a libc, as C++17, inside another file, and with another prefix beside the library. A program decides with them as
# with the library. Two declarations of one name are noticed. usage: amalgamation.sh BUILD
set -u
. "$(dirname "$0")/support/build.sh"
warn='-Wall -Wextra -Wshadow -Wconversion -Werror'
# External names of an object, and the names that it lacks but those of a freestanding C program.
defined() { nm -g --defined-only "$1" | awk '{print $NF}' | sort -u; }
lacking() { nm -u "$1" | awk '{print $NF}' | grep -vxE 'memcpy|memset|memmove|memcmp|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail'; }

check 'make amalgamation' $MAKE -s amalgamation BUILD="$work"
pair=$work/amalgamation
ls "$pair" | tr '\n' ' ' >"$work/out"
[ "$(cat "$work/out")" = 'uvmpolicy.c uvmpolicy.h ' ]
verdict $? 'it writes uvmpolicy.c and uvmpolicy.h'
again() {
	sh adapters/packaging/amalgamate.sh "$work/again" && cmp "$pair/uvmpolicy.c" "$work/again/uvmpolicy.c" &&
		cmp "$pair/uvmpolicy.h" "$work/again/uvmpolicy.h"
}
check 'the same bytes again' again
mkdir "$work/bin"
for other in gawk original-awk busybox; do
	command -v "$other" >/dev/null 2>&1 || continue
	ln -sf "$(command -v "$other")" "$work/bin/awk"
	PATH=$work/bin:$PATH check "the same bytes with the awk of $other" again
done
# Comments are the manual: each comment of the headers is there.
cat include/uvmpolicy/*.h | grep '^ \* ' | sort -u >"$work/lines"
sort -u "$pair/uvmpolicy.h" | comm -23 "$work/lines" - >"$work/out"
[ "$(wc -l <"$work/lines")" -gt 500 ] && [ ! -s "$work/out" ]
verdict $? "the header has the comments of the headers ($(wc -l <"$work/lines") lines)"

# -- C11 --------------------------------------------------------------------------------------------------------------
check "C11, $CC" $CC -std=c11 $warn -fsyntax-only "$pair/uvmpolicy.c"
case $($CC --version 2>/dev/null) in *clang*) second=gcc ;; *) second=clang ;; esac
quick=$CC # compiles what does not depend on the compiler: clang takes half of gcc's time
if echo 'int x;' | $second -xc -c - -o "$work/probe.o" >/dev/null 2>&1; then
	check "C11, $second" $second -std=c11 $warn -fsyntax-only "$pair/uvmpolicy.c"
	quick=clang
else echo "skipped: C11 with $second: it is not installed"; fi

# -- without a libc ---------------------------------------------------------------------------------------------------
nofpu=
case $($CC -dumpmachine) in x86_64-* | i?86-* | aarch64-*) nofpu=-mgeneral-regs-only ;; esac
check 'freestanding' $CC -std=c11 $warn -O0 $nofpu -ffreestanding -fno-stack-protector -c "$pair/uvmpolicy.c" -o "$work/free.o"
lacking "$work/free.o" >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'freestanding: it needs memcpy, memset, memmove and memcmp alone'
cat include/uvmpolicy/*.h | tr '\n\t' '  ' | sed 's/UVMP_API/\n&/g' |
	sed -n 's/^UVMP_API[^;(]*[ *]\(uvmp_[a-z0-9_]*\)(.*/\1/p' | sort -u >"$work/public"
nm -g --defined-only "$work/free.o" | awk '$2 == "T" {print $NF}' | sort | diff "$work/public" - >"$work/out"
verdict $? "its external functions are the public ones ($(wc -l <"$work/public"))"
defined "$work/free.o" | grep -vE '^uvmpi?_' >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'its external names begin with uvmp_ or uvmpi_'
case $($CC -dumpmachine) in
x86_64-* | aarch64-*)
	sed 's,[<"]uvmpolicy/[a-z]*\.h[>"],"uvmpolicy.h",' tests/check/freestanding.c >"$work/freestanding.c"
	check 'freestanding: a program without a libc links' $CC -std=c11 -ffreestanding -fno-stack-protector -O0 -nostdlib -static \
		-I"$pair" "$work/freestanding.c" "$work/free.o" -o "$work/freestanding"
	check 'freestanding: it decides as in make check' "$work/freestanding"
	;;
*) echo "skipped: a program without a libc: no entry code for $($CC -dumpmachine)" ;;
esac

# A program decides as with the library: the log of docs/examples/engine.c.
$CC -std=c11 -Iinclude docs/examples/engine.c "$build/libuvmpolicy.a" -o "$work/library" && "$work/library" >"$work/expected"
sed 's,<uvmpolicy/[a-z]*\.h>,"uvmpolicy.h",' docs/examples/engine.c >"$work/engine.c"
same_log() { # OBJECT SOURCE DIRECTORY-OF-HEADER [LINKER]
	$CC -std=c11 -Wall -I"$3" "$2" -c -o "$work/engine.o" && ${4:-$CC} "$work/engine.o" "$1" -o "$work/engine" &&
		"$work/engine" >"$work/log" && diff "$work/expected" "$work/log"
}
[ "$(grep -c '^[0-9]' "$work/expected")" -gt 30 ]
verdict $? 'docs/examples/engine.c logs decisions'
check 'a program logs the decisions of the library' same_log "$work/free.o" "$work/engine.c" "$pair"

# -- 32 bits ----------------------------------------------------------------------------------------------------------
bits32=
for name in "$quick -m32" "$CC -m32" i686-linux-gnu-gcc; do
	[ -n "$bits32" ] || ! echo '#include <stdint.h>' | $name -xc -ffreestanding -c - -o "$work/probe.o" >/dev/null 2>&1 || bits32=$name
done
if [ -n "$bits32" ]; then
	check "32 bits, $bits32" $bits32 -std=c11 $warn -O0 -ffreestanding -fno-stack-protector -c "$pair/uvmpolicy.c" -o "$work/bits32.o"
	# gcc divides 64 bits by calls of its own library, and fetches its address by a thunk
	lacking "$work/bits32.o" | grep -vE '^__u?(div|mod|divmod)di[34]$' >"$work/out"
	[ ! -s "$work/out" ]
	verdict $? '32 bits: it needs memcpy, memset, memmove and memcmp alone, and the division of 64 bits'
	nm -g --defined-only "$work/bits32.o" | grep -q '^[0-9a-f]\{8\} T uvmp_service_next$'
	verdict $? '32 bits: its addresses have 32 bits'
else echo "skipped: 32 bits: neither $CC -m32 nor i686-linux-gnu-gcc compiles"; fi

# -- C++17 ------------------------------------------------------------------------------------------------------------
cxx=
for name in ${CXX:-} "$(echo "$CC" | sed 's/gcc/g++/; s/clang/clang++/; s/^cc/c++/')" g++ clang++ c++; do
	[ -n "$cxx" ] || ! echo 'int main() {}' | $name -xc++ - -o "$work/probe" >/dev/null 2>&1 || cxx=$name
done
if [ -n "$cxx" ]; then
	sed 's,[<"]uvmpolicy/[a-z]*\.h[>"],"uvmpolicy.h",' tests/check/header.cpp >"$work/header.cpp"
	check "C++17, $cxx: a program with the header" $cxx -std=c++17 $warn -Wpedantic -I"$pair" \
		"$work/header.cpp" "$work/free.o" -o "$work/header"
	check 'C++17: it runs' "$work/header"
	check "C++17, $cxx: the source" $cxx -std=c++17 -Wall -Wextra -Werror -O0 -x c++ -c "$pair/uvmpolicy.c" -o "$work/cxx.o"
	nm -g --defined-only "$work/cxx.o" | awk '$2 == "T" {print $NF}' | sort | diff "$work/public" - >"$work/out"
	verdict $? 'C++17: its external functions are the public ones'
	check 'C++17: the decisions of the library' same_log "$work/cxx.o" "$work/engine.c" "$pair"
	nm -u "$work/cxx.o" | grep -E ' (_Z|__cxa|__gxx)' >"$work/out"
	[ ! -s "$work/out" ]
	verdict $? 'C++17: it needs nothing of a C++ library'
	nm "$work/cxx.o" | grep -E ' _GLOBAL__sub_I| __static_init' >"$work/out"
	[ ! -s "$work/out" ]
	verdict $? 'C++17: its tables are constants'
	case $($cxx --version 2>/dev/null) in *clang*) second=g++ ;; *) second=clang++ ;; esac
	if echo 'int x;' | $second -xc++ -c - -o "$work/probe.o" >/dev/null 2>&1; then
		check "C++17, $second: the source" $second -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ "$pair/uvmpolicy.c"
		check "C++20, $second: the source" $second -std=c++20 -Wall -Wextra -Werror -fsyntax-only -x c++ "$pair/uvmpolicy.c"
	else echo "skipped: C++17 with $second: it is not installed"; fi
else echo 'skipped: C++17: no C++ compiler that can link a program'; fi

# -- inside another file, and with another prefix ---------------------------------------------------------------------
cat tests/cli/snippets/inside.c "$work/engine.c" >"$work/inside.c"
check 'inside another file, with UVMP_API static' $quick -std=c11 -Wall -Werror -O0 -I"$pair" "$work/inside.c" -o "$work/inside"
defined "$work/inside" | grep -E '^uvmp_' >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'inside another file: no name of the library is external'
"$work/inside" 2>&1 | diff "$work/expected" - >"$work/out"
verdict $? 'inside another file: the decisions of the library'

check 'PREFIX_NAME=foo' $MAKE -s amalgamation BUILD="$work" PREFIX_NAME=foo
check 'PREFIX_NAME=foo: foo.c and foo.h compile' $quick -std=c11 $warn -O0 -c "$pair/foo.c" -o "$work/foo.o"
{ nm "$work/foo.o" && grep -iE '(^|[^"a-z])uvmpi?_[a-z]' "$pair/foo.c" "$pair/foo.h"; } | grep -i uvmp >"$work/out"
[ ! -s "$work/out" ]
verdict $? 'PREFIX_NAME=foo: no name begins with uvmp_'
sed 's,<uvmpolicy/[a-z]*\.h>,"foo.h",; s/uvmp_/foo_/g; s/UVMP_/FOO_/g' docs/examples/engine.c >"$work/foo_engine.c"
check 'PREFIX_NAME=foo: the decisions of the library' same_log "$work/foo.o" "$work/foo_engine.c" "$pair"
cat >"$work/both.c" <<'END'
#include "foo.h"
#include "uvmpolicy.h"
int main(void)
{
	uint64_t one = 1, other = 1;
	return foo_version()[0] != uvmp_version()[0] || foo_random_next(&one) != uvmp_random_next(&other) ||
	       FOO_ERR_RANGE != (int)UVMP_ERR_RANGE;
}
END
both() { $CC -std=c11 -Wall -I"$pair" "$work/both.c" "$work/foo.o" "$work/free.o" -o "$work/both" && "$work/both"; }
check 'PREFIX_NAME=foo: two copies in one program' both
for wrong in Foo foo_ 9foo 'f-o'; do
	sh adapters/packaging/amalgamate.sh "$work/wrong" "$wrong" >"$work/out" 2>&1
	[ $? = 2 ] && [ ! -e "$work/wrong" ] && [ "$(wc -l <"$work/out")" = 1 ]
	verdict $? "prefix $wrong: exit status 2, one line"
done

# -- names that meet --------------------------------------------------------------------------------------------------
# In a copy of the sources, without the upper layers: two headers with one name are refused; two sources with one name get two.
mkdir -p "$work/copy/adapters" "$work/copy/libuvmpolicy"
cp -r include LICENSE "$work/copy"
cp -r libuvmpolicy/base "$work/copy/libuvmpolicy"
cp -r adapters/packaging "$work/copy/adapters"
copied() { sh "$work/copy/adapters/packaging/amalgamate.sh" "$work/copied"; }
check 'a copy of the sources' copied
for declaration in 'static inline int planted(void) { return 1; }' 'struct planted { int x; };' 'enum { planted };' \
	'#define planted 1' 'typedef int planted;'; do
	for header in base/bits_internal.h base/tree_internal.h; do
		sed "s|^#endif\$|&|; \$s|.*|$declaration\n&|" "libuvmpolicy/$header" >"$work/copy/libuvmpolicy/$header"
	done
	copied >"$work/out" 2>&1
	[ $? = 1 ] && grep -q 'planted is declared in .*bits_internal.h and in .*tree_internal.h' "$work/out"
	verdict $? "two headers with one name are refused: $declaration"
done
cp libuvmpolicy/base/*_internal.h "$work/copy/libuvmpolicy/base"
n=0
for source in base/base.c base/mask.c base/text.c; do
	n=$((n + 1))
	{
		cat "libuvmpolicy/$source"
		printf '#define PLANTED %d\nstruct planted { int planted, other[PLANTED]; };\n' $n
		printf 'static const struct planted planted = {.planted = PLANTED};\n'
		printf 'static int twice(int planted)\n{\n\treturn planted * 10;\n}\n'
		printf 'int uvmp_planted_%d(void)\n{\n\tconst struct planted *at = &planted;\n' $n
		printf '\treturn twice(at->planted) + planted.planted + (int)__builtin_offsetof(struct planted, planted);\n}\n'
	} >"$work/copy/libuvmpolicy/$source"
done
check 'three sources with one name' copied
cat >"$work/planted.c" <<'END'
#define UVMP_API
#include "uvmpolicy.c"
#ifdef PLANTED
#error PLANTED
#endif
int main(void) { return uvmp_planted_1() != 11 || uvmp_planted_2() != 22 || uvmp_planted_3() != 33; }
END
planted() { $quick -std=c11 -O0 -I"$work/copied" "$work/planted.c" -o "$work/planted" && "$work/planted"; }
check 'three sources with one name: each has its own' planted
exit $failed
