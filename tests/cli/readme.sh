#!/bin/sh
# README.md: its first screen, its size, and that its targets and its commands of uvmsim work, as do those of docs/targets.md
# and docs/index.md. usage: readme.sh BUILD
set -u
build=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
readme=$root/README.md
failed=0

verdict() { # NAME STATUS
	[ "$2" = 0 ] && echo "ok   $1" && return
	failed=1
	echo "FAIL $1"
	tail -n 5 "$work/out" 2>/dev/null | cut -c 1-200 | sed 's/^/     /'
}

sed -n 1,24p "$readme" >"$work/first"
sed -n 1,5p "$work/first" | grep -q '^    make run' && sed -n 1,5p "$work/first" | grep -q '^    make test'
verdict "it opens with make run and make test" $?
# Its commands need what `make` builds, and `make run` does not.
awk '/^    make  *#/ {is_made = 1}
	/`cc -I.*libuvmpolicy\.a|^ *build\/uvmp-run/ && !is_made {print NR ": " $0; wrong = 1}
	END {exit wrong}' "$readme" >"$work/out"
verdict "it says make before it needs build/libuvmpolicy.a and build/uvmp-run" $?
grep -q 'Decisions are equal' "$work/first" && grep -q '(docs/accuracy.md)' "$work/first"
verdict "the first screen claims equal decisions and links docs/accuracy.md" $?
awk 'length > 100 {print NR ": " $0; wide = 1} END {exit wide}' "$readme" >"$work/out"
verdict "at most 100 columns" $?
[ "$(wc -l <"$readme")" -lt 100 ]
verdict "fewer than 100 lines" $?
[ "$(grep -c '^!\[.*](docs/.*\.svg)$' "$readme")" = 1 ]
verdict "one picture" $?

pages="$readme $root/docs/targets.md $root/docs/index.md"
# shellcheck disable=SC2086 # a list of files
targets=$(grep -ohE '(^    |`|&& )make( -s)? [a-z][a-z-]+' $pages | sed 's/.* //' | sort -u)
: >"$work/out"
for target in $targets; do
	grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" "$root/Makefile" "$root"/tests/*.mk "$root"/adapters/*.mk ||
		echo "the Makefile has no target $target" >>"$work/out"
done
[ ! -s "$work/out" ] && [ "$(echo "$targets" | wc -l)" -ge 12 ]
verdict "$(echo "$targets" | wc -l) targets exist" $?

# Their commands of uvmsim, lines that end in \ joined, as they stand: in a folder with build/.
ln -s "$build" "$work/build"
# shellcheck disable=SC2086 # a list of files
sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' $pages | sed -n 's|^    \(build/\)*\(uvmsim .*\)|build/\2|p' >"$work/commands"
count=0
while read -r command; do
	count=$((count + 1))
	(cd "$work" && sh -c "$command") >"$work/out" 2>&1 </dev/null && [ -s "$work/out" ]
	verdict "$command" $?
done <"$work/commands"
[ $count -ge 6 ]
verdict "$count commands" $?
exit $failed
