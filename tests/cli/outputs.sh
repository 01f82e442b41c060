#!/bin/sh
# The files that programs write: no input and no other output is overwritten, by any name or link; a run that fails leaves a
# file as it was; an interrupted run keeps its results. Then ranges that are too large, and the standard output of
# uvmp-run and uvmp-calibrate.
# usage: outputs.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=$(cd "$1" && pwd)
uvmsim=$build/san/uvmsim run=$build/uvmp-run calibrate=$build/uvmp-calibrate program=$build/uvmp_run_program
[ -x "$uvmsim" ] || uvmsim=$build/uvmsim
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
. tests/cli/support/verdict.sh
mkdir "$work/in" && cd "$work/in" || exit 1
small=regular:bytes=8m,threads=256

# Nothing but the files of the folder as they were when it was saved; its listing has names, sizes, modes and links.
list() { find . -mindepth 1 -printf '%P %y %m %n %l\n' | sort; }
save() {
	rm -rf "$work/saved"
	cp -a . "$work/saved"
	list >"$work/listed"
}
untouched() {
	list | cmp -s - "$work/listed" && diff -r --no-dereference . "$work/saved" >/dev/null
	verdict $? "$name: every file is as it was"
	rm -rf ./* && cp -a "$work/saved/." .
}
refused() { # NAME TEXT COMMAND...: exit status 2, one line and nothing else, no file changes
	what=$1 text=$2
	shift 2
	save
	expect 2 "$what" "$@"
	says "$text"
	[ "$(wc -l <"$work/out")" = 1 ]
	verdict $? "$name: one line"
	untouched
}

# -- an output that is an input --
"$uvmsim" run --workload $small --log good.log --report good.html --gpu titan-v --timeline good.json >/dev/null || exit 1
"$uvmsim" trace --workload $small --output s || exit 1
ln s hard && ln -s s soft && mkdir folder && ln -s .. folder/up
printf '0 1\n1 2\n' >edges
printf 'gpu_bytes = 1\n' >own.gpu
cp "$root/adapters/simulator/models/titan-v.gpu" own.gpu
printf 'workload = %s\npolicy = nvidia-595\n' "$small" >sweep.txt
for to in s hard soft "$PWD/s" folder/up/s; do
	refused "run: --log $to is the trace" 'is an input (--trace s); name another file' "$uvmsim" run --trace s --log "$to"
done
refused 'run: --report is the trace' '--report s: is an input' "$uvmsim" run --trace s --report s
refused 'run: --timeline is the trace' '--timeline s: is an input' "$uvmsim" run --trace s --gpu titan-v --timeline s
refused 'run: a trace by its link' '--log s: is an input (--trace soft)' "$uvmsim" run --trace soft --log s
refused 'run: the file of a graph' '--log edges: is an input' "$uvmsim" run --workload bfs_ttc:file=edges --log edges
refused 'run: the GPU' '--log own.gpu: is an input' "$uvmsim" run --workload $small --gpu ./own.gpu --log own.gpu
refused 'compare: --report is a trace' '--report s: is an input' \
	"$uvmsim" compare --workload $small --trace s --policy evict=lru --policy nvidia-595 --report s
refused 'bound: --report is the trace' '--report s: is an input' "$uvmsim" bound --trace s --report s
refused 'trace: --output is the trace' '--output hard: is an input' "$uvmsim" trace --trace s --output hard
refused 'explain: --report is the log' '--report good.log: is an input' "$uvmsim" explain good.log --report good.log
refused 'sweep: --out is the file' '--out sweep.txt: is an input' "$uvmsim" sweep sweep.txt --out sweep.txt
for sub in 'trace --trace s' 'import lackey s' 'explain s' 'decide s' 'whatif s' 'run --trace s'; do
	# shellcheck disable=SC2086 # words
	refused "$sub: appends to its input" 's: is an input, and also the file of standard output' \
		sh -c '"$0" "$@" >>s' "$uvmsim" $sub
done
refused 'run: standard input is the log' '--log s: is an input (--trace -)' sh -c '"$0" run --trace - --log s <s' "$uvmsim"

# -- two outputs --
for to in new ./new "$PWD/new" folder/up/new; do
	refused "run: --log new, --report $to" 'is also the file of --' "$uvmsim" run --workload $small --log new --report "$to"
done
ln -s nowhere dangling
refused 'run: a link that leads nowhere yet' 'is also the file of --' "$uvmsim" run --workload $small --log dangling \
	--report nowhere
refused 'run: hard links' 'is also the file of --' "$uvmsim" run --workload $small --log s --report hard
refused 'run: --log and --timeline' 'is also the file of --' "$uvmsim" run --workload $small --gpu titan-v --log s --timeline s
refused 'run: standard output is the log' 'is also the file of standard output' \
	sh -c '"$0" run --workload '$small' --log s >>s' "$uvmsim"
rm dangling
expect 0 'two outputs of /dev/null' "$uvmsim" run --workload $small --log /dev/null --report /dev/null

# -- what fails leaves the files --
refused 'run: a workload with a slip' 'did you mean regular?' "$uvmsim" run --workload regularr --log good.log
refused 'run: a trace that is missing' 'No such file' "$uvmsim" run --trace none --log good.log --report good.html
printf 'uvmp-trace 1\n' >empty.trace
printf 'uvmp-trace 1\n,0,r,0x200000\n' >bad.trace
refused 'run: a trace that is bad' 'bad.trace:2: ' "$uvmsim" run --trace bad.trace --log good.log --report good.html
refused 'trace: a trace that is bad' 'bad.trace:2: ' "$uvmsim" trace --trace bad.trace --output good.log
refused 'explain: a log that is bad' 's:1: ' "$uvmsim" explain s --report good.html
refused 'run: a policy that is bad' 'zork' "$uvmsim" run --workload $small --policy zork --log good.log
for bad in 'nope' 'regular:bytes=zero' ; do
	refused "compare: $bad after another workload" 'workload' \
		"$uvmsim" compare --workload $small --workload $bad --report good.html
done
refused 'compare: a missing trace after a workload' 'No such file' "$uvmsim" compare --workload $small --trace none
chmod a-w good.log
[ "$(id -u)" = 0 ] ||
	refused 'run: a file that may not be written' 'Permission denied' "$uvmsim" run --workload $small --log good.log
chmod u+w good.log

# A run that fails in the middle: what it wrote is beside the file; without a file it is the file.
{
	printf 'uvmp-trace 1\nrange,0x200000,8388608,a\n'
	awk 'BEGIN {for (i = 0; i < 2048; i++) printf ",0,r,0x%x\n", 2097152 + i * 4096; print "zork"}'
} >late.trace
cp good.log before
expect 2 'run: a trace that is bad in the end' "$uvmsim" run --trace late.trace --log good.log
says 'late.trace:2051: ' 'stays as it was; what was written is in new.'
cmp -s good.log before && [ "$(cat new.*.good.log | wc -l)" -gt 5 ]
verdict $? "$name: the file is as it was, the rest beside it"
rm new.*
expect 2 "$name, without a file" "$uvmsim" run --trace late.trace --log fresh.log
[ -s fresh.log ] && [ -z "$(find . -name 'new.*')" ]
verdict $? "$name: the file has what was written"

# -- what is kept of a file --
cp good.log want
: >kept && chmod 640 kept && ln kept second && ln -s kept link
expect 0 'run: --log is a link' "$uvmsim" run --workload $small --gpu titan-v --log link
[ -L link ] && cmp -s kept want && cmp -s second want && [ "$(stat -c %a kept)" = 640 ] && [ -z "$(find . -name 'new.*')" ]
verdict $? "$name: link, second name and mode stay"
rm second && : >kept
expect 0 'run: --log is a link, once more' "$uvmsim" run --workload $small --gpu titan-v --log link
[ -L link ] && cmp -s kept want && [ "$(stat -c %a kept)" = 640 ]
verdict $? "$name: link and mode stay"
mkfifo fifo
cat fifo >through &
expect 0 'run: --log is a pipe' "$uvmsim" run --workload $small --gpu titan-v --log fifo
wait $!
cmp -s through want
verdict $? "$name: all of it"
rm fifo
"$uvmsim" run --workload $small --gpu titan-v --log /dev/stdout --format json >both 2>"$work/out"
[ $? = 0 ] && [ "$(grep -c '^[0-9]* ' both)" = "$(wc -l <want)" ] && grep -q '"far_faults"' both
verdict $? 'run: --log is standard output, which is a file'
long=$(printf '%0250d' 0)
expect 0 'run: a name of 250 bytes' "$uvmsim" run --workload $small --gpu titan-v --log "$long"
cmp -s "$long" want
verdict $? "$name: has its content"
mkdir closed && cp want closed/log && : >closed/log && chmod a-w closed
expect 0 'run: a folder that takes no files' "$uvmsim" run --workload $small --gpu titan-v --log closed/log
cmp -s closed/log want
verdict $? "$name: the file has its content"
rm -rf closed

# -- interrupted --
echo old >int.log && echo old >int.html
(
	ulimit -f 1000000 # half a GiB, if the signal has no effect
	exec "$uvmsim" run --workload regular:bytes=16m,passes=1000000 --memory 8M --log int.log --report int.html --format json
) >int.json 2>"$work/out" &
pid=$!
for _ in $(seq 100); do
	[ -n "$(find . -name 'new.*int.log' -size +64k)" ] && break
	sleep 0.1
done
kill -TERM $pid 2>/dev/null
wait $pid
[ $? = 143 ] && grep -q '"complete": false' int.json && [ "$(wc -l <int.log)" -gt 100 ] && grep -q '<html' int.html &&
	[ -z "$(find . -name 'new.*')" ]
verdict $? 'run, interrupted: log and report have what was known'

# -- what is too large --
printf 'uvmp-trace 1\nrange,0x200000,17592186044416,a\n,0,r,0x200000\n' >huge.trace
expect 2 'a range of 16 TiB' sh -c 'ulimit -v 12000000; exec "$0" "$@"' "$build/uvmsim" run --trace huge.trace
says 'huge.trace:2: range a at 0x200000: 17592186044416 bytes need at least ' 'use a smaller range'
[ "$(wc -l <"$work/out")" = 1 ]
verdict $? "$name: one line"
printf 'uvmp-trace 1\nrange,0x1000,4096000000000000000\n' >huge.trace
expect 2 'a range of 4,096 PB without a name' "$uvmsim" run --trace huge.trace
says 'huge.trace:2: range at 0x1000: 4096000000000000000 bytes are not accepted; at least 1 byte' 'together at most 32 TiB'

# -- errors of a full disk --
if [ -c /dev/full ]; then
	expect 2 'a log on a full disk' "$uvmsim" run --workload regular:bytes=64m --oversub 200 --log /dev/full
	says '--log /dev/full: No space left on device'
	[ "$(grep -c '^uvmsim: ' "$work/out")" = 1 ]
	verdict $? "$name: one line"
	for what in "$run --version" "$run --help" "$calibrate --help" "$calibrate --version"; do
		# shellcheck disable=SC2086 # words
		expect 2 "${what##*/} >/dev/full" sh -c '"$0" "$@" >/dev/full' $what
		says 'standard output: No space left on device'
	done
fi
for what in "$run --version" "$run --help" "$calibrate --help" "$calibrate --version"; do
	# shellcheck disable=SC2086 # words
	expect 2 "${what##*/} with a closed standard output" sh -c '"$0" "$@" >&-' $what
	says 'standard output'
done

# -- uvmp-calibrate --
expect 0 'uvmp-calibrate --version' "$calibrate" --version
grep -q '^uvmp-calibrate [0-9]' "$work/out"
verdict $? "$name: prints it"
refused 'uvmp-calibrate: a value is missing' 'a value must follow --link' "$calibrate" s --link
refused 'uvmp-calibrate: a folder' 'folder: Is a directory' "$calibrate" folder --link a.link
cp s a.link
refused 'uvmp-calibrate: --link is the input' '--link a.link: is an input (a.link)' "$calibrate" a.link --link a.link
refused 'uvmp-calibrate: measurements that are bad' 's:1: ' "$calibrate" s --link a.link

# -- uvmp-run --
cp /bin/true true
for option in --log --record --report; do
	refused "uvmp-run: $option is the program" "$option: true: is an input" "$run" --budget 8M $option true ./true
	save
	expect 127 "uvmp-run: $option and a program that is missing" "$run" --budget 8M $option good.log none
	untouched
	refused "uvmp-run: $option and a bad --metrics" 'Is a directory' "$run" --budget 8M --metrics folder $option good.log ./true
	refused "uvmp-run: $option is --metrics" 'is also the file of --' "$run" --budget 8M --metrics s $option hard ./true
	refused "uvmp-run: $option is --store" 'is also the file of --' "$run" --budget 8M --store file:new $option ./new ./true
done
refused 'uvmp-run: --metrics is the program' '--metrics: true: is an input' "$run" --budget 8M --metrics true ./true
refused 'uvmp-run: --log and --record' 'is also the file of --' "$run" --budget 8M --log new --record ./new ./true
refused 'uvmp-run: --log and --report' 'is also the file of --' "$run" --budget 8M --log s --report soft ./true
printf '#!/nowhere/shell\n' >broken && chmod a+x broken
save
expect 127 'uvmp-run: a program that cannot be run' "$run" --budget 8M --log good.log --record s --report good.html ./broken
untouched
save
expect 0 'uvmp-run: a program without managed memory' "$run" --budget 8M --quiet --log good.log --record s ./true
untouched
rm -f none.log
expect 0 "$name, and no file" "$run" --budget 8M --quiet --log none.log ./true
[ -e none.log ] && [ ! -s none.log ]
verdict $? "$name: is there, and empty"
if "$run" --budget 8M --require "$program" simple 16 >/dev/null 2>&1; then
	ln -sf good.log soft.log
	expect 3 'uvmp-run: log and trace of a program that fails' \
		"$run" --budget 8M --quiet --log soft.log --record s sh -c "$program simple 32; exit 3"
	[ -L soft.log ] && ! cmp -s good.log want && "$uvmsim" explain good.log >/dev/null && "$uvmsim" run --trace s >/dev/null &&
		[ -z "$(find . -name 'new.*')" ]
	verdict $? "$name: both are those of this run"
else
	echo 'skipped: no pager can run here, log and trace of a program'
fi
exit $failed
