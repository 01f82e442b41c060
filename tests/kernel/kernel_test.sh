#!/bin/sh
# The modules under a real kernel: kernel_test.sh BUILD stock|debug
#
#   stock  Debian's cloud kernel, the package's file, not installed; its headers are
#   debug  BUILD/kernel-debug/source, which debug_kernel.sh has built
#
# Builds the modules and the programs (every test_*.c here, with the other .c files), packs them with busybox, boots
# that in qemu (init runs the tests), and judges results and kernel log. Then the host's part: every host_*.sh with
# BUILD and the directory of the files that the programs have left. One line a test; without what it needs: skipped.
# KERNEL_TEST: only programs whose name matches this (grep -E); KERNEL_TEST_SECONDS: what the boot may take before it
# counts as hung (600; debug: 3600).
set -u
cd "$(dirname "$0")/../.." || exit 1
case $1 in /*) build=$1 ;; *) build=$PWD/$1 ;; esac
which=$2
here=tests/kernel
CC=${CC:-cc}
unset MAKEFLAGS MAKEOVERRIDES MFLAGS # CC is that of the programs; a kernel knows its own compiler
skip() { echo "skipped: $1"; exit 0; }
die() { echo "FAIL $1"; [ -z "${2:-}" ] || tail -n 20 "$2" | sed 's/^/     /'; exit 1; }

[ "$(uname -sm)" = "Linux x86_64" ] || skip "make kernel-test: boots x86-64 kernels only, on x86-64"
programs=$(cd $here && ls test_*.c | sed 's/\.c$//' | grep -E -e "${KERNEL_TEST:-.}")
[ -n "$programs" ] || { echo "KERNEL_TEST: no program in $here matches '${KERNEL_TEST:-}'" >&2; exit 2; }

case $which in
stock)
	work=$build/kernel seconds=${KERNEL_TEST_SECONDS:-600}
	arguments="slub_debug=FZPU rcupdate.rcu_expedited=1" # loading and unloading waits for grace periods; the debug kernel's are long
	mkdir -p "$work"
	sh tests/deps.sh kernel-test >"$work/deps.log" 2>&1 || skip "$(tail -n 2 "$work/deps.log" | tr -s '\n ' ' ')"
	KDIR=$(ls -d /usr/src/linux-headers-*-cloud-amd64 | sort -V | tail -n 1)
	version=${KDIR#*linux-headers-}
	kernel=$work/image/boot/vmlinuz-$version
	if [ ! -e "$kernel" ]; then
		rm -rf "$work/image" && mkdir "$work/image"
		fetch() {
			(cd "$work/image" && apt-get download -q "linux-image-$version" && dpkg -x ./*.deb . && rm -f ./*.deb) \
				>"$work/fetch.log" 2>&1
		}
		fetch || { apt-get update >/dev/null 2>&1; fetch; } ||
			skip "make kernel-test: cannot fetch the package linux-image-$version: $(tail -n 1 "$work/fetch.log")"
	fi
	;;
debug)
	work=$build/kernel-debug seconds=${KERNEL_TEST_SECONDS:-3600}
	arguments="kasan_multi_shot kmemleak=on"
	KDIR=$work/source
	kernel=$work/source/arch/x86/boot/bzImage
	;;
*) echo "kernel_test.sh: stock or debug, not '$which'" >&2; exit 2 ;;
esac

# -- build ------------------------------------------------------------------------------------------------------------
# A driver's author has the compiler he has: what it warns of is told him and stops nothing. Here every warning fails,
# those of modpost and sparse too, also if -Werror gets lost: then the objects go, so that the next run tells it again.
mkdir -p "$work"
log=$work/build.log
started=$(date +%s)
kbuild() {
	make -j"$(nproc)" -C adapters/kernel KDIR="$KDIR" BUILD="$work" EXTRA="$PWD/$here/uvmp_selftest.c" KCFLAGS=-Werror "$@" \
		>"$log" 2>&1
}
warnings() { grep -i 'warning:' "$log" | grep -v 'the compiler differs from the one used to build the kernel'; }
modules() { # NAME, what to make
	name=$1
	shift
	kbuild "$@" || die "$name" "$log"
	if warnings >"$log.warnings"; then
		rm -rf "$work/module"
		die "$name" "$log.warnings"
	fi
	echo "ok   $name" | tee -a "$log.lines"
}
rm -f "$log.lines"
modules "the modules build without a warning"
# shellcheck disable=SC2046 # a list
CC=$CC sh tests/check/cycles.sh "$work"/module/core/*/*.o \
	$(for source in adapters/kernel/emu_*.c; do echo "$work/module/$(basename "$source" .c).o"; done) \
	>"$log" 2>&1 || die "no two files of the modules need each other" "$log"
echo "ok   no two files of the modules need each other" | tee -a "$log.lines"
[ "$which" != stock ] || modules "sparse is content" sparse
root=$work/root
rm -rf "$root" && mkdir -p "$root/bin" "$root/modules" "$root/tests"
shared=$(ls $here/*.c | grep -vE '/(test_[^/]*|uvmp_selftest)\.c$')
for name in $programs uvmp_selftest; do
	with=$shared program=$root/tests/$name
	[ "$name" != uvmp_selftest ] || with= program=$work/selftest
	# shellcheck disable=SC2086
	$CC -std=c11 -O2 -g0 -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude -Iadapters/kernel -static $here/$name.c $with \
		"$build/libuvmpolicy.a" -lpthread -o "$program" >"$log" 2>&1 || die "$name.c builds" "$log"
done
for module in "$work"/module/*.ko; do strip -g "$module" -o "$root/modules/$(basename "$module")" || exit 1; done
disk=$work/image/lib/modules/${version:-}/kernel/drivers/block/brd.ko # of the stock kernel's own: a disk in memory
[ ! -e "$disk" ] || cp "$disk" "$root/modules/brd.ko" || exit 1
"$work/selftest" >"$root/expected" || die "the engine's self-test, outside the kernel" "$root/expected"
cp "$(command -v busybox)" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp $here/init "$root/init"
chmod 755 "$root/init"
echo $((seconds * 3 / 4)) >"$root/seconds"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initramfs.gz"

built=$(date +%s)

# -- boot -------------------------------------------------------------------------------------------------------------
# shellcheck disable=SC2086
sh $here/boot.sh "$kernel" "$work/initramfs.gz" "$work" "$seconds" $arguments >"$work/boot.log"
booted=$?
ended=$(date +%s)
cat "$work/boot.log"
results=$work/results.log
touch "$results"
grep -v '^the end' "$results"

# -- judge ------------------------------------------------------------------------------------------------------------
# What a kernel says when something is wrong with it. "test:" lines are init's, and say under which test it was.
bad='WARNING: |BUG: |BUG |Oops|UBSAN: |KASAN: |Kernel panic|Call Trace|cut here|general protection|Bad page|bad_page|stack-protector
possible (recursive|circular|irq|deadlock)|inconsistent lock state|INFO: (task|rcu|possible|suspicious|trying|lockdep)|DEBUG_LOCKS
refcount_t: |corruption|scheduling while atomic|sleeping function|soft lockup|hung|stall|kmemleak: [0-9]+ new|ODEBUG
suspected memory leak|Object .* not freed|Objects remaining|Redzone|Poison overwritten
out of memory|Out of memory|page allocation failure|workqueue lockup'
{
	if [ $booted = 0 ]; then
		grep -nE "$(printf %s "$bad" | tr '\n' '|')|] test: " "$work/console.log" | tr -d '\r' |
			awk '/] test: / {test = $0; next} {if (test != "") print test; test = ""; print}' >"$work/complaints"
		if [ -s "$work/complaints" ]; then
			echo "FAIL the kernel's log is clean: $work/console.log, by line"
			head -n 30 "$work/complaints" | sed 's/^/     /'
		else echo "ok   the kernel's log is clean ($(wc -l <"$work/console.log") lines)"; fi
		for script in $here/host_*.sh; do
			[ -e "$script" ] && { sh "$script" "$build" "$work/out" || echo "FAIL $script: exit status $?"; }
		done
	fi
} | tee "$work/host.log"
count() { cat "$log.lines" "$work/boot.log" "$results" "$work/host.log" | grep -c "^$1 "; }
passed=$(count ok) failed=$(count FAIL)
echo
echo "$passed passed, $failed failed"
# Said and not judged: how long it takes is the machine's affair, and a test that fails on a busy one says nothing of
# the modules. What hangs is found by the limits above.
now=$(date +%s) goal=
[ "$which" != stock ] || [ -n "${KERNEL_TEST:-}" ] || goal=" (goal: under 180 s)"
echo "     $((now - started)) s$goal: build $((built - started)), boot $((ended - built)), host $((now - ended))"
[ "$failed" = 0 ] && [ $booted = 0 ]
