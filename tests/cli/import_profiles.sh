#!/bin/sh
# Files of profilers as traces: what each becomes, and one clear error for each kind of damage. usage: import_profiles.sh UVMSIM
set -u
case $1 in /*) uvmsim=$1 ;; *) uvmsim=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.." || exit 1
support=$PWD/tests/support/import
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	sed 's/^/     /' "$work/err" | head -n 5
}
# run STATUS NAME ARGUMENT...: the exit status, and no report of a sanitizer
run() {
	want=$1 name=$2
	shift 2
	"$uvmsim" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ $status = "$want" ] && ! grep -q 'Sanitizer\|runtime error' "$work/err"; then ok "$name"; else fail "$name: exit status $status"; fi
}
# says TEXT...: on stderr
says() {
	for text in "$@"; do
		if grep -qF -- "$text" "$work/err"; then ok "$name: says $text"; else fail "$name: does not say $text"; fi
	done
}
# error TEXT: one line on stderr, with this text, and no output
error() {
	says "$1"
	if [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ]; then ok "$name: one line"; else fail "$name: $(wc -l <"$work/err") lines"; fi
}
# has LINE...: of the output
has() {
	for line in "$@"; do
		if grep -qxF -- "$line" "$work/out"; then ok "$name: $line"; else fail "$name: no line $line"; fi
	done
}
rows() { grep -c "$1" "$work/out"; }
equal() { # WHAT GOT WANTED
	if [ "$2" = "$3" ]; then ok "$name: $1 $3"; else fail "$name: $1 $2, not $3"; fi
}

# -- nsys --
nsys() {
	if ! python3 "$support/nsys.py" "$work"; then
		failed=1
		return
	fi
	run 0 'nsys, columns of today' import nsys "$work/new.sqlite"
	has '# import nsys, faults only' 'kernel,scale' '1000,0,r,0x7f0000000000' '1100,1,w,0x7f0000100000' \
		'1200,2,a,0x7f0000200000' 'prefetch,gpu,0x7f0040000000,2097152' batch sync '95002,cpu,r,0x7f0000002000'
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" 40
	[ ! -s "$work/err" ] || fail "$name: a note where there is nothing to say"
	cp "$work/out" "$work/want"
	for age in old renumbered; do
		run 0 "nsys, $age" import nsys "$work/$age.sqlite"
		cmp -s "$work/out" "$work/want" && ok "$name: the same rows" || fail "$name: other rows"
	done
	run 0 'nsys, its format not named' import "$work/new.sqlite"
	cmp -s "$work/out" "$work/want" && ok "$name: the same rows" || fail "$name: other rows"
	name='nsys, through a pipe'
	"$uvmsim" import nsys - <"$work/new.sqlite" >"$work/out" 2>"$work/err"
	cmp -s "$work/out" "$work/want" && ok "$name" || fail "$name"
	if command -v zstd >/dev/null && zstd -q "$work/new.sqlite" && [ "$("$uvmsim" import nsys "$work/new.sqlite.zst" 2>&1 | head -c 10)" = uvmp-trace ]; then
		run 0 'nsys, compressed' import "$work/new.sqlite.zst"
		cmp -s "$work/out" "$work/want" && ok "$name: the same rows" || fail "$name: other rows"
	fi
	# 40 pages fault; each brings 15 pages more; a call brings 512; one migration of 16 pages follows an eviction.
	run 0 'nsys, all that migrated' import nsys --touched migrated "$work/new.sqlite"
	has '# import nsys --touched migrated, faults only'
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" $((40 + 40 * 16 + 512 + 16))
	run 0 'nsys, a run of it' run --trace "$work/want" --memory 256M --policy prefetch=none --format json
	says 'lists faults only'
	equal 'far faults' "$(sed 's/.*"far_faults": \([0-9]*\).*/\1/' "$work/out")" 40
	run 0 'nsys, no faults of the GPU' import nsys "$work/no-gpu.sqlite"
	says 'no table CUDA_UM_GPU_PAGE_FAULT_EVENTS' '--cuda-um-gpu-page-faults=true'
	run 0 'nsys, no faults of the CPU' import nsys "$work/no-cpu.sqlite"
	says 'no table CUDA_UM_CPU_PAGE_FAULT_EVENTS' '--cuda-um-cpu-page-faults=true'
	run 0 'nsys, no copies' import nsys "$work/no-copy.sqlite"
	says 'no table CUPTI_ACTIVITY_KIND_MEMCPY'
	run 0 'nsys, no kernels' import nsys "$work/no-kernel.sqlite"
	run 2 'nsys, nothing' import nsys "$work/none.sqlite"
	error 'there is neither a fault nor a migration'
	run 2 'nsys, copies only' import nsys "$work/only-copies.sqlite"
	error 'there is no fault in it, only 83 migrations; --touched migrated'
	run 0 'nsys, copies only, as touches' import nsys --touched migrated "$work/only-copies.sqlite"
	run 2 'nsys, a column is missing' import nsys "$work/no-address.sqlite"
	error 'table CUDA_UM_GPU_PAGE_FAULT_EVENTS: has no column address'
	run 0 'nsys, migrations without addresses' import nsys "$work/unplaced.sqlite"
	says '83 migrations have no virtual address'
	run 2 'nsys, text for a number' import nsys "$work/text.sqlite"
	error 'CUDA_UM_GPU_PAGE_FAULT_EVENTS, row 4: address is "abc??", not a whole number'
	run 2 'nsys, a broken number' import nsys "$work/real.sqlite"
	error 'row 1: start is "1.5", not a whole number'
	run 2 'nsys, no value' import nsys "$work/null.sqlite"
	error 'row 1: address has no value'
	run 2 'nsys, negative' import nsys "$work/negative.sqlite"
	error 'CUPTI_ACTIVITY_KIND_MEMCPY, row 1: bytes is negative: -4096'
	run 2 'nsys, huge' import nsys "$work/huge.sqlite"
	error 'row 1: the migration has 9223372036854775807 bytes; 1..68719476736'
	run 2 'nsys, backwards' import nsys "$work/backwards.sqlite"
	error 'the kernel ends at 1 ns, before it begins at 1200 ns'
	run 2 'nsys, two GPUs' import nsys "$work/two-gpus.sqlite"
	error 'row 6: events of GPU 0 and of GPU 1; --device says which'
	run 0 'nsys, one of two GPUs' import nsys --device 1 "$work/two-gpus.sqlite"
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" 1
	run 2 'nsys, two processes' import nsys "$work/two-processes.sqlite"
	error 'row 6: events of process 4660 and of process 9; --process says which'
	run 0 'nsys, one of two processes' import nsys --process 4660 "$work/two-processes.sqlite"
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" 39
	run 2 'nsys, empty' import nsys "$work/empty.sqlite"
	error 'is empty'
	run 2 'nsys, cut' import nsys "$work/cut.sqlite"
	error 'is cut off: it has'
	run 2 'nsys, cut in its head' import nsys "$work/head.sqlite"
	error 'is cut off: the head'
	run 2 'nsys, text' import nsys "$work/text-file.sqlite"
	error 'is no SQLite database'
	run 2 'nsys, damaged' import nsys "$work/damaged.sqlite"
	error 'malformed'
}
printf 'SQLite format 3' >"$work/probe"
if "$uvmsim" import nsys "$work/probe" 2>&1 | grep -q 'without SQLite'; then
	echo 'skipped: nsys: built without SQLite'
elif ! python3 -c 'import sqlite3' 2>/dev/null; then
	echo 'skipped: nsys: no sqlite3 module of python3'
else
	nsys
fi

# -- lackey --
{
	printf '==1== Lackey, an example Valgrind tool\n==1==\nI  0401ab70,3\n S 1fff000ffc,8\n L 04a1bde0,8\n M 04a1bde8,4\n'
	printf 'SB 0401ab70\n==1== Counted 0 calls\n'
} >"$work/lackey"
run 0 'lackey' import "$work/lackey"
has 'uvmp-trace 2' '# import lackey' ',0,w,0x1fff000ffc,4' ',0,w,0x1fff001000,4' ',0,r,0x4a1bde0,8' ',0,w,0x4a1bde8,4'
equal accesses "$(rows '^,')" 4
printf '4a00000,2097152,heap\n' >"$work/ranges"
run 0 'lackey, ranges choose' import lackey --ranges "$work/ranges" "$work/lackey"
equal accesses "$(rows '^,')" 2
damage() { # FORMAT NAME TEXT ERROR: one clear error for a bad file
	printf "$3" >"$work/bad"
	run 2 "$1, $2" import "$1" "$work/bad"
	error "$4"
}
damage lackey 'text for a number' ' L zz,8\n' ':1: address "zz" is not a hexadecimal number'
damage lackey 'no size' ' L 1000\n' ':1: not ADDRESS,BYTES'
damage lackey 'a negative size' ' L 1000,-8\n' 'size "-8" is not 1..65536 bytes'
damage lackey 'a huge size' ' L 1000,99999999999999999999\n' 'is not 1..65536 bytes'
damage lackey 'beyond 64 bits' ' S ffffffffffffffffff,8\n' 'is not a hexadecimal number of 64 bits'
damage lackey 'past the end' ' S ffffffffffffffff,8\n' 'ends behind the last address'
damage lackey 'other text' 'hello\n' 'is no line of lackey'
damage lackey 'empty' '' 'there is no access in it'
damage lackey 'cut' ' L 1000,8\n L 10' 'line'
if command -v valgrind >/dev/null && valgrind --tool=lackey --trace-mem=yes --log-file="$work/real" true 2>"$work/err"; then
	run 0 'lackey, a real run' import "$work/real"
	equal 'bytes that are stored' "$(awk -F, '/^,.*,w,/ {n += $5} END {print n}' "$work/out")" \
		"$(awk -F, '/^ [SM] / {n += $2} END {print n}' "$work/real")"
	equal 'bytes that are loaded' "$(awk -F, '/^,.*,r,/ {n += $5} END {print n}' "$work/out")" \
		"$(awk -F, '/^ L / {n += $2} END {print n}' "$work/real")"
else
	echo 'skipped: lackey, a real run: no valgrind'
fi

# -- oracleGeneral, written --
record() { # SECOND OBJECT BYTES NEXT: numbers of one byte each, in octal; NEXT as 8 bytes
	printf "\\$1\\0\\0\\0\\$2\\0\\0\\0\\0\\0\\0\\0\\0\\$3\\0\\0$4"
}
never='\377\377\377\377\377\377\377\377'
{
	record 0 7 1 '\3\0\0\0\0\0\0\0'
	record 0 11 2 "$never"
	record 2 7 1 '\5\0\0\0\0\0\0\0'
	record 2 5 4 "$never"
	record 3 7 1 "$never"
} >"$work/one.oracleGeneral.bin"
run 0 'oracleGeneral, written' trace --trace "$work/one.oracleGeneral.bin" --format oracleGeneral
cp "$work/out" "$work/two.oracleGeneral.bin"
# Seconds, bytes and next requests are kept; objects are pages now, in the order of their first requests.
fields() { od -An -v -tu4 -w24 "$1" | awk '{if (!($2 in id)) id[$2] = ++ids; print $1, id[$2], $4, $5, $6}'; }
fields "$work/one.oracleGeneral.bin" >"$work/want"
fields "$work/two.oracleGeneral.bin" >"$work/got"
cmp -s "$work/got" "$work/want" && ok "$name: the same requests" || fail "$name: other requests"
run 0 'oracleGeneral, written again' trace --trace "$work/two.oracleGeneral.bin" --format oracleGeneral
cmp -s "$work/out" "$work/two.oracleGeneral.bin" && ok "$name: the same bytes" || fail "$name: other bytes"
run 0 'oracleGeneral of a workload' trace --workload random:bytes=8M --format oracleGeneral --output "$work/w.oracleGeneral.bin"
misses() { awk -F, 'NR == 2 {print $(NF - 5)}' "$work/out"; }
run 0 "Belady's optimum of a workload" bound --workload random:bytes=8M --memory 4M --format csv
wanted=$(misses)
run 0 "Belady's optimum of it as a cache trace" bound --trace "$work/w.oracleGeneral.bin" --memory 4M --format csv
equal misses "$(misses)" "$wanted"
run 2 'oracleGeneral, compressed' trace --workload random:bytes=8M --format oracleGeneral --output "$work/w.zst"
error '--format oracleGeneral is not compressed'
printf 'uvmp-trace 1\nrange,200000,2097152\n,cpu,r,200000\n' >"$work/cpu"
run 2 'oracleGeneral, no access of the GPU' trace --trace "$work/cpu" --format oracleGeneral
error 'there is no access of the GPU'
printf 'uvmp-trace 1\nrange,200000,2097152\n9000000000000000000,0,r,200000\n' >"$work/late"
run 2 'oracleGeneral, late' trace --trace "$work/late" --format oracleGeneral
error 'beyond the 32 bits of seconds'

# -- which format --
run 2 'no format shows' import docs/examples/kernels.csv
error 'its first bytes show no format; name one of addresses, '
printf 'uvmp-trace 1\n' >"$work/trace"
run 2 'a trace' import "$work/trace"
error 'is a trace of uvmsim already'
: >"$work/nothing"
run 2 'an empty file' import "$work/nothing"
error 'is empty'
run 2 'a misspelt way to touch' import nsys --touched migratd "$work/nothing"
error 'is neither faults nor migrated; did you mean migrated?'
exit $failed
