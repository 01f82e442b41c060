#!/bin/sh
# Tables of docs/ whose figures come from runs of uvmsim, as Markdown rows with the published rows among them. In the page a table
# stands behind a line `<!-- table: NAME -->`. usage: tables.sh UVMSIM TABLE [WORD]   prints the rows (whose workload contains WORD)
#        tables.sh UVMSIM --pages DIRECTORY [TABLE...]                                writes them into the pages (all tables)
#        tables.sh --list                                                             prints TABLE PAGE, line by line
set -eu
export LC_ALL=C.UTF-8
tables='arrays machine.md
code machine.md
extra_blocks machine.md
keys machine.md
locks machine.md
tlbs machine.md
faults models.md
evictions policies.md
cycles policies.md
forest policies.md
orders policies.md
plans policies.md
prefetchers policies.md
prefetchers_further policies.md
remote policies.md
remote_programs policies.md
runtime policies.md
request_bytes uvmsim.md'
usage() {
	sed -n 's/^# .*usage: /usage: /p; s/^#        /       /p' "$0" >&2
	exit 2
}
if [ "${1:-}" = --list ]; then
	echo "$tables"
	exit
fi
[ $# -ge 2 ] || usage
uvmsim=$1 table=$2
if [ "$table" = --pages ]; then
	[ $# -ge 3 ] || usage
	pages=$3
	shift 3
	# shellcheck disable=SC2046 # a list of names
	[ $# -gt 0 ] || set -- $(echo "$tables" | cut -d' ' -f1)
	rows=$(mktemp)
	trap 'rm -f "$rows" "$rows.page"' EXIT
	for table in "$@"; do
		page=$pages/$(echo "$tables" | sed -n "s/^$table //p")
		grep -q "^ *<!-- table: $table -->\$" "$page" || {
			echo "tables.sh: $page: no table $table" >&2
			exit 1
		}
		sh "$0" "$uvmsim" "$table" >"$rows"
		# Head and dashes stay; the rows take their indentation.
		awk -v name="$table" '
			NR == FNR { row[++rows] = $0; next }
			$0 ~ "^ *<!-- table: " name " -->$" { is_marked = 1; print; next }
			is_marked && /^ *\|---/ {
				print
				match($0, /^ */)
				for (i = 1; i <= rows; i++) print substr($0, 1, RLENGTH) row[i]
				is_marked = 0
				is_old = 1
				next
			}
			is_old && /^ *\|/ { next }
			{ is_old = 0; print }
			END { if (is_marked || !rows) { print "tables.sh: " FILENAME ": no rows of " name >"/dev/stderr"; exit 1 } }
		' "$rows" "$page" >"$rows.page"
		cat "$rows.page" >"$page"
	done
	exit
fi
echo "$tables" | grep -q "^$table " || usage
word=${3:-}
. "$(dirname "$0")/runs.sh"
bfs=rodinia_bfs:nodes=261444,edges=1568420
# cells FORMAT...: the row's further cells, each a program of awk: v["KEY"] is a count of the last run, c() sets commas.
cells() {
	body=
	for cell in "$@"; do body="$body printf \" %s |\", $cell;"; done
	awk 'function c(n) {n = sprintf("%.0f", n); return length(n) > 3 ? c(substr(n, 1, length(n) - 3)) "," substr(n, length(n) - 2) : n}
		function f(form, n) {return sprintf(form, n)}
		# thousands of a number with a fraction
		function g(n) {n = sprintf("%.1f", n); return c(int(n)) substr(n, length(n) - 1)}
		{v[$1] = $2} END {'"$body"'}' counts
}
# shown WORKLOAD: whether its rows are wanted
shown() { case $1 in *"$word"*) ;; *) return 1 ;; esac; }
# first TEXT: the row's first cell, blank if it is that of the row before
first() {
	if [ "${before:-}" = "$1" ]; then printf '| |'; else printf '| %s |' "$1"; fi
	before=$1
}

code() {
	for keys in 'neither executes_code=0 memory_spread_ns=0' '`executes_code` memory_spread_ns=0' \
		'`memory_spread_ns` executes_code=0' both; do
		# shellcheck disable=SC2086 # several keys
		set -- $keys
		name=$1
		shift
		model ./code.gpu gtx-1080-ti "$@"
		for seed in 1 2 3 4 5; do
			run --seed $seed --gpu ./code.gpu --memory 6M --workload hotspot:n=1024,pyramid_height=2,sim_time=8
			echo "$(value h2d_bytes) $(value h2d_copies) $(value d2h_bytes) $(value batches) $(value kernel_ns)"
		done | awk -v name="$name" '
			{for (i = 1; i <= NF; i++) sum[i] += $i / 5}
			END {
				printf "| %s | %.1f | %.0f | %.1f | %.0f | %.1f |\n", name,
					sum[1] / 1048576, sum[2], sum[3] / 1048576, sum[4], sum[5] / 1e6
			}'
	done
	echo '| published, 125 % | 56.2 | 1,034 | 56.2 | 169 | 29.7 |'
	echo '| published, 150 %, the same memory | 63.3 | 1,319 | 63.3 | 187 | 31.6 |'
}
faults() {
	for each in 16 8 4; do
		model ./nvlink.gpu p100-nvlink pipelines_copies=0 utlb_faults=$each # as nvprof
		model ./pcie.gpu p100-pcie utlb_faults=$each
		run --gpu ./nvlink.gpu --workload stream_thread:bytes=64m,grid=1024,type_bytes=8
		printf '| %s |' $each
		cells 'v["batches"]' 'v["batch_faults_most"]' 'f("%.2f ms", v["batches"] * v["batch_ns_mean"] / 1e6)' 'v["h2d_copies"]'
		run --gpu ./pcie.gpu --workload stream_thread:bytes=1g,grid=1024,type_bytes=8
		cells 'f("%.2f GB/s", v["h2d_bytes"] / v["time_ns"])'
		echo
	done
	echo '| published | 88 | 114 | 5.98 ms | 349 | 5.4 GB/s |'
}
locks() {
	for holds in 0 1; do
		model ./lock.gpu gtx-1080-ti lock_holds=$holds
		printf '| %s |' $holds
		for memory in 6M 4M 2M; do
			run --gpu ./lock.gpu --memory $memory --workload $bfs
			cells 'c(v["batches"]) "; " c(v["h2d_bytes"] / 1048576)'
		done
		echo
	done
	echo '| published | 5,305; 6,397 | 18,219; 28,407 | 72,888; 91,268 |'
}
arrays() {
	while read -r memory roots published; do
		for size in '65536 64 KiB' '524288 512 KiB' '2097152 2 MiB'; do
			model ./arrays.gpu gtx-1080-ti range_bytes="${size%% *}"
			run --gpu ./arrays.gpu --memory "$memory" --workload backprop:n=131056
			first "$roots"
			printf ' %s |' "${size#* }"
			cells 'v["h2d_bytes"] / 1048576' 'v["d2h_bytes"] / 1048576'
			echo
		done
		echo "| | published | $published |"
	done <<-'END'
		16M 8 26.6875 | 22.625
		12M 6 26.8125 | 24.75
	END
}
extra_blocks() {
	for program in sssp_twc:scale=16,degree=16 bfs_ttc:scale=17,degree=23 bfs_ttc:scale=16,degree=16; do
		for extra in 0 1 2; do
			policy=preset=batch-aware-base
			[ $extra = 0 ] || policy=$policy,threads=on,threads_drop=100,extra_blocks=$extra
			run --gpu asplos20 --oversub 200 --policy "$policy" --workload $program
			first $program
			printf ' %s |' $extra
			cells 'f("%.2f", v["time_ns"] / 1e6)' 'v["batches"]' 'f("%.0f", v["batch_pages_mean"])' 'c(v["h2d_bytes"] / 65536)' \
				'c(v["context_switches"])'
			echo
		done
	done
}
tlbs() {
	for program in srad:rows=1024,cols=1024,iterations=4 backprop:n=65536; do
		for entries in 16 64 256 1024 4096; do
			for shootdown in entry whole; do
				model ./tlb.gpu v100-sand tlb_shootdown=$shootdown utlb_entries=$entries
				run --gpu ./tlb.gpu --workload $program --policy preset=uvmsmart
				awk '
					{v[$1] = $2}
					END {
						printf "%.1f %% %.2f\n", 100 * v["tlb_hits"] / (v["tlb_hits"] + v["tlb_misses"]),
							v["kernel_ns"] * 1.312 / 1e6
					}' counts
			done >both
			first $program
			awk -v entries=$entries '
				{hits[NR] = $1; cycles[NR] = $3}
				END {print "", entries, "|", hits[1], "% |", hits[2], "% |", cycles[1], "|", cycles[2], "|"}' both
		done
	done
}
keys() {
	set -- retires_idle keeps_faults queues_copies holds_memory lists_arrivals coalesces maps_copies
	for count in 0 1 2 3 4 5 6 7; do
		model ./keys.gpu uvmsmart block_ns=0 retires_idle=0 keeps_faults=0 queues_copies=0 holds_memory=0 lists_arrivals=0 coalesces=0 \
			maps_copies=0
		n=0 name='none of the seven'
		for key in "$@"; do
			n=$((n + 1))
			[ $n -le $count ] || break
			sed -i "s/^$key = 0/$key = 1/" keys.gpu
			name="\`$key\`"
			[ $n = 1 ] || name="and $name"
		done
		run --gpu ./keys.gpu --memory 9297920 --workload $bfs --policy preset=uvmsmart,evict=lru4k,prefetch_full=none
		printf '| %s |' "$name"
		cells 'c(v["far_faults"])' 'c(v["pages_migrated"])' 'c(v["pages_evicted"])'
		echo
	done
	echo '| published | 5,419 | 7,862 | 5,593 |'
}
request_bytes() {
	policy='prefetch=none evict=lru4k remote=always'
	for program in sssp:nodes=262144 nw:n=1024 bfs:scale=16 ra:n=4194304 regular:bytes=64m stencil:n=1024,iterations=2 sgemm:n=1024; do
		shown $program || continue
		"$uvmsim" trace --workload $program --output two.csv
		# version 1 has no bytes behind the address
		sed '1s/2$/1/; s/^\([0-9]*,[0-9cpu]*,[rwap],0x[0-9a-f]*\),[0-9]*$/\1/' two.csv >one.csv
		printf '| `%s` |' $program
		for source in "--workload $program" '--trace two.csv' '--trace one.csv'; do
			# shellcheck disable=SC2086 # an option and its value
			run --gpu titan-v --oversub 150 --policy "$policy" $source
			cells 'c(v["remote_h2d_bytes"])'
		done
		echo
	done
}
plans() { # of copies
	for program in sgemm:n=640 stencil:n=1024,iterations=2 bfs:scale=14 random:bytes=8m; do
		shown $program || continue
		printf '| `%s` |' $program
		for plan in serial overlapped unobtrusive; do
			run --memory 4M --workload $program --policy "evict=lru2m granularity=64k plan=$plan"
			cells 'c(v["far_faults"])'
		done
		echo
	done
}
orders() { # of eviction, beside published runs
	while read -r policy faults in out; do
		run --gpu uvmsmart --memory 9294239 --workload $bfs --policy "$policy"
		printf '| `%s` |' "$policy"
		cells "c($faults)" 'c(v["far_faults"])' "c($in)" 'c(v["pages_migrated"])' "c($out)" 'c(v["pages_evicted"])'
		echo
	done <<-'END'
		preset=uvmsmart-lru-od 5419 7862 5593
		preset=uvmsmart-lru-od,free_buffer=5 7687 10130 7975
		preset=uvmsmart-lru-od,free_buffer=10 9789 11850 9808
		preset=uvmsmart,evict=random4k,prefetch_full=none 2364 4807 2538
		preset=uvmsmart,evict=sl64k,prefetch_full=none 4075 6518 4256
		preset=uvmsmart,evict=tbne,prefetch_full=none 5109 7552 5296
		preset=uvmsmart-random 2210 4848 2579
		preset=uvmsmart-sl 429 8448 6192
		preset=uvmsmart-tbn 143 11648 9392
		preset=uvmsmart-tbn,reserve=10 130 10000 7984
		preset=uvmsmart-tbn,reserve=20 95 7184 5024
		preset=uvmsmart 175 12256 10240
	END
}
remote() { # beside published runs; the first two are without remote access
	while read -r policy again in ms; do
		run --gpu uvmsmart --memory 8178893 --workload $bfs --policy "$policy"
		printf '| `%s` |' "$policy"
		cells "c($again)" 'c(v["pages_thrashed"])' "c($in)" 'c(v["pages_migrated"])' "\"$ms ms\"" 'f("%.1f ms", v["time_ns"] / 1e6)'
		echo
	done <<-'END'
		preset=uvmsmart,evict=lfu2m 8304 10800 12.4
		preset=uvmsmart 10544 13040 14.3
		preset=uvmsmart-oversub 6768 9264 11.3
		preset=uvmsmart-always 5744 8240 10.0
		preset=uvmsmart-adaptive 5744 8240 10.4
		preset=uvmsmart-adaptive,remote_penalty=4 5232 7728 9.8
		preset=uvmsmart-adaptive,remote_penalty=8 5232 7728 9.7
	END
}
remote_programs() {
	for policy in preset=uvmsmart preset=uvmsmart,evict=lfu2m preset=uvmsmart-oversub preset=uvmsmart-always preset=uvmsmart-adaptive \
		preset=uvmsmart-adaptive,remote_penalty=8; do
		printf '| `%s` |' "$policy"
		for program in $bfs sssp:nodes=262144 nw:n=1024 ra:n=1048576 hotspot:n=1024 backprop:n=65536; do
			run --gpu uvmsmart --oversub 125 --workload $program --policy "$policy"
			cells 'c(v["pages_thrashed"]) f(" · %.1f", v["time_ns"] / 1e6)'
		done
		echo
	done
}
runtime() {
	model ./runtime.gpu uvmsmart title=uvmsmart source=uvmsmart block_ns=0
	while read -r size program; do
		case $size in
		--memory=*) printf '| `%s`, %s MiB |' "$program" "$(echo "$size" | tr -dc 0-9)" ;;
		*) printf '| `%s` |' "$program" ;;
		esac
		for preset in runtime '' -tbn -runtime; do
			policy=preset=uvmsmart${preset:+-${preset#-}},replay=batch
			set -- --gpu ./runtime.gpu ${size%%=*} "${size#*=}" --workload "$program" --policy "$policy"
			if [ "$preset" = runtime ]; then
				printf ' '
				run "$@" --log log
				# the last pattern of each allocation, in the order of their addresses
				sed -n 's/.* pattern .* block=\(0x[0-9a-f]*\) .* count=\([0-9]*\).*/\1 \2/p' log | awk '
					BEGIN {split("L L+ R R+ M M+", name)}
					{last[$1] = name[$2]} END {for (block in last) print block, last[block]}' | sort | cut -d' ' -f2 | tr '\n' ' '
				printf '|'
				continue
			fi
			run "$@"
			# 45 us for each far fault, added as in the original
			cells 'c(v["far_faults"]) f(" · %.1f", (v["kernel_ns"] + 45000 * v["far_faults"]) / 1e6)'
		done
		echo
	done <<-END
		--oversub=150 conv2d:ni=1024,nj=1024
		--oversub=150 stream:bytes=4M,passes=1
		--oversub=150 backprop:n=65536
		--oversub=150 srad:rows=2048,cols=2048
		--oversub=150 hotspot:n=1024,sim_time=8
		--oversub=150 fdtd2d:nx=1200,ny=1200,tmax=5
		--oversub=150 atax:nx=1200,ny=1200
		--oversub=150 nw:n=1024
		--oversub=150 sssp:nodes=262144
		--oversub=150 ra:n=1048576
		--memory=8M $bfs
		--memory=6M $bfs
	END
}
programs='hotspot:n=1280,sim_time=4 sssp:nodes=655360 ra:n=2097152 bfs_twc:scale=17,degree=16 nw:n=1536 regular:bytes=32m,passes=2'
# compared POLICY...: a row for each program at 100 and 150 %: far faults, MiB to the GPU, ms
compared() {
	for program in $programs; do
		shown "$program" || continue
		for percent in 100 150; do
			printf '| `%s` | %s |' "$program" $percent
			for policy in "$@"; do
				run --gpu titan-v --workload "$program" --oversub $percent --policy "$policy"
				cells 'c(v["far_faults"]) " · " f("%.1f", v["h2d_bytes"] / 1048576) " · " g(v["time_ns"] / 1e6)'
			done
			echo
		done
	done
}
prefetchers() { compared preset=nvidia-595 prefetch=stride prefetch=next prefetch=pattern prefetch=safe; }
prefetchers_further() {
	compared preset=zheng-random preset=zheng-sequential preset=zheng-locality prefetch=block adapt=pressure adapt=early
}
forest() { compared preset=nvidia-595 prefetch=forest preset=forest; }
evictions() { # untimed: far faults, pages to the GPU, EVICT actions
	for keys in evict=lru2m evict=lru4k evict=lru4k,prefetch_full=none evict=sl64k evict=tbne evict=tbne,reserve=10 \
		evict=tbne,free_buffer=5 evict=lfu2m; do
		printf '| `%s` |' $keys
		while read -r percent program; do
			run --workload "$program" --oversub "$percent" --policy preset=uvmsmart,$keys
			cells 'c(v["far_faults"]) " · " c(v["pages_migrated"]) " · " c(v["evictions"])'
		done <<-'END'
			125 bfs:scale=17
			150 hotspot:n=1024
			150 backprop:n=65536
		END
		echo
	done
}
cycles() { # the same with the driver's prefetcher: far faults, MB to the GPU
	for keys in evict=lru2m evict=clock2m evict=mhpe evict=lru2m,cyclic=on; do
		printf '| `%s` |' $keys
		while read -r percent program; do
			for preset in '' preset=uvmsmart,; do
				run --workload "$program" --oversub "$percent" --policy $preset$keys
				cells 'c(v["far_faults"]) " · " c(v["h2d_bytes"] / 1e6)'
			done
		done <<-'END'
			125 regular:bytes=64m,passes=8
			150 bfs:scale=17
		END
		echo
	done
}
$table
# a run that failed in a pipeline
[ ! -f failed ]
