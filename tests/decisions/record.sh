#!/bin/sh
# Records the decision logs of every preset: uvmsim on two workloads that over-subscribe memory (one of them timed), and the engine
# alone with pages of 4 and 64 KiB, one and two GPUs. A second run compares: `record.sh BUILD OUT AGAINST` fails where a log
# differs from the one in AGAINST, and says where the first difference is. Time stamps are part of the logs.
# usage: record.sh BUILD OUT [AGAINST]
set -u
[ $# -ge 2 ] || { echo 'usage: record.sh BUILD OUT [AGAINST]' >&2; exit 2; }
build=$1 out=$2 against=${3:-}
here=$(dirname "$0")
mkdir -p "$out" && rm -f "$out"/*.log "$out"/*.log.gz || exit 1
"$build/uvmsim" list presets | grep -v '^ ' >"$out/presets" || exit 1

# One run a line: the name of its log, and the command.
runs() {
	while read -r preset; do
		echo "$preset-untimed $build/uvmsim run --workload random:bytes=10M,agents=16 --oversub 150 --policy preset=$preset --log"
		echo "$preset-timed $build/uvmsim run --workload sgemm:n=2048 --gpu titan-v --oversub 140 --policy preset=$preset --log"
		echo "$preset-4k-1 $build/decisions preset=$preset 4096 1 300"
		echo "$preset-4k-2 $build/decisions preset=$preset 4096 2 300"
		echo "$preset-64k-1 $build/decisions preset=$preset 65536 1 300"
		echo "$preset-64k-2 $build/decisions preset=$preset 65536 2 300"
	done <"$out/presets"
}
# shellcheck disable=SC2016 # expanded by the inner shell
runs | xargs -P "${RECORD_JOBS:-$(nproc)}" -n 1 -d '\n' sh -c '
	set -f
	set -- $1
	name=$1 log=$0/$1.log
	shift
	case $* in
	*--log) "$@" "$log" >/dev/null 2>"$log.err" || cat "$log.err" >>"$log" ;;
	*) "$@" >"$log" 2>"$log.err" ;;
	esac
	rm -f "$log.err"' "$out" || exit 1
rm "$out/presets"
[ -z "$against" ] || exec sh "$here/compare.sh" "$against" "$out"
echo "recorded: $(ls "$out"/*.log | wc -l) logs, $(cat "$out"/*.log | wc -l) actions, in $out"
