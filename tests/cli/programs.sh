#!/bin/sh
# Real programs in a quarter of the memory that they use: the output must be the same byte for byte.
# usage: programs.sh BUILD           each under the default policy, one `ok` or `FAIL` a program
#        programs.sh BUILD --table   each under several policies: times, faults, bytes (docs/uvmp-run.md)
# With --table: REPEATS=N runs (3) of at most LIMIT=N seconds (120); ONLY='NAME...' and POLICIES (one a line)
# choose programs and policies.
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
as= # how programs are started that refuse to run as root
policies=${POLICIES:-'preset=auto
preset=nvidia-595
evict=lru2m granularity=64k
evict=lru2m granularity=64k threshold=1
prefetch=none evict=lru2m granularity=64k
evict=lru4k threshold=100
prefetch=none evict=lru4k'}

value() { # KEY FILE: of a JSON report
	sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p" "$2"
}

# Of all programs that this shell has started and that have ended, from the output of times.
cpu_ms() { sed -n '2s/[ms]/ /gp' "$1" | awk '{ printf "%.0f\n", ($1 * 60 + $2 + $3 * 60 + $4) * 1000 }'; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# measured POLICY BUDGET: runs $command; output in out, report in report, $ms
measured() {
	rm -f report data/postmaster.pid # a postgres that was killed leaves its lock, and the next one refuses to start
	times >before
	start=$(now_ms)
	timeout -s KILL "${LIMIT:-120}" $as "$run" --budget "$2" --policy "$1" $options --quiet --format json --report report \
		sh -c "$command" >out 2>err
	status=$?
	ms=$(($(now_ms) - start))
	times >after
	cpu=$(($(cpu_ms after) - $(cpu_ms before)))
}

# sample POLICY BUDGET: one line a run: ms of processor time, ms, faults, MiB in, MiB out; why there are no more, in ended
sample() {
	repeat=0
	echo "not in ${LIMIT:-120} s" >ended
	while [ $repeat -lt "${REPEATS:-3}" ]; do
		measured "$1" "$2"
		[ $status = 0 ] || [ $status = 137 ] || echo "fails with status $status: $(tail -n 1 err)" >ended
		[ $status = 0 ] || break
		cmp -s want out || echo "FAIL $name, $1" >&2
		echo "$cpu $ms $(value faults report) $(($(value bytes_in report) / 1048576)) $(($(value bytes_out report) / 1048576))"
		repeat=$((repeat + 1))
	done
}

# rows BUDGET: a row for each policy: the run of the median processor time, and its least and greatest; that median
# relative to the best policy's. Processor time, as others may use the machine.
rows() {
	echo "$policies" | while read -r policy; do
		sample "$policy" "$1" | sort -n | awk -v policy="$policy" '
			{ row[NR] = $0; cpu[NR] = $1 }
			END {
				if (NR == 0) { getline ended <"ended"; print "-\t" policy "\t" ended; exit }
				split(row[int((NR + 1) / 2)], median, " ")
				print median[1] "\t" policy "\t" cpu[1] ".." cpu[NR] "\t" median[2] "\t" median[3] "\t" median[4] "\t" median[5]
			}'
	done >all
	awk -F '\t' 'NR == FNR { if ($1 != "-" && (best == "" || $1 + 0 < best)) best = $1 + 0; next }
		$1 == "-" { printf "| | | | | `%s` | %s | | | | | | |\n", $2, $3; next }
		{ printf "| | | | | `%s` | %s | %s | %.2f | %s | %s | %s | %s |\n", $2, $1, $3, $1 / best, $4, $5, $6, $7 }' all all
}

# try NAME PROGRAM OPTIONS COMMAND: in a quarter of the peak, in whole VABlocks
try() {
	name=$1 options=$3 command=$4
	case " ${ONLY:-$name} " in *" $name "*) ;; *) return ;; esac
	if ! command -v "$2" >/dev/null 2>&1; then
		echo "skipped: no $2, $name"
		return
	fi
	start=$(now_ms)
	$as sh -c "$command" >want 2>err || { echo "FAIL $name by itself: $(head -n 1 err)"; failed=1; return; }
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
		printf '| %s | %s | %s | %s | | | | | | | | |\n' "$name" "$plain" $((peak / 1048576)) $quarter
		rows ${quarter}M
		return
	fi
	measured preset=auto ${quarter}M
	if [ $status = 0 ] && cmp -s want out && [ "$(value evictions report)" -gt 0 ]; then
		echo "ok   $name: the same in $quarter of $((peak / 1048576)) MiB ($ms ms, $plain without)"
	else
		echo "FAIL $name in $quarter of $((peak / 1048576)) MiB: status $status" "$(tail -n 2 err)"
		failed=1
	fi
}

if [ -n "$table" ]; then
	echo '| program | ms without | peak MiB | budget MiB | policy | CPU ms | least..most | of the best |' \
		'ms | faults | MiB in | MiB out |'
	echo '|---|---|---|---|---|---|---|---|---|---|---|---|'
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
try python3 $python '' "$python bytes.py"


cat >lists.py <<'P'
x, rows = 1, []
for i in range(130000):
    x = x * 1103515245 + 12345 & 0x7fffffff
    rows.append((x, i, 'name%d' % (x % 99991)))
index = {}
for x, i, name in rows:
    index.setdefault(name, []).append(i)
rows.sort()
print(sum(i * r[1] for i, r in enumerate(rows)), len(index), sum(rows[i * 7919 % len(rows)][0] for i in range(60000)))
P
try lists $python '' "$python lists.py"
cat >sort.py <<'P'
import numpy
a = numpy.random.RandomState(1).random_sample(3500000)
order = numpy.argsort(a[:1000000])
a.sort()
print(a[::99991].sum(), order[::9973].sum())
P
if $python -c 'import numpy' 2>/dev/null; then
	try numpy $python '' "$python sort.py"
else
	echo "skipped: no numpy"
fi

cat >random.c <<'P'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	size_t words = (size_t)40 << 17;
	unsigned long x = 1, *table = calloc(words, sizeof(*table));
	for (int i = 0; i < 300000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		table[(x >> 33) % words] += x;
	}
	for (size_t i = x = 0; i < words; i += 511)
		x = x * 31 + table[i];
	printf("%lx\n", x);
	return 0;
}
P
cc -O1 -o random random.c 2>/dev/null
try random ./random '' ./random

cat >index.sql <<'P'
create table t(a integer primary key, b text, c int);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 220000)
insert into t select i, printf('name%08d', (i * 7919) % 220000), i * 31 % 1009 from n;
create index tb on t(b);
select count(*), sum(length(b)) from t;
select c, count(*), min(b) from t group by c order by c limit 20;
select group_concat(a) from (select a from t order by b limit 50);
P
try sqlite3 sqlite3 '' 'sqlite3 -pagecache 4360 8000 :memory: <index.sql'

awk 'BEGIN {
	for (i = 1; i <= 700000; i++)
		printf "%d line %d of a text that is read from its beginning to its end\n", (i * 7919) % 1000003, i
}' >text
try zstd zstd '' 'zstd -1 -T2 -B4M -c text'
zstd -q -3 --long=25 text -o text.zst 2>/dev/null
try 'zstd -d' zstd '' 'zstd -dc --long=25 text.zst'
xz -0 -T1 --lzma2=preset=0,dict=32MiB -c text >text.xz 2>/dev/null
try 'xz -d' xz '' 'xz -dc text.xz'

awk 'BEGIN { for (f = 0; f < 90; f++) {
	printf "int f%d(int a, int b)\n{\n\tint s = 0;\n", f
	for (i = 0; i < 8; i++) {
		printf "\tfor (int i = a; i < b; i++) {\n\t\ts += i * %d ^ (s >> %d);\n", i + f, i % 7 + 1
		printf "\t\tif (s & %d)\n\t\t\ts -= b * %d;\n\t}\n", i * 3 + 1, f + 1
	}
	print "\treturn s;\n}"
} }' >big.c
try gcc gcc '--threshold 256K' 'gcc -O1 -S -o - big.c'

cat >templates.cc <<'P'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct table {
	std::map<std::string, std::vector<std::array<int, N>>> a;
	std::unordered_map<int, std::set<std::string>> b;
	int work(int n)
	{
		for (int i = 0; i < n; i++) {
			a[std::to_string(i)].push_back({i});
			b[i % N].insert(std::to_string(i));
		}
		std::vector<int> v;
		for (auto &e : a)
			v.push_back((int)e.second.size());
		std::sort(v.begin(), v.end(), [](int x, int y) { return x > y; });
		return v[0] + (int)b.size();
	}
};
int main()
{
	std::regex r("a[0-9]+b");
	std::cout << table<3>().work(9) + table<5>().work(9) + table<7>().work(9) + std::regex_match("a1b", r) << std::endl;
}
P
try g++ g++ '' 'g++ -O1 -S -o - templates.cc'

cat >sort.sql <<'P'
set work_mem = '64MB'
set max_parallel_workers_per_gather = 0
create temp table t as select i, md5(i::text) as b, i * 7919 % 100003 as c from generate_series(1, 200000) i
select count(*), sum(i * r % 1009) from (select i, row_number() over (order by b) as r from t) s
select count(*), sum(n) from (select c, count(*) as n, max(b) from t group by c) s
select count(*) from t x join t y on x.b = md5(y.c::text)
P
postgres=$(command -v postgres || ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)
if [ -n "$postgres" ]; then
	postgres=$(readlink -f "$postgres")
	[ "$(id -u)" != 0 ] || as='setpriv --reuid=postgres --regid=postgres --clear-groups'
	[ -z "$as" ] || chown postgres "$work"
	if $as "${postgres%/*}/initdb" -D data -A trust --no-sync >err 2>&1; then
		try postgres "$postgres" '' "$postgres --single -D data -F template1 <sort.sql"
	else
		echo "skipped: no database, postgres: $(tail -n 1 err)"
	fi
	as=
else
	echo "skipped: no postgres"
fi

head -n 80000 text | sed 's/$/ and has a tail that is not looked at, so that the buffer holds more than it compares/' >lines
try sort sort '' 'sort -S 32M lines'
turned="\$s = join(q(,), map { \$_ * 7 } 1..900000); (\$t = \$s) =~ tr/0-9/9876543210/;"
try perl perl '' "perl -e '$turned print unpack(q(%32C*), \$t . \$s), qq(\\n)'"
exit $failed
