#!/bin/sh
# uvmp-run --live and --metrics: the status line, the panel and OpenMetrics text tell what the report tells in the end; what
# cannot be written or shown is one error; the terminal is left as it was. usage: live.sh BUILD
set -u
case $1 in /*) build=$1 ;; *) build=$PWD/$1 ;; esac
run=$build/uvmp-run
program=$build/uvmp_run_program
work=$(mktemp -d "$build/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/support/streams.sh"
cd "$work" || exit 1 # a socket's path must be short
unset UVMP_POLICY NO_COLOR
LC_ALL=C
TERM=xterm
export LC_ALL TERM

refuses() { # NAME TEXT OPTION...: status 2, nothing printed but one line with the text
	name=$1 text=$2
	shift 2
	"$run" --budget 8M "$@" echo started >"$work/out" 2>"$work/err"
	status=$?
	[ $status = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qF -- "$text" "$work/err" &&
		ok "$name" || fail "$name" "status $status" "$(cat "$work/out" "$work/err")"
}
# valid FILE: OpenMetrics text, by the rules that matter here: a metric's TYPE, UNIT and HELP before its samples, which stay
# together; each series once; a counter's samples end in _total; a unit ends the name; numbers; "# EOF" last
valid() {
	awk '
		function bad(why) { print FILENAME ":" FNR ": " why ": " $0; wrong = 1 }
		ended { bad("text after # EOF") }
		/^# EOF$/ { ended = 1; next }
		/^# TYPE [a-z_]+ (counter|gauge|info)$/ { if ($3 in type) bad("metric twice"); type[name = $3] = $4; next }
		/^# UNIT / { if ($3 != name || name !~ ("_" $4 "$")) bad("unit"); next }
		/^# HELP / { if ($3 != name || NF < 4) bad("help"); next }
		/^#/ { bad("comment") }
		{
			want = name (type[name] == "counter" ? "_total" : type[name] == "info" ? "_info" : "")
			series = $0
			sub(/ [^ ]*$/, "", series)
			if (series in seen) bad("series twice")
			seen[series] = 1
			if (series != want && index(series, want "{") != 1) bad("sample of another metric")
			if (series ~ /[{]/ && series !~ /[{]([a-z_]+="([^"\\]|\\.)*",?)+[}]$/) bad("labels")
			if ($NF !~ /^[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?$/) bad("number")
		}
		END { if (!ended) bad("no # EOF"); exit wrong || !ended }' "$1"
}
python=
for p in python3 /usr/bin/python3; do
	$p -c 'import prometheus_client' 2>/dev/null && python=$p && break
done
parses() { # FILE: accepted by the parser of the Prometheus client
	[ -z "$python" ] || $python -c 'import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as parse
assert sum(len(family.samples) for family in parse(open(sys.argv[1]))) > 30' "$1"
}
total() { sed -n "s/^uvmp_pager_$2[{ ].*[} ] *\([0-9.]*\)\$/\1/p" "$1" | awk '{ sum += $1 } END { printf "%.9f\n", sum }'; }
value() { sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p" "$work/report"; }

# The check itself refuses what is wrong.
printf '# TYPE a counter\n# HELP a b\na_total 1\n# EOF\n' >"$work/right"
valid "$work/right" >/dev/null || fail 'the check accepts what is right'
i=0
for wrong in '# TYPE a counter\n# HELP a b\na 1\n# EOF\n' '# TYPE a counter\n# HELP a b\na_total 1\n' \
	'# TYPE a gauge\na 1\na 1\n# EOF\n' '# TYPE a gauge\n# UNIT a bytes\n# HELP a b\na 1\n# EOF\n' \
	'# TYPE a gauge\na x\n# EOF\n' '# TYPE a gauge\nb 1\n# EOF\n'; do
	# shellcheck disable=SC2059
	printf "$wrong" >"$work/wrong"
	valid "$work/wrong" >/dev/null && fail "the check refuses what is wrong" "$wrong"
	i=$((i + 1))
done
ok "the check of OpenMetrics refuses $i wrong texts"
[ -n "$python" ] || echo 'skipped: no python3-prometheus-client, the parser of the Prometheus client'

# -- what cannot be -------------------------------------------------------------------------------------------------------
refuses 'a metrics file in no directory' '--metrics: /nonexistent/m: No such file' --metrics /nonexistent/m
refuses 'metrics in a directory' '--metrics: /: Is a directory' --metrics /
refuses 'metrics in a device' '--metrics: /dev/null: is not a regular file' --metrics /dev/null
refuses 'a socket in no directory' '--metrics: /nonexistent/m: No such file' --metrics unix:/nonexistent/m
refuses 'a socket without a path' 'a path must follow unix:' --metrics unix:
echo mine >"$work/mine"
refuses 'a socket where a file is' 'Address already in use' --metrics unix:mine
[ "$(cat "$work/mine")" = mine ] && ok 'that file is not touched' || fail 'that file is not touched'
refuses 'a form of --live that does not exist' '--live ful: not one of line, full; did you mean full?' --live=ful
refuses '--live=full without a terminal' 'standard error is not a terminal' --live=full
refuses '--live and --quiet' '--live and --quiet contradict each other' --live --quiet

"$run" --budget 8M --quiet "$program" simple 32 >"$work/out" 2>"$work/err"
if grep -q 'userfaultfd' "$work/err"; then
	echo 'skipped: no userfaultfd for this process, all that follows'
	exit $failed
fi

# -- metrics in a file, and lines -----------------------------------------------------------------------------------------
# starts OPTION...: in the background, a program that reads its memory until $work/end exists; its $pid
starts() {
	rm -f "$work/end" "$work/metrics"
	timeout -s KILL 120 "$run" --budget 8M --policy 'prefetch=density evict=lru' --format json --report "$work/report" "$@" \
		"$program" until 16 "$work/end" >"$work/out" 2>"$work/err" </dev/null &
	pid=$!
}
# has_faults FILE: waits until the file counts faults
has_faults() {
	tried=0
	until grep -q '^uvmp_pager_faults_total{.*} [1-9]' "$1" 2>/dev/null || [ $tried = 300 ]; do
		sleep 0.1
		tried=$((tried + 1))
	done
}
metrics=$work/metrics
starts --live --metrics "$metrics"
has_faults "$metrics"
i=0
while [ $i -lt 4 ]; do
	cp "$metrics" "$work/copy.$i"
	sleep 0.5
	i=$((i + 1))
done
tried=0
until [ "$(grep -c '^uvmp-run: .* faults ' "$work/err")" -ge 2 ] || [ $tried = 100 ]; do
	sleep 0.1
	tried=$((tried + 1))
done
touch "$work/end"
wait $pid || fail 'a run with metrics: exit status' "$(cat "$work/err")"
cp "$metrics" "$work/copy.4"
for copy in "$work"/copy.?; do
	valid "$copy" && parses "$copy" || fail "${copy##*/}: valid OpenMetrics"
done >"$work/invalid" 2>&1
[ -s "$work/invalid" ] && fail 'every text is valid OpenMetrics' "$(cat "$work/invalid")" || ok 'every text is valid OpenMetrics'
sed -n 's/^\(uvmp_pager_[a-z_]*_total\){[^}]*} /\1 /p' "$work"/copy.? |
	awk '
		$1 in last && $2 + 0 < last[$1] { print $1 " falls from " last[$1] " to " $2; wrong = 1 }
		$2 > last[$1] { rose[$1]++ }
		{ last[$1] = $2 + 0 }
		END { exit wrong || rose["uvmp_pager_faults_total"] < 3 || rose["uvmp_pager_in_bytes_total"] < 3 }' >"$work/falls" &&
	ok 'counters never fall; faults and bytes rise' || fail 'counters never fall; faults and bytes rise' "$(cat "$work/falls")"
grep -qx 'uvmp_run_running 1' "$work/copy.0" && grep -qx 'uvmp_run_running 0' "$metrics" &&
	ok 'it tells whether the program runs' ||
	fail 'it tells whether the program runs'
for pair in faults_total:faults batches_total:batches in_bytes_total:bytes_in out_bytes_total:bytes_out evictions_total:evictions \
	dropped_bytes_total:bytes_dropped resident_bytes:resident_bytes store_bytes:store_bytes peak_managed_bytes:peak_managed_bytes; do
	[ "$(total "$metrics" "${pair%:*}")" = "$(value "${pair#*:}").000000000" ] && [ -n "$(value "${pair#*:}")" ] &&
		ok "the last ${pair%:*} is that of the report" ||
		fail "the last ${pair%:*} is that of the report" "$(total "$metrics" "${pair%:*}")" "$(value "${pair#*:}")"
done
awk -v a="$(total "$metrics" stall_seconds_total)" -v b="$(value stall_ns)" \
	'BEGIN { d = a - b / 1e9; exit !(b > 0 && d < 1e-6 && d > -1e-6) }' &&
	ok 'the last stall_seconds is that of the report' || fail 'the last stall_seconds is that of the report'
grep -q '^uvmp_run_info{version="[0-9.]*",store="mem",policy="prefetch=density .*evict=lru .*"} 1$' "$metrics" &&
	ok 'it has the policy' || fail 'it has the policy'
line='^uvmp-run: [0-9.]* s  \(THRASHES  \)*[0-9.]*[kMG]* faults [0-9.]*[kMG]*/s  in [0-9.]* [KMG]iB  out .*'
line=$line'  stall [0-9]*%  res [0-9.]* MiB  of 16.0 MiB  prefetch=density evict=lru$'
lines=$(grep -c "$line" "$work/err")
[ "$lines" -ge 2 ] && ok '--live without a terminal: a line each second' ||
	fail '--live without a terminal: a line each second' "$(cat "$work/err")"
[ "$(ls "$work" | grep -c '^metrics')" = 1 ] && ok 'no temporary file is left' || fail 'no temporary file is left' "$(ls "$work")"

"$run" --budget 8M --quiet --metrics "$metrics" "$program" abort 16 >"$work/out" 2>"$work/err"
status=$?
valid "$metrics" && [ $status = 134 ] && grep -qx 'uvmp_run_running 0' "$metrics" &&
	[ "$(total "$metrics" faults_total)" != 0.000000000 ] &&
	ok 'a program that dies leaves a valid file' || fail 'a program that dies leaves a valid file' "status $status" "$(cat "$metrics")"
starts --quiet --metrics "$metrics"
has_faults "$metrics"
kill -KILL "$(ps -o pid= --ppid $pid | tr -d ' ')"
wait $pid 2>/dev/null
touch "$work/end"
valid "$metrics" && ok 'uvmp-run itself, killed, leaves a valid file' || fail 'uvmp-run itself, killed, leaves a valid file'
"$run" --budget 8M --quiet --metrics "$metrics" "$program" fork 16 >/dev/null 2>&1
valid "$metrics" && [ "$(grep -c '^uvmp_pager_faults_total{process=' "$metrics")" = 2 ] &&
	ok 'a process and its child: two samples' ||
	fail 'a process and its child: two samples' "$(grep faults_total "$metrics")"

# -- a socket -------------------------------------------------------------------------------------------------------------
cat >"$work/reader.pl" <<'PERL'
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 1;
print $socket $ARGV[1] if $ARGV[1];
print <$socket>;
PERL
starts --quiet --metrics unix:socket
tried=0
until perl "$work/reader.pl" socket >"$work/read" 2>/dev/null && grep -q '^uvmp_pager_faults_total{.*} [1-9]' "$work/read" ||
	[ $tried = 100 ]; do
	sleep 0.1
	tried=$((tried + 1))
done
valid "$work/read" && parses "$work/read" && ok 'a socket: valid OpenMetrics' ||
	fail 'a socket: valid OpenMetrics' "$(cat "$work/read")"
perl "$work/reader.pl" socket 'GET /metrics HTTP/1.0
' >"$work/read" && valid "$work/read" && ok 'a socket: a request is not in the way' || fail 'a socket: a request is not in the way'
touch "$work/end"
wait $pid
[ ! -e socket ] && [ ! -s "$work/err" ] && ok 'the socket is removed in the end' ||
	fail 'the socket is removed in the end' "$(cat "$work/err")"
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die' socket
"$run" --budget 8M --quiet --metrics unix:socket true 2>"$work/err" && [ ! -e socket ] &&
	ok 'a socket without its process is replaced' ||
	fail 'a socket without its process is replaced' "$(cat "$work/err")"

# -- a terminal -----------------------------------------------------------------------------------------------------------
if ! command -v script >/dev/null; then
	echo 'skipped: no script, a terminal'
	exit $failed
fi
# in_terminal COMMAND TEXT COUNT: what a terminal of 80 columns and 24 rows gets, in $work/screen. Once the text came that often,
# or after 30 s, $work/end exists.
in_terminal() {
	rm -f "$work/end"
	: >"$work/screen"
	(
		tried=0
		until [ "$(grep -o -e "$2" "$work/screen" | wc -l)" -ge "$3" ] || [ $tried = 150 ]; do
			sleep 0.2
			tried=$((tried + 1))
		done
		touch "$work/end"
	) &
	script -qefc "stty cols 80 rows 24; $1" /dev/null >"$work/screen" </dev/null
	wait
}
long=$work/a-folder-whose-name-takes-most-of-a-row-of-the-terminal
mkdir "$long" && ln -s "$program" "$long/uvmp_run_program"
in_terminal "$run --budget 8M --live=full --policy 'prefetch=density evict=lru' $long/uvmp_run_program until 16 $work/end" \
	' faults ' 2
esc=$(printf '\033')
tr '\r' '\n' <"$work/screen" | sed "s/$esc\[[0-9;]*H$esc\[K/\n/g; s/$esc[78]//g; s/$esc\[[0-9;]*m//g" >"$work/rows"
for text in ' uvmp-run  uvmp_run_program  .*budget 8.0 MiB  1 process' ' faults  *[0-9.kM]*  *[0-9.kM]*/s' \
	' in  *[0-9.]* [KMG]iB' ' stalled .* %' ' resident  *[0-9.]* MiB of 16.0 MiB ' ' store  *16.0 MiB (mem)' \
	' policy  *prefetch=density evict=lru'; do
	grep -q "^$text" "$work/rows" && ok "--live=full: $text" || fail "--live=full: $text" "$(cat "$work/rows")"
done
awk '/^ (uvmp-run|faults|in|out|stalled|resident|store|thrashing|policy) / && length > 80 { print; wide = 1 } END { exit wide }' \
	"$work/rows" >"$work/wide" &&
	ok '--live=full: at most 80 columns' || fail '--live=full: at most 80 columns' "$(cat "$work/wide")"
grep -q "$esc\[1;1[0-9]r" "$work/screen" && [ "$(tr -d '\n' <"$work/screen" | grep -o "$esc\[[0-9;]*r" | tail -n 1)" = "$esc[r" ] &&
	ok '--live=full: the whole terminal is given back' || fail '--live=full: the whole terminal is given back'
grep -q 'program: all words right' "$work/screen" && ok '--live=full: the program has the terminal too' ||
	fail '--live=full: the program has the terminal too'
in_terminal "stty rows 10; $run --budget 8M --live=full $program until 16 $work/end" ' faults ' 2
grep -q "$esc\[1;[0-9]*r" "$work/screen" && fail 'a terminal of ten rows has the line' "$(cat "$work/screen")" ||
	ok 'a terminal of ten rows has the line'
tr '\r' '\n' <"$work/screen" | grep ' faults .*stall' | sed "s/$esc.*//" >"$work/lines"
awk 'length > 79 { wide = 1 } END { exit wide || NR < 2 }' "$work/lines" && ok 'the line: at most 79 columns' ||
	fail 'the line: at most 79 columns' "$(cat "$work/lines")"
in_terminal "TERM=dumb $run --budget 8M --live=full $program simple 16" right 1
grep -q "$esc\[1;[0-9]*r" "$work/screen" && fail 'a dumb terminal has the line' || ok 'a dumb terminal has the line'
exit $failed
