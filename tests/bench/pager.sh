#!/bin/sh
# How fast the pager is, beside a userfaultfd loop that decides nothing, UFFDIO_COPY alone, and the kernel's paging of a mapped
# file in a memory cgroup. Times depend on what else the machine does, which is why all are measured by turns: figures to look
# at, never a test. usage: pager.sh BUILD [SECTION...] (latency deciding scan quarter;
# make bench BENCH_PAGER='...')
#
# BENCH_REPEATS (default 3), BENCH_SEED (1), BENCH_DIR (BUILD): where files lie; the kernel reads ahead as that disk says.
# BENCH_MIB (32): managed memory of `quarter`, a quarter of which is resident; `scan` takes twice that. BENCH_CSV
# (BUILD/pager.csv): the same rows.
set -eu
build=$1
shift
[ $# -gt 0 ] || set -- latency deciding scan quarter
repeats=${BENCH_REPEATS:-3}
seed=${BENCH_SEED:-1}
mib=${BENCH_MIB:-32}
directory=${BENCH_DIR:-$build}
lines=$build/bench-pager.csv
trap 'rm -f "$lines"' EXIT

ahead() { # of the disk that the directory is on
	device=$(stat -c %d "$directory")
	for queue in "/sys/dev/block/$((device / 256)):$((device % 256))"/queue \
		"/sys/dev/block/$((device / 256)):$((device % 256))"/../queue; do
		[ -r "$queue/read_ahead_kb" ] && cat "$queue/read_ahead_kb" && return
	done
	echo '?'
}

echo
echo "the pager: Linux $(uname -r), $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg); $repeats repeats, seed $seed"
header='section,what,system,unit,min,median,max,ratio'
csv=${BENCH_CSV:-$build/pager.csv}
echo "$header" >"$csv"
for section in "$@"; do
	size=$mib
	case $section in
	latency) echo "a touch of a page that is missing, the median of 2048 in random order, goal: at most 1.5 times" ;;
	deciding) echo "a touch of a page that is missing, 2048 of 64 MiB in random order, and the engine's share of the time" ;;
	scan) echo "a word each 4 KiB of $((2 * mib)) MiB in order, goal: at least 0.8 times; store in RAM"; size=$((2 * mib)) ;;
	quarter)
		echo "$mib MiB, $((mib / 4)) MiB resident (the kernel: 2 MiB more); disk reads $(ahead) KiB ahead;" \
			"pager: one thread copies; file: direct I/O, on the same file system; RAM: other memory, no disk at all"
		;;
	esac
	status=0
	"$build/bench-pager" "$section" "$repeats" "$seed" "$size" "$directory" >"$lines" || status=$?
	if [ "$status" = 77 ]; then
		echo "skipped: $(tail -n 1 "$lines")"
		continue
	fi
	[ "$status" = 0 ] || exit 1
	cat "$lines" >>"$csv"
	awk -F , '$1 "," $2 != last {last = $1 "," $2
			printf "%-44s %9s %9s %9s %6s\n", ($1 ~ /write/ ? "written too, " : $1 ~ /read/ ? "read, " : "") $2, "min", "median", "max", ""}
		{printf "  %-42s %9.2f %9.2f %9.2f %5.2fx %s\n", $3, $5, $6, $7, $8, $4}' "$lines"
done
