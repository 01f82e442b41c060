#!/bin/sh
# Real programs in a quarter of the memory that they use: the output must be the same byte for byte.
# usage: programs.sh BUILD           each under the policy that suits it, one `ok` or `FAIL` a program
#        programs.sh BUILD --table   each under several policies: times, faults, bytes (docs/uvmp-run.md)
set -u
case $1 in /*) build=$1 ;; *) build=$PWD/$1 ;; esac
table=${2:-}
run=$build/uvmp-run
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset UVMP_POLICY
LC_ALL=C
export LC_ALL
failed=0
small='prefetch=none evict=lru4k' # what is used is scattered: only what is asked for comes, and pages leave one by one

value() { # KEY FILE: of a JSON report
	sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p" "$2"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# measured POLICY BUDGET: runs $command; output in out, report in report, $ms
measured() {
	start=$(now_ms)
	timeout -s KILL "${LIMIT:-120}" "$run" --budget "$2" --policy "$1" $options --quiet --format json --report report \
		sh -c "$command" >out 2>err
	status=$?
	ms=$(($(now_ms) - start))
}

row() { # POLICY
	if [ $status != 0 ]; then
		printf '| | | | | `%s` | not in %s s | | | |\n' "$1" "${LIMIT:-120}"
		return
	fi
	printf '| | | | | `%s` | %s | %s | %s | %s |\n' "$1" "$ms" "$(value faults report)" \
		"$(($(value bytes_in report) / 1048576))" "$(($(value bytes_out report) / 1048576))"
}

# try NAME PROGRAM POLICY OPTIONS COMMAND: in a quarter of the peak, in whole VABlocks
try() {
	name=$1 policy=$3 options=$4 command=$5
	if ! command -v "$2" >/dev/null 2>&1; then
		echo "skipped: no $2, $name"
		return
	fi
	start=$(now_ms)
	sh -c "$command" >want 2>err || { echo "FAIL $name by itself: $(head -n 1 err)"; failed=1; return; }
	plain=$(($(now_ms) - start))
	measured preset=nvidia-595 1G
	if grep -q 'without a pager' err; then
		echo "skipped: $(head -n 1 err), $name"
		return
	fi
	peak=$(value peak_managed_bytes report)
	quarter=$(((peak / 4 + 2097151) / 2097152 * 2))
	if [ $status != 0 ] || ! cmp -s want out || [ "${peak:-0}" -lt 27262977 ]; then
		echo "FAIL $name, all resident: status $status, peak ${peak:-none}"
		failed=1
		return
	fi
	if [ -n "$table" ]; then
		printf '| %s | %s | %s | %s | | | | | |\n' "$name" "$plain" $((peak / 1048576)) $quarter
		for policy in preset=nvidia-595 'evict=lru2m granularity=64k' prefetch=none 'evict=lru4k threshold=100' "$small"; do
			measured "$policy" ${quarter}M
			[ $status != 0 ] || cmp -s want out || echo "FAIL $name, $policy"
			row "$policy"
		done
		return
	fi
	measured "$policy" ${quarter}M
	if [ $status = 0 ] && cmp -s want out && [ "$(value evictions report)" -gt 0 ]; then
		echo "ok   $name: the same in $quarter of $((peak / 1048576)) MiB ($ms ms, $plain without)"
	else
		echo "FAIL $name in $quarter of $((peak / 1048576)) MiB: status $status" "$(tail -n 2 err)"
		failed=1
	fi
}

if [ -n "$table" ]; then
	echo '| program | ms without | peak MiB | budget MiB | policy | ms | faults | MiB in | MiB out |'
	echo '|---|---|---|---|---|---|---|---|---|'
fi

cat >bytes.py <<'P'
import hashlib
n = 28 << 20
a = bytearray(n)
for i in range(0, n, 65536):
    a[i:i + 65536] = hashlib.sha256(str(i).encode()).digest() * 2048
reverse = bytes(range(255, -1, -1))
for k in range(3):
    for i in range(0, n, 262144):
        a[i:i + 262144] = a[i:i + 262144].translate(reverse)
print(hashlib.sha256(a).hexdigest())
P
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3 # not a wrapper script
try python3 $python preset=nvidia-595 '' "$python bytes.py"

cat >index.sql <<'P'
create table t(a integer primary key, b text, c int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 220000)
insert into t select i, printf('name%08d', (i * 7919) % 220000), i * 31 % 1009 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t;
select c, count(*), min(b) from t group by c order by c limit 20;
select group_concat(a) from (select a from t order by b limit 50);
P
try sqlite3 sqlite3 "$small" '' 'sqlite3 -pagecache 4360 8000 :memory: <index.sql'

awk 'BEGIN { for (i = 1; i <= 700000; i++) printf "%d line %d of a text that is read from its beginning to its end\n", (i * 7919) % 1000003, i }' >text
try zstd zstd "$small" '' 'zstd -1 -T2 -B4M -c text'
zstd -q -3 --long=25 text -o text.zst 2>/dev/null
try 'zstd -d' zstd preset=nvidia-595 '' 'zstd -dc --long=25 text.zst'
xz -0 -T1 --lzma2=preset=0,dict=32MiB -c text >text.xz 2>/dev/null
try 'xz -d' xz preset=nvidia-595 '' 'xz -dc text.xz'

awk 'BEGIN { for (f = 0; f < 90; f++) {
	printf "int f%d(int a, int b)\n{\n\tint s = 0;\n", f
	for (i = 0; i < 8; i++)
		printf "\tfor (int i = a; i < b; i++) {\n\t\ts += i * %d ^ (s >> %d);\n\t\tif (s & %d)\n\t\t\ts -= b * %d;\n\t}\n", i + f, i % 7 + 1, i * 3 + 1, f + 1
	print "\treturn s;\n}"
} }' >big.c
try gcc gcc "$small" '--threshold 256K' 'gcc -O1 -S -o - big.c'

head -n 80000 text | sed 's/$/ and has a tail that is not looked at, so that the buffer holds more than it compares/' >lines
try sort sort "$small" '' 'sort -S 32M lines'
try perl perl preset=nvidia-595 '' \
	"perl -e '\$s = join(q(,), map { \$_ * 7 } 1..900000); (\$t = \$s) =~ tr/0-9/9876543210/; print unpack(q(%32C*), \$t . \$s), qq(\\n)'"
exit $failed
