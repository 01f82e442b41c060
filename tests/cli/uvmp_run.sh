#!/bin/sh
# uvmp-run from outside: what is wrong is said before anything starts; programs that fork, exec, get signals, leave in the
# middle or run out of store keep their contents, or die as they would have. usage: uvmp_run.sh BUILD
set -u
case $1 in /*) build=$1 ;; *) build=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.." || exit 1
run=$build/uvmp-run
program=$build/uvmp_run_program
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
unset UVMP_POLICY
LC_ALL=C
export LC_ALL
. tests/cli/support/streams.sh

# expect STATUS NAME COMMAND...: the exit status; output stays in $work/out and $work/err
expect() {
	want=$1 name=$2
	shift 2
	timeout -s KILL 300 "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ "$status" = "$want" ]; then
		ok "$name"
	else
		fail "$name" "exit status $status, not $want" "$(tail -n 3 "$work/out")" "$(tail -n 5 "$work/err")"
	fi
}

refuses() { # NAME TEXT COMMAND...: status 2 and one line that says it
	name=$1 text=$2
	shift 2
	expect 2 "$name" "$@"
	if [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$text" "$work/err" && [ ! -s "$work/out" ]; then
		ok "$name: one line says $text"
	else
		fail "$name: one line says $text" "$(cat "$work/out" "$work/err")"
	fi
}

prints() { # LINE...: the last command's standard output is exactly this
	printf '%s\n' "$@" >"$work/want"
	if cmp -s "$work/want" "$work/out"; then ok "$name: output"; else fail "$name: output" "$(head -n 5 "$work/out")"; fi
}

value() { # KEY: of the JSON report
	sed -n "s/^  \"$1\": \"*\([^\",]*\)\"*,*\$/\1/p" "$work/report"
}

# -- what cannot be -------------------------------------------------------------------------------------------------------
expect 0 '--version' "$run" --version
expect 0 '-V' "$run" -V
says 'uvmp-run '
expect 0 '-h' "$run" -h
says 'usage: uvmp-run --budget'
expect 0 '--help' "$run" --help
says --budget --threshold --policy --store --record --log --report --require 'default 64 times the budget'
for option in $("$run" --help | grep -o '^  --[a-z-]*' | tr -d ' '); do
	case $option in --help | --version) continue ;; esac
	grep -qF -- "$option" docs/uvmp-run.md && grep -qF -- "It Fl ${option#-}" docs/uvmp-run.1 && ok "$option is in both manuals" ||
		fail "$option is in both manuals"
done
refuses 'no arguments' '--budget is missing' "$run"
refuses 'no budget' '--budget is missing' "$run" true
refuses 'no program' 'no program' "$run" --budget 8M --
refuses 'budget 0' '--budget: "0" is not accepted; 8M..64T' "$run" --budget 0 true
refuses 'budget below four blocks' '--budget: "8388607" is not accepted; 8M..64T' "$run" --budget 8388607 true
refuses 'budget, no number' '--budget: "8Q" is not accepted' "$run" --budget 8Q true
refuses 'budget twice' '--budget is given twice' "$run" --budget 8M --budget=8M true
refuses 'value missing' 'a value must follow --policy' "$run" --budget 8M --policy
refuses 'option unknown' 'unknown option --bogus' "$run" --budget 8M --bogus true
refuses 'option mistyped' 'unknown option --budgt; did you mean --budget?' "$run" --budgt 8M true
refuses 'option cut short' 'unknown option --budge; did you mean --budget?' "$run" --budge 8M true
refuses 'preset mistyped' 'did you mean nvidia-595?; see `uvmsim list presets`' "$run" --budget 8M --policy nvidia-594 true
refuses 'switch with a value' 'no value is accepted by --quiet=yes' "$run" --budget 8M --quiet=yes true
refuses 'threads' '--threads: "17" is not accepted; 1..16' "$run" --budget 8M --threads 17 true
refuses 'format' '--format xml: not one of table, json, csv' "$run" --budget 8M --format xml true
refuses 'policy unknown' '--policy: character 18: foo: no such key' "$run" --budget 8M --policy 'prefetch=density foo=3' true
refuses 'policy of the environment' 'UVMP_POLICY: character 1: zork' env UVMP_POLICY=zork "$run" --budget 8M true
refuses 'store unknown' '--store: "disk" is not accepted' "$run" --budget 8M --store disk true
refuses 'log not writable' '--log: /nonexistent/log: No such file' "$run" --budget 8M --log /nonexistent/log true
refuses 'record is a directory' '--record: /: Is a directory' "$run" --budget 8M --record / true
refuses 'report not writable' '--report: /nonexistent/r: No such file' "$run" --budget 8M --report /nonexistent/r true
echo data >"$work/mine"
refuses 'store holds something' "--store: $work/mine: holds 5 bytes" "$run" --budget 8M --store "file:$work/mine" true
[ "$(cat "$work/mine")" = data ] && ok 'a file that holds something is not touched' ||
	fail 'a file that holds something is not touched'
refuses 'store in no directory' 'No such file' "$run" --budget 8M --store file:/nonexistent/store true
expect 127 'program not found' "$run" --budget 8M no-such-program
says 'uvmp-run: no-such-program: not found'
expect 126 'program not executable' "$run" --budget 8M "$work/mine"
says 'Permission denied'
expect 126 'program is a directory' "$run" --budget 8M "$work"

# -- programs of which nothing is managed ---------------------------------------------------------------------------------
expect 0 'small program' "$run" --budget 8M true
says 'no memory was managed: no allocation reached the threshold of 1.0 MiB'
expect 0 'quiet' "$run" --budget 8M --quiet true
[ -s "$work/err" ] && fail 'quiet: says nothing' "$(cat "$work/err")" || ok 'quiet: says nothing'
printf 'int main(void) { return 5; }\n' >"$work/static.c"
if ${CC:-cc} -static -o "$work/static" "$work/static.c" 2>/dev/null; then
	expect 5 'static program' "$run" --budget 8M "$work/static"
	says 'no memory was managed' 'is statically linked'
	refuses 'static program, --require' 'is statically linked: no pager can run, which --require asks for' \
		"$run" --budget 8M --require "$work/static"
else
	echo 'skipped: no static C library, a static program'
fi
if [ "$(id -u)" = 0 ]; then
	cp /bin/true "$work/setuid" && chown 65534 "$work/setuid" && chmod 4755 "$work/setuid"
	expect 0 'setuid program' "$run" --budget 8M "$work/setuid"
	says 'is setuid'
	refuses 'setuid program, --require' 'is setuid: it ignores the libraries of its caller: no pager can run' \
		"$run" --budget 8M --require "$work/setuid"
fi

expect 0 'JSON on standard error' "$run" --budget 8M --format json true
[ "$(head -n 1 "$work/err")" = '{' ] && [ "$(tail -n 1 "$work/err")" = '}' ] && ok 'JSON on standard error: nothing else' ||
	fail 'JSON on standard error: nothing else' "$(cat "$work/err")"

# -- is there userfaultfd? ------------------------------------------------------------------------------------------------
expect 0 'memory of four times the budget' "$run" --budget 8M --format json --report "$work/report" "$program" simple 32
if grep -q 'userfaultfd' "$work/err"; then
	echo 'skipped: no userfaultfd for this process, all that follows'
	exit $failed
fi
prints 'program: all words right'
expect 0 'no userfaultfd' "$program" without 1 "$run" --budget 8M "$program" simple 32
says 'userfaultfd: Function not implemented: the program runs without a pager'
refuses 'no userfaultfd, --require' 'userfaultfd: Function not implemented: no pager can run, which --require asks for' \
	"$program" without 1 "$run" --budget 8M --require "$program" simple 32
expect 2 'a process without userfaultfd, --require' "$run" --budget 8M --require "$program" without 1 "$program" simple 32
says 'ran without a pager: userfaultfd: Function not implemented'
grep -q right "$work/out" && fail "$name: does not run" || ok "$name: does not run"
expect 0 'a process without userfaultfd' "$run" --budget 8M "$program" without 1 "$program" simple 32
says 'the process has no pager'
if [ -x "$work/static" ]; then
	printf '#!%s\n' "$work/static" >"$work/inner" && printf '#!%s\n' "$work/inner" >"$work/outer" &&
		chmod 755 "$work/inner" "$work/outer"
	expect 2 '--require, found out at the end' "$run" --budget 8M --require "$work/outer"
	says 'did not load libuvmp-preload.so: no pager has run, which --require asks for'
fi
# With some limit on its address space a process has room for the pager, but not for the map of managed memory (16 MiB).
name='--require, no address space for the map of managed memory' found=none
for mib in $(seq 104 8 600); do
	(ulimit -v $((mib * 1024)) && exec "$run" --budget 8M --managed 64M --require "$program" simple 32) >"$work/out" 2>"$work/err"
	status=$?
	grep -q 'no address space for the map of managed memory' "$work/err" && found=$status && break
done
[ "$found" = 2 ] && ! grep -q right "$work/out" && ok "$name: status 2" ||
	fail "$name: status 2" "status $found; $(cat "$work/err")"
expect 0 '--require' "$run" --budget 8M --require --format json --report "$work/report" "$program" simple 32
[ "$(value budget_bytes)" = 8388608 ] && [ "$(value peak_managed_bytes)" = 33554432 ] && [ "$(value faults)" -gt 0 ] &&
	[ "$(value evictions)" -ge 12 ] && [ "$(value bytes_out)" -ge 25165824 ] && [ "$(value exit_status)" = 0 ] &&
	[ "$(value signal)" = null ] && ok 'JSON: the counts' || fail 'JSON: the counts' "$(cat "$work/report")"
[ -s "$work/err" ] && fail 'report in a file: nothing on stderr' "$(cat "$work/err")" || ok 'report in a file: nothing on stderr'
[ "$(value peak_resident_bytes)" -le 8388608 ] && [ "$(value peak_resident_bytes)" -ge 6291456 ] &&
	[ "$(value peak_store_bytes)" = 33554432 ] && [ "$(value peak_rss_bytes)" -gt 33554432 ] &&
	ok 'JSON: the peaks' || fail 'JSON: the peaks' "$(cat "$work/report")"
# reason: COUNT BYTES of one reason, from the JSON report
reason() { sed -n "s/^    \"$1\": {\"count\": \([0-9]*\), \"bytes\": \([0-9]*\)},*\$/\1 \2/p" "$work/report"; }
reasons() { # KEY=COUNT BYTES...: of the last report
	for want in "$@"; do
		if [ "$(reason "${want%%=*}")" = "${want#*=}" ]; then ok "$name: ${want%%=*}"; else
			fail "$name: ${want%%=*}" "$(reason "${want%%=*}"), not ${want#*=}"
		fi
	done
}
expect 0 'more than --managed' "$run" --budget 8M --managed 16M --format json --report "$work/report" "$program" simple 32
reasons 'beyond_managed=1 33554432'
expect 0 'more than --managed, as a table' "$run" --budget 8M --managed 16M "$program" simple 32
says 'no memory was managed, although allocations reached the threshold of 1.0 MiB' '32.0 MiB         1  beyond --managed'
expect 0 'every kind of mapping' "$run" --budget 8M --format json --report "$work/report" "$program" kinds 16 "$work/mapped"
reasons 'reserved=1 2097152' 'fixed=1 2097152' 'protected=1 2097152' 'shared=1 2097152' 'special=1 2097152' 'file=1 2097152' \
	'huge_pages=1 2097152' 'aligned=1 4194304' 'beyond_managed=0 0' 'no_pager=0 0'
[ "$(reason below_threshold | cut -d ' ' -f 2)" -ge 100000 ] && ok "$name: below the threshold" || fail "$name: below the threshold"
[ "$(value peak_managed_bytes)" = 16777216 ] && ok "$name: what is managed" || fail "$name: what is managed" "$(cat "$work/report")"
expect 0 'managed memory that is not touched' "$run" --budget 8M "$program" untouched 4
says 'the program did not touch its managed memory, 4.0 MiB at most'
expect 0 'CSV' "$run" --budget 8M --format csv "$program" simple 32
[ "$(wc -l <"$work/err")" = 2 ] && head -n 1 "$work/err" | grep -q '^pid,name,.*peak_managed_bytes' && ok 'CSV: a row' ||
	fail 'CSV: a row' "$(cat "$work/err")"
expect 0 'verbose' "$run" --budget 8M --verbose "$program" simple 32
says 'policy     prefetch=auto' 'System calls' 'evictions' 'stalled' 'budget 8.0 MiB'
grep -q 'times what it managed' "$work/err" && fail 'verbose: no word of moving in circles' "$(cat "$work/err")" ||
	ok 'verbose: no word of moving in circles'
expect 0 'a program that goes round' "$run" --budget 8M --policy 'prefetch=density evict=lru' "$program" circle 16 30
prints 'program: all words right'
times=$(sed -n 's/^  moved \([0-9]*\) times what it managed: another --policy or --budget may suit it better$/\1/p' "$work/err")
[ "${times:-0}" -gt 20 ] && [ "$times" -le 33 ] && ok "$name: moved $times times" ||
	fail "$name: moved 21 to 33 times" "$(cat "$work/err")"
# The budget in force: evict=lru has memory in blocks of 2 MiB.
expect 0 'a budget of 9 MiB' "$run" --budget 9M --format json --report "$work/report" "$program" simple 16
[ "$(value budget_bytes)" = 9437184 ] && [ "$(value peak_resident_bytes)" = 9437184 ] && ok "$name: pages" ||
	fail "$name: pages" "$(cat "$work/report")"
expect 0 'a budget of 9 MiB, evict=lru' "$run" --budget 9M --policy evict=lru --format json --report "$work/report" \
	"$program" simple 16
[ "$(value budget_bytes)" = 8388608 ] && [ "$(value peak_resident_bytes)" = 8388608 ] && ok "$name: blocks" ||
	fail "$name: blocks" "$(cat "$work/report")"
# Standard error is a pipe that its reader has left: nothing but the report is lost. The program has SIGPIPE's default action.
mkdir "$work/piped"
cat >"$work/piped/inner" <<'EOF'
#!/bin/sh
"$1" simple 16 >&5 || exit
grep -q '^SigIgn:.*[13579bdf][0-9a-f]\{3\}$' /proc/self/status && exit 8
exit 3
EOF
expect 3 'the reader of standard error has left' sh tests/cli/support/abandoned.sh "$work" \
	sh -c 'exec "$@" 5>"$0/own" 2>&1' "$work/piped" \
	"$run" --budget 8M --record "$work/piped/trace" --log "$work/piped/log" sh "$work/piped/inner" "$program"
(cd "$work/piped" && ls) >"$work/out"
prints inner log own trace
# thrashes BUDGET MIB OPTION...: in the background, a program that reads its memory until it is told to end; its $pid
thrashes() {
	budget=$1 mib=$2
	shift 2
	rm -f "$work/end"
	timeout -s KILL 300 "$run" --budget "$budget" --format json --report "$work/report" "$@" "$program" until "$mib" "$work/end" \
		>"$work/out" 2>"$work/err" </dev/null &
	pid=$!
}
waits_for() { # TEXT: on standard error, at most five minutes
	tried=0
	until grep -q "$1" "$work/err" || [ $tried = 3000 ] || ! kill -0 $pid; do
		sleep 0.1
		tried=$((tried + 1))
	done
}
name='a program that thrashes says so while it runs'
thrashes 8M 16 --policy 'prefetch=density evict=lru'
waits_for thrashes
line='^uvmp-run: uvmp_run_[a-z]* (process [0-9]*) thrashes: in [0-9.]* s, threads waited for pages in \([0-9]*\) % of the time,'
line="$line and [0-9.]* [MG]iB came again after eviction; --budget 16M would hold all that is managed\$"
percent=$(sed -n "s/$line/\1/p" "$work/err" | head -n 1)
touch "$work/end"
wait $pid || fail "$name: exit status"
[ "${percent:-0}" -ge 25 ] && [ "$percent" -le 100 ] && ok "$name" || fail "$name" "$(cat "$work/err")"
[ "$(value thrash_ns)" -ge 1000000000 ] && [ "$(value thrash_waited_ns)" -ge $(($(value thrash_ns) / 4)) ] &&
	[ "$(value thrash_waited_ns)" -le "$(value waited_ns)" ] && [ "$(value waited_ns)" -le "$(value time_ns)" ] &&
	[ "$(value thrash_bytes)" -ge 8388608 ] && [ "$(value thrash_bytes)" -le "$(value bytes_in)" ] &&
	ok "$name: the report has it" || fail "$name: the report has it" "$(cat "$work/report")"
name='a program that thrashes, --quiet'
thrashes 8M 16 --policy 'prefetch=density evict=lru' --quiet
sleep 4
touch "$work/end"
wait $pid && [ ! -s "$work/err" ] && [ "$(value thrash_ns)" -gt 0 ] && ok "$name" ||
	fail "$name" "$(cat "$work/err" "$work/report")"
name='a program that fits does not thrash'
thrashes 16M 16
sleep 4
touch "$work/end"
wait $pid && [ ! -s "$work/err" ] && [ "$(value thrash_ns)" = 0 ] && ok "$name" || fail "$name" "$(cat "$work/err" "$work/report")"
for store in mem zstd "file:$work" "file:$work/store"; do
	expect 0 "store $store" "$run" --budget 8M --store "$store" "$program" simple 32
	prints 'program: all words right'
done
[ -e "$work/store" ] && fail 'the store leaves no file' || ok 'the store leaves no file'
(cd "$work" && timeout 60 "$run" --budget 8M --quiet --store file:relative --log log -- sh -c "cd / && exec $program simple 32") \
	>"$work/out"
prints 'program: all words right'
[ -s "$work/log" ] && ok 'paths are those of the directory of the start' || fail 'paths are those of the directory of the start'
refuses 'completions without a log' '--log-completions belongs to --log FILE' "$run" --budget 8M --log-completions true
expect 0 'completions' "$run" --budget 8M --quiet --log "$work/log" --log-completions "$program" simple 32
name='completions: one behind each action, no earlier than it'
awk '{ t = $3; sub("t=", "", t) }
	$2 == "complete" { bad += $1 != id || t + 0 < begin; longer += t + 0 > begin; ends++; next }
	{ bad += actions++ != ends; id = $1; begin = t + 0 }
	END { print actions, ends, bad + 0, longer + 0; exit bad || !longer || actions != ends }' "$work/log" >"$work/out" &&
	ok "$name" || fail "$name" "$(cat "$work/out")"
expect 3 'exit status' "$run" --budget 8M sh -c "$program simple 32; exit 3"
expect 0 'standard input' sh -c "echo text | $run --budget 8M --quiet cat"
prints text
expect 0 'two, one in the other' "$run" --budget 16M "$run" --budget 8M "$program" simple 32
says 'budget 8.0 MiB' 'no memory was managed'
"${CC:-cc}" -shared -fPIC -Iinclude docs/examples/plugin_prefetch.c -o "$work/ahead.so" || fail 'a plugin is compiled'
"$run" --budget 8M --quiet env | sed -n 's/^\(UVMP_RUN_[A-Z_]*=\).*/\1/p' | sort >"$work/alone"
"$run" --budget 16M --threshold 8M --policy prefetch=none --store zstd --managed 64M --threads 2 --log "$work/log" \
	--log-completions --record "$work/trace.csv" --plugin "$work/ahead.so" --sample 8 --user-mode --quiet \
	"$run" --budget 8M --quiet env >"$work/inner"
sed -n 's/^\(UVMP_RUN_[A-Z_]*=\).*/\1/p' "$work/inner" | sort | cmp -s - "$work/alone" && [ -s "$work/alone" ] &&
	grep -q '^UVMP_RUN_THRESHOLD=1048576$' "$work/inner" && ok 'two, one in the other: no option of the outer one is left' ||
	fail 'two, one in the other: no option of the outer one is left' "$(grep UVMP_RUN "$work/inner")"

memory=$(awk '/^MemTotal/ { print int($2 / 524288) + 1 }' /proc/meminfo) # twice, in GiB
expect 0 'budget above memory' "$run" --budget "${memory}G" --managed 64M "$program" simple 32
prints 'program: all words right'
says "note: the budget of ${memory}G is more than the memory of this machine"
expect 0 'a budget of which 64 times is more than can be managed' "$run" --budget 512G true
expect 0 'a budget of 1 TiB starts' "$run" --budget 1T "$program" simple 32
refuses 'a budget for which an order has no numbers' 'at most with evict=lru4k' "$run" --budget 16T --policy evict=lru4k true
for policy in preset=auto 'evict=lru2m granularity=64k' 'prefetch=none evict=lru4k' 'evict=random4k' 'prefetch=tbn evict=tbne'; do
	expect 0 "bookkeeping of 64 GiB, $policy" "$run" --budget 64G --policy "$policy" --format json --report "$work/report" \
		"$program" simple 1
	[ "$(value peak_rss_bytes)" -le 25165824 ] && ok "$name: as much as is used" ||
		fail "$name: as much as is used" "$(value peak_rss_bytes)"
done
refuses 'too much managed' '(managed_bytes, --managed)' "$run" --budget 8M --managed 64T true

# -- signals --------------------------------------------------------------------------------------------------------------
for number in 15 2 1 10 3 29 27 24; do
	# not in the background of a shell: SIGINT and SIGQUIT would be ignored
	name="signal $number while faults are serviced"
	perl -e '
		$SIG{INT} = $SIG{QUIT} = "DEFAULT"; my ($run, $program, $number) = @ARGV;
		my $pid = open(my $out, "-|", $run, "--budget", "8M", "--quiet", $program, "signal", "32") or die;
		print scalar <$out>; select(undef, undef, undef, 0.2); kill $number, $pid; print <$out>; close $out; exit($? >> 8)' \
		"$run" "$program" $number >"$work/out" 2>"$work/err"
	status=$?
	prints ready "signal $number" 'written: all words right' 'not yet: all words right'
	[ $status = 0 ] && ok "$name: exit status" || fail "$name: exit status" "$status" "$(cat "$work/err")"
done
# 134 from a shell that sees uvmp-run itself die of SIGABRT
expect 134 'death by a signal is passed on' sh -c "ulimit -c 0; $run --budget 8M $program abort 32; exit \$?"
says 'was ended by signal 6'
name='SIGKILL to uvmp-run: the program goes on'
"$run" --budget 8M --quiet "$program" signal 32 >"$work/out" 2>"$work/err" &
pid=$!
i=0
while ! grep -q ready "$work/out" && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
child=$(ps -o pid= --ppid $pid | tr -d ' ')
kill -KILL $pid
wait $pid 2>/dev/null
sleep 0.1
kill -TERM "$child"
i=0
while ! grep -q 'not yet' "$work/out" && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
prints ready 'signal 15' 'written: all words right' 'not yet: all words right'

# -- processes ------------------------------------------------------------------------------------------------------------
for store in mem zstd "file:$work/store"; do
	expect 0 "fork, store $store" "$run" --budget 8M --store "$store" "$program" fork 32
	sort "$work/out" >"$work/sorted" && mv "$work/sorted" "$work/out"
	prints 'child, its own: all words right' 'child, the rest: all words right' 'child: all words right' \
		'parent, first half: all words right' 'parent, second half: all words right'
	says '2 processes with managed memory' ' at most in one process (' 'of managed memory at most in one process; '
done
expect 0 'fork, log and trace' "$run" --budget 8M --log "$work/fork.log" --record "$work/fork.csv" "$program" fork 32
says '2 processes with managed memory' ', the first: --log and --record have no other'
expect 0 'one process, log' "$run" --budget 8M --log "$work/fork.log" "$program" simple 16
grep -q 'have no other' "$work/err" && fail 'one process, log: nothing is left out' "$(cat "$work/err")" ||
	ok 'one process, log: nothing is left out'
expect 0 'fork and exec, exec' "$run" --budget 8M --store "file:$work/store" --report "$work/report" --format json \
	"$program" exec 32 "$program" simple 16
prints 'program: all words right' 'parent: all words right' 'program: all words right'
grep -q '"error": "' "$work/report" && fail 'fork and exec: every process has a store' "$(cat "$work/report")" ||
	ok 'fork and exec: every process has a store'
expect 0 'a pipeline of processes' "$run" --budget 8M sh -c "$program simple 16 | cat & $program simple 16 | cat; wait; true"
prints 'program: all words right' 'program: all words right'
expect 0 'children by the hundred' "$run" --budget 8M --quiet --report "$work/report" --format json "$program" many 16 300
prints '300 children, 0 wrong'
[ "$(value unlisted)" = 45 ] && ok 'more processes than are told apart: counted' ||
	fail 'more processes than are told apart: counted' "$(value unlisted)"
expect 0 '64 threads' "$run" --budget 8M "$program" threads 32
prints 'all words right'
expect 7 'exit while 64 threads fault' "$run" --budget 8M "$program" leave 32
prints leaving

# -- limits ---------------------------------------------------------------------------------------------------------------
"$program" simple 32 >"$work/plain"
for n in 4 5 6 7 8 9 10 12; do
	expect 0 "$n descriptors" sh -c "ulimit -n $n; exec $run --budget 8M $program simple 32"
	prints 'program: all words right'
	grep -q 'without a pager: \|: the program runs without a pager\|1 process with managed memory' "$work/err" &&
		ok "$name: says whether there is a pager" || fail "$name: says whether there is a pager" "$(cat "$work/err")"
done
expect 0 'a program that closes what it does not know' "$run" --budget 8M --log "$work/log" --record "$work/trace.csv" \
	"$program" daemon 32 "$work/mine"
prints 'file 3 has 4 bytes' 'program: all words right'
[ "$(cat "$work/mine")" = mine ] && tail -n 1 "$work/log" | grep -q '^[0-9]* [a-z]' && ! grep -q 'not complete' "$work/err" &&
	ok "$name: its file is its own, the log is whole" || fail "$name: its file is its own, the log is whole" "$(cat "$work/err")"
expect 1 'log on a full disk' "$run" --budget 8M --log /dev/full "$program" simple 32
prints 'program: all words right'
says 'the log is not complete: No space left'
expect 3 'log on a full disk: the status of the program goes first' "$run" --budget 8M --log /dev/full \
	sh -c "$program simple 32; exit 3"
expect 1 'trace on a full disk' "$run" --budget 8M --record /dev/full "$program" simple 32
says 'the trace ends early: No space left'
expect 1 'report on a full disk' "$run" --budget 8M --report /dev/full "$program" simple 32
says '--report: /dev/full: No space left'
# 256 KiB: more than uvmp-run itself needs
for kind in log record; do
	expect 1 "a limit on the size of files, --$kind" sh -c \
		"ulimit -f 512; exec $run --budget 8M --policy prefetch=none --$kind $work/limited $program simple 32"
	prints 'program: all words right'
	says ': File too large'
	[ "$(wc -c <"$work/limited")" -le 262144 ] && [ -s "$work/limited" ] && ok "$name: as much as fits" ||
		fail "$name: as much as fits"
done
(seq 1 200000 | sed 's/$/ of so many lines/') >"$work/long"
long="\"\$(head -c 100000 $work/long)\""
expect 1 'a limit on the size of files, --report' sh -c \
	"ulimit -f 512; exec $run --budget 8M --format json --report $work/limited true $long $long $long $long $long $long"
says '--report: ' ': File too large'
if [ "$(id -u)" = 0 ] && mkdir -p "$work/disk" && mount -t tmpfs -o size=12m tmpfs "$work/disk" 2>/dev/null; then
	echo others >"$work/disk/others"
	for store in "file:$work/disk" "file:$work/disk/store"; do
		expect 135 "store full, $store" sh -c "ulimit -c 0; $run --budget 8M --store $store $program simple 32; exit \$?"
		says 'the store failed' 'No space left on device' 'was ended by signal 7'
	done
	[ "$(cat "$work/disk/others")" = others ] && ok 'store full: the file of another is as it was' ||
		fail 'store full: the file of another is as it was'
	[ "$(ls "$work/disk")" = others ] && ok 'store full: no file is left' || fail 'store full: no file is left' "$(ls "$work/disk")"
	umount "$work/disk"
else
	echo 'skipped: no tmpfs can be mounted, a full store'
fi

# -- installed ------------------------------------------------------------------------------------------------------------
mkdir -p "$work/usr/bin" "$work/usr/lib"
install -m755 "$run" "$work/usr/bin" && install -m755 "$build/libuvmp-preload.so" "$work/usr/lib"
expect 0 'installed: the library is found in ../lib' "$work/usr/bin/uvmp-run" --budget 8M "$program" simple 32
says '1 process with managed memory'
rm "$work/usr/lib/libuvmp-preload.so"
refuses 'no library' 'libuvmp-preload.so: not found' "$work/usr/bin/uvmp-run" --budget 8M true
exit $failed
