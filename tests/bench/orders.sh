#!/bin/sh
# Instructions of every eviction order against the memory that its resident units fill, counted by callgrind: mean of a
# touch of a resident unit, of the choice of a victim, of its removal, and of an arrival. Without and with a reserve; bench_orders.c
# describes the input. A cost that grows with the population shows in its row. BUILD/orders.csv has the
# same table. Root chunks (evict=lru) are the rows root-1000 to root-1m of bench.sh.
# usage: orders.sh BUILD [ORDER...]; ORDERS_SIZES (default "256m 1g 4g 16g 64g"), ORDERS_TIMES (2000) may be set
set -eu
build=$1
shift
sizes=${ORDERS_SIZES:-256m 1g 4g 16g 64g}

bytes() { case $1 in *g) echo $((${1%g} << 30)) ;; *m) echo $((${1%m} << 20)) ;; esac; }

# A run: prints "SIZE CALL N", the mean of one call, for each kind of call. callgrind writes below each caller
# `cfn=FUNCTION`, `calls=N ...` and a line with the cost of these calls, callees included.
if [ "${1:-}" = --count ]; then # ORDER RESERVE SIZE
	out=$build/orders.$$
	trap 'rm -f "$out" "$out.log"' EXIT
	valgrind --tool=callgrind --callgrind-out-file="$out" --instr-atstart=no --compress-strings=no \
		"$build/bench" order "$2" "$3" "$(bytes "$4")" "${ORDERS_TIMES:-2000}" >"$out.log" 2>&1 || { cat "$out.log" >&2; exit 1; }
	awk -v size="$4" '
		/^cfn=/ {name = substr($0, 5)}
		/^calls=/ {calls = substr($1, 7); getline; if (sub("^bench_order_", "", name)) {n[name] += calls; cost[name] += $NF}}
		END {for (name in n) printf "%s %s %.0f\n", size, name, cost[name] / n[name]}' "$out"
	exit
fi

table='{
	printf "%-10s%8s  %-7s", $1, $2, $3
	for (i = 4; i <= NF; i++) printf "%8s", $i
	printf "%8s\n", NR == 1 && head ? "ratio" : sprintf("%.1f", $NF / $4)
}'
echo "order,reserve,call,$(echo "$sizes" | tr ' ' ,)" | tee "$build/orders.csv" | awk -F , -v head=1 "$table"
for order in ${*:-$("$build/uvmsim" list policies evict | sed -n 's/^ *values: //p')}; do
	for reserve in 0 10; do
		case $order,$reserve in lru,* | random4k,10) continue ;; esac
		for size in $sizes; do echo "--count $order $reserve $size"; done | xargs -P "$(nproc)" -n 4 sh "$0" "$build" |
			awk -v row="$order,$reserve" -v sizes="$sizes" '
				{v[$2, $1] = $3}
				END {
					n = split(sizes, size, " ")
					m = split("touch victim remove arrive", call, " ")
					for (c = 1; c <= m; c++) {
						printf "%s,%s", row, call[c]
						for (i = 1; i <= n; i++)
							printf ",%s", v[call[c], size[i]]
						print ""
					}
				}' | tee -a "$build/orders.csv" | awk -F , "$table"
	done
done
