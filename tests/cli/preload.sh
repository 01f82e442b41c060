#!/bin/sh
# libuvmp-preload: allocations, system calls on managed memory, real programs, as root and as an ordinary user.
# usage: preload.sh BUILD (with uvmp-run)
set -u
run=$(cd "$1" && pwd)/uvmp-run
run_library=$(dirname "$run")/libuvmp-preload.so
work=$(mktemp -d "${TMPDIR:-/tmp}/uvmp-preload.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
CC=${CC:-cc}
failed=0

ok() { echo "ok   $1"; }
fail() {
	echo "FAIL $1"
	failed=1
	[ ! -s "$work/err" ] || sed 's/^/     /' "$work/err" | head -n 20
}
judge() { # STATUS NAME
	if [ "$1" = 0 ]; then ok "$2"; else fail "$2 (exit status $1)"; fi
}

# Managed memory for whom? The mode of ordinary users works wherever the kernel has userfaultfd; the rest is root's.
limits='--budget 8M --managed 512M'
# shellcheck disable=SC2086
managed() { # MODE COMMAND...
	mode=$1
	shift
	timeout 100 "$run" $mode $limits -- "$@"
}
build() { # PROGRAM FLAGS...
	program=$1
	shift
	$CC -O1 -w -D_GNU_SOURCE "$@" "tests/cli/${program%%-*}.c" -o "$work/$program" -lpthread 2>"$work/err" ||
		fail "$program is built"
}
build preload_memory -fno-builtin
build preload_calls
build preload_calls-fortified -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -O2

managed --user-mode "$work/preload_memory" e 2>"$work/err"
if ! grep -q 'with managed memory' "$work/err" && grep -qi 'userfaultfd' "$work/err"; then
	echo "skipped: no userfaultfd here: $(grep -i userfaultfd "$work/err" | head -n 1)"
	exit $failed
fi
modes=--user-mode
if managed '' "$work/preload_memory" e 2>&1 | grep -q 'with managed memory' && [ "$(id -u)" = 0 ]; then
	modes='--user-mode --quiet' # any option will do: the kernel's faults are served without --user-mode
else
	echo 'skipped: faults of the kernel are not for this user; only the mode of ordinary users is tested'
fi

# -- our own programs ----------------------------------------------------------------------------------------------------------
for mode in $modes; do
	for program in preload_memory preload_calls preload_calls-fortified; do
		(cd "$work" && managed "$mode" "./$program") >"$work/out" 2>"$work/err"
		status=$?
		grep '^ok' "$work/out" | sed "s/^ok  /ok   $program $mode:/"
		grep '^FAIL' "$work/out"
		judge $status "$program $mode"
	done
done

# Statistics reach uvmp-run however a process ends.
for way in e:7 _:7 q:7 a:134 k:137 x:0; do
	managed --user-mode "$work/preload_memory" "${way%:*}" 2>"$work/err"
	status=$?
	if [ $status = "${way#*:}" ] && grep -q '16.0 MiB at most' "$work/err" && grep -q 'faults  *[1-9]' "$work/err"; then
		ok "a process that ends by ${way%:*} is in the report"
	else
		fail "a process that ends by ${way%:*} is in the report (exit status $status)"
	fi
done

# Programs that the preload cannot reach.
printf '%s\n' '#include <stdlib.h>' '#include <string.h>' \
	'int main(void) { return *(char *)memset(malloc(8 << 20), 0, 8 << 20); }' >"$work/static.c"
if $CC -static -w -fno-builtin "$work/static.c" -o "$work/static" 2>"$work/err"; then
	managed --user-mode "$work/static" 2>"$work/err"
	judge $? 'a static program runs'
	if grep -q 'with managed memory' "$work/err"; then fail 'nothing of it was managed'; else ok 'nothing of it was managed'; fi
fi
cat >"$work/own.c" <<'END'
#include <stddef.h>
static char heap[32 << 20];
static size_t used;
void *malloc(size_t n) { void *p = heap + used; used += (n + 63) / 64 * 64; return used > sizeof(heap) ? 0 : p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
void free(void *p) { (void)p; }
int main(void) { char *p = malloc(8 << 20); p[100] = 1; free(p); return p != heap && p > heap + sizeof(heap); }
END
$CC -w -fno-builtin "$work/own.c" -o "$work/own" 2>"$work/err" && managed --user-mode "$work/own" 2>"$work/err"
judge $? 'a program with a malloc of its own runs'
if command -v g++ >/dev/null 2>&1; then
	cat >"$work/new.cc" <<'END'
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <vector>
struct alignas(4096) Page { char bytes[4096]; };
int main(int, char **argument)
{
	std::vector<uint64_t> numbers;
	for (uint64_t i = 0; i < 1500000; i++) numbers.push_back(i * i);
	for (uint64_t i = 0; i < 1500000; i++) if (numbers[i] != i * i) return 1;
	Page *pages = new Page[1024], *one = new Page;
	if ((uintptr_t)pages % (2 << 20) != 0 || (uintptr_t)one % 4096 != 0) return 2;
	pages[1023].bytes[5] = 1;
	delete[] pages;
	delete one;
	try {
		volatile size_t most = SIZE_MAX / 2;
		char *volatile all = new char[most];
		delete[] all;
		return 3;
	} catch (const std::bad_alloc &) { }
	std::string text(3 << 20, 'x');
	std::ofstream(argument[1]) << text;
	std::ifstream in(argument[1]);
	std::string back((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
	return back == text ? 0 : 4;
}
END
	g++ -O1 -w -std=c++17 "$work/new.cc" -o "$work/new" 2>"$work/err" && managed --user-mode "$work/new" "$work/text" 2>"$work/err"
	judge $? 'C++: new, aligned new, streams'
else
	echo 'skipped: C++, no g++ here'
fi

# -- other allocators than the C library's, linked and preloaded ------------------------------------------------------------
allocate() { # NAME COMMAND...: all functions of the allocator are used together
	name=$1
	shift
	for mode in $modes; do
		# shellcheck disable=SC2086
		timeout 100 "$run" $mode $limits -- "$@" managed >"$work/out" 2>"$work/err"
		status=$?
		grep '^FAIL' "$work/out"
		judge $status "$name $mode"
	done
}
build preload_allocator -fno-builtin && allocate 'the C library' "$work/preload_allocator"
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2.0; do
	if $CC -O1 -w -D_GNU_SOURCE -fno-builtin tests/cli/preload_allocator.c -o "$work/linked" -Wl,--no-as-needed \
		"-l:$library" -lpthread 2>/dev/null; then
		allocate "linked with $library" "$work/linked"
		allocate "$library preloaded" env "LD_PRELOAD=$run_library:$(ldd "$work/linked" | sed -n "s/.*$library => \([^ ]*\).*/\1/p")" \
			"$work/preload_allocator"
	else
		echo "skipped: no $library here, a program that is linked with it"
	fi
done
if command -v redis-server >/dev/null 2>&1 && command -v redis-cli >/dev/null 2>&1; then
	mkdir "$work/redis"
	redis() { timeout 20 redis-cli -s "$work/redis/socket" "$@"; }
	timeout 100 "$run" --user-mode --budget 8M --managed 512M -- redis-server --port 0 --unixsocket "$work/redis/socket" \
		--save '' --dir "$work/redis" >"$work/redis/log" 2>"$work/err" &
	i=0
	while [ "$(redis ping 2>/dev/null)" != PONG ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
	seq 1 500000 | head -c 3000000 >"$work/redis/value"
	for i in 1 2 3 4 5 6; do redis -x set "key$i" <"$work/redis/value" >/dev/null; done
	redis bgsave >/dev/null
	wrong=0
	for i in 1 2 3 4 5 6; do
		redis --raw get "key$i" | head -c 3000000 | cmp -s - "$work/redis/value" || wrong=1
	done
	judge $wrong 'redis-server: values of 3 MB come back'
	redis shutdown nosave >/dev/null 2>&1
	wait $!
	judge $? 'redis-server shuts down'
	if grep -q 'with managed memory' "$work/err"; then ok 'redis-server: in the report'; else fail 'redis-server: in the report'; fi
else
	echo 'skipped: no redis-server here'
fi

# -- real programs: the same output, byte for byte -----------------------------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 120000; i++) printf "%d %x some more text\n", (i * 7919) % 100003, i * i }' >"$work/lines"
cat >"$work/sql" <<'END'
create table t(a integer, b text);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 30000)
	insert into t select (i * 7919) % 100003, hex(i * i) from c;
create index x on t(b);
select b from t order by b limit 9000;
pragma integrity_check;
END
cat >"$work/python" <<'END'
import os, subprocess, sys
b = bytearray(os.path.getsize(sys.argv[1]))
with open(sys.argv[1], "rb", buffering=0) as f:
    assert f.readinto(b) == len(b)
os.write(1, b)
print(subprocess.run(["sh", "-c", "echo $0 $1", "a", "b"], capture_output=True, env=dict(os.environ)).stdout, flush=True)
os.execv("/bin/echo", ["echo"] + ["argument"] * 1000)
END
echo '{ s[$1] = $0 } END { for (i = 0; i < 30000; i++) print s[i] }' >"$work/program"
chmod 755 "$work"/*

# COMMAND sees its input as lines, sql or python in its folder and writes to standard output.
compare() { # HOW NAME COMMAND
	name="$2 $1"
	case $2 in real*) ;; *)
		command -v "${3%% *}" >/dev/null 2>&1 || { echo "skipped: no ${3%% *} here"; return; }
	esac
	(cd "$work" && sh -c "$3") >"$work/want" 2>/dev/null </dev/null
	(cd "$work" && $1 "timeout 100 $preloaded --threshold 128K --budget 16M --quiet -- $3") >"$work/got" 2>"$work/err" </dev/null
	status=$?
	if [ $status = 0 ] && [ -s "$work/want" ] && cmp -s "$work/want" "$work/got"; then ok "$name"; else fail "$name ($status)"; fi
}
programs() { # HOW
	compare "$1" sort 'sort -S 4M --parallel=2 lines'
	compare "$1" dd 'dd if=lines bs=3M status=none'
	compare "$1" tar 'tar -b 4096 --mtime=@0 --owner=0 --group=0 -cf - lines sql'
	compare "$1" zstd 'zstd -q -3 -c lines'
	compare "$1" xz 'xz -1 -T1 -c lines'
	compare "$1" sqlite3 'sqlite3 -batch :memory: ".read sql"'
	compare "$1" python3 "python3 python lines"
	compare "$1" awk 'awk -f program lines'
}
as_root() { sh -c "$1"; }
preloaded="$run --user-mode"
case $run in /*) ;; *) preloaded="$PWD/$run --user-mode" ;; esac
programs as_root

# For real: a user who may not handle the kernel's faults.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$1"; }
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
	mkdir "$work/bin" && cp "$run" "$(dirname "$run")/libuvmp-preload.so" "$work/bin" && chmod 755 "$work/bin"
	preloaded="$work/bin/uvmp-run"
	if as_nobody "$preloaded --budget 8M -- $work/preload_memory e" 2>&1 | grep -q 'with managed memory'; then
		programs as_nobody
		mkdir -m 777 "$work/theirs"
		(cd "$work/theirs" && UVMP_RUN_USER_MODE=1 as_nobody "timeout 100 $preloaded $limits -- $work/preload_calls") \
			>"$work/out" 2>"$work/err"
		judge $? 'preload_calls as an ordinary user'
		grep '^FAIL' "$work/out"
	else
		echo 'skipped: ordinary users may not use userfaultfd here'
	fi
else
	echo 'skipped: an ordinary user for real: not root, or no setpriv'
fi
exit $failed
