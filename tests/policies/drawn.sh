#!/bin/sh
# preset=auto on programs drawn at random, against another policy: those that are slower or move more bytes, and a summary.
#
# usage: drawn.sh [UVMSIM]
#
# DRAWN_SEED: seed of the draw (1). DRAWN_COUNT: how many programs (100). DRAWN_JOBS: runs of a program at a time (processors).
# DRAWN_AGAINST: the other policy (preset=nvidia-595). DRAWN_OVER: over-subscription of all programs in percent (drawn).
# DRAWN_WIDE: if not empty, programs of drawn_wide.awk instead of drawn.awk.
# DRAWN_PROGRAMS: a file with lines `GPU OVER WORKLOAD` instead of drawn ones. Standard error shows progress on a terminal.
# Exit status: 1 if a run failed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
uvmsim=${1:-$here/../../build/uvmsim}
against=${DRAWN_AGAINST:-preset=nvidia-595}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=$work/programs
if [ -n "${DRAWN_PROGRAMS:-}" ]; then
	awk '!/^(#.*)?$/ && !known[$0]++' "$DRAWN_PROGRAMS" >"$programs"
else
	awk -v seed="${DRAWN_SEED:-1}" -v count="${DRAWN_COUNT:-100}" -f "$here/draw.awk" \
		-f "$here/drawn${DRAWN_WIDE:+_wide}.awk" >"$programs"
fi

[ -z "${DRAWN_OVER:-}" ] || {
	awk -v over="$DRAWN_OVER" '{ $2 = over } !known[$0]++' "$programs" >"$work/same"
	mv "$work/same" "$programs"
}

while read -r gpu over workload; do
	[ ! -t 2 ] || printf '\r%-78.78s' "$gpu $over % $workload" >&2
	rates=$(sh "$here/search.sh" "$uvmsim" --link "$gpu")
	"$uvmsim" compare --gpu "$gpu" --jobs "${DRAWN_JOBS:-$(nproc)}" --workload "$workload" --oversub "$over" --format csv \
		--policy "$against" --policy preset=auto --policy "preset=auto remote=off" \
		>"$work/comparison" 2>"$work/errors" </dev/null || {
		[ ! -t 2 ] || printf '\r%-78s\r' '' >&2
		grep -v 'uvmsim: note: ' "$work/errors" >&2
		exit 1
	}
	awk -v what="$gpu $over $workload" -v rate_in="${rates% *}" -v rate_out="${rates#* }" \
		-f "$here/read.awk" -f "$here/ablation_times.awk" "$work/comparison"
done <"$programs" >"$work/results"
[ ! -t 2 ] || printf '\r%-78s\r' '' >&2
awk -v against="$against" -f "$here/drawn_report.awk" "$work/results"
