#!/bin/sh
# The search for cycles of object files (tests/check/cycles.sh) sees planted ones, and only these. usage: cycles.sh
set -eu
cd "$(dirname "$0")/../.."
CC=${CC:-cc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
order= # of the engine's files: --order DOCUMENT

# object NAME SOURCE: compiles what stands for the object of NAME.c.
object()
{
	mkdir -p "$(dirname "$tmp/rel/$1")"
	echo "$2" | $CC -xc -O0 -c - -o "$tmp/rel/$1.o"
}
# expect WHAT LINES NAME...: the search over these objects prints LINES.
expect()
{
	what=$1 expected=$2
	shift 2
	objects=$order
	for name in "$@"; do objects="$objects $tmp/rel/$name.o"; done
	status=0
	# shellcheck disable=SC2086 # a list
	printed=$(CC=$CC sh tests/check/cycles.sh $objects) || status=$?
	if [ "$printed" = "$expected" ] && [ "$status" = "$([ -z "$expected" ] && echo 0 || echo 1)" ]; then
		echo "ok   $what"
	else
		printf 'FAILED: %s: exit status %s, printed:\n%s\nexpected:\n%s\n' "$what" "$status" "$printed" "$expected"
		failed=1
	fi
}

object libuvmpolicy/base/low 'int low(void) { return 1; }'
object libuvmpolicy/engine/high 'int low(void); int high(void) { return low(); }'
expect "a file may need a lower one" "" libuvmpolicy/base/low libuvmpolicy/engine/high

object adapters/a 'int b(void); int a(void) { return b(); }'
object adapters/b 'int c(void); int b(void) { return c(); } int b_data;'
object adapters/c 'int a(void); extern int b_data; int c(void) { return a() + b_data; }'
object adapters/d 'int a(void); int d(void) { return a(); }'
expect "a cycle of three files and the shortest way around are named" "a cycle of 3 files: adapters/a.c adapters/b.c adapters/c.c
  adapters/b.c needs adapters/c.c for c
  adapters/c.c needs adapters/b.c for b_data" adapters/a adapters/b adapters/c adapters/d
expect "the same files without the one that closes the cycle" "" adapters/a adapters/b adapters/d

object adapters/allocator 'void *own(void); void *malloc(unsigned long n) { (void)n; return own(); }'
object adapters/own 'void *malloc(unsigned long); void *own(void) { return malloc(1); }'
expect "a name that libc exports does not count" "" adapters/allocator adapters/own

object libuvmpolicy/base/rising 'int high(void); int rising(void) { return high(); }'
expect "a reference to a higher layer is named" \
	"libuvmpolicy/base/rising.c needs libuvmpolicy/engine/high.c of a higher layer for high" \
	libuvmpolicy/base/rising libuvmpolicy/engine/high libuvmpolicy/base/low
object adapters/common/kit 'int a(void); int kit(void) { return a(); }'
object adapters/simulator/a 'int a(void) { return 1; }'
expect "what the hosts share must not need a host" \
	"adapters/common/kit.c needs adapters/simulator/a.c of a higher layer for a" \
	adapters/common/kit adapters/simulator/a

cat > "$tmp/order.md" << 'END'
| `none.c` | `none.c` |
## Files of the engine
| part | files |
|---|---|
| `arena.c` is not read here | `arena.c`; `queue.c`, `log.c` |
| top | `setup.c` |
## Another section
| `none.c` | `none.c` |
END
order="--order $tmp/order.md"
object libuvmpolicy/engine/arena 'int arena(void) { return 1; }'
object libuvmpolicy/engine/queue 'int arena(void); int queue(void) { return arena(); }'
object libuvmpolicy/engine/log 'int log_text(void) { return 1; }'
object libuvmpolicy/engine/setup 'int queue(void); int arena(void); int setup(void) { return queue() + arena(); }'
all="libuvmpolicy/engine/arena libuvmpolicy/engine/queue libuvmpolicy/engine/log libuvmpolicy/engine/setup"
# shellcheck disable=SC2086 # a list
{
	expect "files of the engine may need files before them in the list" "" $all
	expect "a file of the engine that is not in the list" "$tmp/order.md does not list libuvmpolicy/engine/high.c" \
		$all libuvmpolicy/engine/high libuvmpolicy/base/low
	object libuvmpolicy/engine/queue 'int log_text(void); int queue(void) { return log_text(); }'
	expect "a reference to a file behind in the list, in the same row" \
		"libuvmpolicy/engine/queue.c needs libuvmpolicy/engine/log.c of a higher layer for log_text" $all
	object libuvmpolicy/engine/queue 'int setup(void); int queue(void) { return 1; } int rising(void) { return setup(); }'
	object libuvmpolicy/engine/setup 'int setup(void) { return 1; }'
	expect "a reference to a file behind in the list, in another row" \
		"libuvmpolicy/engine/queue.c needs libuvmpolicy/engine/setup.c of a higher layer for setup" $all
}
expect "listed files that do not exist" "$tmp/order.md lists libuvmpolicy/engine/queue.c, which does not exist
$tmp/order.md lists libuvmpolicy/engine/setup.c, which does not exist" libuvmpolicy/engine/arena libuvmpolicy/engine/log
echo '| `none.c` | `none.c` |' > "$tmp/order.md"
expect "a list that is not found" "$tmp/order.md does not list libuvmpolicy/engine/arena.c" libuvmpolicy/engine/arena
order=

# The kernel module is read as text if its objects are not built.
mkdir -p "$tmp/adapters/kernel"
cat > "$tmp/adapters/kernel/emu_a.c" << 'END'
/* emu_b_work() in a comment is no need; */ /* nor
 * here: emu_c() */
#define HELP emu_c()
static int emu_c(void) { return 0; }
int emu_a(struct emu_b_work *work)
{
	say("emu_b_work");
	return work->emu_b_work + emu_c();
}
END
cat > "$tmp/adapters/kernel/emu_b.c" << 'END'
const struct operations emu_b_table = {
	.a = emu_a,
};
int emu_b_work(void)
{
	return 1;
}
END
sources() { # WHAT LINES
	printed=$(cd "$tmp" && CC=$CC sh "$OLDPWD/tests/check/cycles.sh" adapters/kernel/emu_a.c adapters/kernel/emu_b.c) || :
	if [ "$printed" = "$2" ]; then
		echo "ok   $1"
	else
		printf 'FAILED: %s: printed:\n%s\nexpected:\n%s\n' "$1" "$printed" "$2"
		failed=1
	fi
}
sources "sources read as text: comments, strings, members and static functions do not count" ""
echo 'int emu_back(void) { return emu_b_table.a(0); }' >> "$tmp/adapters/kernel/emu_a.c"
sources "a cycle of two sources" "a cycle of 2 files: adapters/kernel/emu_a.c adapters/kernel/emu_b.c
  adapters/kernel/emu_a.c needs adapters/kernel/emu_b.c for emu_b_table
  adapters/kernel/emu_b.c needs adapters/kernel/emu_a.c for emu_a"
exit $failed
