#!/bin/sh
# preset=auto beside good policy strings, on programs of 16 times their size: one table.
#
# usage: strings.sh [UVMSIM]
#
# STRINGS_OVER: over-subscriptions in percent (150). STRINGS_WORKLOADS: a file with a workload a line (ablation.txt beside this
# script). STRINGS_GPU: titan-v. STRINGS_JOBS: runs at a time (processors).
# A string is cut when it takes twice as long as preset=nvidia-595, and counts as slower. Standard error shows progress on a
# terminal. Exit status: 1 if a run failed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
uvmsim=${1:-$here/../../build/uvmsim}
gpu=${STRINGS_GPU:-titan-v}
results=$(mktemp)
rates=$(sh "$here/search.sh" "$uvmsim" --link "$gpu")
trap 'rm -f "$results"' EXIT

strings() {
	printf '%s\n' 'driver|preset=nvidia-595' 'auto|preset=auto' 'off|preset=auto remote=off'
	grep -v '^#' "$here/strings.txt"
}

compare() { # WORKLOAD OVER
	time=$("$uvmsim" run --gpu "$gpu" --workload "$1" --oversub "$2" --policy preset=nvidia-595 --format json |
		sed -n 's/.*"time_ns": \([0-9]*\).*/\1/p')
	set -- --workload "$1" --oversub "$2"
	while IFS='|' read -r _ policy; do
		set -- "$@" --policy "$policy"
	done <<-END
	$(strings)
	END
	"$uvmsim" compare --gpu "$gpu" --jobs "${STRINGS_JOBS:-$(nproc)}" --format csv --until $((2 * time)) "$@"
}

while read -r workload; do
	case $workload in '' | '#'*) continue ;; esac
	for over in ${STRINGS_OVER:-150}; do
		[ ! -t 2 ] || printf '\r%-78.78s' "$workload at $over %" >&2
		compare "$workload" "$over" </dev/null | awk -v what="$workload at $over %" \
			-v rate_in="${rates% *}" -v rate_out="${rates#* }" -f "$here/read.awk" -f "$here/ablation_times.awk"
	done
done <"${STRINGS_WORKLOADS:-$here/ablation.txt}" >"$results"
[ ! -t 2 ] || printf '\r%-78s\r' '' >&2
strings | awk -F'|' -v results="$results" -f "$here/strings.awk"
