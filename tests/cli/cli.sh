#!/bin/sh
# The command line from outside: every subcommand, exit statuses, one line on stderr for what is wrong, bad input of every sort.
# usage: cli.sh UVMSIM
set -u
case $1 in /*) uvmsim=$1 ;; *) uvmsim=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d "$(dirname "$uvmsim")/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
vectors=tests/vectors/nvidia/flush.vec
data=tests/data/gtx1080ti.txt
head='uvmpolicy-vectors 1 flush'
one='flush cached=256 dups=129 ratio=50'
. tests/cli/support/streams.sh

# expect STATUS NAME COMMAND...: the exit status; stderr is empty, or one line `uvmsim: ...` for status 2, 130 and 143
expect() {
	want=$1 name=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err" </dev/null
	judge $?
}

judge() { # STATUS, of the command whose output lies in $work; notes on stderr are no complaints
	sed -i '/^uvmsim: note: /d' "$work/err"
	lines=$(wc -l <"$work/err")
	case $want in 2 | 130 | 143) complains=1 ;; *) complains=0 ;; esac
	if [ "$1" != "$want" ]; then
		fail "$name" "exit status $1, not $want" "$(head -n 3 "$work/err")"
	elif [ $complains = 1 ] && { [ "$lines" -ne 1 ] || ! grep -q '^uvmsim: ' "$work/err"; }; then
		fail "$name" "stderr is not one line \`uvmsim: ...\`:" "$(head -n 5 "$work/err")"
	elif [ $complains = 0 ] && [ -s "$work/err" ]; then
		fail "$name" "stderr:" "$(head -n 5 "$work/err")"
	else
		ok "$name"
	fi
}

# input STATUS NAME COMMAND...: the same with $work/in as standard input
input() {
	want=$1 name=$2
	shift 2
	"$@" >"$work/out" 2>"$work/err" <"$work/in"
	judge $?
}

# interrupted SIGNAL SECONDS COMMAND...: signals it SECONDS after it began to catch SIGNAL. By timeout(1), which lets it have the
# signal although the shell ignores SIGINT for what runs beside it, and which sends the signal twice, as a terminal does.
interrupted() {
	signal=$1 after=$2
	shift 2
	case $signal in INT) bit=2 ;; TERM) bit=16384 ;; esac
	exec 3<&0
	timeout --preserve-status -s KILL 100 "$@" <&3 &
	keeper=$!
	exec 3<&-
	while kill -0 $keeper 2>/dev/null; do
		child=$(ps -o pid= --ppid $keeper 2>/dev/null | tr -d ' ' | head -n 1)
		caught=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/${child:-none}/status" 2>/dev/null)
		[ "$(cat "/proc/${child:-none}/comm" 2>/dev/null)" = uvmsim ] && [ $((0x${caught:-0} & bit)) != 0 ] && break
		sleep 0.02
	done
	sleep "$after"
	kill -s "$signal" $keeper 2>/dev/null
	wait $keeper
}

same() { # FILE: the last command printed exactly this
	if cmp -s "$work/out" "$1"; then ok "$name: the very bytes"; else fail "$name: the very bytes"; fi
}

# -- help and usage ----------------------------------------------------------------------------------------------------
expect 0 '--version' "$uvmsim" --version
says 'uvmsim '
expect 0 '--version -v' "$uvmsim" --version -v
says 'uvmsim ' 'MiB' '16 GiB    8 GiB ' '1 TiB     141 GiB '
expect 0 '--help' "$uvmsim" --help
for sub in run compare bound curve sweep explain whatif import trace measured decide check list; do
	says "  $sub "
	expect 0 "$sub --help" "$uvmsim" $sub --help
	says "usage: uvmsim $sub"
	expect 2 "$sub with an unknown option" "$uvmsim" $sub --bogus
	says --bogus "uvmsim $sub --help"
	expect 2 "$sub with a short option" "$uvmsim" $sub -x
	expect 2 "$sub without arguments" "$uvmsim" $sub
	name='--help'
	"$uvmsim" --help >"$work/out" 2>"$work/err"
done
name='no subcommand'
"$uvmsim" >"$work/out" 2>"$work/err"
says 'uvmsim --help'
expect 2 'unknown subcommand' "$uvmsim" bogus
says 'unknown subcommand bogus' 'uvmsim --help'
expect 2 'unknown option' "$uvmsim" --bogus
says 'unknown option --bogus'
expect 2 'something behind --version' "$uvmsim" --version now
says 'unexpected argument after --version; only -v is accepted'
expect 2 'something behind --version -v' "$uvmsim" --version -v -v
expect 2 'something behind --help' "$uvmsim" --help -v
expect 2 '-v alone' "$uvmsim" -v
expect 2 'empty subcommand' "$uvmsim" ''

# -- list ---------------------------------------------------------------------------------------------------------------
expect 0 'list workloads' "$uvmsim" list workloads
says regular random sgemm stream stencil bfs
expect 0 'list policies' "$uvmsim" list policies
says "A policy is a preset's name" threshold 0..100 'used by: prefetch=density' batch_flush prefetchers: 'eviction orders' \
	'default: 51' 'used by: thrash=on' 'used by: counters=driver|on' 'driver off on' 'serial overlapped'
if awk 'length > 110 { exit 1 }' "$work/out"; then
	ok 'list policies: lines are short'
else
	fail 'list policies: lines are short'
fi
expect 0 'list policies evict' "$uvmsim" list policies evict
says 'values: lru lru2m' '    lru4k           4K  the least recently touched page' \
	'    lru          2048K  the least recently serviced block'
expect 0 'list policies lru4k' "$uvmsim" list policies lru4k
says 'evict=lru4k' 'the least recently touched page' 'keys: ' 'reserve'
expect 0 'list policies stride' "$uvmsim" list policies stride
says 'prefetch=stride' 'prefetch_full=stride' 'keys: stride_depth stride_confidence'
expect 0 'list policies batch_flush, a value of another key' "$uvmsim" list policies batch_flush
says 'replay=batch_flush'
expect 2 'list policies, unknown' "$uvmsim" list policies lru4
says 'there is no key, value or plugin lru4; did you mean lru'
expect 0 'list gpus titan-v' "$uvmsim" list gpus titan-v
says 'titan-v' 'host pages'
expect 2 'list gpus, unknown' "$uvmsim" list gpus titan-w
says 'did you mean titan-v?'
expect 0 'list formats trace' "$uvmsim" list formats trace
says 'uvmp-trace 1'
if [ "$(wc -l <"$work/out")" = 1 ]; then ok "$name: one line"; else fail "$name: one line"; fi
expect 0 'list formats nvprof' "$uvmsim" list formats nvprof
expect 2 'list formats, unknown' "$uvmsim" list formats nvprf
says 'there is no format nvprf; did you mean nvprof?'
expect 0 'list presets' "$uvmsim" list presets
says nvidia-595 uvmsmart 'prefetch=density threshold=51' 'thrash=off counters=off' 'thrash=on' 'plan=serial threads=off'
if awk 'length > 110 { exit 1 }' "$work/out"; then ok 'list presets: lines are short'; else fail 'list presets: lines are short'; fi
expect 0 'list gpus' "$uvmsim" list gpus
says titan-v p100-nvlink 'link pcie3' 'host pages of 64 KiB' 'PCIe, extrapolated'
if awk 'length > 110 { exit 1 }' "$work/out"; then ok 'list gpus: lines are short'; else fail 'list gpus: lines are short'; fi
printf 'title = mine\nsource = mine\nsms = none   # how many?\n' >"$work/mine.gpu"
expect 2 'a model of ours that is wrong' "$uvmsim" run --workload regular --gpu "$work/mine.gpu"
says "mine.gpu:3: sms: \"none\" is not a whole number"
expect 2 'a model that does not exist' "$uvmsim" run --workload regular --gpu titan
says 'no GPU model "titan"'
timed='run --workload regular:bytes=4m,passes=1 --gpu titan-v --policy prefetch=none'
expect 0 'run with time' "$uvmsim" $timed
says 'GPU                              titan-v' 'driver: fetch faults' '11896.0 MiB' ' ms'
expect 0 'run with time, json' "$uvmsim" $timed --format json --oversub 200
says '"gpu": "titan-v"'
if grep -q '"time_ns": [1-9].*"evictions": [1-9].*"replay_ns": [1-9]' "$work/out"; then
	ok "$name: times"
else
	fail "$name: times"
fi
cp "$work/out" "$work/want"
expect 0 'run with time, json, again' "$uvmsim" $timed --format json --oversub 200
same "$work/want"
expect 0 'run with time, csv' "$uvmsim" $timed --format csv
says '","titan-v","'
expect 0 'compare with time' "$uvmsim" compare --workload random:bytes=4m --gpu titan-v --oversub 125 --policy prefetch=none \
	--policy threshold=1
says 'time ms'
if grep -q 'threshold=1 .*[0-9]\.[0-9]\*$' "$work/out"; then
	ok "$name: the faster one is marked"
else
	fail "$name: the faster one is marked"
fi
timed_again() { # NAME ARGUMENTS...: the same JSON twice, and something happened
	about=$1
	shift
	expect 0 "$about" "$uvmsim" "$@" --format json
	cp "$work/out" "$work/want"
	if grep -q '"time_ns": [1-9]' "$work/out"; then ok "$name: a time"; else fail "$name: a time"; fi
	expect 0 "$about, again" "$uvmsim" "$@" --format json
	same "$work/want"
}
timed_again 'a trace with time' run --trace docs/examples/bounce.trace --gpu titan-v
if grep -q '"cpu_faults": [1-9].*"cpu_ns": [1-9]' "$work/out"; then
	ok "$name: the CPU faults"
else
	fail "$name: the CPU faults"
fi
timed_again 'tiles' run --workload tiles:tiles=4,tile=1m,order=optimized --gpu p100-pcie
if grep -q '"faults_raw": 0,.*"h2d_bytes": 4194304.*"d2h_bytes": 4194304' "$work/out"; then
	ok "$name: moved"
else
	fail "$name: moved"
fi
timed_again 'counters' run --workload random:bytes=12m,passes=3 --gpu p100-nvlink --oversub 150 \
	--policy 'counters=on counter_threshold=16'
if grep -q '"remote_accesses": [1-9]' "$work/out"; then ok "$name: remote"; else fail "$name: remote"; fi
"$uvmsim" trace --workload hotspot:n=128,sim_time=4,cpu=2 >"$work/in"
for source in '--workload hotspot:n=128,sim_time=4,cpu=2' '--trace -'; do
	input 0 "a program and its trace: $source" "$uvmsim" run $source --gpu titan-v --memory 64M --policy prefetch=none --format json
	sed 's/.*\("cpu_faults": [0-9]*\).*\("h2d_bytes": [0-9]*\).*\("d2h_bytes": [0-9]*\).*/\1 \2 \3/' "$work/out" >"$work/counts"
	if [ "$source" = '--trace -' ]; then cp "$work/counts" "$work/out" && same "$work/want"; else cp "$work/counts" "$work/want"; fi
done
printf 'uvmp-trace 1\nrange,200000000,4194304\nkernel,k\n,0,r,200000000\nsync\nprefetch,gpu,200300000,2097152\n' >"$work/in"
input 2 'a prefetch outside ranges, with time' "$uvmsim" run --trace - --gpu titan-v --memory 64M
says '-:6: 2097152 bytes from 0x200300000 on are not all in ranges declared so far'
printf 'uvmp-trace 1\nrange,200001000,8192\n,0,r,200001000\n' >"$work/in"
input 2 'a range that a host with large pages cannot have' "$uvmsim" run --trace - --gpu p100-nvlink --memory 64M
says '-:2: range at 0x200001000 does not begin at a multiple of the 65536 bytes of a page'
expect 2 'a batch that no buffer holds' "$uvmsim" run --workload regular:bytes=4m --gpu titan-v --policy batch=65536
says 'batch: 65536 is not accepted; 1..65535'
expect 2 'nothing is ever serviced, with time' timeout 20 "$uvmsim" run --workload regular:bytes=4m --gpu titan-v \
	--policy 'counters=on max_batches=0'
says 'driver quirk Q23'
expect 0 'nothing managed, without time' "$uvmsim" compare --workload stream_thread:bytes=2m,move=copy --policy prefetch=none \
	--format json
says '"footprint_bytes": 0' '"complete": true'
expect 2 'two GPUs' "$uvmsim" run --workload regular --gpu titan-v --gpu titan-v
says 'given twice'
expect 0 'list formats' "$uvmsim" list formats
says trace vectors measured 'decisions of the engine' 'uvmsmart-access '
for gpu in $("$uvmsim" list gpus | grep '^[^ ]'); do
	expect 0 "run on $gpu" "$uvmsim" run --workload regular:bytes=4m,passes=1 --gpu "$gpu" --format csv
	says ",\"$gpu\",\""
done
expect 0 'list workloads pr' "$uvmsim" list workloads pr
says 'pr PageRank' '   scale=17  '
if grep -q '^[^ p]' "$work/out"; then fail "$name: no other"; else ok "$name: no other"; fi
expect 2 'list workloads bogus' "$uvmsim" list workloads bogus
says 'unknown workload `bogus`; there are: regular, '
expect 2 'list workloads pr bc' "$uvmsim" list workloads pr bc
says 'unexpected argument bc'
expect 2 'list' "$uvmsim" list
says 'list: a topic must follow: workloads, policies'
expect 2 'list bogus' "$uvmsim" list bogus
says bogus workloads
expect 2 'list two words' "$uvmsim" list gpus formats

# -- decide and check ---------------------------------------------------------------------------------------------------
expect 0 'decide' "$uvmsim" decide $vectors
same $vectors
expect 0 'decide behind --' "$uvmsim" decide -- $vectors
cp $vectors "$work/in"
input 0 'decide from standard input' "$uvmsim" decide -
same $vectors
expect 2 'decide two files' "$uvmsim" decide $vectors $vectors
expect 0 'check' "$uvmsim" check $vectors
says '400 passed, 0 failed'
expect 0 'check two files' "$uvmsim" check $vectors tests/vectors/nvidia/toggle.vec
says '800 passed, 0 failed'
input 0 'check from standard input' "$uvmsim" check -
says '400 passed, 0 failed'

printf '%s\n# cut here\n' "$head" >"$work/in"
input 2 'check of no input line' "$uvmsim" check -
says '-: the file holds no input line: nothing is checked' '0 passed, 0 failed'
input 0 'decide of no input line' "$uvmsim" decide -
same "$work/in"
printf '%s\n%s\n=> put=cached\n%s\n' "$head" "$one" "$one" >"$work/in"
input 1 'check of wrong and missing results' "$uvmsim" check -
says '0 passed, 2 failed' "-:2: $one" '  expected => put=cached' '  computed => put=update' '  expected (no line)'
input 0 'decide repairs wrong and missing results' "$uvmsim" decide -
printf '%s\n%s\n=> put=update\n%s\n=> put=update\n' "$head" "$one" "$one" >"$work/want"
same "$work/want"

# -- bad vector files -----------------------------------------------------------------------------------------------------
bad() { # NAME LINE CAUSE, with $work/in: both refuse it there
	for how in check decide; do
		input 2 "$how: $1" "$uvmsim" $how -
		says "uvmsim: -:$2: " "$3"
	done
}

: >"$work/in" && bad 'empty file' 1 'empty file'
printf 'uvmpolicy-vectors 1 bogus\n' >"$work/in" && bad 'unknown kind' 1 'kind "bogus" is not known'
printf 'uvmpolicy-vectors 7 flush\n' >"$work/in" && bad 'unknown version' 1 'version "7"'
printf '%s' "$head" >"$work/in" && bad 'truncated header' 1 'line feed is missing'
printf '%s\n%s\n=> put=upd' "$head" "$one" >"$work/in" && bad 'truncated line' 3 'line feed is missing'
printf '%s\nflush cached=1\000 dups=1 ratio=1\n' "$head" >"$work/in" && bad 'NUL byte' 2 'NUL byte'
printf '\000\000\000' >"$work/in" && bad 'NUL bytes only' 1 'NUL byte'
printf '%s\r\n' "$head" >"$work/in" && bad 'carriage return' 1 'carriage return'
printf '%s\nflush dups=129 cached=256 ratio=50\n' "$head" >"$work/in" && bad 'wrong key order' 2 'cached='
printf '%s\nflush cached=1 dups=1\n' "$head" >"$work/in" && bad 'missing key' 2 'ratio='
printf '%s\n%s x=1\n' "$head" "$one" >"$work/in" && bad 'unknown key' 2 '"x=1" follows the last key'
printf '%s\nflush cached=1 cached=1 dups=1 ratio=1\n' "$head" >"$work/in" && bad 'repeated key' 2 'dups='
printf '%s\nflush cached=01 dups=1 ratio=1\n' "$head" >"$work/in" && bad 'leading zero' 2 'cached=01 is not accepted'
printf '%s\nflush cached=4294967296 dups=1 ratio=1\n' "$head" >"$work/in" && bad 'number too large' 2 '0..4294967295'
printf '%s\n%s\n# c\n=> put=update\n' "$head" "$one" >"$work/in" && bad 'comment before a result' 4 'without an input line'
printf '%s\n\n' "$head" >"$work/in" && bad 'empty line' 2 'empty line'
printf '%s\nflush  cached=1\n' "$head" >"$work/in" && bad 'two blanks' 2 'exactly one blank'
printf '%s\n#\377\n' "$head" >"$work/in" && bad 'not UTF-8' 2 'not UTF-8'
head -c 20000 /dev/urandom | tr '\n' x >"$work/in" && bad 'noise' 1 ''
printf 'uvmpolicy-vectors 1 replay\nempty t=1\n' >"$work/in" && bad 'step before the first case' 2 'precedes the first'
printf 'uvmpolicy-vectors 1 density\ndensity pages=512 off=1\n' >"$work/in" && bad 'block beyond 512 pages' 2 ''

# Masks and lists of the other kinds.
density='uvmpolicy-vectors 1 density\ndensity pages=16 off=0 thr=%s min=1 dst=1 last=none fm=0 pref=none ft=1 res=- cpures=-'
density=$density' rmap=- f=%s reg=%s t=none rg=- cc=0\n'
refuse() { # NAME THRESHOLD F REG CAUSE
	printf "$density" "$2" "$3" "$4" >"$work/in"
	bad "$1" 2 "$5"
}
printf "$density" 51 5 5-5 >"$work/in"
input 0 'density' "$uvmsim" decide -
says '=> p=0-4,6-15 fm=1 last=1 hint=1'
refuse 'threshold out of range' 101 5 5-5 'thr=101 is not accepted'
refuse 'mask beyond the block' 51 16 5-5 'f=16 is not accepted'
refuse 'mask far beyond the block' 51 99999999999999999999 5-5 'f=99999999999999999999 is not accepted'
refuse 'mask that descends' 51 5,4 4-5 'f=5,4 is not accepted'
refuse 'runs that are not the longest' 51 4,5 4-5 'f=4,5 is not accepted'
refuse 'region reversed' 51 5 6-5 'reg'
refuse 'region beyond the block' 51 5 5-16 'reg'

# A line of 50 MB: refused as soon as it is too long, wherever it stands.
long() { # COMMAND...
	{
		[ "$1" = body ] && echo "$head"
		head -c 50000000 /dev/zero | tr '\000' a
	} 2>/dev/null | { shift && "$@" >"$work/out" 2>"$work/err"; }
}
want=2
for how in check decide; do
	name="$how: first line of 50 MB"
	long head "$uvmsim" $how -
	judge $?
	says '-:1: line longer than 16384 bytes'
	name="$how: second line of 50 MB"
	long body "$uvmsim" $how -
	judge $?
	says '-:2: line longer than 16384 bytes'
done

# -- files and streams ----------------------------------------------------------------------------------------------------
for how in decide check measured 'run --trace' 'compare --trace' 'bound --trace' 'trace --trace' 'import addresses' \
	'import oracleGeneral'; do
	expect 2 "$how: missing file" "$uvmsim" $how "$work/missing"
	says 'missing: No such file or directory'
	expect 2 "$how: directory" "$uvmsim" $how "$work"
	: >"$work/in"
	input 2 "$how: empty standard input" "$uvmsim" $how -
done
expect 2 'a file name with a line feed' "$uvmsim" check "$work/a
b"
if [ -c /dev/full ]; then
	want=2
	for how in '--help' '--version' '--version -v' 'list policies' "decide $vectors" "check $vectors" "measured $data" \
		'run --workload regular:bytes=2097152' 'bound --workload regular:bytes=2097152' 'trace --workload regular:bytes=2097152'; do
		name="$how: full disk"
		"$uvmsim" $how >/dev/full 2>"$work/err"
		judge $?
		says 'standard output'
	done
fi
want=2 name='standard output closed'
"$uvmsim" list gpus >&- 2>"$work/err"
judge $?
# 141: ended by SIGPIPE, without a word, as other tools are
abandoned='sh tests/cli/support/abandoned.sh'
expect 141 'the reader has left' $abandoned "$work" "$uvmsim" decide tests/vectors/nvidia/density.vec
want=0 name='standard input closed'
"$uvmsim" list gpus <&- >"$work/out" 2>"$work/err"
judge $?

# -- measured ---------------------------------------------------------------------------------------------------------------
expect 0 'measured' "$uvmsim" measured $data
says '56 of 56 faults agree' '38 of 38 faults with copies were moved in the same copies' getHWPrefetcherP3 4+60+64+64+64
if awk 'NR > 1 && length > 110 { exit 1 }' "$work/out"; then
	ok 'measured: lines are short'
else
	fail 'measured: lines are short'
fi
expect 1 'measured, threshold 49' "$uvmsim" measured --brief $data --policy threshold=49
says '24 of 56 faults agree (threshold=49)'
expect 1 'measured, threshold 57' "$uvmsim" measured $data --policy 'prefetch=density threshold=57'
says '44 of 56 faults agree' DIFFERS 'as the library would have it'
expect 0 'measured, thresholds 50 to 53' "$uvmsim" measured --brief $data --policy threshold=50 --policy=threshold=53
says 'agree (threshold=50)' '56 of 56 faults agree (threshold=53)'
for prefetch in none tbn sl random sequential locality block stride; do
	expect 1 "measured, prefetch=$prefetch" "$uvmsim" measured --brief $data --policy prefetch=$prefetch
done
# without further blocks, patterns and uTLBs these are density
for prefetch in next pattern safe; do
	expect 0 "measured, prefetch=$prefetch" "$uvmsim" measured --brief $data --policy prefetch=$prefetch
done
expect 2 'measured, unknown policy key' "$uvmsim" measured $data --policy bogus=1
says bogus
expect 2 'measured, bad policy value' "$uvmsim" measured $data --policy threshold=101
says threshold 0..100
expect 2 'measured, policy without value' "$uvmsim" measured $data --policy
expect 2 'measured, value for a flag' "$uvmsim" measured $data --brief=1
expect 2 'measured, not such a file' "$uvmsim" measured $vectors
says "$vectors:1: "
sed '$d' $data | head -c 300 >"$work/in"
input 2 'measured, truncated' "$uvmsim" measured -
printf 'uvmp-measured 1\nprogram a\ntouch cpu 0 512 0\nfault gpu 600\n' >"$work/in"
input 2 'measured, page beyond the block' "$uvmsim" measured -
says '-:4: page "600" is not accepted; 0..511'
name='measured: line of 50 MB'
want=2
long head "$uvmsim" measured -
judge $?

# -- run and compare ----------------------------------------------------------------------------------------------------------
small=regular:bytes=8388608,threads=1
expect 0 'run' "$uvmsim" run --workload $small
expect 0 'run, json' "$uvmsim" run --workload $small --oversub 125 --policy 'prefetch=tbn evict=lru2m' --format json --seed 7
for key in workload gpu policy seed memory_bytes footprint_bytes time_ns faults_raw faults_coalesced duplicates batches replays \
	far_faults h2d_bytes h2d_copies d2h_bytes d2h_copies pages_migrated pages_prefetched pages_prefetched_unused evictions \
	pages_evicted refaults fetch_ns order_ns service_ns migrate_ns map_ns evict_ns replay_ns compute_ns idle_ns; do
	grep -q "\"$key\": " "$work/out" || fail "run, json: key $key"
done
says '"seed": 7' '"gpu": null' '"time_ns": null' '"policy": "prefetch=tbn prefetch_full=same evict=lru2m '
cp "$work/out" "$work/want"
expect 0 'run, json, again' "$uvmsim" run --workload $small --oversub 125 --policy 'prefetch=tbn evict=lru2m' --format json --seed 7
same "$work/want"
expect 0 'run, csv' "$uvmsim" run --workload $small --memory 4M --format csv
expect 0 'run, policy from the environment' env UVMP_POLICY=prefetch=none "$uvmsim" run --workload $small --format json
says '"policy": "prefetch=none '
expect 2 'run, bad policy in the environment' env UVMP_POLICY=bogus=1 "$uvmsim" run --workload $small
says bogus
expect 2 'run, unknown workload' "$uvmsim" run --workload bogus
says bogus
expect 2 'run, unknown workload key' "$uvmsim" run --workload regular:bogus=1
expect 2 'run, absurd workload' "$uvmsim" run --workload regular:bytes=99999999999999999999
expect 2 'run, unknown policy key' "$uvmsim" run --workload $small --policy bogus=1
expect 2 'run, memory of nothing' "$uvmsim" run --workload $small --memory 0
expect 2 'run, memory without end' "$uvmsim" run --workload $small --memory 99999999999999999999
expect 2 'run, unit of memory' "$uvmsim" run --workload $small --memory 4X
says '"4X" is not accepted; 2M..16T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB'
expect 2 'run, more memory than there can be' "$uvmsim" run --workload $small --memory 17T
says '"17T" is not accepted; 2M..16T bytes'
expect 0 'run, sizes in bytes' "$uvmsim" run --workload $small --memory 6291456 --format json
cp "$work/out" "$work/want"
for size in 6M 6m 6MiB 6miB 6144k; do
	expect 0 "run, memory of $size" "$uvmsim" run --workload $small --memory $size --format json
	same "$work/want"
done
for size in 8M 8m 8MiB 8192K; do
	expect 0 "run, workload of $size" "$uvmsim" run --workload regular:bytes=$size,threads=1 --memory 6M --format json
	same "$work/want"
done
expect 2 'run, unit of a workload' "$uvmsim" run --workload regular:bytes=1Kx
says 'workload regular: bytes=1Kx is not accepted; 1..1T bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB'
printf 'uvmp-trace 1\nrange,0x10000000,4194304,a\n' >"$work/in"
for format in table json csv; do
	input 0 "run, a trace without accesses, $format" "$uvmsim" run --trace - --format $format
	if [ -s "$work/out" ]; then ok "$name: a result"; else fail "$name: a result"; fi
done
printf '0 1\n1 2\n' >"$work/edges"
expect 0 'run, an edge list' "$uvmsim" run --workload "pr:file=$work/edges" --format json
says "\"workload\": \"pr:file=$work/edges,directed=0,iterations=5,agents=80\""
expect 2 'run, an edge list and a scale' "$uvmsim" run --workload "pr:file=$work/edges,scale=5"
says 'workload pr: scale has no effect with file='
expect 2 'run, directed without an edge list' "$uvmsim" run --workload pr:directed=1
says 'workload pr: directed has no effect without file='
expect 2 'run, an edge list from standard input' "$uvmsim" run --workload pr:file=-
says '-: an edge list is read twice, so it cannot be standard input'
printf '0 268435455\n' >"$work/edges"
expect 2 'run, an edge list with a slip' "$uvmsim" run --workload "pr:file=$work/edges"
says 'edges:1: 268435456 vertices are too many for 4 edges: above 1048576, at most 64 an edge'
expect 2 'run, oversub 0' "$uvmsim" run --workload $small --oversub 0
expect 2 'run, seed' "$uvmsim" run --workload $small --seed -1
expect 2 'run, unknown format' "$uvmsim" run --workload $small --format xml
expect 2 'run, two workloads' "$uvmsim" run --workload $small --workload $small
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,r,0x200000\n,1,w,0x201000\n' >"$work/in"
input 0 'run, trace from standard input' "$uvmsim" run --trace - --format json
says '"far_faults": '
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,x,0x200000\n' >"$work/in"
input 2 'run, bad trace' "$uvmsim" run --trace -
says '-:3: '
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,w,0x200000\n,cpu,r,0x200000\n' >"$work/in"
input 0 'run, the CPU in a trace' "$uvmsim" run --trace - --policy prefetch=none --format json
says '"accesses": 2' '"h2d_bytes": 4096' '"d2h_bytes": 4096' '"pages_evicted": 0'
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,w,0x200000\n,CPU,r,0x200000\n' >"$work/in"
input 2 'run, the CPU misspelt' "$uvmsim" run --trace -
says '-:4: agent `CPU` is not a decimal number'
expect 0 'compare' "$uvmsim" compare --workload $small --oversub 125 --policy prefetch=none --policy prefetch=density
expect 0 'compare, json' "$uvmsim" compare --workload $small --policy prefetch=none --policy prefetch=density --format json
says '"policy": "prefetch=none ' '"policy": "prefetch=density '
expect 2 'compare, unknown policy' "$uvmsim" compare --workload $small --policy prefetch=bogus --policy prefetch=density
says bogus

# -- runs side by side ----------------------------------------------------------------------------------------------------------
for format in table json csv; do
	for also in '' "--workload regular:bogus=1 --workload $small"; do
		status=2
		if [ -z "$also" ]; then status=0; fi
		for jobs in 1 4; do
			expect $status "compare, $format, --jobs $jobs${also:+, one run fails}" "$uvmsim" compare --jobs $jobs --format $format \
				--workload $small --workload random:bytes=8388608 $also --memory 6M --oversub 100 \
				--policy prefetch=none --policy prefetch=tbn --policy prefetch=density
			cat "$work/out" "$work/err" >"$work/jobs$jobs"
		done
		cp "$work/jobs4" "$work/out"
		same "$work/jobs1"
	done
done
"$uvmsim" trace --workload $small >"$work/in"
for jobs in 1 3; do
	input 0 "compare of standard input, --jobs $jobs" "$uvmsim" compare --jobs $jobs --trace - --trace - --memory 6M \
		--policy prefetch=none --policy prefetch=tbn --format csv
	cp "$work/out" "$work/jobs$jobs"
done
cp "$work/jobs3" "$work/out"
same "$work/jobs1"
for jobs in 0 x 1025 ''; do
	expect 2 "compare, --jobs \"$jobs\"" "$uvmsim" compare --workload $small --jobs "$jobs"
	says '1..1024'
done
expect 2 'run, --jobs' "$uvmsim" run --workload $small --jobs 2
says 'use `uvmsim compare`'

# -- all presets, several seeds --------------------------------------------------------------------------------------------------
presets=$("$uvmsim" list presets | grep -c '^[a-z]')
for gpu in '' '--gpu titan-v'; do
	expect 0 "compare, all presets $gpu" "$uvmsim" compare $gpu --workload regular:bytes=4m,passes=1 --policy all --format csv
	if [ "$(wc -l <"$work/out")" = $((presets + 1)) ]; then ok "$name: a row each"; else fail "$name: a row each"; fi
	"$uvmsim" list presets | grep '^[a-z]' >"$work/want"
	sed 1d "$work/out" | sed 's/.*,"\([a-z0-9-]*\)",,1,.*/\1/' >"$work/said" && mv "$work/said" "$work/out"
	same "$work/want"
done
expect 0 'compare, all presets, table' "$uvmsim" compare --workload regular:bytes=4m,passes=2 --oversub 200 --policy all
says '  nvidia-595  ' '  granularity-256k  ' '(Belady optimum)' '* '
if awk 'length > 110 { exit 1 }' "$work/out"; then ok "$name: lines are short"; else fail "$name: lines are short"; fi
expect 0 'run of a preset, json' "$uvmsim" run --workload $small --policy preset=on-demand --format json
says '"policy": "prefetch=none ' '"preset": "on-demand", ' '"complete": true, "error": null' \
	'"seeds": 1, "time_ns_seeds_least": null'
expect 0 'run of a preset, changed, json' "$uvmsim" run --workload $small --policy 'preset=on-demand batch=9' --format json
says '"preset": null, '
expect 0 'compare, presets by pattern' "$uvmsim" compare --workload $small --policy 'preset=nvidia-b*' --policy prefetch=none
says '  nvidia-block ' '  nvidia-batch ' '  prefetch=none '
if grep -q '^  nvidia-once' "$work/out"; then fail "$name: no other"; else ok "$name: no other"; fi
expect 2 'compare, no preset like this' "$uvmsim" compare --workload $small --policy 'preset=bogus*'
says 'no preset is named like bogus*'
expect 2 'compare, all and another' "$uvmsim" compare --workload $small --policy all --policy prefetch=none
says 'it excludes other policies'
expect 2 'compare, another and all' "$uvmsim" compare --workload $small --policy prefetch=none --policy all
says 'it excludes other policies'
expect 2 'compare, more policies than there is room for' "$uvmsim" compare --workload $small \
	--policy 'preset=*' --policy 'preset=*' --policy 'preset=*' --policy 'preset=*' --policy 'preset=*' --policy 'preset=*' \
	--policy 'preset=*'
says 'more than 256 policies'
expect 2 'run, all presets' "$uvmsim" run --workload $small --policy all
says 'uvmsim compare'
expect 2 'compare, all with a word more' "$uvmsim" compare --workload $small --policy 'all batch=9'
name='compare, all presets by UVMP_POLICY' want=0
UVMP_POLICY=all "$uvmsim" compare --workload regular:bytes=4m,passes=1 >"$work/out" 2>"$work/err"
judge $?
says '  second-chance '
# What a model refuses has a row, and the others theirs.
expect 0 'compare, presets that a model refuses' "$uvmsim" compare --gpu asplos20 --workload $small --policy 'preset=uvmsmart-r*' \
	--policy preset=nvidia-595
says '  uvmsmart-random  does not run: on a host with pages of 64 KiB only' 'evict=lru|lru2m|sl64k|lfu2m|' '  nvidia-595 ' \
	'(Belady optimum)'
expect 0 'compare, presets that a model refuses, json' "$uvmsim" compare --gpu asplos20 --workload $small --format json --jobs 1 \
	--policy 'preset=uvmsmart-rando[m]' --policy preset=nvidia-595
says '"preset": "uvmsmart-random", "seed": 1, "complete": false, "error": "' 'only evict=lru|lru2m|sl64k|lfu2m|' '"seeds": 0, ' \
	'"preset": "nvidia-595", "seed": 1, "complete": true'
expect 2 'compare, nothing but presets that a model refuses' "$uvmsim" compare --gpu asplos20 --workload $small \
	--policy 'preset=uvmsmart-r*'
says 'does not run' 'only evict=lru|lru2m|sl64k|lfu2m|'
expect 2 'compare, a preset that a model refuses, alone' "$uvmsim" compare --gpu asplos20 --workload $small \
	--policy preset=uvmsmart-random
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,r,0x200000\n,0,x,0x200000\n' >"$work/in"
for jobs in 1 4; do
	input 2 "compare, all presets, a trace that breaks off, --jobs $jobs" "$uvmsim" compare --jobs $jobs --trace - --policy all
	says 'complete: no' '-:4: '
	cp "$work/out" "$work/jobs$jobs"
	expect 2 "compare, all presets, no such workload, --jobs $jobs" "$uvmsim" compare --jobs $jobs --workload regular:bogus=1 \
		--policy all
	if [ -s "$work/out" ]; then fail "$name: no rows"; else ok "$name: no rows"; fi
done
cp "$work/jobs4" "$work/out"
same "$work/jobs1"
# A crash costs its own row. (The killed process is one of those that run first.)
name='compare, presets, one of which crashes' want=2
"$uvmsim" compare --jobs 3 --workload regular:bytes=8388608,passes=5000 \
	--policy 'preset=nvidia-[5ao]*' >"$work/out" 2>"$work/err" </dev/null &
main=$! tries=0 child=
while [ -z "$child" ] && [ $tries -lt 50 ] && [ -r /proc/$main/task/$main/children ]; do
	sleep 0.1
	read -r child _ </proc/$main/task/$main/children || : # no line feed ends it
	tries=$((tries + 1))
done
if [ -n "$child" ]; then
	sleep 0.1 # it has opened its workload
	kill -KILL "$child"
	wait $main
	judge $?
	says ': its process was ended by signal 9' '  nvidia-595 ' '  nvidia-aggressive ' '(Belady optimum)'
else
	kill $main
	wait $main
fi

# Each seed is the run of that seed.
seeded="--workload random:bytes=8388608,passes=2 --memory 6M --policy prefetch=density"
expect 0 'compare, seeds, json' "$uvmsim" compare $seeded --policy prefetch=random --seeds 3 --seed 7 --format json --jobs 4
says '"seeds": 3, ' '"seed": 7, ' '"seed": 9, ' '_seeds_median": '
sed 's/^[[ ]//; s/[],]$//; s/, "seeds": .*//' "$work/out" >"$work/rows"
cp "$work/out" "$work/jobs4"
expect 0 'compare, seeds, json, --jobs 1' "$uvmsim" compare $seeded --policy prefetch=random --seeds 3 --seed 7 --format json \
	--jobs 1
same "$work/jobs4"
for seed in 7 8 9; do
	expect 0 "run, seed $seed" "$uvmsim" run $seeded --seed $seed --format json
	sed 's/, "seeds": .*//' "$work/out" >"$work/said" && mv "$work/said" "$work/out"
	sed -n "$((seed - 6))p" "$work/rows" >"$work/want"
	same "$work/want"
done
expect 0 'compare, seeds, table' "$uvmsim" compare $seeded --policy prefetch=random --seeds 3 --seed 7
says 'medians of 3 runs, of seeds 7 to 9' ' least ' ' most '
if awk 'length > 110 { exit 1 }' "$work/out"; then ok "$name: lines are short"; else fail "$name: lines are short"; fi
expect 0 'compare, seeds that make no difference' "$uvmsim" compare --workload $small --policy prefetch=none --seeds 2
if grep -q ' least ' "$work/out"; then fail "$name: one line"; else ok "$name: one line"; fi
for seeds in 0 65 x ''; do
	expect 2 "compare, --seeds \"$seeds\"" "$uvmsim" compare --workload $small --seeds "$seeds"
	says '1..64'
done
expect 2 'run, --seeds' "$uvmsim" run --workload $small --seeds 2
says 'use `uvmsim compare`'
expect 2 'compare, seeds beyond the last' "$uvmsim" compare --workload $small --seed 18446744073709551615 --seeds 2
says 'are too many'
expect 0 'compare, the last seed' "$uvmsim" compare --workload $small --seed 18446744073709551615

# -- interrupted --------------------------------------------------------------------------------------------------------------
long=regular:bytes=16777216,passes=1000000
expect 130 'run, SIGINT' interrupted INT 1 "$uvmsim" run --workload $long --format json
says '"complete": false' '"far_faults": ' "passes=1000000" 'interrupted'
began=$(date +%s)
expect 130 'run with time, SIGINT in a long kernel' interrupted INT 1 "$uvmsim" run --format json \
	--workload stream_thread:bytes=8g,type_bytes=1,move=copy --gpu p100-pcie
says '"complete": false' '"kernel_ns": ' 'interrupted'
if [ $(($(date +%s) - began)) -le 3 ]; then ok "$name: at once"; else fail "$name: at once"; fi
expect 143 'run, SIGTERM' interrupted TERM 1 "$uvmsim" run --workload $long
says 'complete ' 'no: the counts' 'interrupted'
for jobs in 1 3; do
	expect 130 "compare, SIGINT, --jobs $jobs" interrupted INT 1 "$uvmsim" compare --jobs $jobs \
		--workload $small --workload $long --policy prefetch=none --policy prefetch=tbn --format csv
	says '"regular:bytes=8388608,' '"regular:bytes=16777216,' 'interrupted'
	cut -d '"' -f 2,5 "$work/out" | grep -e '^regular:bytes=8388608,.*,1,1,' >"$work/said"
	if [ "$(wc -l <"$work/said")" = 2 ]; then ok "$name: complete runs"; else fail "$name: complete runs"; fi
	if cut -d '"' -f 2,5 "$work/out" | grep -q '^regular:bytes=16777216,.*,1,0,'; then
		ok "$name: those that were not"
	else
		fail "$name: those that were not"
	fi
done
expect 130 'compare, SIGINT, table' interrupted INT 1 "$uvmsim" compare --jobs 2 --workload $long \
	--policy prefetch=none --policy prefetch=tbn
says 'complete: no'
if grep -q 'Belady optimum' "$work/out"; then
	fail "$name: no bound of what is not complete"
else
	ok "$name: no bound of what is not complete"
fi
expect 143 'curve, SIGTERM' interrupted TERM 1 "$uvmsim" curve --workload $long --jobs 1 --points 2
says 'managed, an unknown number of page accesses' ' run     no result: ' 'interrupted'
# Each command and each generator once: all pairs would take a second each.
while read -r how spec; do
	expect 130 "$how, SIGINT while $spec is made" interrupted INT 1 "$uvmsim" "$how" --workload "$spec"
	says ': interrupted'
	if [ -s "$work/out" ]; then fail "$name: nothing is known"; else ok "$name: nothing is known"; fi
done <<EOF
run bfs:scale=24,degree=24
compare pr:scale=26
bound sssp:nodes=67108864
trace rodinia_bfs:nodes=67108864
EOF
want=143 name='run, SIGTERM while it waits for rows'
{
	printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,r,0x200000\n'
	sleep 4
} | interrupted TERM 1 "$uvmsim" run --trace - >"$work/out" 2>"$work/err"
judge $?
says 'interrupted'
expect 130 'trace, SIGINT' interrupted INT 1 "$uvmsim" trace --workload $long --output "$work/cut.trace"
says 'interrupted, no output file was written'
if [ -e "$work/cut.trace" ]; then fail "$name: nothing is kept"; else ok "$name: nothing is kept"; fi

# -- trace --------------------------------------------------------------------------------------------------------------------
# A workload and its trace are interchangeable: the same counts, and the same trace again.
ends='trace trace.zst' last=trace.zst
if ! "$uvmsim" trace --workload $small --output "$work/probe.zst" 2>/dev/null; then
	ends=trace last=trace
	expect 2 'trace, compressed, without zstd' "$uvmsim" trace --workload $small --output "$work/probe.zst"
	says 'cannot be compressed, this program was built without zstd'
fi
for spec in $small random:bytes=4194304 stream:bytes=1048576 bfs:scale=10; do
	for end in $ends; do
		expect 0 "trace, $spec, .$end" "$uvmsim" trace --workload $spec --seed 5 --output "$work/a.$end"
		if [ -s "$work/out" ]; then fail "$name: quiet"; else ok "$name: quiet"; fi
		expect 0 "run of $spec" "$uvmsim" run --workload $spec --seed 5 --oversub 130 --format json
		sed 's/"workload": "[^"]*"//' "$work/out" >"$work/want"
		expect 0 "run of $spec as .$end" "$uvmsim" run --trace "$work/a.$end" --seed 5 --oversub 130 --format json
		sed 's/"workload": "[^"]*"//' "$work/out" >"$work/said" && mv "$work/said" "$work/out"
		same "$work/want"
	done
	cp "$work/a.trace" "$work/want"
	expect 0 "trace of a trace, $spec" "$uvmsim" trace --trace "$work/a.$last"
	same "$work/want"
	expect 0 "binary trace, $spec" "$uvmsim" trace --trace "$work/a.$last" --format binary --output "$work/a.bin"
	expect 0 "text of a binary trace, $spec" "$uvmsim" trace --trace "$work/a.bin" --format text
	same "$work/want"
	if [ "$last" != trace ]; then
		expect 0 "binary trace, compressed, $spec" "$uvmsim" trace --trace "$work/a.bin" --format binary --output "$work/a.bin.zst"
		expect 0 "text of that, $spec" "$uvmsim" trace --trace "$work/a.bin.zst"
		same "$work/want"
	fi
	expect 0 "run of $spec as text" "$uvmsim" run --trace "$work/a.trace" --seed 5 --oversub 130 --format json
	sed 's/"workload": "[^"]*"//' "$work/out" >"$work/runs"
	expect 0 "run of $spec as a binary trace" "$uvmsim" run --trace "$work/a.bin" --seed 5 --oversub 130 --format json
	sed 's/"workload": "[^"]*"//' "$work/out" >"$work/said" && mv "$work/said" "$work/out"
	same "$work/runs"
	cp "$work/a.bin" "$work/in"
	input 0 "text of a binary trace on standard input, $spec" "$uvmsim" trace --trace -
	same "$work/want"
	cp "$work/a.$last" "$work/in"
	input 0 "trace of standard input, $spec" "$uvmsim" trace --trace - --output -
	same "$work/want"
done
name='trace: says what it was made from'
head -n 2 "$work/a.trace" >"$work/out"
says 'uvmp-trace 2' '# workload bfs:scale=10,' ' seed 5'
name='trace: every access of a workload has its bytes'
awk -F, '/^,/ {rows[NF, $5 >= 1 && $5 <= 4096]++} END {for (i in rows) print i == 5 SUBSEP 1 ? "all of them" : "wrong rows"}' \
	"$work/a.trace" >"$work/out"
echo 'all of them' >"$work/want"
same "$work/want"
head -c 100 "$work/a.bin" >"$work/cut.bin"
expect 2 'a binary trace that was cut off' "$uvmsim" run --trace "$work/cut.bin"
says 'cut.bin: byte ' 'cut off'
expect 2 'trace, unknown format' "$uvmsim" trace --workload $small --format binari
says '--format: "binari" is not accepted; text, binary or oracleGeneral' 'binary'
expect 2 'trace, two sources' "$uvmsim" trace --workload $small --trace "$work/a.trace"
expect 2 'trace, no source' "$uvmsim" trace --seed 1
says 'one of --workload and --trace is needed'
expect 2 'trace, unexpected argument' "$uvmsim" trace --workload $small more
expect 2 'trace, unknown workload' "$uvmsim" trace --workload bogus --output "$work/none"
if [ -e "$work/none" ]; then fail "$name: no file"; else ok "$name: no file"; fi
cp "$work/a.trace" "$work/want"
expect 2 'trace onto itself' "$uvmsim" trace --trace "$work/a.trace" --output "$work/a.trace"
says 'is an input (--trace '
cp "$work/a.trace" "$work/out"
same "$work/want"
expect 2 'trace, output that cannot be opened' "$uvmsim" trace --workload $small --output "$work/missing/a"
says '--output' 'No such file or directory'
printf 'uvmp-trace 1\nrange,0x200000,2097152,a\n,0,r,0x200000\n,0,x,0x200000\n' >"$work/in"
input 2 'trace of a bad trace' "$uvmsim" trace --trace - --output "$work/none"
says '-:4: '
if [ -e "$work/none" ]; then fail "$name: no file"; else ok "$name: no file"; fi
if [ -c /dev/full ]; then
	expect 2 'trace, output on a full disk' "$uvmsim" trace --workload $small --output /dev/full
	says '/dev/full: No space left on device'
	ln -s /dev/full "$work/full.$last"
	expect 2 'trace, on a full disk, by another name' "$uvmsim" trace --workload $small --output "$work/full.$last"
	says "full.$last: No space left on device"
	if [ -c /dev/full ] && [ -L "$work/full.$last" ]; then ok "$name: the device stays"; else fail "$name: the device stays"; fi
fi
expect 141 'trace: the reader has left' $abandoned "$work" "$uvmsim" trace --workload $small
expect 141 'list: the reader has left' $abandoned "$work" "$uvmsim" list gpus
expect 0 'run, log' "$uvmsim" run --workload $small --log "$work/want"
expect 141 'run: the reader has left' $abandoned "$work" "$uvmsim" run --workload $small --log "$work/log"
cp "$work/log" "$work/out"
same "$work/want"
expect 2 'list: the reader has left, SIGPIPE ignored' \
	$abandoned "$work" env --ignore-signal=PIPE "$uvmsim" list gpus
says 'standard output: Broken pipe'

# -- bound --------------------------------------------------------------------------------------------------------------------
expect 0 'bound' "$uvmsim" bound --workload $small --memory 6M
says '4 KiB' '64 KiB' '2 MiB' 'units touched                            2048              128                4' \
	'moved to the GPU if once each             8.0 MiB          8.0 MiB          8.0 MiB'
cp "$work/out" "$work/want"
expect 0 'bound, again' "$uvmsim" bound --workload $small --memory=6M --seed 1 --format table
same "$work/want"
if awk 'length > 110 { exit 1 }' "$work/out"; then ok 'bound: lines are short'; else fail 'bound: lines are short'; fi
# blocks A, B, A, B, written or not, in memory for one
printf 'uvmp-trace 1\nrange,200000,4194304,a\n,0,r,200000\n,1,w,400000\n,0,r,200000\n,1,w,401000\n' >"$work/in"
input 0 'bound, json' "$uvmsim" bound --trace - --memory 2M --format json
says \
	'{"workload": "-", "seed": 1, "complete": true, "memory_bytes": 2097152, "footprint_bytes": 4194304, "accesses": 4, "units": [{' \
	'{"unit_bytes": 4096, "places": 512, "touched": 3, "touched_bytes": 12288, "misses": 3, "h2d_bytes": 12288, "left": 0, ' \
	'"touched": 2, "touched_bytes": 4194304, "misses": 4, "h2d_bytes": 8388608, "left": 3, "d2h_bytes": 6291456, ' \
	'"written_back": 1, "written_back_bytes": 2097152}], "oversub_percent": null, "memory_asked": 2097152, "version": "'
input 0 'bound, csv' "$uvmsim" bound --trace - --memory 2M --format csv --seed 7
says 'workload,seed,complete,memory_bytes,footprint_bytes,accesses,unit_bytes,places,' \
	',oversub_percent,memory_asked,version' '"-",7,1,2097152,4194304,4,4096,512,3,12288,3,12288,0,0,0,0,,2097152,' \
	'"-",7,1,2097152,4194304,4,2097152,1,2,'
input 0 'bound, csv, over-subscription' "$uvmsim" bound --trace - --oversub 200 --format csv
says ',0,0,0,0,200,,'
input 0 'compare, its bound' "$uvmsim" compare --trace - --memory 2M --policy prefetch=none --policy prefetch=block --format csv
says ',bound_h2d_bytes,bound_d2h_bytes' ',12288,0'
input 0 'compare, distance to its bound' "$uvmsim" compare --trace - --memory 2M --policy prefetch=none --policy prefetch=block
says '% above' ' 8.0 68166.7       6.0 ' '(Belady optimum)                                      0.0               0.0'
if awk 'length > 110 { exit 1 }' "$work/out"; then ok 'compare: lines are short'; else fail 'compare: lines are short'; fi
expect 0 'compare, below the bound by leaving pages where they are' "$uvmsim" compare --workload bfs:scale=17 --oversub 150 \
	--policy 'prefetch=none counters=on map_on_eviction=1 counter_threshold=65535'
says ' below ' 'Runs can be below the optimum, which moves every page that is used to the GPU: see `uvmsim bound --help`' \
	'     remote '
# Bytes of remote accesses are not known without time: the run has its accesses in a column and no mark on what it moved.
expect 0 'compare, remote accesses without time' "$uvmsim" compare --workload random:bytes=20m,passes=1 --oversub 125 \
	--policy uvmsmart-pinned --policy uvmsmart-none --policy access-lru
says '     remote    MiB in % above ' ' 1809      17.0   below       2.0 ' ' 0      20.0*    0.0       4.0* ' \
	'Runs can be below the optimum'
expect 0 'compare, no remote accesses' "$uvmsim" compare --workload random:bytes=20m,passes=1 --oversub 125 --policy uvmsmart-none \
	--policy access-lru
says ' duplicates    MiB in % above '
if grep -q 'remote\|below' "$work/out"; then
	fail "$name: neither a column nor a line"
else
	ok "$name: neither a column nor a line"
fi
expect 0 'compare, below the optimum with time' "$uvmsim" compare --gpu titan-v --workload random:bytes=20m,passes=1 --oversub 125 \
	--policy auto --policy etc
says '      16.0*  below       0.0 ' '      20.0     0.0       0.0 ' 'Runs can be below the optimum'
expect 0 'compare, less out than the optimum' "$uvmsim" compare --gpu titan-v --workload random:bytes=20m,passes=1 --oversub 125 \
	--policy etc --policy uvmsmart-none
says 'Runs can be below the optimum'
expect 0 'bound, its exceptions' "$uvmsim" bound --help
says 'the GPU uses pages in CPU memory: remote=' 'memory_ratio above 100' 'warps overtake each other'
expect 0 'run, no bound' "$uvmsim" run --workload $small --format json
says '"bound_h2d_bytes": null, "bound_d2h_bytes": null,'
printf 'uvmp-trace 1\nrange,200000,2097152,a\n,0,r,200000\n,0,x,200000\n' >"$work/in"
input 2 'bound, bad trace' "$uvmsim" bound --trace -
says '-:4: ' 'complete ' 'no: the accesses up to the error'
printf 'uvmp-trace 1\n' >"$work/in"
input 2 'bound, nothing' "$uvmsim" bound --trace -
says '-:1: there is no range'
expect 2 'bound, two workloads' "$uvmsim" bound --workload $small --workload $small
expect 2 'bound, two memory sizes' "$uvmsim" bound --workload $small --memory 6M --oversub 100
says 'one memory size'
expect 2 'bound, memory of nothing' "$uvmsim" bound --workload $small --memory 0
expect 2 'bound, oversub 0' "$uvmsim" bound --workload $small --oversub 0
expect 2 'bound, unknown workload' "$uvmsim" bound --workload bogus
expect 2 'bound, unknown format' "$uvmsim" bound --workload $small --format xml
says 'not one of table, json, csv'
expect 2 'bound, policy' "$uvmsim" bound --workload $small --policy prefetch=none
expect 2 'bound, an operand' "$uvmsim" bound $small
expect 130 'bound, SIGINT' interrupted INT 1 "$uvmsim" bound --format json \
	--workload regular:bytes=16777216,passes=1000000
says '"complete": false' '"misses": 4096' 'interrupted'

# -- decision log and explain -------------------------------------------------------------------------------------------------
log=$work/decisions.log
expect 0 'run, log' "$uvmsim" run --workload $small --memory 4M --format json --log "$log"
cp "$work/out" "$work/want"
expect 0 'run without log' "$uvmsim" run --workload $small --memory 4M --format json
same "$work/want"
name='run, log: the first line'
head -n 1 "$log" >"$work/out"
says '1 batch t=0 to=1 batch=1 count='
cp "$log" "$work/want"
expect 0 'run, log, again' "$uvmsim" run --workload $small --memory 4M --format json --log "$log"
cp "$log" "$work/out"
same "$work/want"
expect 2 'run, log that cannot be opened' "$uvmsim" run --workload $small --log "$work/missing/log"
says '--log' 'No such file or directory'
expect 2 'run, log without value' "$uvmsim" run --workload $small --log
expect 2 'compare, log' "$uvmsim" compare --workload $small --log "$work/other.log"
says 'compare: --log belongs to one run'
expect 2 'run, completions without a log' "$uvmsim" run --workload $small --log-completions
says 'run: --log-completions belongs to --log FILE'
expect 2 'compare, completions' "$uvmsim" compare --workload $small --log-completions
says 'compare: --log-completions belongs to --log FILE of `uvmsim run`'
ends=$work/completions.log
for gpu in '' '--gpu titan-v'; do
	# shellcheck disable=SC2086 # two words or none
	expect 0 "run, log $gpu" "$uvmsim" run --workload $small --memory 4M $gpu --format json --log "$log"
	cp "$work/out" "$work/want"
	# shellcheck disable=SC2086
	expect 0 "run, completions $gpu" "$uvmsim" run --workload $small --memory 4M $gpu --format json --log "$ends" --log-completions
	same "$work/want"
	name="run, completions $gpu: the actions stay as they were"
	grep -v '^[0-9]* complete ' "$ends" >"$work/out"
	same "$log"
	name="run, completions $gpu: one behind each action"
	awk '$2 != "complete" {begun[$1] = 1; next}
		NF != 3 || $3 !~ /^t=[0-9]+$/ || !begun[$1] {print "line " NR ": " $0; next}
		{print $1}' "$ends" | sort -n >"$work/out"
	cut -d ' ' -f 1 "$log" >"$work/want"
	same "$work/want"
	name="run, log $gpu: no completions"
	grep -c ' complete ' "$log" >"$work/out"
	echo 0 >"$work/want"
	same "$work/want"
	expect 0 "explain $gpu" "$uvmsim" explain "$log"
	cp "$work/out" "$work/want"
	expect 0 "explain, completions $gpu" "$uvmsim" explain "$ends"
	same "$work/want"
	"$uvmsim" explain "$log" 0x7e0000000000+4M >"$work/want"
	expect 0 "explain, completions of a story $gpu" "$uvmsim" explain "$ends" 0x7e0000000000+4M
	sed 's/; complete after [0-9]*\.[0-9][0-9][0-9] us$//' "$work/out" >"$work/said" && mv "$work/said" "$work/out"
	same "$work/want"
done
expect 0 'explain, durations' "$uvmsim" explain "$ends" 0x7e0000000000
says 'migrated from the CPU with' '; complete after '
expect 0 'run, log, as before' "$uvmsim" run --workload $small --memory 4M --log "$log"
if [ -c /dev/full ]; then
	expect 2 'run, log on a full disk' "$uvmsim" run --workload $small --log /dev/full
	says '--log /dev/full: No space left on device'
	expect 2 'run, short log on a full disk' "$uvmsim" run --workload regular:bytes=2097152,threads=1 --log /dev/full
	says '--log /dev/full: No space left on device'
fi

expect 0 'explain' "$uvmsim" explain "$log"
says 'pages of block' 0x7e0000000000 'all 4' eviction 'actions: '
expect 0 'explain, address' "$uvmsim" explain "$log" 0x7e0000000000
says 'demand: page 0 of block' 'evicted as the oldest of USED to make room for block' 'arrived 3 times: 3 demand; evicted 3 times'
cp "$work/out" "$work/want"
expect 0 'explain, address without 0x' "$uvmsim" explain "$log" 7E0000000fff
sed 's/^0x7e0000000fff:/0x7e0000000000:/' "$work/out" >"$work/said" && mv "$work/said" "$work/out"
same "$work/want"
cp "$log" "$work/in"
input 0 'explain from standard input' "$uvmsim" explain - 0x7e0000000000
same "$work/want"
expect 0 'explain, its space' "$uvmsim" explain "$log" 0x7e0000000000 --space 1
same "$work/want"
expect 0 'explain, another space' "$uvmsim" explain --space=2 "$log" 0x7e0000000000
says 'the log has no action of address space 2; it has 1'
expect 0 'explain, a summary of another space' "$uvmsim" explain --space=2 "$log"
says 'the log has no action of address space 2; it has 1'
expect 0 'explain, bytes' "$uvmsim" explain "$log" 7e0000000000+8K
says 'its pages arrived 6 times'
cp "$work/out" "$work/want"
expect 0 'explain, end' "$uvmsim" explain "$log" 7e0000000000-7e0000002000
same "$work/want"
expect 0 'explain, an address that is nowhere' "$uvmsim" explain "$log" 0
says 'the log has no action of this memory'
for address in zz 0x '' 5-4 5-5 5+ 5+0 7+x 11112222333344445 0x10-zz; do
	expect 2 "explain, address \"$address\"" "$uvmsim" explain "$log" "$address"
	says 'is not accepted'
done
expect 2 'explain, three words' "$uvmsim" explain "$log" 0 1
expect 2 'explain, bad space' "$uvmsim" explain "$log" --space x
expect 2 'explain, missing file' "$uvmsim" explain "$work/missing"
expect 2 'explain, directory' "$uvmsim" explain "$work"
: >"$work/in"
input 2 'explain, an empty log' "$uvmsim" explain -
says '-: is empty: a log has a line for each action'
input 2 'explain, an empty log and an address' "$uvmsim" explain - 0x7e0000000000
says '-: is empty'
sed 's/^3 /3  /' "$log" >"$work/in"
input 2 'explain, a line that is no action' "$uvmsim" explain -
says 'uvmsim: -:3: '
head -c 300 "$log" >"$work/in"
input 2 'explain, a truncated log' "$uvmsim" explain - 0x7e0000000000
says 'line feed is missing'
cat "$log" "$log" >"$work/in"
input 2 'explain, two logs in one file' "$uvmsim" explain -
says "uvmsim: -:$(($(wc -l <"$log") + 1)): action 1 follows action " 'ids of actions increase'
head -c 20000 /dev/urandom | tr '\n' x >"$work/in"
input 2 'explain, noise' "$uvmsim" explain -
name='explain: line of 50 MB'
want=2
long head "$uvmsim" explain -
judge $?
says '-:1: '

# -- import -------------------------------------------------------------------------------------------------------------------
# What is imported is a trace like others, with time and without.
cp docs/examples/accesses.csv "$work/in"
input 0 'import' "$uvmsim" import uvmsmart-access - --kernels docs/examples/kernels.csv --agents 2
says 'uvmp-trace 1' 'range,0xc0000000,4194304' 'kernel,kernel 1' ',1,r,0xc0001000'
cp "$work/out" "$work/want"
expect 0 'import of a file' "$uvmsim" import --agents=2 --kernels=docs/examples/kernels.csv uvmsmart-access \
	docs/examples/accesses.csv
same "$work/want"
expect 0 'trace of an import' "$uvmsim" trace --trace "$work/want"
same "$work/want"
cp "$work/want" "$work/in"
for gpu in '' '--gpu titan-v'; do
	input 0 "run of an import $gpu" "$uvmsim" run --trace - $gpu --policy prefetch=none --format json
	says '"accesses": 12' '"pages_touched": 6' '"far_faults": 6'
done
input 0 'bound of an import' "$uvmsim" bound --trace - --format csv
says ',12,4096,'
# records of second, object, size, next request: objects 7, 9 and 7 again, which needs two pages then
{
	printf '\001\0\0\0\007\0\0\0\0\0\0\0\0\020\0\0\002\0\0\0\0\0\0\0'
	printf '\001\0\0\0\011\0\0\0\0\0\0\0\0\0\0\0\377\377\377\377\377\377\377\377'
	printf '\003\0\0\0\007\0\0\0\0\0\0\0\001\020\0\0\377\377\377\377\377\377\377\377'
} >"$work/a.oracleGeneral.bin"
expect 0 'import of a cache trace' "$uvmsim" import oracleGeneral "$work/a.oracleGeneral.bin"
grep -v '^#' "$work/out" >"$work/want"
expect 0 'a cache trace, read directly' "$uvmsim" trace --trace "$work/a.oracleGeneral.bin"
same "$work/want"
says 'range,0x7e0000000000,12288,objects' '2000000000,0,r,0x7e0000001000'
head -c 50 "$work/a.oracleGeneral.bin" >"$work/cut.oracleGeneral.bin"
expect 2 'a cache trace that was cut off' "$uvmsim" run --trace "$work/cut.oracleGeneral.bin"
says 'cut.oracleGeneral.bin: byte 48: ' 'ends within a record of 24 bytes'
{ tail -c 24 "$work/a.oracleGeneral.bin"; cat "$work/a.oracleGeneral.bin"; } >"$work/back.oracleGeneral.bin"
expect 2 'a cache trace whose time goes back' "$uvmsim" run --trace "$work/back.oracleGeneral.bin"
says 'byte 24: time goes backwards'
expect 2 'import, no format of that name' "$uvmsim" import bogus docs/examples/accesses.csv
says 'there is no format bogus' 'list formats'
expect 2 'import, no file' "$uvmsim" import addresses
says 'FORMAT and FILE are needed'
expect 2 'import, too many' "$uvmsim" import addresses a b
says 'unexpected argument b'
expect 2 'import, an option of another format' "$uvmsim" import addresses --kernels a b
says 'addresses has no use for --kernels'
expect 2 'import, a benchmark of nothing' "$uvmsim" import addresses --benchmark a b
says '--benchmark chooses among --ranges'
expect 2 'import, no ranges to move' "$uvmsim" import addresses --apart a
says '--apart moves the ranges of --ranges'
expect 2 'import, an option twice' "$uvmsim" import addresses --hex --hex a
says '--hex is given twice'
expect 2 'import, two standard inputs' "$uvmsim" import addresses --ranges - -
says 'only FILE may be standard input'
expect 2 'import, no agents' "$uvmsim" import addresses --agents 0 -
says '--agents: "0" is not accepted'
expect 2 'import, no clock' "$uvmsim" import uvmsmart-access --clock-mhz 0 -
says '--clock-mhz: "0" is not accepted'
expect 2 'import, ranges that are not there' "$uvmsim" import addresses --ranges "$work/missing" -
says 'missing: No such file or directory'
printf '0x1000\n4096 \n0x1000,5\n' >"$work/in"
input 2 'import, a bad line' "$uvmsim" import addresses -
says '-:3: '
if [ -s "$work/out" ]; then fail "$name: nothing is written"; else ok "$name: nothing is written"; fi
printf '\037\213\010' >"$work/in"
input 2 'import, gzip' "$uvmsim" import addresses -
says '-:1: is gzip-compressed; give it as `zcat FILE |'
want=2
for format in addresses nvprof uvmsmart-access uvmsmart-batches; do
	name="import $format: line of 50 MB"
	long head "$uvmsim" import $format -
	judge $?
	says '-:1: line longer than 16384 bytes'
done
if [ -c /dev/full ]; then
	name='import: full disk'
	"$uvmsim" import uvmsmart-access docs/examples/accesses.csv >/dev/full 2>"$work/err"
	judge $?
	says 'standard output: No space left on device'
fi

# -- documents ------------------------------------------------------------------------------------------------------------------
# Commands in ```console blocks are run as they stand, each document in a folder of its own that looks like the top one; what they
# print must be what stands below them.
mkdir "$work/bin"
ln -s "$uvmsim" "$work/bin/uvmsim"
for folder in "$(dirname "$uvmsim")" "$(dirname "$uvmsim")/.."; do
	if [ -f "$folder/libuvmpolicy.a" ]; then library=$folder/libuvmpolicy.a; fi
done
for document in explain embedding; do
	house=$work/$document
	mkdir -p "$house/build"
	for folder in docs include tests; do ln -s "$PWD/$folder" "$house/$folder"; done
	ln -s "${library:?is not built}" "$house/build/libuvmpolicy.a"
	awk -v house="$house" '
		/^```/ { inside = $0 == "```console"; next }
		!inside { next }
		/^\$ / { file = sprintf("%s/%03d", house, ++count); print substr($0, 3) >(file ".sh"); printf "" >(file ".want"); next }
		{ print >(file ".want") }' "docs/$document.md"
	for command in "$house"/[0-9]*.sh; do
		name="docs/$document.md: $(cat "$command")"
		(cd "$house" && PATH=$work/bin:$PATH sh "$command") >"$work/out" 2>&1 </dev/null
		if cmp -s "$work/out" "${command%.sh}.want"; then
			ok "$name"
		else
			fail "$name" 'the output (>) differs from the page (<):' "$(diff "${command%.sh}.want" "$work/out" | head -n 6)"
		fi
	done
done
name='docs/embedding.md: its loop is that of examples/engine.c'
awk '/^```/ { inside = 0; begins = $0 == "```c"; next } begins && $0 == "do {" { inside = 1 } { begins = 0 }
	inside { gsub(/^[ \t]+/, ""); print }' docs/embedding.md >"$work/loop"
awk '{ gsub(/^[ \t]+/, ""); print }' docs/examples/engine.c | grep -A "$(wc -l <"$work/loop")" -x 'do {' |
	head -n "$(wc -l <"$work/loop")" >"$work/out"
if [ -s "$work/loop" ]; then same "$work/loop"; else fail "$name"; fi

exit $failed
