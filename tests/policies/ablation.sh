#!/bin/sh
# What each part of preset=auto contributes: geometric means over workloads and over-subscriptions.
#
# usage: ablation.sh [UVMSIM]
#
# ABLATION_OVER: over-subscriptions in percent (110 150 200). ABLATION_WORKLOADS: a file with a workload a line
# (ablation.txt beside this script). ABLATION_GPU: titan-v. ABLATION_JOBS: runs at a time (1). ABLATION_ROWS: only the
# first rows.
# Prints a table; every row is preset=auto with the change named, relative to preset=nvidia-595.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
uvmsim=${1:-$here/../../build/uvmsim}
gpu=${ABLATION_GPU:-titan-v}

variants() {
	head -n "${ABLATION_ROWS:-99}" <<-'END'
	nothing|preset=auto
	remote access|preset=auto remote=off
	the same, only whole blocks: no probes|preset=auto remote=off auto_gap=0
	the same, no blocks ahead|preset=auto remote=off auto_ahead=0
	the same, batches of 256 faults|preset=auto remote=off batch=256
	the same, no smaller batches after one block|preset=auto remote=off auto_batch=0
	the same, no sparse mode|preset=auto remote=off auto_threshold=51
	the same, room costs nothing|preset=auto remote=off auto_price=1
	the same, the oldest always leaves|preset=auto remote=off auto_keep=off
	the same, evictions before copies|preset=auto remote=off plan=serial
	the same, the driver's victims|preset=auto evict=lru
	the same, the driver's prefetcher|preset=auto remote=off prefetch=density
	all of it: threshold 1|preset=nvidia-aggressive
	END
}

policies() {
	printf '%s\n' 'preset=nvidia-595'
	variants | cut -d'|' -f2
}

run() { # WORKLOAD OVER
	set -- --workload "$1" --oversub "$2"
	while read -r policy; do
		set -- "$@" --policy "$policy"
	done <<-END
	$(policies)
	END
	"$uvmsim" compare --gpu "$gpu" --jobs "${ABLATION_JOBS:-1}" --format csv "$@"
}

results=$(mktemp)
rates=$(sh "$here/search.sh" "$uvmsim" --link "$gpu")
trap 'rm -f "$results"' EXIT
while read -r workload; do
	case $workload in '' | '#'*) continue ;; esac
	for over in ${ABLATION_OVER:-110 150 200}; do
		[ ! -t 2 ] || printf '\r%-78.78s' "$workload at $over %" >&2
		run "$workload" "$over" | awk -v what="$workload at $over %" -v rate_in="${rates% *}" -v rate_out="${rates#* }" \
			-f "$here/read.awk" -f "$here/ablation_times.awk"
	done
done <"${ABLATION_WORKLOADS:-$here/ablation.txt}" >"$results"
[ ! -t 2 ] || printf '\r%-78s\r' '' >&2
variants | awk -F'|' -v results="$results" -f "$here/ablation.awk"
