#!/bin/sh
# uvmsim --plugin: the examples of docs/plugins.md are compiled, loaded, and decide as policies of the library that do the same;
# what is wrong with a shared object is said in one line. usage: plugin.sh [BUILD]
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
compile() { # SOURCE OUT: with all warnings
	"$CC" -std=c11 -Wall -Wextra -Wconversion -Werror -shared -fPIC -Iinclude "$1" -o "$2" >"$work/log" 2>&1 ||
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
faults() { sim run --workload regular:bytes=32m --format json --plugin "$work/ahead.so" --policy "$1" | sed -n 's/.*"far_faults": *\([0-9]*\).*/\1/p'; }
none=$(faults 'prefetch=ahead ahead_blocks=0 batch=1') some=$(faults 'prefetch=ahead ahead_blocks=3 batch=1')
if [ "${some:-0}" -gt 0 ] && [ "$some" -lt "$none" ]; then ok "ahead_blocks=3: $some far faults, $none without"; else fail "ahead_blocks: $some, $none far faults"; fi

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
[ "$failed" = 0 ] && ok 'list policies'

# says TEXT ARGUMENT...: exit status 2, and one line with the text
says() {
	text=$1
	shift
	sim "$@" >/dev/null 2>"$work/log"
	status=$?
	if [ $status = 2 ] && [ "$(wc -l <"$work/log")" = 1 ] && grep -qF -- "$text" "$work/log"; then ok "$text"; else fail "$text ($status)" "$work/log"; fi
}
bad() { # NAME TEXT...: a shared object of this source
	printf '#include "uvmpolicy/plugin.h"\n%s\n' "$2" >"$work/$1.c"
	compile "$work/$1.c" "$work/$1.so"
}
loads() { says "$1" list policies --plugin "$2"; }
head='static void f(void *user, struct uvmp_prefetch_call *call) {(void)user, (void)call;} static const struct uvmp_prefetch_plugin p = {'
bad symbol 'int other;'
bad version 'UVMP_PLUGIN_EXPORT const struct uvmp_plugins *uvmp_plugin(uint32_t v); const struct uvmp_plugins *uvmp_plugin(uint32_t v) {return v == 9 ? (const void *)&v : NULL;}'
bad size "$head.size = 8, .name = \"p\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
bad name "$head.size = sizeof(p), .name = \"density\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
bad twice "$head.size = sizeof(p), .name = \"ahead\", .decide = f}; UVMP_PLUGIN_PREFETCHER(p)"
loads 'No such file or directory' "$work/missing.so"
loads 'no function uvmp_plugin' "$work/symbol.so"
loads 'another version of the library' "$work/version.so"
loads 'prefetcher[0]: size is not the sizeof of the structure' "$work/size.so"
loads 'prefetcher density: the library has a policy of this name' "$work/name.so"
says 'prefetcher ahead: another plugin has this name' list policies --plugin "$work/ahead.so" --plugin "$work/twice.so"
says 'did you mean ahead?' run --workload regular --plugin "$work/ahead.so" --policy prefetch=ahaed
says 'did you mean lru_page?' run --workload regular --plugin "$work/orders.so" --policy evict=lru_pag
says 'did you mean ahead_blocks?' run --workload regular --plugin "$work/ahead.so" --policy 'prefetch=ahead ahead_block=1'
says 'ahead_blocks: 9 is not accepted; 0..8' run --workload regular --plugin "$work/ahead.so" --policy 'prefetch=ahead ahead_blocks=9'
says 'ahead_blocks: used only by prefetch=ahead' run --workload regular --plugin "$work/ahead.so" --policy 'prefetch=none ahead_blocks=2'
exit $failed
