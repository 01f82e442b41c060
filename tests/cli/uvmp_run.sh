#!/bin/sh
# uvmp-run from outside: real programs in a quarter of their memory print what they print without it; the simulator takes the same
# decisions for the faults that were recorded; bad arguments. usage: uvmp_run.sh BUILD (with uvmp-run, libuvmp-preload.so and uvmsim)
set -u
build=$(cd "$1" && pwd)
run=$build/uvmp-run
work=$(mktemp -d "$build/run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	shift
	for line in "$@"; do echo "     $line"; done
}

# refused NAME TEXT ARGUMENTS...: exit status 2 and one line that says TEXT
refused() {
	name=$1 text=$2
	shift 2
	"$run" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ $status = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -e "$text" "$work/err"; then ok "$name"; else
		fail "$name" "status $status" "$(cat "$work/err")"
	fi
}
refused 'no budget' '--budget is missing' -- true
refused 'no program' 'no program' --budget 4M
refused 'budget of zero' '--budget: "0" is not accepted; 2M and more' --budget 0 -- true
refused 'budget below a block' '2M and more' --budget 1M -- true
refused 'budget that is no size' 'is not accepted' --budget 4X -- true
refused 'budget too large' 'is not accepted' --budget 99999999999T -- true
refused 'budget twice' 'given twice' --budget 4M --budget 4M -- true
refused 'unknown option' 'no such option' --budgets 4M -- true
refused 'unknown policy' 'prefetch: "up" is not accepted' --budget 4M --policy prefetch=up -- true
refused 'value missing' 'a value is missing' --budget

# status NAME WANTED COMMAND...
status() {
	name=$1 wanted=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	if [ $got = "$wanted" ]; then ok "$name"; else fail "$name" "exit status $got, not $wanted" "$(cat "$work/err")"; fi
}
status 'exit status goes through' 7 "$run" --budget 4M -- sh -c 'exit 7'
status 'no such program' 127 "$run" --budget 4M -- /nowhere/at/all
status 'death by a signal' 143 sh -c "\"$run\" --budget 4M -- sh -c 'kill -TERM \$\$'; exit \$?"

if ! "$run" --budget 8M --threshold 1M -- dd if=/dev/zero of=/dev/null bs=4M count=1 2>"$work/err" ||
	grep -q 'without a pager' "$work/err"; then
	echo "skipped: no userfaultfd for this process: $(grep 'without a pager' "$work/err")"
	exit $failed
fi

# same NAME BUDGET COMMAND: the same bytes on stdout with a budget as without
same() {
	name=$1 budget=$2
	sh -c "$3" >"$work/want" 2>/dev/null </dev/null
	"$run" --budget "$budget" --threshold 256K -- sh -c "$3" >"$work/got" 2>"$work/err" </dev/null
	if cmp -s "$work/want" "$work/got" && [ -s "$work/got" ] && grep -q 'with managed memory' "$work/err"; then
		ok "$name: $(sed -n 's/^  evictions *//p' "$work/err") evictions"
	else
		fail "$name" "$(cat "$work/err")"
	fi
}
awk 'BEGIN { srand(1); for (i = 0; i < 200000; i++) print int(rand() * 1e9), i }' >"$work/data"
same 'sort' 4M "sort -n --parallel=1 --buffer-size=16M $work/data"
same 'zstd, compressed and back' 4M "zstd -9 -q -c $work/data | zstd -d -q -c | cksum"
same 'xz' 8M "xz -3 -c $work/data | cksum"
command -v python3 >/dev/null && same 'python3' 4M "python3 -c '
import hashlib
a = bytearray(16000000)
for i in range(0, len(a), 997): a[i] = i % 251
print(hashlib.sha1(a).hexdigest())'"
command -v sqlite3 >/dev/null && same 'sqlite3' 4M "printf 'create table t(a,b);\n.separator \" \"\n.import $work/data t\ncreate index i on t(b);\nselect sum(b),count(*) from t where a like \"1%%\";' | sqlite3 -cmd 'pragma cache_size=-16000' :memory:"
printf '#include <stdio.h>\nint main(void){puts("x");return 0;}\n' >"$work/hello.c"
command -v gcc >/dev/null && same 'gcc' 4M "gcc -O2 -S -o - $work/hello.c"

# One thread: the simulator, given the recorded faults, writes the same decision log but for time.
cat >"$work/walk.c" <<'C'
#include <stdlib.h>
int main(void)
{
	size_t bytes = (size_t)24 << 20;
	unsigned char *a = malloc(bytes);
	unsigned x = 1;

	for (int i = 0; i < 20000; i++) {
		x = x * 1103515245u + 12345u;
		a[x % bytes] = (unsigned char)i;
	}
	return 0; /* not freed: the log ends with the last fault */
}
C
${CC:-cc} -O1 -o "$work/walk" "$work/walk.c"
for policy in 'prefetch=density' 'prefetch=none evict=lru4k' 'preset=uvmsmart-tbn' 'replay=block batch=1'; do
	"$run" --budget 8M --threshold 1M --quiet --policy "$policy" --log "$work/log" --record "$work/trace" -- "$work/walk"
	"$build/uvmsim" run --trace "$work/trace" --memory 8M --policy "$policy" --log "$work/log2" >/dev/null
	sed 's/ t=[0-9]*//; /cause=free/d' "$work/log" >"$work/a"
	sed 's/ t=[0-9]*//' "$work/log2" >"$work/b"
	if cmp -s "$work/a" "$work/b" && [ "$(wc -l <"$work/a")" -gt 10000 ]; then
		ok "decisions equal the simulator's: $policy, $(wc -l <"$work/a") actions"
	else
		fail "decisions equal the simulator's: $policy" "$(cmp "$work/a" "$work/b" 2>&1)" "$(wc -l "$work/a" "$work/b" | head -n 2)"
	fi
done
exit $failed
