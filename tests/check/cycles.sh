#!/bin/sh
# Fails if object files need each other: cycles.sh [--order DOCUMENT] OBJECT|SOURCE.c..., with CC in the environment.
#
# An object needs another one if it refers to a symbol that the other one defines, by nm. Names that libc exports do not
# count: the preload library defines malloc and read, and every other object uses them. Prints each cycle with its files and the
# symbols of the shortest way around, and each reference from a lower folder to a higher one. Exit status 1: found something.
# --order: the tables of DOCUMENT below the heading "Files of the engine" list these files, the lowest first. An upward reference
# is found, a file that is not listed, and a listed one that is not given.
# A SOURCE.c stands for its object: its symbols are read from the text (source_symbols.awk).
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)

document=
if [ "${1:-}" = --order ]; then
	document=$2
	shift 2
fi
libc=$(${CC:-cc} -print-file-name=libc.so.6 2>/dev/null)
[ -e "$libc" ] || libc=/lib/libc.so.6

objects=
found=$(
	{
		[ -z "$document" ] || awk -v document="${document#"$PWD"/}" '
			BEGIN { print "order", document }
			/^## / { is_inside = $0 == "## Files of the engine" }
			is_inside && /^\| / {
				split($0, column, "|")
				while (match(column[3], /`[a-z0-9_]+\.c`/)) {
					print "listed", "libuvmpolicy/engine/" substr(column[3], RSTART + 1, RLENGTH - 2)
					column[3] = substr(column[3], RSTART + RLENGTH)
				}
			}' "$document"
		[ ! -e "$libc" ] || nm -D --defined-only "$libc" | awk '{sub(/@.*/, "", $NF); print "ignored", $NF}'
		for file in "$@"; do
			case $file in
			*.c) awk -v file="${file#"$PWD"/}" -f "$here/source_symbols.awk" "$file" ;;
			*) objects="$objects $file" ;;
			esac
		done
		# The name of an object is that of its source: build/rel/a/b.o is a/b.c.
		# shellcheck disable=SC2086 # a list
		[ -z "$objects" ] || nm -A $objects | awk '
			{
				object = $0
				sub(/:.*/, "", object)
				rest = substr($0, length(object) + 2)
				n = split(rest, part, " ")
				type = part[n - 1]
				gsub(/^.*\/(rel|fast|san)\//, "", object)
				gsub(/^.*\/module\/core\//, "libuvmpolicy/", object)
				gsub(/^.*\/module\//, "adapters/kernel/", object)
				sub(/\.o$/, ".c", object)
				if (type ~ /^[TDRBSVWGC]$/) print "defined", object, part[n]
				else if (type ~ /^[Uwv]$/) print "needed", object, part[n]
			}'
	} | awk -f "$here/cycles.awk"
)
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
