#!/bin/sh
# The core on other machines: 32 bits, big-endian, pages of 64 KiB. For each architecture the core, its unit tests and uvmsim
# are built by a cross compiler, and run by qemu's user emulation: all vectors, all tests that need no pager, and runs whose
# decision log and JSON must be those of this machine, byte for byte.
#
# usage: cross.sh BUILD [ARCHITECTURE...], with MAKE in the environment: i386 s390x powerpc aarch64; default: all. The long
# property tests run a 50th (CROSS_SHARE) of their cases. CROSS_SHORT=1: no unit tests where the emulator is needed, which take
# minutes there. Writes only to BUILD/cross.
set -u
export LC_ALL=C

build=$(cd "${1:?usage: cross.sh BUILD [ARCHITECTURE...]}" && pwd) || exit 1
shift
[ $# -gt 0 ] || set -- i386 s390x powerpc aarch64
cd "$(dirname "$0")/.." || exit 1
out=$build/cross cmocka=$build/cross/cmocka
UVMP_TEST_SHARE=${CROSS_SHARE:-50}
export UVMP_TEST_SHARE
failed=0
mkdir -p "$out"

# shape ARCHITECTURE: what it shows, its compiler, its emulator
shape() {
	case $1 in
	i386) what='32 bits, little-endian' tools=i686-linux-gnu run=qemu-i386-static ;;
	s390x) what='64 bits, big-endian' tools=s390x-linux-gnu run=qemu-s390x-static ;;
	powerpc) what='32 bits, big-endian' tools=powerpc-linux-gnu run=qemu-ppc-static ;;
	aarch64) what='64 bits, host pages of 64 KiB' tools=aarch64-linux-gnu run='qemu-aarch64-static -p 65536' ;;
	*) echo "cross.sh: no architecture $1: i386 s390x powerpc aarch64" >&2 && exit 2 ;;
	esac
}
verdict() { # NAME STATUS LOG
	if [ "$2" = 0 ]; then
		echo "ok   $1"
	else
		failed=1
		echo "FAIL $1 (exit status $2)"
		{
			grep -h -E 'ERROR +\]|LINE +\]|^UVMP_TEST_SEED=' "$3"
			tail -n 20 "$3"
		} | sed 's/^/     /'
	fi
}

# The test library's source, as the distribution has it: not every architecture has a package. A list of sources of our own
# leaves apt's as they are.
fetch_cmocka() {
	[ -f "$cmocka/src/cmocka.c" ] && return
	rm -rf "$cmocka" "$out/apt"
	mkdir -p "$cmocka" "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
	apt-cache policy libcmocka-dev | sed -n 's,^ *[0-9]* \(https*://[^ ]*\) \([^ ]*\)/main .*,deb-src \1 \2 main,p' |
		head -n 1 >"$out/apt/list"
	[ -s "$out/apt/list" ] || return
	(
		cd "$out/apt" || exit
		set -- -q -o Dir::Etc::sourcelist="$PWD/list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$PWD/lists" \
			-o Dir::Cache="$PWD/cache" -o APT::Sandbox::User="$(id -un)"
		apt-get "$@" update && apt-get "$@" --download-only source cmocka
	) && tar -xf "$out"/apt/cmocka_*.orig.tar.[gx]z -C "$cmocka" --strip-components=1
}
build_cmocka() { # DIRECTORY
	has=$(for name in MALLOC_H INTTYPES_H SIGNAL_H STRINGS_H GCC_THREAD_LOCAL_STORAGE CLOCK_REALTIME SIGLONGJMP STRSIGNAL \
		STRUCT_TIMESPEC; do echo "-DHAVE_$name"; done)
	# shellcheck disable=SC2086 # a list of flags
	"$tools-gcc" -O1 -w -D_GNU_SOURCE $has -I"$cmocka/include" -c "$cmocka/src/cmocka.c" -o "$1/cmocka.o" &&
		"$tools-ar" rcs "$1/libcmocka.a" "$1/cmocka.o"
}
build_programs() { # DIRECTORY TARGET
	mkdir -p "$1" && { [ -f "$1/libcmocka.a" ] || build_cmocka "$1"; } &&
		"$MAKE" --no-print-directory BUILD="$1" CC="$tools-gcc" AR="$tools-ar" WERROR=1 \
			CFLAGS="-O1 -D_FILE_OFFSET_BITS=64 -isystem $cmocka/include" LDFLAGS="-static -L$1 -lpthread" "$2"
}

# GPU, workload, percent of oversubscription, policy. The hosts of p100-nvlink and asplos20 have pages of 64 KiB.
runs() {
	cat <<-'END'
		titan-xp stencil:n=1024 150 prefetch=density
		titan-xp bfs:scale=14 150 prefetch=tbn evict=tbne
		titan-xp random:bytes=4M 200 prefetch=random evict=random4k
		titan-xp stream:bytes=4M 120 preset=beyond-block
		titan-xp sgemm:n=1024 150 preset=nvidia-once evict=lfu2m replay=once
		uvmsmart hpgmg:box=5 150 preset=uvmsmart-tbn
		p100-nvlink stencil:n=2048 150 prefetch=density
		p100-nvlink bfs:scale=16 200 prefetch=none evict=lru2m thrash=on
		asplos20 random:bytes=32M 150 prefetch=density evict=clock2m
	END
}
# do_runs DIRECTORY PROGRAM...: their logs and JSON into the directory
do_runs() {
	directory=$1
	shift
	mkdir -p "$directory" && rm -f "$directory"/*
	number=0
	runs | while read -r gpu workload oversub policy; do
		number=$((number + 1))
		timeout -k 5 900 "$@" run --gpu "$gpu" --workload "$workload" --oversub "$oversub" --policy "$policy" --seed 7 \
			--format json --log "$directory/$number.log" >"$directory/$number.json" </dev/null || exit
	done
}

run_tests() { # ARCHITECTURE
	rm -rf "$here/logs" && mkdir "$here/logs"
	passed=0 bad=0 started=$(date +%s)
	find "$here/foreign" -type f | xargs -P "$(nproc)" -I '{}' sh -c 'log=$1/${3##*/}.log
		timeout -k 5 900 $2 "$3" >"$log" 2>&1
		echo "exit status $?" >>"$log"' sh "$here/logs" "$run" '{}'
	for program in "$here"/foreign/*; do
		log=$here/logs/${program##*/}.log
		status=$(sed -n '$s/^exit status //p' "$log")
		[ "$status" = 0 ] || bad=$((bad + 1))
		[ "$status" = 0 ] || verdict "$1: ${program##*/}" "$status" "$log"
		of_it=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -n 1)
		passed=$((passed + ${of_it:-0}))
	done
	verdict "$1: $passed tests of $(find "$here/foreign" -type f | wc -l) programs, $(($(date +%s) - started)) s" "$bad" /dev/null
}

check() { # ARCHITECTURE
	shape "$1"
	here=$out/$1
	if ! command -v "$tools-gcc" >/dev/null ||
		! echo 'int main(void) { return 0; }' | "$tools-gcc" -static -xc - -o "$out/probe" 2>/dev/null; then
		echo "skipped: $1 ($what): no $tools-gcc with a C library"
		return
	fi
	[ "$1" = i386 ] && "$out/probe" 2>/dev/null && run= # it runs here as it is
	if [ -n "$run" ] && ! command -v "${run%% *}" >/dev/null; then
		echo "skipped: $1 ($what): no ${run%% *}"
		return
	fi
	target=cross-programs
	[ -z "${CROSS_SHORT:-}" ] || [ -z "$run" ] || target=$here/foreign-uvmsim
	build_programs "$here" "$target" >"$out/$1.log" 2>&1
	status=$?
	verdict "$1 ($what): builds without warnings" $status "$out/$1.log"
	[ $status = 0 ] || return

	# shellcheck disable=SC2086 # an emulator and its options
	timeout -k 5 900 $run "$here/foreign-uvmsim" check tests/vectors/*/*.vec >"$out/$1.log" 2>&1
	status=$?
	verdict "$1: vectors: $(tail -n 1 "$out/$1.log")" $status "$out/$1.log"

	[ "$target" != cross-programs ] || run_tests "$1"

	# shellcheck disable=SC2086
	do_runs "$here/runs" $run "$here/foreign-uvmsim" >"$out/$1.log" 2>&1 && diff -rq "$out/runs" "$here/runs" >>"$out/$1.log" 2>&1
	status=$?
	verdict "$1: $(runs | wc -l) runs: logs and JSON as on this machine, $(cat "$here"/runs/*.log | wc -l) actions" $status \
		"$out/$1.log"
}

if ! fetch_cmocka >"$out/cmocka.log" 2>&1 || [ ! -f "$cmocka/src/cmocka.c" ]; then
	echo "skipped: no source of cmocka can be had: $(tail -n 1 "$out/cmocka.log")"
	exit 0
fi
do_runs "$out/runs" "$build/uvmsim" >"$out/runs.log" 2>&1
verdict "this machine: $(runs | wc -l) runs" $? "$out/runs.log"
for architecture in "$@"; do
	check "$architecture"
done
exit $failed
