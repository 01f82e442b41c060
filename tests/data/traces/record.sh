#!/bin/sh
# Records the traces of this directory again. usage: record.sh BUILD [NAME...] (BUILD with uvmp-run and libuvmp-preload.so,
# built with zstd; needs sort, awk, cc, python3, sqlite3, zstd). Addresses, times and, a little, rows differ from run to run.
set -eu
build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
wanted=" $* "
awk 'BEGIN { srand(1); for (i = 0; i < 300000; i++) print int(rand() * 1e9), i }' >numbers
for program in bfs sgemm; do ${CC:-cc} -O2 -o $program "$here/$program.c"; done

# Every page that is not there faults by itself, and some that are there are looked at, so that a trace tells more than the
# policy under which it was taken.
record() { # NAME BUDGET COMMAND...
	name=$1 budget=$2
	shift 2
	case $wanted in *" $name "* | "  ") ;; *) return 0 ;; esac
	"$build/uvmp-run" --budget "$budget" --threshold 256K --policy 'prefetch=none evict=lru4k' --sample 16 --record trace.csv --quiet \
		-- "$@" >out
	if [ "$name" = sqlite ]; then # readable without zstd, for make run
		cp trace.csv "$here/$name.csv"
	else
		zstd -q -19 -f trace.csv -o "$here/$name.csv.zst"
	fi
	echo "$name: $(grep -c , trace.csv) rows, $(cat "$here/$name".csv* | wc -c) bytes"
}
record sort 8M sort -n --parallel=1 --buffer-size=24M numbers
record join 8M python3 "$here/join.py" 60000 120000
record bfs 8M ./bfs 18 7
record sgemm 8M ./sgemm 1088
head -n 142000 numbers >few
printf '%s\n' 'create table t(a, b);' '.separator " "' '.import few t' 'create index i on t(a);' \
	'select sum(b), count(*) from t where a < 500000000;' >query
head -n 24000 numbers >some
record zstd 8M zstd -19 --single-thread -q -c some
record sqlite 8M sqlite3 -cmd 'pragma cache_size=-24000' :memory: '.read query'
