# Results of a script in tests/cli, which sources this file: a line each, with what a failure printed into $work/out. The script
# ends with `exit $failed`. show: how much of that is shown, by default the first 20 lines.
# shellcheck shell=sh
failed=0
verdict() { # STATUS NAME
	if [ "$1" = 0 ]; then
		echo "ok   $2"
	else
		failed=1
		echo "FAIL $2"
		[ ! -s "$work/out" ] || ${show:-head -n 20} "$work/out" | sed 's/^/     /'
	fi
}
check() { # NAME COMMAND...
	what=$1
	shift
	"$@" >"$work/out" 2>&1
	verdict $? "$what"
}
expect() { # STATUS NAME COMMAND...: the command's exit status; its output is in $work/out, for says
	want=$1 name=$2
	shift 2
	"$@" >"$work/out" 2>&1 </dev/null
	status=$?
	if [ $status = "$want" ]; then verdict 0 "$name: exit status $want"; else verdict 1 "$name: exit status $status, not $want"; fi
}
no_lines() { # NAME FILE of violations
	if [ -s "$2" ]; then
		failed=1
		echo "FAIL $1"
		${show:-head -n 20} "$2" | sed 's/^/     /'
	else
		echo "ok   $1"
	fi
}
says() { # TEXT...: of the command `name`, whose output is in $work/out
	for text in "$@"; do
		grep -qF -- "$text" "$work/out"
		verdict $? "$name: says \"$text\""
	done
}
