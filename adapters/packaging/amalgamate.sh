#!/bin/sh
# The library as one pair of files, NAME.c and NAME.h. usage: amalgamate.sh DIRECTORY [PREFIX]
#
# Without PREFIX: uvmpolicy.c and uvmpolicy.h. With PREFIX: PREFIX.c and PREFIX.h, in which each uvmp_ is PREFIX_, so that two
# copies can be in one program.
set -eu
export LC_ALL=C
out=$1 prefix=${2:-uvmp}
cd "$(dirname "$0")/../.."
name=uvmpolicy
[ "$prefix" = uvmp ] || name=$prefix
case $prefix in
*[!a-z0-9_]* | [!a-z]* | *_)
	echo "amalgamate.sh: $prefix: a prefix has small letters, digits and _, and begins with a letter; the _ at its end is added" >&2
	exit 2
	;;
esac
mkdir -p "$out"
version=$(sed -n 's/^#define UVMP_VERSION_STRING *"\(.*\)"/\1/p' include/uvmpolicy/base.h)
guard=$(echo "$name" | tr a-z A-Z)_H
amalgamate() { awk -v top=./ -v part_name="$1" -v prefix="$prefix" -f adapters/packaging/amalgamate.awk $2; }
licence() { sed 's/^/ * /; s/ *$//' LICENSE; }

headers="include/uvmpolicy/uvmpolicy.h include/uvmpolicy/advanced.h $(echo include/uvmpolicy/*.h)"
sources=
for layer in base decisions prefetch evict adapt policy engine; do
	for file in libuvmpolicy/$layer/*.c; do [ ! -f "$file" ] || sources="$sources $file"; done
done
for file in libuvmpolicy/*/*.c; do
	case " $sources " in *" $file "*) ;; *) echo "amalgamate.sh: $file is in no layer" >&2 && exit 1 ;; esac
done
{
	echo "/* $name.h: libuvmpolicy $version in one header. Written by \`make amalgamation\` from include/uvmpolicy." \
		"The source is $name.c."
	echo ' *'
	licence
	echo ' */'
	echo "#ifndef $guard"
	echo "#define $guard"
	amalgamate header "$headers"
	echo
	echo '#ifdef __cplusplus'
	echo '}'
	echo '#endif'
	echo '#endif'
} >"$out/$name.h.new"
{
	echo "/* $name.c: libuvmpolicy $version in one source. Written by \`make amalgamation\` from libuvmpolicy. The header is $name.h."
	echo ' *'
	echo ' * cc -std=c11 -O2 -c, also with -ffreestanding; or c++ -std=c++17 -x c++ -O2 -c (GCC, Clang).' \
		'It needs memcpy, memmove, memset and memcmp.'
	echo ' *'
	licence
	echo ' */'
	echo "#include \"$name.h\""
	echo
	cat <<'END'
/* Inline functions of shared parts, of which a compiler option uses some only; structures that are written byte by byte. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#ifdef __cplusplus /* designated initializers are an extension in C++17; fields that are not named are 0 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__
#if __has_warning("-Wc99-designator")
#pragma GCC diagnostic ignored "-Wc99-designator"
#endif
#if __has_warning("-Wc++20-designator")
#pragma GCC diagnostic ignored "-Wc++20-designator"
#endif
#endif
#endif
#endif
#ifdef __cplusplus
#define _Static_assert static_assert
#define _Alignof alignof
#endif
END
	amalgamate source "$(echo include/uvmpolicy/*.h libuvmpolicy/*/*_internal.h) $sources"
	cat <<'END'

#ifdef __cplusplus
#undef _Static_assert
#undef _Alignof
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
END
} >"$out/$name.c.new"
mv "$out/$name.h.new" "$out/$name.h"
mv "$out/$name.c.new" "$out/$name.c"
