#!/bin/sh
# uvmsim sweep: 500 runs interrupted, killed, resumed, divided, merged, with equal results; files of other sweeps and wrong
# parameters are refused; GNU parallel on several local "hosts". usage: sweep.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "$1" && pwd)
root=$PWD
uvmsim=$build/uvmsim
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
. tests/cli/support/verdict.sh
cd "$work" || exit 1
hostless() { sed 's/,[^,]*$//' "$1"; }
same() { # A B: equal but for the host
	hostless "$1" >a.cut
	hostless "$2" >b.cut
	cmp -s a.cut b.cut
}

cat >s.txt <<'END'
# 500 runs
workload = regular:bytes=2m,passes=2 random:bytes=2m
oversub  = 50  100
policy   = nvidia-595 "prefetch=density evict=lru2m"
threshold = 1 51..99..16   # 1, 51, 67, 83, 99
seed     = 1..10
seed     = 99 0..0 11..11
END
grep -v '^seed' s.txt >small.txt # 40 runs
"$uvmsim" sweep s.txt --list >out
[ "$(wc -l <out)" = 520 ] &&
	[ "$(sed -n 15p out)" = '14 workload=regular:bytes=2m,passes=2 oversub=50 policy=nvidia-595 threshold=51 seed=2' ] &&
	tail -n 1 out | grep -qx '519 workload=random:bytes=2m oversub=100 policy="prefetch=density evict=lru2m" threshold=99 seed=11'
verdict $? 'the runs: all combinations, the last key changes fastest'

"$uvmsim" sweep s.txt --out all.csv >out 2>&1
[ $? = 0 ] && [ "$(wc -l <all.csv)" = 521 ] && grep -qx 'all.csv: 520 of 520 runs, 520 now' out
verdict $? '520 runs'
awk -F, 'NR > 1 && $2 != NR - 2 {exit 1}' all.csv
verdict $? 'the results are in the order of the sweep'
"$uvmsim" sweep small.txt --out few.csv >out 2>&1 && "$uvmsim" sweep small.txt --out one.csv --jobs 1 >out 2>&1 &&
	cmp -s few.csv one.csv
verdict $? '--jobs has no influence'

# Each run is that of `uvmsim run`, whose last column is the version: a sweep has the version in front.
"$uvmsim" run --workload random:bytes=2m --oversub 100 --policy 'prefetch=density evict=lru2m threshold=67' --seed 7 \
	--format csv >run.csv
sed -n '2{s/,[^,]*\(,[^,]*\)$/\1/; p;}' run.csv >want # without the version
grep '"random:bytes=2m",100%,"prefetch=density evict=lru2m",67,7,' all.csv |
	sed 's/^.*"prefetch=density evict=lru2m",67,7,//; s/,[^,]*$//' >got
[ -s got ] && cmp -s want got
verdict $? 'a row has the columns of uvmsim run'
[ "$(head -n 1 all.csv | tr , '\n' | sort | uniq -d)" = '' ] &&
	head -n 1 all.csv | grep -q '^sweep,run,runs,version,.*,oversub_percent,memory_asked,faults_only,host$'
verdict $? 'no two columns have the same name'

# Half of the runs: interrupted, killed, cut, resumed.
awk -F, 'NR == 1 || $2 % 2 == 0' all.csv >half.csv
wait_for() { # LINES FILE: until the file has so many
	for _ in $(seq 1500); do
		[ "$(cat "$2" 2>/dev/null | wc -l)" -gt "$1" ] && return
		sleep 0.02
	done
}
# broken_off SIGNAL LINES OPTION...: the signal once the results have so many lines; again from the start where the sweep had
# ended before the signal came
broken_off() {
	signal=$1 count=$2
	shift 2
	rm -f start.csv
	[ ! -e part.csv ] || cp part.csv start.csv
	for _ in $(seq 50); do
		rm -f part.csv
		[ ! -e start.csv ] || cp start.csv part.csv
		# the shell has its jobs ignore SIGINT
		env --default-signal=INT "$uvmsim" sweep s.txt --shard 1/2 --out part.csv --jobs 1 "$@" >out 2>&1 &
		sweep=$!
		wait_for "$count" part.csv
		kill -"$signal" $sweep 2>/dev/null
		wait $sweep 2>/dev/null
		status=$?
		lines=$(wc -l <part.csv)
		[ "$lines" = 261 ] || break
	done
}
broken_off INT 40 --host elsewhere
[ $status = 130 ] && grep -q 'interrupted; the same command continues' out && [ "$lines" -gt 40 ] && [ "$lines" -lt 261 ]
verdict $? "SIGINT: what is done is kept ($lines of 261 lines)"
broken_off KILL 130
[ "$lines" -gt 130 ] && [ "$lines" -lt 261 ]
verdict $? "SIGKILL: what is done is kept ($lines of 261 lines)"
printf '%s' "$(tail -n 1 part.csv | cut -c 1-60)" >>part.csv
"$uvmsim" sweep s.txt --shard 1/2 --out part.csv >out 2>&1
[ $? = 0 ] && same part.csv half.csv && grep -q "260 of 260 runs of shard 1/2, $((261 - lines)) now" out
verdict $? 'resumed, with a cut last line: equal'
grep -q '"elsewhere"$' part.csv
verdict $? 'resumed: earlier results stay'
cp part.csv before
"$uvmsim" sweep s.txt --shard 1/2 --out part.csv >out 2>&1 && cmp -s part.csv before && grep -q ' 0 now' out
verdict $? 'resumed when complete: nothing to do'
"$uvmsim" sweep s.txt --shard 1/2 --out used.csv --jobs 1 >first 2>&1 &
sweep=$!
wait_for 1 used.csv
kill -STOP $sweep
"$uvmsim" sweep s.txt --shard 1/2 --out used.csv >out 2>&1
[ $? = 2 ] && grep -q 'another uvmsim writes to this file' out
refused=$?
kill -KILL $sweep
wait $sweep 2>/dev/null
"$uvmsim" sweep s.txt --shard 1/2 --out used.csv >out 2>&1
continued=$?
verdict $refused 'a file that another process writes is refused'
verdict $continued 'after SIGKILL the same command continues at once'

# Shards, in any order, some twice.
cp part.csv shard1.csv
{
	"$uvmsim" sweep s.txt --out shard3.csv --shard 4/4 --host host3 &&
		"$uvmsim" sweep s.txt --out shard2.csv --shard 2/4 --host host2
} >out 2>&1
[ $? = 0 ] && [ "$(cat shard?.csv | wc -l)" = 523 ] &&
	! cut -d, -f2 shard1.csv | sed 1d | grep -qxF "$(cut -d, -f2 shard2.csv shard3.csv | grep -v run)"
verdict $? 'three shards have all runs, each once'
"$uvmsim" sweep --merge merged.csv shard2.csv shard3.csv shard1.csv shard2.csv >out 2>&1
[ $? = 0 ] && same merged.csv all.csv && grep -q '"host3"$' merged.csv
verdict $? 'merged shards are the unsharded sweep'
"$uvmsim" sweep --merge fromone.csv shard1.csv shard3.csv >out 2>&1
[ $? = 1 ] && [ ! -e fromone.csv ] && grep -q 'run 1 has no result in these files; 130 of 520 runs are missing' out
verdict $? 'merge: a missing shard is noticed'
sed '5s/,1,/,7,/' shard1.csv >wrong.csv
"$uvmsim" sweep --merge bad.csv shard1.csv shard2.csv shard3.csv wrong.csv >out 2>&1
[ $? = 1 ] && [ ! -e bad.csv ] && grep -q 'run [0-9]* has two results: shard1.csv:5 and wrong.csv:5 differ' out
verdict $? 'merge: contradictory results are noticed'
"$uvmsim" sweep --merge all2.csv all.csv >out && cmp -s all2.csv all.csv
verdict $? 'merge of one file: the same bytes'

cp all.csv several.csv
"$uvmsim" sweep s.txt --shard 2/4 --out several.csv >out 2>&1 && grep -qx 'several.csv: 130 of 130 runs of shard 2/4, 0 now' out
verdict $? 'a file with other shards, too: the runs of this one count'
# Run 0, of the first shard, becomes one that is not complete.
sed 's/^\([^,]*,0,.*"[^"]*",[^",]*,"[^"]*",[0-9]*\),1,/\1,0,/' several.csv >failed.csv
! cmp -s several.csv failed.csv && mv failed.csv several.csv &&
	"$uvmsim" sweep s.txt --shard 2/4 --out several.csv >out 2>&1 && ! grep -q 'with an error' out
verdict $? 'an error of another shard does not count'
"$uvmsim" sweep s.txt --shard 1/4 --out several.csv >out 2>&1
[ $? = 1 ] && grep -q ', 1 with an error' out
verdict $? 'an error of this shard counts'

# Other files.
refused() { # STATUS TEXT ARGUMENT...
	want=$1 text=$2
	shift 2
	"$uvmsim" sweep "$@" >out 2>&1
	[ $? = "$want" ] && grep -qF -- "$text" out && [ "$(wc -l <out)" = 1 ]
	verdict $? "refused: $text"
}
for twice in 'seed = 1 01:seed: 01 is the same as 1 on line 2' 'memory = 4M 8M 4096K:memory: 4096K is the same as 4M on line 2' \
	'oversub = 125 1.25:oversub: 1.25 is the same as 125 on line 2' 'oversub = 125% 125:oversub: 125 is the same as 125% on line 2' \
	'threshold = 1 51..53 052:threshold: 052 is the same as 52 on line 2'; do
	printf 'workload = random:bytes=2m\n%s\n' "${twice%%:*}" >twice.txt
	refused 2 "twice.txt:2: ${twice#*:}" twice.txt --list
done
sed 's/^seed     = 1\.\.10$/seed = 1..9 12/' s.txt >other.txt
cp shard1.csv keep.csv
refused 2 'has the results of another sweep' other.txt --out keep.csv
cmp -s keep.csv shard1.csv
verdict $? 'a refused file is unchanged'
"$uvmsim" sweep other.txt --out other.csv --shard 1/40 >/dev/null
refused 2 'a result of another sweep' --merge x.csv shard1.csv other.csv
sed 's/,520,[^,]*,/,520,0.9.0,/' all.csv >version.csv
refused 2 'has the results of another version' s.txt --out version.csv
refused 2 'a result of another version' --merge x.csv all.csv version.csv
echo 'a,b' >foreign.csv
refused 2 'foreign.csv:1: not the results of a sweep' s.txt --out foreign.csv
printf 'precious' >foreign.csv
refused 2 'foreign.csv:1: not the results of a sweep' s.txt --out foreign.csv
[ "$(cat foreign.csv)" = precious ]
verdict $? 'a foreign file is unchanged'
sed '9s/,/;/' all.csv >broken.csv
refused 2 'broken.csv:9: not a line of results' s.txt --out broken.csv
refused 2 'no.txt: No such file' no.txt --out x.csv
refused 2 '--out is needed' s.txt
refused 2 'is not a regular file' s.txt --out /dev/null
refused 2 'No such file or directory' s.txt --out none/x.csv
refused 2 'a line of more than 1 MiB' --merge x.csv /dev/zero
refused 2 'the line is longer than 65536 bytes' /dev/zero --out x.csv
refused 2 '--shard: "0/3"' s.txt --out x.csv --shard 0/3
refused 2 '--shard: "4/3"' s.txt --out x.csv --shard 4/3
refused 2 'one of them' s.txt --list --merge x.csv
refused 2 '--merge takes no --out' --merge x.csv all.csv --out y.csv

# Values that cannot run: the file and line are named.
wrong() { # TEXT LINE...
	text=$1
	shift
	printf '%s\n' "$@" >wrong.txt
	refused 2 "$text" wrong.txt --out x.csv
}
wrong 'wrong.txt:1: workload: unknown workload' 'workload = regullar'
wrong 'wrong.txt:2: gpu: ' 'workload = regular' 'gpu = titan-w'
wrong 'wrong.txt:2: memory' 'workload = regular' 'memory = 1M'
wrong 'wrong.txt:2: oversub' 'workload = regular' 'oversub = 7'
wrong 'wrong.txt:2: policy: ' 'workload = regular' 'policy = nvidia-596'
wrong 'wrong.txt:2: threshold: 200 is not accepted; 0..100; see' 'workload = regular' 'threshold = 200'
wrong 'wrong.txt:4: policy: character 1: evict: ' 'workload = regular' 'policy = nvidia-595' 'policy = "evict=lru4k"' \
	'policy = "evict=lru3k"'
wrong 'wrong.txt:3: policy: character 13: x: no such key' 'workload = regular' 'threshold = 51' 'policy = "evict=lru4k x=5"'
wrong 'wrong.txt:4: threshold: 200 is' 'workload = regular' 'policy = nvidia-595' 'min_faults = 1' 'threshold = 51 200'
wrong 'wrong.txt:1: threshold: 200 is' 'threshold = 200' 'workload = regular' 'policy = nvidia-595' 'min_faults = 1'
wrong 'wrong.txt:2: min_faults: 21 is' 'workload = regular' 'min_faults = 21' 'threshold = 51'
wrong 'wrong.txt:3: policy: ' 'workload = regular' 'threshold = 51' 'policy = "evict=lru9"'
wrong "wrong.txt:2: policy: longer than" 'workload = regular' "policy = \"evict=$(printf '%05000d' 0)\""
wrong 'wrong.txt:2: policy: "all" is several presets' 'workload = regular' 'policy = all'
wrong 'wrong.txt:1: trace: ' 'trace = none.trace'
wrong 'standard input cannot be read for every run' 'trace = -'

# Differences: the ratio that awk finds, and words where there is none.
"$uvmsim" sweep --compare threshold all.csv --format csv >out 2>&1
[ $? = 0 ] && [ "$(wc -l <out)" = 5 ] && [ "$(grep -c ',more$' out)" -ge 2 ]
verdict $? 'compare: every value against the first'
awk '
	function field(n,   i, rest, f) { # of the line: quoted fields may have commas
		rest = $0
		for (i = 1; i <= n; i++) {
			if (substr(rest, 1, 1) == "\"") {match(rest, /^"[^"]*"/); f = substr(rest, 2, RLENGTH - 2); rest = substr(rest, RLENGTH + 2)}
			else {match(rest, /^[^,]*/); f = substr(rest, 1, RLENGTH); rest = substr(rest, RLENGTH + 2)}
		}
		return f
	}
	NR == 1 {n = split($0, head, ","); for (i = 1; i <= n; i++) if (head[i] == "far_faults") column = i; next}
	{source = field(5); others = field(6) "|" field(7); value = field(8); seed = field(9)
	 x[source, seed, others, value] = field(column); sources[source]; seeds[seed]; all[others]}
	END {
		for (s in sources) { # if all seeds are alike, they are one case
			first = ""; alike = 1; part = n = 0
			for (d in seeds) {
				sum = count = 0; numbers = ""
				for (o in all) {a = x[s, d, o, 99]; b = x[s, d, o, 1]; sum += log(a / b); count++; numbers = numbers " " a "/" b}
				part += sum / count; n++
				if (first == "") first = numbers; else if (numbers != first) alike = 0
			}
			cases += alike ? 1 : n; total += alike ? part / n : part
		}
		printf "%d %.4f\n", cases, exp(total / cases)
	}' all.csv >want
awk -F, '$2 == "\"99\"" {print $5, $12}' out >got
awk 'NR == FNR {n = $1; r = $2; next} {exit !($1 == n && $2 - r < 0.0002 && r - $2 < 0.0002 && n >= 6)}' want got
verdict $? "compare: cases and ratio are those of awk ($(cat want))"
"$uvmsim" sweep --compare memory all.csv >out 2>&1 && grep -q '^100% .* 1.0000 .* no difference shown$' out
verdict $? 'compare: no difference shown'
"$uvmsim" sweep --compare policy all.csv --of h2d_bytes --format json >out 2>&1 &&
	grep -q '"column": "h2d_bytes", .*"verdict": "no difference shown"}]' out
verdict $? 'compare: another column, JSON'
"$uvmsim" sweep --compare threshold all.csv --of refaults >out 2>&1 && grep -q 'no difference shown' out
verdict $? 'compare: zeros on both sides are equal'
for same in memory:oversub workload:trace; do
	"$uvmsim" sweep --compare ${same%:*} all.csv | tail -n +4 >want
	"$uvmsim" sweep --compare ${same#*:} all.csv 2>&1 | tail -n +4 >out && [ -s want ] && cmp -s want out
	verdict $? "compare: ${same#*:} is ${same%:*}"
done
refused 2 'seeds are samples of chance' --compare seed all.csv
refused 2 'tresh is no parameter of this sweep' --compare tresh all.csv
refused 2 'did you mean threshold?' --compare treshold all.csv
refused 2 '--of: nothing is no result of this sweep' --compare threshold all.csv --of nothing
refused 2 '--of: policy is not a whole number' --compare threshold all.csv --of policy
refused 2 '--of and --format belong to --compare' s.txt --out x.csv --of far_faults

# A run that fails has a row that says so, and the others continue.
printf 'workload = regular:bytes=8m\nmemory = 2M 8M\npolicy = "max_batches=0"\n' >fails.txt
"$uvmsim" sweep fails.txt --out fails.csv >out 2>&1
[ $? = 1 ] && grep -q '2 of 2 runs, 2 now, 2 with an error' out && grep -c 'never services a fault' fails.csv | grep -qx 2
verdict $? 'runs that fail are results: exit status 1'

# The job array of docs/examples, its tasks one after the other: then two of them again.
mkdir -p slurm/docs && cp -r "$root/docs/examples" slurm/docs
(
	cd slurm || exit 1
	PATH=$build:$PATH
	SLURM_ARRAY_TASK_COUNT=8 SLURM_CPUS_PER_TASK=2
	export PATH SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT SLURM_CPUS_PER_TASK
	for SLURM_ARRAY_TASK_ID in 1 2 3 4 5 6 7 8; do sh docs/examples/sweep.sbatch || exit 1; done
	sed -i '$d' shard-3.csv
	SLURM_ARRAY_TASK_COUNT=2 SHARDS=8
	export SHARDS
	for SLURM_ARRAY_TASK_ID in 3 7; do sh docs/examples/sweep.sbatch || exit 1; done
	uvmsim sweep --merge results.csv shard-*.csv
) >out 2>&1
[ $? = 0 ] && grep -qx 'results.csv: 144 runs of 8 files' out && grep -qx 'shard-3.csv: 18 of 18 runs of shard 3/8, 1 now' out
verdict $? 'the Slurm example: a job array, two tasks continued, merged'
"$uvmsim" sweep --compare threshold slurm/results.csv --of h2d_bytes | sed '1d' >got
awk '/^h2d_bytes of results.csv/ {on = 1; next} /^```/ {on = 0} on' "$root/docs/sweep.md" >want
cp got out
[ -s want ] && cmp -s got want
verdict $? 'docs/sweep.md: its table is that of the example'

# GNU parallel, on three "hosts" of this machine: an ssh that runs the command here.
if parallel --version 2>/dev/null | grep -q 'GNU parallel'; then
	# It sets SHELL as sshd does: without it parallel runs nothing, and says nothing.
	printf '#!/bin/sh\nFAKE_HOST=$1 SHELL=/bin/sh\nexport FAKE_HOST SHELL\nshift\n[ "$1" != -- ] || shift\nexec sh -c "$*"\n' >ssh
	chmod +x ssh
	# shellcheck disable=SC2016
	parallel --will-cite --no-notice -S "1/$work/ssh alpha,1/$work/ssh beta,1/$work/ssh gamma" --workdir "$work" \
		"$uvmsim"' sweep small.txt --shard {}/6 --out par{}.csv --host "$FAKE_HOST" --jobs 1' ::: 1 2 3 4 5 6 >out 2>&1
	[ $? = 0 ] && "$uvmsim" sweep --merge par.csv par[1-6].csv >>out 2>&1 && same par.csv few.csv
	verdict $? 'GNU parallel, six shards on three hosts: equal'
	for host in alpha beta gamma; do grep -q "\"$host\"\$" par.csv || false; done
	verdict $? 'GNU parallel: every host has had runs'
else
	echo 'skipped: GNU parallel is not installed: shards on several hosts'
fi
exit $failed
