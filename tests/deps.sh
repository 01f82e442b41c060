#!/bin/sh
# Installs what a make target needs and this system lacks: by apt-get when root, else it prints the one line to run.
# usage: deps.sh test|test-bare|lint|coverage|fuzz|msan|bench|abi|cross|deb|docs|kernel-test|kernel-test-debug
# (cross: of the architectures in CROSS)
set -u
CC=${CC:-cc}
missing=

probe() { # PACKAGE SOURCE FLAGS...: does this C program compile and link?
	package=$1 source=$2
	shift 2
	printf '%s\n' "$source" | $CC -xc - "$@" -o /dev/null 2>/dev/null || missing="$missing $package"
}
program() { # PACKAGE PROGRAM
	command -v "$2" >/dev/null 2>&1 || missing="$missing $1"
}
foreign() { # TOOLS NAME: a cross compiler and its C library
	command -v "$1-gcc" >/dev/null 2>&1 && [ -f "/usr/${1}/lib/libc.a" ] || missing="$missing gcc-$1 libc6-dev-$2-cross"
}

look() {
	missing=
	case $1 in
	test | coverage)
		probe libcmocka-dev '#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
int main(void) { return 0; }' -lcmocka
		probe libzstd-dev '#include <zstd.h>
int main(void) { return (int)ZSTD_versionNumber() < 0; }' -lzstd
		probe libsqlite3-dev '#include <sqlite3.h>
int main(void) { return sqlite3_libversion_number() < 0; }' -lsqlite3
		[ -f /usr/share/javascript/chart.js/chart.min.js ] || missing="$missing libjs-chart.js"
		program zstd zstd
		program xz-utils xz
		program sqlite3 sqlite3
		program python3 python3
		python3 -c 'import hypothesis' 2>/dev/null || /usr/bin/python3 -c 'import hypothesis' 2>/dev/null ||
			missing="$missing python3-hypothesis"
		program parallel parallel
		python3 -c 'import prometheus_client' 2>/dev/null || /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null ||
			missing="$missing python3-prometheus-client"
		program perl perl
		program pkg-config pkg-config
		program procps ps
		program patch patch
		program mandoc mandoc
		program abigail-tools abidiff
		[ "$1" = coverage ] && program gcovr gcovr
		;;
	fuzz)
		program clang clang
		printf '%s %s' 'int LLVMFuzzerTestOneInput(const char *d, long n);' \
			'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
			clang -xc - -fsanitize=fuzzer,address -o /dev/null 2>/dev/null || missing="$missing libclang-rt-dev"
		;;
	lint)
		program clang-format clang-format
		program clang-tidy clang-tidy
		program cppcheck cppcheck
		program black black
		program mypy mypy
		;;
	abi)
		program abigail-tools abidiff
		program abigail-tools abidw
		;;
	test-bare)
		program debootstrap debootstrap
		;;
	msan)
		program clang clang
		printf 'int main(void) { return 0; }' | clang -xc - -fsanitize=memory -o /dev/null 2>/dev/null ||
			missing="$missing libclang-rt-dev"
		;;
	bench)
		program valgrind valgrind
		;;
	kernel-test | kernel-test-debug)
		program qemu-system-x86 qemu-system-x86_64
		program busybox-static busybox
		program cpio cpio
		program sparse sparse
		if [ "$1" = kernel-test ]; then
			ls /usr/src/linux-headers-*-cloud-amd64/.config >/dev/null 2>&1 || missing="$missing linux-headers-cloud-amd64"
		else
			program flex flex
			program bison bison
			program bc bc
			probe libelf-dev '#include <gelf.h>
int main(void) { return (int)elf_version(EV_CURRENT) < 0; }' -lelf
		fi
		;;
	docs)
		program doxygen doxygen
		program graphviz dot
		program python3-sphinx sphinx-build
		/usr/bin/python3 -c 'import myst_parser' 2>/dev/null || missing="$missing python3-myst-parser"
		/usr/bin/python3 -c 'import furo' 2>/dev/null || missing="$missing furo"
		;;
	deb)
		program dpkg-dev dpkg-buildpackage
		program debhelper dh
		program lintian lintian
		[ -f /usr/include/zstd.h ] || missing="$missing libzstd-dev"
		[ -f /usr/include/sqlite3.h ] || missing="$missing libsqlite3-dev"
		[ -f /usr/share/javascript/chart.js/chart.min.js ] || missing="$missing libjs-chart.js"
		;;
	cross)
		program qemu-user-static qemu-i386-static
		program xz-utils xz
		for architecture in ${CROSS:-i386 s390x powerpc aarch64}; do
			case $architecture in
			i386) foreign i686-linux-gnu i386 ;;
			aarch64) foreign aarch64-linux-gnu arm64 ;;
			*) foreign "$architecture-linux-gnu" "$architecture" ;;
			esac
		done
		;;
	esac
	# the package of libFuzzer carries clang's version
	case $missing in *libclang-rt-dev*)
		version=$(clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
		missing=$(echo "$missing" | sed "s/libclang-rt-dev/libclang-rt-${version:-14}-dev/")
		;;
	esac
}

look "$1"
[ -z "$missing" ] && exit 0
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "make $1 needs packages that are not installed. Run this line, then make $1 again:" >&2
	echo "  sudo $line" >&2
	exit 1
fi
echo "installing:$missing"
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
$line >/dev/null 2>&1 || { apt-get update >/dev/null && $line >/dev/null; } || {
	echo "this failed: $line" >&2
	exit 1
}
look "$1"
[ -z "$missing" ] || { echo "still missing after installation:$missing" >&2; exit 1; }
