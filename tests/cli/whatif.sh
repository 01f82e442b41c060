#!/bin/sh
# uvmsim whatif: what it says of a profile, of a trace and of bad input; that its verdicts follow from its runs, and that these
# are those of `uvmsim compare` on the imported trace. usage: whatif.sh UVMSIM
set -u
. "$(dirname "$0")/support/uvmsim.sh"
support=$PWD/tests/support/import
prints() {
	for text in "$@"; do
		if grep -qF -- "$text" "$work/out"; then ok "$name: $text"; else fail "$name: does not print $text"; fi
	done
}

# A program of three passes over 24 MiB in 16 MiB of memory, in the words of the tools' queue: each page faults once in a pass,
# and the driver brings 15 pages more, which may have been used or not.
awk 'BEGIN {
	base = 139637976727552
	migration = "Migration migrationCause=%s srcIndex=%d dstIndex=%d address=%.0f migratedBytes=%d "
	migration = migration "beginTimeStamp=%d endTimeStamp=%d\n"
	for (pass = 0; pass < 3; pass++)
		for (i = 0; i < 96; i++) {
			time += 1000
			at = base + i * 262144
			printf "GpuFault accessType=Read gpuIndex=1 address=%.0f timeStamp=%d batchId=%d\n", at, time, ++batch
			printf migration, "Coherence", 0, 1, at, 4096, time + 1, time + 2
			printf migration, "Prefetch", 0, 1, at + 4096, 61440, time + 3, time + 4
			if (pass > 0)
				printf migration, "Eviction", 1, 0, at, 65536, time - 9, time - 8
		}
}' >"$work/profile"
two='--policy nvidia-595 --policy prefetch=none'

# shellcheck disable=SC2086 # $two is four words
run 0 'a profile' whatif "$work/profile" --memory 16M $two
prints 'What moved, as recorded' 'GPU 288 of 288 pages, CPU 0; 0 kernels' \
	'to the GPU  18.0 MiB in 576 copies: faults 1.1, prefetching 16.9' \
	'to the CPU  12.0 MiB in 192 copies: eviction 12.0' \
	'Of the bytes moved to the GPU, 6 % served faults, 94 % were prefetched by the driver' \
	"Belady's optimum, pages of 4 KiB, if each page that is used must move to the GPU" 'all that migrated' 'Not told' \
	'Accesses to resident or prefetched pages'
says_words() { tr -s ' \n' ' ' <"$work/out" | grep -qF "$1" && ok "$name: $1" || fail "$name: $1"; }
says_words 'Under nvidia-595, if all that migrated was touched, '
prints 'of 2 readings and 3 seeds)' 'not certain: that depends on the reading or the seed'
says_words \
	'12.0 MiB were evicted; of the same blocks up to 12.0 MiB, 100 % of the evicted bytes, were migrated to the GPU again later.'
# The profile does not show why.
if grep -q 'working set' "$work/out"; then
	fail "$name: no cause that is not in the data"
else
	ok "$name: no cause that is not in the data"
fi
sed "s|$work|.|g" "$work/out" >"$work/short" # the path of a checkout may be long
if [ "$(awk 'length > 110' "$work/short" | wc -l)" = 0 ] && [ "$(wc -l <"$work/out")" -le 60 ]; then
	ok "$name: one page"
else
	fail "$name: more than a page"
fi

# The two readings are the two imports.
for touched in faults migrated; do
	run 0 "the reading $touched" import --touched $touched "$work/profile"
	cp "$work/out" "$work/$touched.trace"
done
# shellcheck disable=SC2086
run 0 'JSON' whatif "$work/profile" --memory 16M $two --format json
cp "$work/out" "$work/json"
if python3 - "$work" "$uvmsim" <<'P' 2>"$work/err"; then
import json, subprocess, sys

work, uvmsim = sys.argv[1:]
whatif = json.load(open(f"{work}/json"))
assert whatif["format"] == "uvm-tools" and whatif["faults_only"] is True, whatif["format"]
assert [r["touched"] for r in whatif["readings"]] == ["faults", "migrated"]
assert whatif["recorded"]["h2d_prefetch_bytes"] == 288 * 61440 and whatif["recorded"]["d2h_eviction_bytes"] == 192 * 65536
assert whatif["recorded"]["returned_bytes"] <= whatif["recorded"]["d2h_eviction_bytes"]
assert len(whatif["not_told"]) >= 3 and all(whatif["not_told"])
runs = {}
for reading, told in zip(("faults", "migrated"), whatif["readings"]):
    out = subprocess.run(
        [uvmsim, "compare", "--trace", f"{work}/{reading}.trace", "--memory", "16M", "--policy", "nvidia-595", "--policy",
         "prefetch=none", "--seeds", "3", "--format", "json"], check=True, capture_output=True).stdout
    for run in json.loads(out):
        key = "nvidia-595" if run["preset"] else "prefetch=none"
        runs.setdefault(key, []).append(run)
        assert run["bound_h2d_bytes"] == told["optimum_h2d_bytes"], "the optimum is that of compare"
        assert run["accesses"] == told["accesses"]
for policy in whatif["policies"]:
    mine, base = runs[policy["policy"]], runs["nvidia-595"]
    for key in ("h2d_bytes", "d2h_bytes", "far_faults"):
        values = sorted(run[key] for run in mine)
        assert policy[f"{key}_least"] == values[0] and policy[f"{key}_most"] == values[-1], key
        assert policy[f"{key}_median"] == values[(len(values) - 1) // 2], key
    cost = [run["h2d_bytes"] + run["d2h_bytes"] for run in mine]
    other = [run["h2d_bytes"] + run["d2h_bytes"] for run in base]
    better, worse = sum(a < b for a, b in zip(cost, other)), sum(a > b for a, b in zip(cost, other))
    assert (policy["runs"], policy["better"], policy["worse"]) == (6, better, worse)
    verdict = "better" if better == 6 else "worse" if worse == 6 else "equal" if better + worse == 0 else "not certain"
    assert policy["verdict"] == ("baseline" if policy["policy"] == "nvidia-595" else verdict), policy
assert [p["rank"] for p in whatif["policies"]] == [1, 2]
assert whatif["policies"][0]["permille_median"] <= whatif["policies"][1]["permille_median"]
P
	ok 'JSON: verdicts, spreads and optimum are those of compare'
else
	fail 'JSON: verdicts, spreads and optimum are those of compare'
fi
# shellcheck disable=SC2086
run 0 'JSON, one job' whatif "$work/profile" --memory 16M $two --format json --jobs 1
cmp -s "$work/out" "$work/json" && ok "$name: the same bytes" || fail "$name: other bytes"
# shellcheck disable=SC2086
run 0 'CSV' whatif "$work/profile" --memory 16M $two --format csv
if [ "$(awk -F, 'NR == 1 {n = NF} NF != n' "$work/out" | wc -l)" = 0 ] && [ "$(wc -l <"$work/out")" = 3 ]; then
	ok "$name: 3 rows"
else
	fail "$name: rows"
fi
# The columns have the keys and the values of JSON; the page documents them.
if python3 - "$work" docs/profiles.md <<'P' 2>"$work/err"; then
import csv, json, re, sys

work, page = sys.argv[1:]
whatif, text = json.load(open(f"{work}/json")), open(page).read()
rows = list(csv.DictReader(open(f"{work}/out")))
for policy, row in zip(whatif["policies"], rows):
    for key, value in policy.items():
        expected = "" if value is None else str(value)
        assert row[key] == expected, f"{key}: CSV has {row[key]!r}, JSON has {expected!r}"
named = set(re.findall(r"[a-z0-9_]+", text[text.index("`--format json` prints"):text.index("## Lines of CUPTI")]))
for key in list(whatif) + list(whatif["policies"][0]) + list(whatif["readings"][0]) + list(rows[0]):
    assert re.sub("(?<=_)(least|median|most)$", "", key) in named, key
P
	ok "$name: as JSON"
else
	fail "$name: not as JSON: $(tail -n 1 "$work/err")"
fi
# shellcheck disable=SC2086
run 0 'with time' whatif "$work/profile" --memory 16M $two --gpu titan-v --uncertainty 2
prints 'time in ms' '2 readings and the model with 2 draws of its constants)' 'on the reading or the constants' \
	'The time of computing is not in it'
run 0 'all policies' whatif "$work/profile" --memory 16M --seeds 1
prints ' nvidia-595 ' ' on-demand ' ' auto '
if grep -q ' access-lru ' "$work/out"; then
	fail "$name: an order that needs accesses"
else
	ok "$name: no order that needs accesses"
fi
"$uvmsim" whatif - --memory 16M --policy nvidia-595 --format json <"$work/profile" >"$work/out" 2>"$work/err"
name='standard input' && prints '"format": "uvm-tools"'

cp "$work/profile" "$work/Profil-ä.txt"
# shellcheck disable=SC2086
for format in json csv; do
	run 0 "a name with other letters, $format" whatif "$work/Profil-ä.txt" --memory 16M --format $format $two
	prints 'Profil-ä.txt'
done

# -- other inputs --
run 0 'a trace' whatif "$work/migrated.trace" --oversub 150 --policy nvidia-595
prints 'migrated.trace, trace' 'What moves under nvidia-595' '1 reading and'
"$uvmsim" trace --trace "$work/migrated.trace" --format binary --output "$work/binary.trace"
"$uvmsim" trace --trace "$work/migrated.trace" --format oracleGeneral --output "$work/x.oracleGeneral.bin"
for file in binary.trace x.oracleGeneral.bin; do
	run 0 "$file" whatif "$work/$file" --oversub 150 --policy nvidia-595
	prints "$file, trace"
done
printf '==1== Lackey, an example Valgrind tool\n L 1000,8\n S 2000,8\n' >"$work/lackey"
run 0 'accesses of lackey' whatif "$work/lackey" --policy nvidia-595 --policy access-lru
prints 'accesses    2 to 2 pages'
if grep -q 'Accesses to resident' "$work/out"; then fail "$name: a limit of profiles"; else ok "$name: no limit of profiles"; fi
if python3 -c 'import sqlite3' 2>/dev/null && python3 "$support/nsys.py" "$work" &&
	"$uvmsim" import "$work/new.sqlite" >/dev/null 2>&1; then
	run 0 'nsys' whatif "$work/new.sqlite" --memory 32M --seeds 1 --policy nvidia-595
	prints 'calls 2.0, faults 0.2, prefetching 2.3' 'The profile has 4.6 MiB to the GPU'
	run 2 'nsys, a GPU that is not there' whatif "$work/two-gpus.sqlite" --memory 32M --device 7
	error 'there is no event of GPU 7; there are some of 0, 1'
	run 0 'nsys, only migrations' whatif "$work/only-copies.sqlite" --memory 32M --policy nvidia-595 --format json
	prints '"touched": "migrated"' '"optimum_h2d_bytes"' 'no table CUDA_UM_GPU_PAGE_FAULT_EVENTS'
else
	echo 'skipped: nsys: built without SQLite, or no sqlite3 module of python3'
fi

# -- bad input --
run 2 'no file' whatif
error 'FILE is needed'
run 2 'two files' whatif a b
error 'unexpected argument b'
run 2 'a file that is not there' whatif "$work/missing"
error 'No such file'
run 2 'no format shows' whatif docs/examples/kernels.csv
error 'its first bytes show no format'
run 2 'an unknown format' whatif --from nsis "$work/profile"
error 'there is no format nsis; did you mean nsys?'
run 2 'a profile that is not of the format' whatif --from cupti "$work/profile"
error 'no kind of a record of CUPTI'
run 2 'draws without a GPU' whatif "$work/profile" --uncertainty 3
error '--uncertainty needs --gpu'
run 2 'a device of a format without devices' whatif "$work/lackey" --device 1
error 'lackey has no use for --device'
run 2 'a device of a trace' whatif docs/examples/bounce.trace --device 3
error 'trace has no use for --device'
run 2 'a process of a trace' whatif - --from trace --process 3
error 'trace has no use for --process'
run 2 'a policy that does not exist' whatif "$work/profile" --policy bogus
error 'bogus'
run 2 'memory twice' whatif "$work/profile" --memory 16M --oversub 150
error 'one memory size'
printf 'uvmp-trace 1\nrange,200000,2097152\n,0,r,x\n' >"$work/bad"
run 2 'a bad trace' whatif "$work/bad"
if grep -q ':3: ' "$work/err"; then ok "$name: names the line"; else fail "$name: does not name the line"; fi
exit $failed
