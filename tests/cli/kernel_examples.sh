#!/bin/sh
# What docs/embedding-kernel.md says of the core, and its examples: compiled as a kernel compiles, what they need, how much
# stack they take; the page's pieces of code are those of the examples, its tables are what programs print.
# usage: kernel_examples.sh BUILD
set -u
export LC_ALL=C
build=$1
: "${CC:=cc}"
page=docs/embedding-kernel.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

ok() { echo "ok   $1"; }
fail() # NAME [FILE]
{
	echo "FAIL $1"
	[ ! -f "${2:-}" ] || sed 's/^/     /' "$2" | head -n 20
	failed=1
}
verdict() { if [ -s "$2" ]; then fail "$1" "$2"; else ok "$1"; fi; } # WHAT FILE-OF-VIOLATIONS
compiles() { echo 'int x;' | $CC "$@" -xc -c - -o "$tmp/probe.o" 2>/dev/null; }

# The kernel's way of compiling, as far as it matters here; its headers are a stub. A 32-bit machine has other flags.
common="-std=gnu11 -O2 -D__KERNEL__ -nostdinc -Itests/check/kernel -Iinclude -ffreestanding -fno-strict-aliasing -fno-common
	-fno-pic -fno-stack-protector -Wall -Wextra -Wmissing-prototypes -Werror"
case $($CC -dumpmachine) in
x86_64*)
	kernel="$common -mcmodel=kernel -mno-red-zone -mno-sse -mno-mmx -mno-80387"
	small="$common -m32 -mno-sse -mno-mmx -mno-80387"
	;;
*) kernel=$common small= ;;
esac
su=
compiles -fstack-usage && su=-fstack-usage

objects() # DIRECTORY FLAGS...: the core and the examples
{
	directory=$1
	shift
	mkdir -p "$directory/core"
	for file in libuvmpolicy/*/*.c; do
		$CC "$@" -c "$file" -o "$directory/core/$(basename "$file" .c).o" || echo "$file: does not compile"
	done
	for file in docs/examples/kernel_*.c; do
		$CC "$@" -c "$file" -o "$directory/$(basename "$file" .c).o" || echo "$file: does not compile"
	done
}
needs() { nm -u "$@" | awk '$1 == "U" && $2 !~ /^uvmpi?_/ {print $2}' | sort -u; }

objects "$tmp/kernel" $kernel $su >"$tmp/log" 2>&1
verdict "core and examples compile as in a kernel, without warning" "$tmp/log"
needs "$tmp"/kernel/core/*.o | grep -vxE 'mem(cpy|set|move|cmp)' >"$tmp/log"
case $($CC -dumpmachine) in
*64*) verdict "the core needs nothing of a 64-bit kernel but memcpy, memset, memmove, memcmp" "$tmp/log" ;;
esac
case $($CC --version | head -n 1),$($CC -dumpmachine) in
*clang*) ;;
*' 12.'*,x86_64*) # the page's figures
	stated=$(sed -n 's/.*The whole core is about \([0-9]*\) KiB.*/\1/p' $page)
	size "$tmp"/kernel/core/*.o | awk -v stated="${stated:-0}" 'NR > 1 {kib += $4 / 1024}
		END {if (kib < 0.95 * stated || kib > 1.05 * stated) printf "the core is %d KiB, not about %d\n", kib, stated}' >"$tmp/log"
	echo memcpy memset >"$tmp/stated"
	needs "$tmp"/kernel/core/*.o | xargs | diff "$tmp/stated" - >>"$tmp/log"
	verdict "$page: its size of the core and its symbols are those of gcc 12" "$tmp/log"
	;;
esac
if [ -n "$su" ]; then
	cat "$tmp"/kernel/core/*.su "$tmp"/kernel/*.su | awk -F '\t' '$2 > 1024 || $3 == "dynamic"' >"$tmp/log"
	largest=$(cat "$tmp"/kernel/core/*.su | sort -t '	' -k2,2nr | awk -F '\t' 'NR == 1 {sub(/.*:/, "", $1); print $2 " in " $1}')
	verdict "no stack frame above 1024 bytes (largest: $largest)" "$tmp/log"
fi

# 32 bits: what is missing is what kernel_div64.c brings.
if [ -n "$small" ] && compiles -m32; then
	objects "$tmp/small" $small >"$tmp/log" 2>&1
	verdict "core and examples compile for a 32-bit kernel" "$tmp/log"
	needs "$tmp"/small/core/*.o | grep -vxE 'mem(cpy|set|move|cmp)|__u(div|mod)di3|__udivmoddi4' >"$tmp/log"
	verdict "a 32-bit kernel lacks 64-bit division, and nothing else" "$tmp/log"
	ld -m elf_i386 -r -o "$tmp/module.o" "$tmp"/small/core/*.o "$tmp/small/kernel_div64.o" 2>"$tmp/log" ||
		echo "does not link" >>"$tmp/log"
	needs "$tmp/module.o" | grep -vxE 'mem(cpy|set|move|cmp)|div64_u64(_rem)?' >>"$tmp/log"
	verdict "with kernel_div64.c it needs what <linux/math64.h> has" "$tmp/log"
else
	echo "skip 32-bit kernels: $CC cannot compile for one"
fi

# -- the page ---------------------------------------------------------------------------------------------------------
# The division is right: linked with a plain one, against the compiler's own.
cat >"$tmp/divide.c" <<'END'
#include <stdint.h>
#define __udivdi3 our_divide
#define __umoddi3 our_modulo
#define __udivmoddi4 our_both
#include "docs/examples/kernel_div64.c"
uint64_t div64_u64(uint64_t a, uint64_t b) { return a / b; }
uint64_t div64_u64_rem(uint64_t a, uint64_t b, uint64_t *rest) { *rest = a % b; return a / b; }
int main(void)
{
	static const uint64_t n[] = {1, 2, 3, 1000, 4294967295u, 4294967296u, 1000000007ull << 30, ~0ull};
	for (unsigned i = 0; i < 64; i++) {
		uint64_t a = n[i / 8], b = n[i % 8], rest;
		if (our_divide(a, b) != a / b || our_modulo(a, b) != a % b || our_both(a, b, 0) != a / b ||
		    our_both(a, b, &rest) != a / b || rest != a % b)
			return 1;
	}
	return 0;
}
END
$CC -Iinclude -I. "$tmp/divide.c" -o "$tmp/divide" 2>"$tmp/log" && "$tmp/divide" || echo "wrong" >>"$tmp/log"
verdict "kernel_div64.c divides" "$tmp/log"

$CC -std=c11 -Wall -Wextra -Werror -Iinclude docs/examples/arena.c "$build/libuvmpolicy.a" -o "$tmp/arena" >"$tmp/log" 2>&1 &&
	"$tmp/arena" >"$tmp/arena.txt"
sed 's/^ *//' "$page" >"$tmp/page.txt"
: >"$tmp/log2"
sed 's/^ *//' "$tmp/arena.txt" | while read -r line; do grep -qxF -- "$line" "$tmp/page.txt" || echo "$line"; done >"$tmp/log2"
[ -s "$tmp/arena.txt" ] || echo "nothing printed" >>"$tmp/log2"
verdict "$page: its table of arenas is what arena.c prints" "$tmp/log2"

# Bytes of structures, as this machine has them; a row of the page begins with such a line.
cat >"$tmp/sizes.c" <<'END'
#include <inttypes.h>
#include <stdio.h>
#include <uvmpolicy/advanced.h>
#include <uvmpolicy/uvmpolicy.h>
static void row(const char *name, size_t bytes)
{
	if (bytes < 1000)
		printf("| %s | %zu |\n", name, bytes);
	else
		printf("| %s | %zu,%03zu |\n", name, bytes / 1000, bytes % 1000);
}
static size_t pmm(uint32_t roots, uint32_t splits)
{
	struct uvmp_pmm_params params = {.roots = roots, .splits = splits};
	return uvmp_pmm_size(&params);
}
#define ROW(type) row("`" #type "`", sizeof(type))
int main(void)
{
	ROW(struct uvmp_prefetch_state);
	ROW(struct uvmp_thrash_block);
	row("`uvmp_thrash_array_size(512)`", uvmp_thrash_array_size(512));
	ROW(struct uvmp_fault);
	row("`uvmp_pmm_size`", (pmm(8192, 0) - pmm(4096, 0)) / 4096);
	row("a line of the decision log, `UVMP_ACTION_TEXT_MAX`", UVMP_ACTION_TEXT_MAX);
	ROW(struct uvmp_processors);
	ROW(struct uvmp_policy_error);
	ROW(struct uvmp_action);
	ROW(struct uvmp_prefetch_facts);
	ROW(struct uvmp_prefetch_hint);
	ROW(uvmp_mask);
	printf("%.1f KiB more for each root that may be split\n", (double)(pmm(4096, 64) - pmm(4096, 0)) / 64 / 1024);
	return 0;
}
END
$CC -std=c11 -Wall -Wextra -Werror -Iinclude "$tmp/sizes.c" "$build/libuvmpolicy.a" -o "$tmp/sizes" >"$tmp/log" 2>&1 &&
	"$tmp/sizes" >"$tmp/sizes.txt"
[ -s "$tmp/sizes.txt" ] || echo "nothing printed" >>"$tmp/log"
case $($CC -dumpmachine) in *64*) # pointers have eight bytes there
	while read -r line; do grep -qF -- "$line" "$page" || echo "$line" >>"$tmp/log"; done <"$tmp/sizes.txt"
	;;
esac
verdict "$page: its sizes are those of the structures" "$tmp/log"

# Every piece of C on the page stands in an example, blanks aside.
cat docs/examples/kernel_*.[ch] adapters/nvidia-uvm/*.[ch] | tr -s ' \t\n' '   ' >"$tmp/all"
awk -v directory="$tmp" '
	/^```c$/ {inside = 1; n++; next}
	/^```/ {inside = 0}
	inside {print > sprintf("%s/piece%02d", directory, n)}' "$page"
: >"$tmp/log"
for piece in "$tmp"/piece[0-9]*; do
	[ -f "$piece" ] || { echo "no C on the page" >>"$tmp/log"; break; }
	tr -s ' \t\n' '   ' <"$piece" >"$tmp/flat"
	needle=$(cat "$tmp/flat") awk 'index($0, ENVIRON["needle"]) == 0 {exit 1}' "$tmp/all" || head -n 3 "$piece" >>"$tmp/log"
done
verdict "$page: its C is that of the examples" "$tmp/log"

# Every function that the page names exists, and every public header is in its table.
grep -ohE '\buvmp_[a-z0-9_]+\b' "$page" | sort -u >"$tmp/named"
grep -ohE '\buvmp_[a-z0-9_]+\b' include/uvmpolicy/*.h adapters/*/*.[ch] docs/examples/*.[ch] tests/unit/test_kernel_*.c \
	tests/unit/test_nvidia_*.c 2>/dev/null |
	sort -u >"$tmp/known"
comm -23 "$tmp/named" "$tmp/known" | grep -vE '_$' >"$tmp/log"
verdict "$page: every name of the library that it uses exists" "$tmp/log"
for header in include/uvmpolicy/*.h; do
	grep -qF "\`${header##*/}\`" "$page" || echo "${header##*/} is not on the page"
done >"$tmp/log"
verdict "$page: every public header has its place" "$tmp/log"

exit $failed
