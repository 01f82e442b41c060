#!/bin/sh
# A host learns from ALLOCATE alone which memory an eviction has freed (docs/embedding.md, "Memory of a GPU").
# usage: gpu_memory.sh UVMSIM
#
# The table of owners is kept from decision logs as the page says: ALLOCATE takes the bytes that it covers from their former owners,
# and its pages lose their former memory; FREE ends an ownership; EVICT changes nothing. Then each COPY or POPULATE to a GPU finds
# memory of its own block.
set -eu
case $1 in /*) uvmsim=$1 ;; *) uvmsim=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Prints one line: allocations, pages that lost their memory without a FREE, pages that arrived, those of them without memory.
owners() { # LOG
	awk '
		function end_of(frame) { if (frame in owner) { delete at[owner[frame]]; delete owner[frame]; return 1 } return 0 }
		$2 !~ /^(allocate|free|copy|populate)$/ { next }
		{
			split("", value)
			for (i = 3; i <= NF; i++) { eq = index($i, "="); value[substr($i, 1, eq - 1)] = substr($i, eq + 1) }
			gpu = $2 == "free" ? value["from"] : value["to"]
			if (gpu + 0 == 0) next
			base = 0
			digits = substr(value["offset"], 3)
			for (i = 1; i <= length(digits); i++) base = base * 16 + index("0123456789abcdef", substr(digits, i, 1)) - 1
			base /= value["page_bytes"]
			runs = split(value["pages"], run, ",")
			for (r = 1; r <= runs; r++) {
				ends = split(run[r], page, "-")
				for (p = page[1]; p <= page[ends]; p++) {
					frame = gpu " " base + p - page[1]
					here = gpu " " value["space"] " " value["block"] " " p
					if ($2 == "free") end_of(frame)
					else if ($2 == "allocate") {
						if (here in at) lost += end_of(at[here])
						lost += end_of(frame)
						owner[frame] = here
						at[here] = frame
					}
					else { arrived++; without += !(here in at) }
				}
			}
			allocations += $2 == "allocate"
		}
		END { print allocations + 0, lost + 0, arrived + 0, without + 0 }' "$1"
}

failed=0
check() { # POLICY
	"$uvmsim" run --workload regular:bytes=8M,passes=2 --memory 4M --policy "$1" --log "$tmp/log" >"$tmp/out" 2>&1
	# shellcheck disable=SC2046 # four numbers
	set -- "$1" $(owners "$tmp/log")
	if [ "$3" -gt 0 ] && [ "$4" -gt 0 ] && [ "$5" -eq 0 ]; then
		echo "ok   $1: $4 arriving pages have memory, $3 pages lost theirs to $2 allocations without a FREE"
	else
		echo "FAIL $1: $2 allocations, $3 pages lost their memory, $4 pages arrived, $5 of them without memory"
		failed=1
	fi
}
for policy in preset=nvidia-595 'prefetch=block plan=overlapped' 'evict=lru4k prefetch=tbn' 'evict=lru2m granularity=64k' \
	'evict=tbne prefetch=tbn' preset=batch-aware 'evict=mhpe free_buffer=5'; do
	check "$policy"
done

# The check sees an arriving page without memory.
"$uvmsim" run --workload regular:bytes=8M --memory 4M --policy evict=lru4k --log "$tmp/log" >"$tmp/out" 2>&1
line=$(grep -n ' allocate ' "$tmp/log" | tail -n 1 | cut -d: -f1)
sed "${line}d" "$tmp/log" >"$tmp/less"
case $(owners "$tmp/less") in
*' 0') echo 'FAIL a log without its last ALLOCATE passes' && failed=1 ;;
*) echo 'ok   a log without its last ALLOCATE does not pass' ;;
esac
exit $failed
