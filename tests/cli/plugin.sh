#!/bin/sh
# uvmsim --plugin and uvmp-run --plugin: the examples of docs/plugins.md are compiled, loaded, and decide as policies of the library
# that do the same; what is wrong with a shared object is said in one line. usage: plugin.sh [BUILD]
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:-build}" && pwd) || exit 1
: "${CC:=cc}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	[ -f "${2:-}" ] && head -n 10 "$2" | sed 's/^/     /'
}
compile() { # SOURCE OUT [LIBRARY]: with all warnings
	"$CC" -std=c11 -Wall -Wextra -Wconversion -Werror -shared -fPIC -Iinclude "$1" ${3:+"$3"} -o "$2" >"$work/log" 2>&1 ||
		fail "$1 compiles" "$work/log"
}
compile docs/examples/plugin_prefetch.c "$work/ahead.so"
compile docs/examples/plugin_evict.c "$work/orders.so"
sim() { "$build/uvmsim" "$@"; }
log() { # OUT POLICY: the decision log of a run in which memory is full
	sim run --workload random:bytes=6m --memory 4M --log "$1" --policy "$2" \
		--plugin "$work/ahead.so" --plugin="$work/orders.so" >"$work/log" 2>&1 || fail "run with $2" "$work/log"
}
same() { # WHAT POLICY PLUGIN-POLICY
	log "$work/a" "$2"
	log "$work/b" "$3"
	grep -q evict "$work/a" || fail "$1: evictions"
	if cmp -s "$work/a" "$work/b"; then ok "$1: $3 decides as $2 ($(wc -l <"$work/a") actions)"; else fail "$1: $3 decides as $2"; fi
}
same 'an eviction order' 'prefetch=none evict=lru4k' 'prefetch=none evict=lru_page'
same 'an eviction order with a key of the library' 'evict=lru4k reserve=30' 'evict=lru_page reserve=30'
same 'a prefetcher' 'prefetch=block thrash=off' 'prefetch=ahead ahead_blocks=0 thrash=off'
log "$work/a" 'prefetch=none evict=lru_page'
log "$work/b" 'prefetch=none evict=fifo_page'
if cmp -s "$work/a" "$work/b"; then fail 'fifo_page decides otherwise'; else ok 'fifo_page decides otherwise'; fi

# Faults of a scan: none but in the first block of as many as are fetched at once.
faults() {
	sim run --workload regular:bytes=32m --format json --plugin "$work/ahead.so" --policy "$1" |
		sed -n 's/.*"far_faults": *\([0-9]*\).*/\1/p'
}
none=$(faults 'prefetch=ahead ahead_blocks=0 batch=1') some=$(faults 'prefetch=ahead ahead_blocks=3 batch=1')
if [ "${some:-0}" -gt 0 ] && [ "$some" -lt "$none" ]; then
	ok "ahead_blocks=3: $some far faults, $none without"
else
	fail "ahead_blocks: $some, $none far faults"
fi

# Several at once, with the name of the policy in each row; threads share the plugin.
sim compare --workload random:bytes=6m --memory 4M --format csv --plugin "$work/orders.so" --policy evict=lru4k \
	--policy evict=lru_page --policy evict=fifo_page --jobs 2 >"$work/rows" 2>"$work/log"
if [ "$(grep -c 'evict=' "$work/rows")" -ge 3 ]; then ok 'compare'; else fail 'compare' "$work/log"; fi

sim list policies --plugin "$work/ahead.so" --plugin "$work/orders.so" >"$work/list" 2>&1
for word in 'auto ahead$' 'auto lru_page fifo_page$' '^plugin prefetch=ahead$' '^ahead_blocks$' 'used by: prefetch=ahead$' \
	'^plugin evict=fifo_page (units of 4K)$'; do
	grep -q "$word" "$work/list" || fail "list policies has $word" "$work/list"
done
sim list policies evict --plugin "$work/orders.so" | grep -q 'values: .*lru_page fifo_page$' || fail 'list policies evict'
sim list policies fifo_page --plugin "$work/orders.so" | grep -q '^plugin evict=fifo_page (units of 4K)$' ||
	fail 'list policies, a plugin'
sim list policies ahead_blocks --plugin "$work/ahead.so" >"$work/list" 2>&1 ||
	fail 'list policies, a key of a plugin' "$work/list"
[ "$(head -n 1 "$work/list")" = ahead_blocks ] && [ "$(wc -l <"$work/list")" = 5 ] &&
	grep -q 'used by: prefetch=ahead$' "$work/list" ||
	fail 'list policies, a key of a plugin: this key alone' "$work/list"
[ "$failed" = 0 ] && ok 'list policies'

# says TEXT ARGUMENT...: exit status 2, and one line with the text; refuses, likewise, of uvmp-run
one_line() { # NAME TEXT STATUS
	if [ "$3" = 2 ] && [ "$(wc -l <"$work/log")" = 1 ] && grep -qF -- "$2" "$work/log"; then
		ok "$1$2"
	else
		fail "$1$2 ($3)" "$work/log"
	fi
}
says() {
	text=$1
	shift
	sim "$@" >/dev/null 2>"$work/log"
	one_line '' "$text" $?
}
refuses() {
	text=$1
	shift
	"$build/uvmp-run" --budget 8M "$@" true >/dev/null 2>"$work/log"
	one_line 'uvmp-run: ' "$text" $?
}
bad() { # NAME TEXT...: a shared object of this source
	printf '#include "uvmpolicy/plugin.h"\n%s\n' "$2" >"$work/$1.c"
	compile "$work/$1.c" "$work/$1.so"
}
loads() {
	says "$1" list policies --plugin "$2"
	refuses "$1" --plugin "$2"
}
head='static void f(void *user, struct uvmp_prefetch_call *call) {(void)user, (void)call;}'
head="$head static const struct uvmp_prefetch_plugin p = {"
bad symbol 'int other;'
bad version 'UVMP_PLUGIN_EXPORT const struct uvmp_plugins *uvmp_plugin(uint32_t v);
const struct uvmp_plugins *uvmp_plugin(uint32_t v) {return v == 9 ? (const void *)&v : NULL;}'
bad size "$head.size = 8, .name = \"p\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
bad name "$head.size = sizeof(p), .name = \"density\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
bad twice "$head.size = sizeof(p), .name = \"ahead\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
echo 'not a shared object' >"$work/text.so"
loads "--plugin: $work/missing.so: No such file or directory" "$work/missing.so"
loads "--plugin: $work/text.so: file too short" "$work/text.so"
loads "--plugin: $work: not a regular file" "$work"
mkfifo "$work/pipe.so"
loads "--plugin: $work/pipe.so: not a regular file" "$work/pipe.so"
loads 'no function uvmp_plugin' "$work/symbol.so"

# A prefetcher that calls functions of the library: refused without it, and as `block` with it, in uvmsim and in uvmp-run.
bad calls 'static void decide(void *user, struct uvmp_prefetch_call *call)
{
	struct uvmp_region block = {0, call->facts->block.pages};
	uvmp_mask pages;

	(void)user;
	uvmp_mask_zero(&pages);
	if (uvmp_mask_next_set(call->facts->faulted, 0) < UVMP_MASK_BITS) uvmp_mask_region_set(&pages, block);
	uvmp_mask_and(call->pages, &pages, call->candidates);
}
static const struct uvmp_prefetch_plugin calls = {.size = sizeof(calls), .name = "calls", .decide = decide};
UVMP_PLUGIN_PREFETCHER(calls)'
loads 'undefined symbol: uvmp_mask_' "$work/calls.so"
loads '; link the object with libuvmpolicy.a (docs/plugins.md)' "$work/calls.so"
compile "$work/calls.c" "$work/calls.so" "$build/libuvmpolicy.a"
for policy in calls block; do
	sim run --workload random:bytes=6m --memory 4M --policy "prefetch=$policy thrash=off" --log "$work/$policy.log" \
		--plugin "$work/calls.so" >"$work/log" 2>&1 || fail "run with $policy" "$work/log"
done
if cmp -s "$work/calls.log" "$work/block.log" && [ -s "$work/calls.log" ]; then
	ok "a plugin that is linked with libuvmpolicy.a decides as block ($(wc -l <"$work/calls.log") actions)"
else
	fail 'a plugin that is linked with libuvmpolicy.a decides as block'
fi
if "$build/uvmp-run" --budget 8M --plugin "$work/calls.so" --policy prefetch=calls true >"$work/log" 2>&1; then
	ok 'uvmp-run: a plugin that is linked with libuvmpolicy.a'
else
	fail 'uvmp-run: a plugin that is linked with libuvmpolicy.a' "$work/log"
fi
loads 'another version of the library' "$work/version.so"
loads 'prefetcher[0]: size is not the sizeof of the structure' "$work/size.so"
loads 'prefetcher density: the library has a policy of this name' "$work/name.so"
says 'prefetcher ahead: another plugin has this name' list policies --plugin "$work/ahead.so" --plugin "$work/twice.so"
refuses 'prefetcher ahead: another plugin has this name' --plugin "$work/ahead.so" --plugin "$work/twice.so"
refuses 'prefetcher ahead: another plugin has this name' --plugin "$work/ahead.so" --plugin "$work/ahead.so"
refuses 'did you mean ahead?' --policy prefetch=ahaed --plugin "$work/ahead.so"
refuses 'a path with a line break is not accepted' --plugin "$work/a
b.so"
says 'did you mean ahead?' run --workload regular --plugin "$work/ahead.so" --policy prefetch=ahaed
says 'did you mean lru_page?' run --workload regular --plugin "$work/orders.so" --policy evict=lru_pag
says 'did you mean ahead_blocks?' run --workload regular --plugin "$work/ahead.so" --policy 'prefetch=ahead ahead_block=1'
says 'ahead_blocks: 9 is not accepted; 0..8' run --workload regular --plugin "$work/ahead.so" \
	--policy 'prefetch=ahead ahead_blocks=9'
says 'a value must follow ahead_blocks=; 0..8; see `uvmsim list policies`' run --workload regular --plugin "$work/ahead.so" \
	--policy 'prefetch=ahead ahead_blocks'
says 'ahead_blocks: used only by prefetch=ahead' run --workload regular --plugin "$work/ahead.so" \
	--policy 'prefetch=none ahead_blocks=2'

# A plugin that crashes: one line names plugin and signal, the signal ends the run, and the log stays as it was.
bad segv 'static void f(void *user, struct uvmp_prefetch_call *call) { (void)call; *(volatile int *)user = 1; }
static const struct uvmp_prefetch_plugin p = {.size = sizeof(p), .name = "p", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)'
bad endless 'static volatile int more = 1;
static int sum(int i) { volatile char frame[4096]; frame[0] = (char)i; return more ? sum(i + 1) + frame[0] : 0; }
static void f(void *user, struct uvmp_prefetch_call *call) { (void)user, (void)call; more = sum(0); }
static const struct uvmp_prefetch_plugin p = {.size = sizeof(p), .name = "p", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)'
bad aborts '#include <stdlib.h>
static uint64_t f(void *user, const struct uvmp_evict_call *call) { (void)user, (void)call; abort(); }
static const struct uvmp_evict_plugin p = {.size = sizeof(p), .name = "p", .traits = {.unit_pages = 1}, .touch = f};
UVMP_PLUGIN_ORDER(p)'
bad exits '#include <stdlib.h>
static void f(void *user, struct uvmp_prefetch_call *call) { (void)user, (void)call; exit(0); }
static const struct uvmp_prefetch_plugin p = {.size = sizeof(p), .name = "p", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)'
bad leaves '#include <unistd.h>
static void f(void *user, struct uvmp_prefetch_call *call) { (void)user, (void)call; _exit(0); }
static const struct uvmp_prefetch_plugin p = {.size = sizeof(p), .name = "p", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)'
bad begins '__attribute__((constructor)) static void f(void) { __builtin_trap(); }'
mkdir "$work/crash"
crashes() { # STATUS PLUGIN POLICY MESSAGE
	echo old >"$work/crash/log"
	(cd "$work/crash" && "$build/uvmsim" run --workload random:bytes=6m --memory 4M --log log --report new.html --timeline new.json \
		--gpu titan-v --plugin "$work/ahead.so" --plugin "$work/$2.so" --policy "$3") >/dev/null 2>"$work/log"
	status=$?
	grep '^uvmsim' "$work/log" >"$work/said"
	if [ $status = "$1" ] && [ "$(cat "$work/said")" = "uvmsim: $4" ] && [ "$(cat "$work/crash/log")" = old ] &&
		[ "$(ls "$work/crash")" = log ]; then
		ok "a plugin that crashes: $4"
	else
		fail "a plugin that crashes: $4 ($status: $(ls "$work/crash"))" "$work/log"
	fi
	rm -rf "$work/crash"/*
}
crashes 139 segv prefetch=p "--plugin: $work/segv.so: crashed with SIGSEGV"
crashes 139 endless prefetch=p "--plugin: $work/endless.so: crashed with SIGSEGV"
crashes 134 aborts evict=p "crashed with SIGABRT, with --plugin: $work/ahead.so, $work/aborts.so"
crashes 132 begins evict=p "crashed with SIGILL, with --plugin: $work/ahead.so, $work/begins.so"
crashes 2 exits prefetch=p "a plugin called exit, with --plugin: $work/ahead.so, $work/exits.so"
says "uvmsim: --plugin: $work/exits.so: called exit" run --workload regular --plugin "$work/exits.so" --policy prefetch=p
# At the end of the process, after a complete run: the log is there.
bad destroys '#include <stdlib.h>
static void f(void *user, struct uvmp_prefetch_call *call) { (void)user, (void)call; }
__attribute__((destructor)) static void g(void) { abort(); }
static const struct uvmp_prefetch_plugin p = {.size = sizeof(p), .name = "p", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)'
sim run --workload regular:bytes=2m --plugin "$work/destroys.so" --policy prefetch=p --log "$work/a" >"$work/out" 2>"$work/log"
if [ $? = 134 ] && [ "$(grep '^uvmsim' "$work/log")" = "uvmsim: crashed with SIGABRT, with --plugin: $work/destroys.so" ] &&
	grep -q done "$work/a"; then ok 'a plugin whose destructor aborts is named'
else fail 'a plugin whose destructor aborts is named' "$work/log"; fi
compare_fails() { # FUNCTION PLUGIN ERROR: the plugin calls the function in a run of `compare`
	sim compare --workload regular --plugin "$2" --policy prefetch=p --policy prefetch=none --jobs 2 \
		>"$work/out" 2>"$work/log"
	if [ $? = 2 ] && grep -q "$3\$" "$work/log"; then
		ok "compare: a plugin that calls $1"
	else
		fail "compare: a plugin that calls $1" "$work/log"
	fi
}
compare_fails exit "$work/exits.so" "^uvmsim: --plugin: $work/exits.so: called exit"
compare_fails _exit "$work/leaves.so" 'its process ended with status 0, without an answer'
# In the process of one run of a sweep: the file of the sweep, which its parent writes, has the other run.
printf 'workload = random:bytes=6m\npolicy = prefetch=p nvidia-595\n' >"$work/sweep.txt"
sim sweep "$work/sweep.txt" --out "$work/rows.csv" --jobs 1 --plugin "$work/segv.so" >"$work/out" 2>"$work/log"
if grep -q 'segv.so: crashed with SIGSEGV' "$work/log" && [ "$(grep -c nvidia-595 "$work/rows.csv")" = 1 ]; then
	ok 'a plugin that crashes in a sweep: the other run has its row'
else fail 'a plugin that crashes in a sweep: the other run has its row' "$work/log"; fi

# -- the pager: the same, in the program that uvmp-run starts --------------------------------------------------------------------
run() { # POLICY COMMAND...: the report is in $work/report, the decision log in $work/a
	policy=$1
	shift
	(cd "$work" && "$build/uvmp-run" --budget 8M --plugin ahead.so --plugin=./orders.so --policy "$policy" --log "$work/a" \
		--report "$work/report" --format json --record "$work/trace" "$@") >"$work/out" 2>"$work/log"
}
value() { sed -n "s/^  \"$1\": \"*\([^\",]*\)\"*,*\$/\1/p" "$work/report"; }
touch="$build/uvmp_run_program"
run 'prefetch=ahead ahead_blocks=0' "$touch" simple 32
if grep -q userfaultfd "$work/log"; then
	echo 'skipped: no userfaultfd for this process, all that follows'
	exit $failed
fi
none=$(value faults)
run 'prefetch=ahead ahead_blocks=3' "$touch" simple 32
if grep -q '^program: all words right' "$work/out" && [ "$(value policy | grep -c '^prefetch=ahead ahead_blocks=3 ')" = 1 ]; then
	ok 'uvmp-run: the program runs, the report has the policy'
else fail 'uvmp-run: the program runs, the report has the policy' "$work/log"; fi
if [ "$(value faults)" -gt 0 ] && [ "$(value faults)" -lt "$none" ]; then
	ok "uvmp-run: ahead_blocks=3: $(value faults) faults, $none without"
else
	fail "uvmp-run: ahead_blocks: $(value faults), $none faults"
fi
# The decisions are those of the simulator with the same plugins, given the trace, action by action.
for policy in 'prefetch=ahead ahead_blocks=2' 'prefetch=none evict=lru_page' 'prefetch=ahead ahead_blocks=1 evict=fifo_page'; do
	run "$policy" "$touch" simple 24
	sim run --trace "$work/trace" --memory 8M --policy "$policy" --plugin "$work/ahead.so" --plugin "$work/orders.so" \
		--log "$work/b" >"$work/log" 2>&1
	if [ "$(grep -c evict "$work/a")" -gt 0 ] && cmp -s "$work/a" "$work/b"; then
		ok "uvmp-run decides as uvmsim: $policy ($(wc -l <"$work/a") actions)"
	else
		fail "uvmp-run decides as uvmsim: $policy" "$work/log"
	fi
done
run 'prefetch=ahead evict=lru_page' sh -c "cd /; '$touch' simple 16; exec '$touch' fork 16"
if [ "$(grep -c 'all words right' "$work/out")" -ge 2 ] && [ "$(value managed)" -ge 2 ]; then
	ok 'uvmp-run: several processes, in other directories'
else
	fail 'uvmp-run: several processes, in other directories' "$work/log"
fi
cp "$work/ahead.so" "$work/gone.so"
"$build/uvmp-run" --budget 8M --plugin "$work/gone.so" --policy prefetch=ahead sh -c "rm '$work/gone.so'; '$touch' simple 16" \
	>"$work/out" 2>"$work/log"
if grep -q "ran without a pager: --plugin: $work/gone.so: No such file or directory" "$work/log" &&
	grep -q 'all words right' "$work/out"; then
	ok 'uvmp-run: a plugin that a process cannot load: it runs without a pager, and the report says why'
else fail 'uvmp-run: a plugin that a process cannot load' "$work/log"; fi
# A plugin that ends the program's process is named, not the program; the status is not 0.
blames() { # STATUS PLUGIN POLICY MESSAGE
	rm -f "$work/a"
	(cd "$work" && timeout -s KILL 100 "$build/uvmp-run" --budget 8M --plugin ahead.so --plugin "$2.so" --policy "$3" \
		--log a "$touch" simple 32) >"$work/out" 2>"$work/log"
	status=$?
	if [ $status = "$1" ] && [ "$(grep -c '^uvmp-run: ' "$work/log")" = 1 ] &&
		grep -q "^uvmp-run: $4, in uvmp_run_progra (process [0-9]*)$" "$work/log" &&
		[ -e "$work/a" ]; then ok "uvmp-run: $4"; else fail "uvmp-run: $4 ($status)" "$work/log"; fi
}
blames 139 segv prefetch=p "--plugin: $work/segv.so: crashed with SIGSEGV"
blames 139 endless prefetch=p "--plugin: $work/endless.so: crashed with SIGSEGV"
blames 134 aborts evict=p "crashed with SIGABRT, with --plugin: $work/ahead.so, $work/aborts.so"
blames 1 exits prefetch=p "a plugin called exit, with --plugin: $work/ahead.so, $work/exits.so"
blames 1 leaves prefetch=p "a plugin called exit, with --plugin: $work/ahead.so, $work/leaves.so"
# A crash of the program is its own.
(cd "$work" && "$build/uvmp-run" --budget 8M --plugin ahead.so --policy prefetch=ahead "$touch" abort 16) >"$work/out" 2>"$work/log"
if [ $? = 134 ] && grep -q 'was ended by signal 6' "$work/log" && ! grep -q plugin "$work/log"; then
	ok 'uvmp-run: a program that crashes'
else
	fail 'uvmp-run: a program that crashes' "$work/log"
fi
exit $failed
