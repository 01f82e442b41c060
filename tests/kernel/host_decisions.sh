#!/bin/sh
# The driver's decisions are the simulator's: what the module has recorded inside the virtual machine, run by uvmsim with the
# same policy and memory, gives the same decision log, byte for byte. usage: host_decisions.sh BUILD OUT (files of
# test_decisions.c)
set -u
build=$1 out=$2
least=8
equal=0
if ! ls "$out"/*.log >/dev/null 2>&1 && [ -n "${KERNEL_TEST:-}" ]; then
	echo "skipped: decisions: their program was not among those chosen"
	exit 0
fi
for log in "$out"/*.log; do
	[ -e "$log" ] || continue
	name=${log%.log}
	policy=$(cat "$name.policy")
	title="decisions, ${name##*/}"
	if ! timeout -k 5 60 "$build/uvmsim" run --trace "$name.trace" --memory 4M --policy "$policy" \
		--log "$name.simulated" >"$name.out" 2>"$name.err"; then
		echo "FAIL $title: $(head -n 1 "$name.err")"
	elif cmp -s "$log" "$name.simulated"; then
		equal=$((equal + 1))
		echo "ok   $title: $(wc -l <"$log") actions from $(wc -l <"$name.trace") rows"
	else
		echo "FAIL $title: $(cmp "$log" "$name.simulated" 2>&1); $(wc -l <"$log") and $(wc -l <"$name.simulated") actions"
	fi
done
if [ $equal -ge $least ]; then
	echo "ok   decisions are equal for $equal policies"
else
	echo "FAIL decisions are equal for $equal policies only"
fi
