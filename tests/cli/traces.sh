#!/bin/sh
# Every trace of this repository, under every preset (with time: under a seventh of them), through every subcommand that reads
# traces, logs or measured faults. UVMSIM is built with a sanitizer: the tests fail if the sanitizer reports anything.
# usage: traces.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"

# expect NAME SUBCOMMAND ARGUMENT...: exit status 0, an output, no report of a sanitizer
expect() {
	what=$1
	shift
	"$uvmsim" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ $status = 0 ] && [ -s "$work/out" ] && ! grep -q 'Sanitizer\|runtime error' "$work/err"; then
		echo "ok   $what: uvmsim $1"
	else
		failed=1
		echo "FAIL $what: uvmsim $*: exit status $status, $(wc -c <"$work/out") bytes of output"
		head -n 20 "$work/err" | sed 's/^/     /'
	fi
}

# deal N TURN: every Nth preset from TURN on, as options
deal() {
	"$uvmsim" list presets | grep -v "^ " | awk -v n="$1" -v turn="$2" 'NR % n == turn % n {printf " --policy preset=%s", $1}'
}
all=$(deal 1 0) turn=0
for trace in tests/data/traces/*.csv tests/data/traces/*.csv.zst docs/examples/*.trace; do
	turn=$((turn + 1))
	name=$(basename "$trace")
	plain=$work/$name.csv
	case $trace in *.zst) zstd -qdc "$trace" >"$plain" || exit 1 ;; *) cp "$trace" "$plain" ;; esac
	expect "$name" run --trace "$plain" --oversub 125 --log "$work/log"
	expect "$name, its log" explain "$work/log"
	expect "$name, a page of its log" explain "$work/log" "$(awk -F, '/^[0-9]*,[0-9c]/ {print $4; exit}' "$plain")"
	expect "$name, with time" run --trace "$plain" --oversub 125 --gpu titan-v --format csv
	# shellcheck disable=SC2086 # each word of $all is an argument
	expect "$name, all presets" compare --trace "$plain" --oversub 125 $all
	# shellcheck disable=SC2046 # each word is an argument
	expect "$name, some presets, with time" compare --trace "$plain" --oversub 125 --gpu titan-v $(deal 7 $turn)
	expect "$name" bound --trace "$plain" --oversub 125
	expect "$name" trace --trace "$plain"
	case $trace in *.zst)
		if "$uvmsim" trace --trace "$trace" 2>&1 >"$work/packed" | grep -q 'built without zstd'; then
			echo "skipped: $name, compressed: built without zstd"
		elif cmp -s "$work/packed" "$work/out"; then
			echo "ok   $name, compressed: as decompressed by zstd"
		else
			failed=1
			echo "FAIL $name, compressed: other rows than as decompressed by zstd"
		fi
		;;
	esac
done
expect 'measured faults' measured tests/data/gtx1080ti.txt
exit $failed
