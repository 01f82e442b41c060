#!/bin/sh
# Files of profilers as traces: what each becomes, and one clear error for each kind of damage. usage: import_profiles.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"
support=$PWD/tests/support/import
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
	if command -v zstd >/dev/null && zstd -q "$work/new.sqlite" &&
		[ "$("$uvmsim" import nsys "$work/new.sqlite.zst" 2>&1 | head -c 10)" = uvmp-trace ]; then
		run 0 'nsys, compressed' import "$work/new.sqlite.zst"
		cmp -s "$work/out" "$work/want" && ok "$name: the same rows" || fail "$name: other rows"
	fi
	# 40 pages fault; each brings 15 pages more; a call brings 512; one migration of 16 pages follows an eviction.
	run 0 'nsys, all that migrated' import nsys --touched migrated "$work/new.sqlite"
	has '# import nsys --touched migrated, faults only'
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" $((40 + 40 * 16 + 512 + 16))
	run 0 'nsys, a run of it' run --trace "$work/want" --memory 256M --policy prefetch=none --format json
	says 'lists faults only'
	if grep -q '"faults_only": true' "$work/out"; then ok "$name: faults_only"; else fail "$name: no faults_only"; fi
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
	run 2 'nsys, a GPU that is not there' import nsys --device 7 "$work/two-gpus.sqlite"
	error 'there is no event of GPU 7; there are some of 0, 1'
	run 2 'nsys, a process that is not there' import nsys --process 77 "$work/two-processes.sqlite"
	error 'there is no event of process 77; there are some of 9, 4660'
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
	# shellcheck disable=SC2059 # the text has escapes
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

# -- UVM tools --
cat >"$work/tools" <<T
# written by a reader of the queue
UvmEventTypeGpuFault accessType=UvmEventMemoryAccessTypeWrite gpuIndex=1 address=0x7f0000000000 timeStamp=100 batchId=1 clientId=3
GpuFault accessType=1 gpuIndex=1 address=0x7f0000010000 timeStamp=120 batchId=1
GpuFault accessType=Read gpuIndex=1 address=0x7f0000020000 timeStamp=121 batchId=2
Migration migrationCause=Prefetch srcIndex=0 dstIndex=1 address=0x7f0000001000 migratedBytes=8192 \
beginTimeStamp=110 endTimeStamp=111
Migration migrationCause=1 srcIndex=1 dstIndex=0 address=0x7f0000200000 migratedBytes=4096 beginTimeStamp=300 endTimeStamp=301
GpuFaultReplay gpuIndex=1 batchId=1
CpuFault accessType=Write address=0x7f0000000000 timeStamp=500 pid=7
T
run 0 'UVM tools' import "$work/tools"
migrated='100,0,w,0x7f0000000000 120,1,r,0x7f0000010000 batch 121,0,r,0x7f0000020000 batch '
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	"${migrated}prefetch,cpu,0x7f0000200000,4096 500,cpu,w,0x7f0000000000 "
run 0 'UVM tools, all that migrated' import --touched migrated "$work/tools"
has '120,0,r,0x7f0000001000' '120,1,r,0x7f0000002000' '300,cpu,r,0x7f0000200000'
# Time grows as the events do: these took minutes when each fault searched all later events for a kernel.
awk 'BEGIN {
	for (i = 0; i < 150000; i++)
		printf "GpuFault accessType=1 gpuIndex=1 address=%d timeStamp=%d\n", 4096 * (i % 5000), i * 10
}' >"$work/many"
name='UVM tools, many faults and no kernel'
timeout 60 "$uvmsim" import "$work/many" >"$work/out" 2>"$work/err"
equal accesses "$(rows '^[0-9]*,[0-9]')" 150000
fault='GpuFault accessType=1 gpuIndex=1 timeStamp=1'
damage uvm-tools 'text for a number' "$fault address=abc\n" ':1: address=abc is not a number of 64 bits'
damage uvm-tools 'negative' "$fault address=-1\n" 'address=-1 is not a number'
damage uvm-tools 'huge' "$fault address=99999999999999999999\n" 'is not a number of 64 bits'
damage uvm-tools 'a time beyond 2^63' "GpuFault accessType=1 timeStamp=9223372036854775808 address=1\n" \
	':1: the fault begins at 9223372036854775808 ns; a trace ends at 9223372036854775807 ns'
damage uvm-tools 'a missing field' "$fault\n" 'GpuFault has no address'
damage uvm-tools 'an unknown access' 'GpuFault accessType=Jump address=1 timeStamp=1\n' 'accessType=Jump is not known'
damage uvm-tools 'an unknown event' 'GpuFalt address=1\n' '"GpuFalt" is no event'
damage uvm-tools 'no pair' 'GpuFault address\n' '"address" is not KEY=VALUE'
damage uvm-tools 'two GPUs' "$fault address=0x1000\nGpuFault accessType=1 gpuIndex=2 timeStamp=1 address=0x1000\n" \
	':2: events of GPU 1 and of GPU 2'
{
	printf '%s address=0x1000\n' "$fault"
	printf 'CpuFault accessType=1 address=0x1000 timeStamp=2 pid=7\n'
} >"$work/one"
run 2 'UVM tools, a GPU that is not there' import uvm-tools --device 2 "$work/one"
error 'there is no event of GPU 2; there are some of 1'
run 2 'UVM tools, a process that is not there' import uvm-tools --process 77 "$work/one"
error 'there is no event of process 77; there are some of 7'
for gpu in 9 5 3 4 8 6 7 1 2 5; do printf 'GpuFault accessType=1 gpuIndex=%s timeStamp=1 address=0x1000\n' $gpu; done >"$work/gpus"
run 2 'UVM tools, many GPUs' import uvm-tools --device 10 "$work/gpus"
error 'there is no event of GPU 10; there are some of 1, 2, 3, 4, 5, 6, 7, 8 and others'
run 0 'UVM tools, the last of many GPUs' import uvm-tools --device 9 "$work/gpus"
printf '%s address=0x1000\n' "$fault" >"$work/one"
run 2 'UVM tools, no process' import uvm-tools --process 7 "$work/one"
error 'there is no event of process 7; no event names a process'
damage uvm-tools 'backwards' \
	'Migration migrationCause=2 srcIndex=0 dstIndex=1 address=0x1000 migratedBytes=4096 beginTimeStamp=9 endTimeStamp=8\n' \
	'ends at 8 ns, before it begins'
damage uvm-tools 'no bytes' \
	'Migration migrationCause=2 srcIndex=0 dstIndex=1 address=0x1000 migratedBytes=0 beginTimeStamp=9 endTimeStamp=9\n' \
	'the migration has 0 bytes'
damage uvm-tools empty '' 'neither a fault nor a migration'
damage uvm-tools cut "$fault addr" 'its line feed is missing'

# -- CUPTI --
cat >"$work/cupti" <<C
UNIFIED_MEMORY_COUNTER counterKind=GPU_PAGE_FAULT value=3 start=100 end=300 address=0x7f0000000000 flags=2 srcId=0
KERNEL start=110 end=900 deviceId=0 name=scale
CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER counterKind=1 value=8192 start=110 end=130 address=0x7f0000000000 flags=2 \
srcId=255 dstId=0
CUPTI_ACTIVITY_KIND_MEMSET start=1
UNIFIED_MEMORY_COUNTER counterKind=3 value=4096 start=950 address=0x7f0000001000 flags=1
UNIFIED_MEMORY_COUNTER counterKind=THRASHING value=4096 start=960 address=0x7f0000001000
C
{
	grep -v 'counterKind=3' "$work/cupti"
	printf 'KERNEL start=1000 end=1001 deviceId=1 name=other\n'
} >"$work/cupti-kernel"
run 2 'CUPTI, a GPU with a kernel only' import --device 1 "$work/cupti-kernel"
error 'there is neither a fault nor a migration of unified memory of the chosen GPU and process in it'
run 0 'CUPTI' import "$work/cupti"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	'kernel,scale 100,0,w,0x7f0000000000 batch sync 950,cpu,r,0x7f0000001000 '
run 0 'CUPTI, all that migrated' import --touched migrated "$work/cupti"
has '110,0,r,0x7f0000001000'
damage cupti 'text for a number' 'UNIFIED_MEMORY_COUNTER counterKind=4 value=x start=1 end=2 address=1\n' 'value=x is not a number'
damage cupti 'an unknown counter' 'UNIFIED_MEMORY_COUNTER counterKind=99 value=1 start=1 end=2 address=1\n' \
	'counterKind=99 is not known'
damage cupti 'a missing field' 'UNIFIED_MEMORY_COUNTER counterKind=4 value=1 start=1 end=2\n' 'has no address'
damage cupti 'huge' 'UNIFIED_MEMORY_COUNTER counterKind=1 value=99999999999999 start=1 end=2 address=1\n' \
	'99999999999999 bytes; 1..'
damage cupti 'other text' 'hello\n' 'no kind of a record'
damage cupti empty '' 'neither a fault nor a migration'

# -- nvprof, text --
gpu_trace=../shared/traces/uvmsmart/real-1080ti/gpu-trace/getHWPrefetcherP1.nvprof.txt
if [ -f $gpu_trace ]; then
	run 0 'nvprof of a real GPU' import $gpu_trace
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" 6
	# Its six faults brought all of 2 MiB: 512 pages, and the driver of the simulator brings the same.
	run 0 'nvprof of a real GPU, all that migrated' import --touched migrated $gpu_trace
	equal 'accesses of the GPU' "$(rows '^[0-9]*,[0-9]')" $((6 + 512))
	run 0 'nvprof of a real GPU, what if' whatif $gpu_trace --policy nvidia-595 --policy on-demand --format json
	for key in '"h2d_unknown_bytes": 2097152' '"policy": "nvidia-595", "error": null, "rank": 2' \
		'"h2d_bytes_least": 2097152, "h2d_bytes_median": 2097152, "h2d_bytes_most": 2097152'; do
		if grep -qF -- "$key" "$work/out"; then ok "$name: $key"; else fail "$name: no $key"; fi
	done
else
	echo 'skipped: nvprof of a real GPU: its file is not there'
fi
head='   Start  Duration  Unified Memory  Virtual Address  Name\n'
row='  1.00ms    2.00us           4.0XB   0x7f0000000000  [Unified Memory Memcpy HtoD]\n'
damage nvprof 'a size that is none' "$head$row" 'size "4.0XB" is not a size as 4.000000KB'

{
	printf '   Start  Duration  Grid Size        Device  Unified Memory  Virtual Address  Name\n'
	printf '  1.00ms         -          -             -     PC 0x400b82   0x7f0000000000  [Unified Memory CPU page faults]\n'
	printf '  2.00ms    2.00us          -  Tesla T4 (0)               1   0x7f0000010000  [Unified Memory GPU page faults]\n'
	printf '  2.00ms    4.00us    (1 1 1)  Tesla T4 (0)               -                -  first(int*) [1]\n'
	printf '  3.00ms    2.00us          -  Tesla T4 (1)               1   0x7f0000020000  [Unified Memory GPU page faults]\n'
	printf '  3.00ms    4.00us    (1 1 1)  Tesla T4 (1)               -                -  second(int*) [2]\n'
} >"$work/two-gpus"
run 2 'nvprof, two GPUs' import nvprof "$work/two-gpus"
error ':5: events of GPU 0 and of GPU 1; --device says which'
run 0 'nvprof, one of two GPUs' import nvprof --device 1 "$work/two-gpus"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	'1000000,cpu,r,0x7f0000000000 kernel,second 3000000,0,r,0x7f0000020000 sync '
run 2 'nvprof, a GPU that is not there' import nvprof --device 2 "$work/two-gpus"
error 'there is no event of GPU 2; there are some of 0, 1'
sed 's/T4 (.)/T4    /' "$work/two-gpus" >"$work/cut"
run 0 'nvprof, names of GPUs are cut' import nvprof "$work/cut"
says 'some rows have no number of a GPU'

# -- nvprof, CSV --
cat >"$work/nvprof.csv" <<'N'
==1== NVPROF is profiling process 1, command: ./scale
==1== Profiling result:
"Start","Duration","Grid X","Registers Per Thread","Device","Context","Stream","Unified Memory","Virtual Address","Name"
ms,us,,,,,,,,
1.500000,,,,,,,"PC 0x400b82","0x7f0000000000","[Unified Memory CPU page faults]"
2.000000,183.74,,,"Tesla T4 (0)",,,"3","0x7f0000010000","[Unified Memory GPU page faults]"
2.001000,540.28,64,16,"Tesla T4 (0)","1","7",,,"void scale<float>(float*, int) [108]"
2.050000,1.728,,,"Tesla T4 (0)",,,"8.000000KB","0x7f0000010000","[Unified Memory Memcpy HtoD]"
N
run 0 'nvprof, CSV' import "$work/nvprof.csv"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	'1500000,cpu,r,0x7f0000000000 kernel,void scale<float> 2000000,0,r,0x7f0000010000 batch sync '
run 0 'nvprof, CSV, all that migrated' import --touched migrated "$work/nvprof.csv"
has '2050000,0,r,0x7f0000011000'
[ ! -s "$work/err" ] || fail "$name: a note where there is nothing to say"
run 0 'nvprof, CSV, its GPU' import --device 0 "$work/nvprof.csv"
{
	cat "$work/nvprof.csv"
	printf '3.000000,10,,,"Tesla T4 (1)",,,"1","0x7f0000020000","[Unified Memory GPU page faults]"\n'
	printf '4.000000,10,,,"Tesla T4 (1)",,,,,"[CUDA memcpy HtoD]"\n'
} >"$work/two-gpus.csv"
run 2 'nvprof, CSV, two GPUs' import "$work/two-gpus.csv"
error ':9: events of GPU 0 and of GPU 1; --device says which'
run 0 'nvprof, CSV, one of two GPUs' import --device 1 "$work/two-gpus.csv"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" '1500000,cpu,r,0x7f0000000000 3000000,0,r,0x7f0000020000 batch '
run 2 'nvprof, CSV, a GPU that is not there' import --device 2 "$work/two-gpus.csv"
error 'there is no event of GPU 2; there are some of 0, 1'
head='"Start","Duration","Unified Memory","Virtual Address","Name"\nms,us,,,\n'
damage nvprof-csv 'text for a number' "${head}abc,,1,0x1000,\"[Unified Memory GPU page faults]\"\n" \
	':3: Start "abc" is no number with a unit'
damage nvprof-csv 'negative' "${head}-1,,1,0x1000,\"[Unified Memory GPU page faults]\"\n" 'Start "-1" is no number'
damage nvprof-csv 'a bad address' "${head}1,,1,0xzz,\"[Unified Memory GPU page faults]\"\n" 'Virtual Address "0xzz" is not a number'
damage nvprof-csv 'too few fields' "${head}1,,1\n" '3 fields; the first line has 5'
damage nvprof-csv 'not profiled' '"Start","Duration","Name"\nms,us,\n' 'unified memory was not profiled'
damage nvprof-csv 'no table' 'hello\n' 'there is no table'
damage nvprof-csv 'no units' '"Start","Duration","Unified Memory","Virtual Address","Name"\n' 'no units below its names'
damage nvprof-csv empty '' 'there is no table'

# -- gpu_ext --
cat >"$work/chunk" <<'G'
time_ms,hook_type,pid,owner_pid,va_space,cpu,chunk_addr,list_addr,va_block,va_start,va_end,va_page_index
0,ACTIVATE,9,70,0xffff1,3,0xffff2,0xffff3,0xffff4,0x7f0000000000,0x7f00001fffff,0
0,POPULATE,9,70,0xffff1,3,0xffff2,0xffff3,0xffff4,0x7f0000000000,0x7f00001fffff,0
2,POPULATE,9,,,3,0xffff2,0xffff3,,,,0
1,POPULATE,9,70,0xffff1,3,0xffff2,0xffff3,0xffff4,0x7f0000200000,0x7f00003fffff,16
3,EVICTION_PREPARE,9,,,3,0xffff2,0xffff3,,,,0

================
TOTAL 5
G
run 0 'gpu_ext, chunks' import "$work/chunk"
has '0,0,r,0x7f0000000000' '1000000,0,r,0x7f0000210000'
equal accesses "$(rows '^[0-9]*,[0-9]')" 2
says '1 rows name no VABlock' 'tells chunks, not pages'
run 2 'gpu_ext, another process' import gpu_ext-chunk --process 1 "$work/chunk"
error 'there is no event of process 1; there are some of 70'
cat >"$work/prefetch" <<G
time_ms,cpu,fault_pid,owner_tgid,va_start,va_end,page_index,faulted_first,faulted_outer,max_first,max_outer,\
tree_offset,leaf_count,level_count,pages_accessed
5,1,9,70,0x7f0000000000,0x7f00001fffff,3,3,9,0,512,0,512,10,2
5,1,9,70,0x7f0000000000,0x7f00001fffff,8,3,9,0,512,0,512,10,2
5,1,9,70,0x7f0000200000,0x7f00003fffff,0,0,1,0,512,0,512,10,1
G
run 0 'gpu_ext, prefetch decisions' import "$work/prefetch"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	'5000000,0,r,0x7f0000003000 5000000,1,r,0x7f0000008000 batch 5000000,0,r,0x7f0000200000 batch '
head='time_ms,hook_type,va_start,va_page_index\n'
damage gpu_ext-chunk 'text for a number' "${head}x,POPULATE,0x1000,0\n" 'time_ms "x" is not a number'
damage gpu_ext-chunk 'negative' "${head}1,POPULATE,0x200000,-1\n" 'va_page_index "-1" is not a number'
damage gpu_ext-chunk 'beyond the block' "${head}1,POPULATE,0x200000,512\n" 'va_page_index 512 is not 0..511'
damage gpu_ext-chunk 'huge' "${head}99999999999999999,POPULATE,0x200000,0\n" 'is too large'
damage gpu_ext-chunk 'an unknown hook' "${head}1,12,0x200000,0\n" 'hook_type "12" is not known'
damage gpu_ext-chunk 'a missing column' 'time_ms,hook_type\n1,POPULATE\n' 'the first line names no column va_start'
damage gpu_ext-chunk 'too many fields' "${head}1,POPULATE,0x200000,0,0\n" '5 fields; the first line has 4'
damage gpu_ext-chunk empty '' 'is empty'
damage gpu_ext-prefetch cut 'time_ms,va_start,page_index\n1,0x20' 'its line feed is missing'

# -- uvm-eval --
cat >"$work/eval" <<'U'
6,1201,777,-;vrange,7f0000000000,4194304
6,1202,778,-;s
6,1203,779,-;f,7f0000000000,123456,1,1,2,1,0,0,3,0,2,1,4,0
6,1204,780,-;f,7f0000001000,123450,1,2,4,1,0,0,3,0,2,1,4,0
6,1205,781,-;p,7f0000002000
6,1206,782,-;b,31415,0
6,1207,783,-;s
6,1208,784,-;f,7f0000200000,223456,1,4,2,1,0,0,3,0,2,1,4,0
6,1209,785,-;e,7f0000000000
6,1210,786,-;b,2000,0
U
run 0 'uvm-eval' import uvm-eval "$work/eval"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	',0,r,0x7f0000000000 ,1,w,0x7f0000001000 batch ,0,a,0x7f0000200000 batch '
run 0 'uvm-eval, prefetched pages' import uvm-eval --touched migrated "$work/eval"
has '# import uvm-eval --touched migrated, faults only' ',0,r,0x7f0000002000'
damage uvm-eval 'text for a number' 'f,xyz,1,1,1\n' 'address "xyz" is not a hexadecimal number'
damage uvm-eval 'an unknown access' 'f,1000,1,1,9\n' 'access type "9" is not 0..4'
damage uvm-eval 'too few fields' 'f,1000\n' 'a fault has 1 fields'
good='s,\nf,1000,1,1,2\n'
damage uvm-eval 'an unknown record' "${good}t,2000,1,1,2\n" ':3: "t" is no record; s, f, p, b, e or a'
damage uvm-eval 'a letter is lost' "${good}6,1,7,-;,2000,1,1,2\n" ':3: ",2000,1,1,2" is part of a record'
damage uvm-eval 'a comma is lost' "${good}6,1,7,-;f2000,1,1,2\n" ':3: "f2000,1,1,2" is part of a record'
damage uvm-eval 'only the end of a line' "${good}00,1,1,2\n" ':3: "00,1,1,2" is part of a record'
damage uvm-eval 'only the prefix' "${good}6,1,7,-\n" ':3: "6" is no record; s, f'
damage uvm-eval 'two in a line' "${good}6,1,7,-;f,2000,1,1,26,2,7,-;f,3000,1,1,2\n" ':3: a record is followed by another line'
damage uvm-eval 'a bad prefetched page' "${good}p,2z00\n" ':3: address "2z00" is not a hexadecimal number'
damage uvm-eval 'a prefetched page with more' "${good}p,2000,f\n" ':3: a prefetched page has 2 fields; ADDRESS'
others='6,3,7,-;eth0: link up; 1000 Mbit, full duplex\n6,4,7,-;vrange,0x7f00,4096\n6,5,7,-;\n6,6,7,-;a,1,2\n'
# shellcheck disable=SC2059 # the texts have escapes
printf "$good${others}b,3,0\n" >"$work/eval"
run 0 'uvm-eval, lines of others' import uvm-eval "$work/eval"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" ',0,w,0x1000 batch '
damage uvm-eval 'no faults' 's\nb,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n' \
	'this driver writes no faults'
damage uvm-eval empty '' 'there is no access in it'

# -- DAMON --
printf '    kdamond.0 46568 [027] 79357.842179: damon:damon_aggregated: target_id=0 nr_regions=2 %s\n' \
	'122509119488-122509131776: 3 864' '122509131776-135708762112: 0 864' >"$work/perf"
run 0 'DAMON, perf script' import "$work/perf"
equal accesses "$(rows '^,0,r')" 3
says 'tells regions, not pages'
cat >"$work/raw" <<'D'
base_time_absolute: 8 m 59.809 s

monitoring_start:                0 ns
target_id: 0
nr_regions: 2
#  start_addr     end_addr        length  nr_accesses   age
7f0000000000-7f0000002000 (   8.000 KiB)           5    12
7f0000002000-7f0000400000 (   3.992 MiB)           0    12
D
run 0 'DAMON, damo report raw' import "$work/raw"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" ',0,r,0x7f0000000000 ,0,r,0x7f0000001000 '
sed 's/) */):        /' "$work/raw" >"$work/colon"
cp "$work/out" "$work/raw.out"
run 0 'DAMON, damo with a colon' import "$work/colon"
sed 's,raw,colon,' "$work/raw.out" >"$work/want"
if cmp -s "$work/want" "$work/out" && grep -q '):' "$work/colon"; then
	ok "$name: the same trace"
else
	fail "$name: another trace"
fi
printf '400000-403000(  12.000 KiB):\t1\n  7F0000000000-7F0000002000 ( 8.000 KiB): 2\n0-1000( 4.000 KiB): 0\n' >"$work/short"
run 0 'DAMON, short addresses and capitals' import damon "$work/short"
equal rows "$(grep -v '^[#ur]' "$work/out" | tr '\n' ' ')" \
	',0,r,0x400000 ,0,r,0x401000 ,0,r,0x402000 ,0,r,0x7f0000000000 ,0,r,0x7f0000001000 '
good='7f0000000000-7f0000002000( 8.000 KiB): 2\n'
damage damon 'a letter in a start' "${good}563ebaag0000-563ebc99e000( 31 MiB): 1\n" \
	':2: "563ebaag0000-563ebc99e000( 31 MiB): 1" is no region: START-END and its accesses'
damage damon 'a letter in an end' "${good}400000-40x000( 12 KiB): 1\n" ':2: "400000-40x000( 12 KiB): 1" is no region'
damage damon 'no accesses of a short region' "${good}400000-403000( 12 KiB):\n" 'is no region'
damage damon 'an end before the start, short' "${good}403000-400000( 12 KiB): 1\n" 'not behind its start'
damage damon 'a cut region' "${good}7F0000000000-7F00\n" 'is no region'
event='damon:damon_aggregated: target_id=0 nr_regions=2'
damage damon 'text for a number' "$event abc-def: 1 2\n" '"abc-def: 1 2" is no region'
damage damon 'negative' "$event -4096-8192: 1 2\n" 'is no region'
damage damon 'backwards' "$event 8192-4096: 1 2\n" 'not behind its start'
damage damon 'huge' "$event 4096-18446744073709551615: 1 2\n" 'the region has 18446744073709547519 bytes'
damage damon 'beyond 64 bits' "$event 4096-99999999999999999999: 1 2\n" 'is no region'
damage damon 'no accesses' "$event 4096-8192: 0 2\n" 'there is no access in it'
damage damon empty '' 'there is no access in it'

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
