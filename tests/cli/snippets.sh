#!/bin/sh
# Checks every ```cpp block and compiles every ```c block of README.md and docs/*.md, and runs every shell line there that calls
# uvmsim or uvmp-run.
#
# A block is a whole file, unless the line above it says otherwise:
#   <!-- in: FILE -->       its lines stand in FILE, one after the other, with any indentation; tests compile FILE
#   <!-- within: FILE -->   it compiles in place of the line SNIPPET of FILE
# usage: snippets.sh BUILD
set -u
export LC_ALL=C
build=$(cd "$1" && pwd) || exit 1
: "${CC:=cc}"
root=$(pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
ok() { echo "ok   $1"; }
fail() # NAME FILE
{
	echo "FAIL $1"
	sed 's/^/     /' "$2" | head -n 20
	failed=1
}
verdict() { if [ -s "$2" ]; then fail "$1" "$2"; else ok "$1"; fi; } # WHAT FILE-OF-VIOLATIONS

# -- blocks of C ------------------------------------------------------------------------------------------------------
mkdir -p "$tmp/include/uvmpolicy" "$tmp/c"
cp include/uvmpolicy/*.h adapters/userspace/pager.h adapters/userspace/store.h adapters/common/uvmpolicy/host.h \
	"$tmp/include/uvmpolicy"
awk -v out="$tmp/c" '
	FNR == 1 { above = "" }
	/^```c(pp)?$/ { n++; file = out "/" n ".c"; printf "" > file; print FILENAME ":" FNR > (out "/" n ".name")
	           if (above ~ /^<!-- (in|within): .* -->$/) { split(above, word, " "); print word[2], word[3] > (out "/" n ".how") }
	           copying = 1; next }
	/^```/ { copying = 0 }
	copying { print > file }
	{ above = $0 }' README.md docs/*.md

stands_in() # BLOCK FILE: the lines of the block, in FILE, one after the other
{
	sed 's/^[ \t]*//' "$1" >"$tmp/block"
	sed 's/^[ \t]*//' "$2" | awk -v block="$tmp/block" '
		BEGIN { while ((getline line < block) > 0) want[++n] = line }
		{ have[NR] = $0 }
		END { for (i = 0; i + n <= NR; i++) { for (k = 1; k <= n && have[i + k] == want[k]; k++); if (n > 0 && k > n) exit 0 } exit 1 }'
}
compile() {
	$CC -std=gnu11 -Wall -Wextra -Werror -Wno-unused -Wno-misleading-indentation -I"$tmp/include" -c "$1" -o "$tmp/block.o"
}

blocks=0
for block in "$tmp"/c/*.c; do
	name=$(cat "${block%.c}.name")
	blocks=$((blocks + 1))
	how= file=
	# A block that names the new file that it becomes: tests/cli/add_policy.sh builds it with the changes beside it.
	if sed 1q "$block" | grep -q '^/\* [a-z]*/.*\.c$'; then continue; fi
	[ ! -f "${block%.c}.how" ] || read -r how file <"${block%.c}.how"
	case $how in
	in:) stands_in "$block" "$file" >"$tmp/log" 2>&1 || echo "these lines do not stand in $file" >>"$tmp/log" ;;
	within:)
		sed -e "/^[ \t]*SNIPPET$/{r $block" -e 'd}' "$file" >"$tmp/within.c"
		grep -q '^[ 	]*SNIPPET$' "$file" && compile "$tmp/within.c" >"$tmp/log" 2>&1 || echo "does not compile in $file" >>"$tmp/log"
		;;
	*) compile "$block" >"$tmp/log" 2>&1 || echo "does not compile as a file" >>"$tmp/log" ;;
	esac
	verdict "$name: the block of C ${how:-compiles} ${file}" "$tmp/log"
done
[ "$blocks" -ge 11 ] || { echo "only $blocks blocks were found" >"$tmp/log" && fail "blocks of C" "$tmp/log"; }

# README shows docs/examples/decide.c, all of it, which says what the page says.
awk '/^```c$/ {on = 1; next} /^```/ {on = 0} on' README.md >"$tmp/readme.c"
diff "$tmp/readme.c" docs/examples/decide.c >"$tmp/log" 2>&1
verdict "README.md shows docs/examples/decide.c" "$tmp/log"
$CC -std=c11 -Wall -Wextra -Werror -Iinclude docs/examples/decide.c "$build/libuvmpolicy.a" -o "$tmp/decide" >"$tmp/log" 2>&1 &&
	"$tmp/decide" >"$tmp/out" && echo "0 1 2 3 4 6 7 8 9 10 11 12 13 14 15 to GPU 1" | diff - "$tmp/out" >>"$tmp/log"
verdict "docs/examples/decide.c compiles, and decides as the driver" "$tmp/log"

# The simulator of docs/host.md: all accesses are made, under several policies, and its glue has at most 80 lines.
$CC -std=c11 -Wall -Wextra -Werror -I"$tmp/include" docs/examples/host_simulator.c "$build/libuvmpolicy-host.a" \
	-o "$tmp/simulator" >"$tmp/log" 2>&1 &&
	for policy in '' preset=uvmsmart evict=lru4k 'thrash=off plan=overlapped'; do
		timeout 60 "$tmp/simulator" "$policy" >"$tmp/out" && grep -q '^8192 accesses, [1-9][0-9]* faults, [1-9]' "$tmp/out" ||
			echo "policy '$policy': $(cat "$tmp/out")" >>"$tmp/log"
	done
"$tmp/simulator" evict=none 2>&1 | grep -q '^policy: evict: "none" is not accepted; lru ' ||
	echo "a wrong policy is not named" >>"$tmp/log"
[ "$(sed -n '/glue: begin/,/glue: end/p' docs/examples/host_simulator.c | wc -l)" -le 80 ] ||
	echo "more than 80 lines of glue" >>"$tmp/log"
verdict "docs/examples/host_simulator.c compiles, and its warps read all pages" "$tmp/log"

# -- the files of one decision (docs/embedding.md) --------------------------------------------------------------------
# Each row of the table, alone: freestanding objects and a main that calls what the row is for.
calls() # WHAT IS WANTED: the calls
{
	case $1 in
	*prefetch*) echo "(void)uvmp_prefetch_decide(0, 0, 0, 0);" ;;
	*faults*) echo "uvmp_fault_order(0, 0, 0, 0); (void)uvmp_fault_fetch(0, 0, 0, 0, 0); (void)uvmp_fault_classify(0, 0, 0, 0, 0);" ;;
	*"memory and eviction order"*) echo "(void)uvmp_pmm_alloc(0, 0, 0, 0, 0); (void)uvmp_pmm_evict_begin(0, 0, 0);" ;;
	*"over pages"*) echo "(void)uvmp_evict_victim(0, 0, 0);" ;;
	*bouncing*) echo "(void)uvmp_thrash_decide(0, 0, 0, 0, 0);" ;;
	*"where a page"*) echo "(void)uvmp_residency_select(0, 0, 0); (void)uvmp_residency_map(0, 0, 0);" ;;
	*"hot"*) echo "(void)uvmp_counter_expand(0, 0, 0, 0, 0); (void)uvmp_remote_decide(0, 0, 0);" ;;
	*copies*) echo "(void)uvmp_plan_copies(0, 0, 0, 0, 0);" ;;
	*replay*) echo "uvmp_replay_init(0);" ;;
	*controllers*) echo "(void)uvmp_threshold_step(0, 0, 0, 0, 0, 0);" ;;
	*engine*) echo "(void)uvmp_service_next(0, 0, 0);" ;;
	*string*) echo "(void)uvmp_policy_parse(0, 0, 0, 0);" ;;
	esac
}
mkdir -p "$tmp/rows"
awk -F ' *[|] *' '
	/^[|] you want/ {on = 1; next}
	on && !/^[|]/ {exit}
	on && !/^[|]-/ {print $2 "\t" $3 "\t" $4}' docs/embedding.md >"$tmp/table"
rows=0
while IFS='	' read -r want files headers; do
	rows=$((rows + 1))
	{
		echo "$headers" | tr -d '`' | tr ' ' '\n' | sed 's/.*/#include <uvmpolicy\/&>/'
		printf 'int main(void)\n{\n%s\nreturn 0;\n}\n' "$(calls "$want")"
	} >"$tmp/rows/main.c"
	sources=
	echo "$files" | tr -d '`' | tr ' ' '\n' >"$tmp/patterns"
	while read -r pattern; do
		for source in libuvmpolicy/$pattern; do sources="$sources $source"; done
	done <"$tmp/patterns"
	[ -n "$(calls "$want")" ] || echo "the test calls nothing for this row" >"$tmp/rows/none"
	: >"$tmp/log"
	[ ! -f "$tmp/rows/none" ] || cat "$tmp/rows/none" >>"$tmp/log"
	# shellcheck disable=SC2086 # a list of files
	$CC -std=c11 -ffreestanding -Iinclude $sources "$tmp/rows/main.c" -o "$tmp/rows/main" >>"$tmp/log" 2>&1 &&
		"$tmp/rows/main" >>"$tmp/log" 2>&1
	rm -f "$tmp/rows/none"
	verdict "docs/embedding.md: $want: $files" "$tmp/log"
done <"$tmp/table"
[ "$rows" -ge 10 ] || { echo "only $rows rows were found" >"$tmp/log" && fail "rows of docs/embedding.md" "$tmp/log"; }

# -- shell lines ------------------------------------------------------------------------------------------------------
# Lines that are not run: a part of the line, and the reason. A part that no line has is an error.
cat >"$tmp/exceptions" <<'END'
-- program	stands for any program
sqlite3 	not installed everywhere; tests/data/traces has the trace
--trace sqlite.csv	the trace of the line before
--trace recorded.trace	recorded on a GPU
--gpu ./my.gpu	measured on a GPU
report.sqlite	recorded by Nsight Systems
whatif build/new.sqlite	made by a Python script
--policy threshold=49	exit status 1: that threshold is not the driver's
END
awk '
	FNR == 1 { fenced = 0 }
	/^```/ { fenced = !fenced; next }
	joining {
		more = $0; gsub(/  +/, " ", more); line = line more; sub(/\\$/, "", line)
		if ($0 !~ /\\$/) { joining = 0; print name "\t" line }
		next
	}
	(fenced && /^\$ /) || (!fenced && /^    [^ ]/) {
		line = $0; sub(/^ *(\$ )?/, "", line); name = FILENAME ":" FNR
		if (line !~ /(^|[|(] *)(build\/)?(uvmsim|uvmp-run) /) next
		if (line ~ /\\$/) { joining = 1; sub(/\\$/, "", line); next }
		print name "\t" line
	}' README.md docs/*.md >"$tmp/lines"

# What a synopsis has and a command has not: [optional], NAME in capitals as an argument, a|b, two blanks before a remark.
is_synopsis() {
	echo "$1" | sed 's/"[^"]*"//g; s/'"'[^']*'"'//g; s/ #.*//' |
		grep -qE '\[|\.\.\.| (NAME|FILE|LOG|FORMAT|SUBCOMMAND)( |$)|[a-z] \| [a-z]+( \||$)|   +[a-z]|^[^ ]+ [a-z]+  [a-z]'
}

work=$tmp/work
mkdir -p "$work"
for entry in build tests docs adapters include; do ln -s "$root/$entry" "$work/$entry"; done
[ "$build" = "$root/build" ] || { rm "$work/build" && ln -s "$build" "$work/build"; }
cp docs/examples/*.csv "$work"
for example in docs/examples/plugin_*.c; do
	$CC -shared -fPIC -Iinclude "$example" -o "$work/$(basename "$example" .c).so" >"$tmp/log" 2>&1 ||
		fail "$example compiles" "$tmp/log"
done
PATH=$build:$PATH
export PATH
lines=0
while IFS='	' read -r name line; do
	is_synopsis "$line" && continue
	part=$(cut -f1 "$tmp/exceptions" | while read -r some; do case $line in *"$some"*) echo "$some" ;; esac; done | head -n 1)
	if [ -n "$part" ]; then
		echo "$part" >>"$tmp/excepted"
		echo "not run: $name: $line"
		continue
	fi
	lines=$((lines + 1))
	# a pipe ends early where its reader has seen enough; its first command counts
	(cd "$work" && timeout 300 sh -c "$line" </dev/null) >"$tmp/log" 2>&1
	status=$?
	case $line in
	*uvmp-run*) if grep -q userfaultfd "$tmp/log"; then
		echo "skipped: $name: $(grep -m1 userfaultfd "$tmp/log")" && continue
	fi ;;
	esac
	if [ $status = 0 ]; then ok "$name: $line"; else fail "$name: exit status $status: $line" "$tmp/log"; fi
done <"$tmp/lines"
[ "$lines" -ge 15 ] || { echo "only $lines lines were found" >"$tmp/log" && fail "shell lines" "$tmp/log"; }
cut -f1 "$tmp/exceptions" | while read -r some; do
	grep -qxF -e "$some" "$tmp/excepted" || echo "no line has: $some"
done >"$tmp/log"
verdict "every exception is of a line that exists" "$tmp/log"
exit $failed
