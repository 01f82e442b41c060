# What scripts begin with that are called with UVMSIM. They source this file, which moves to the root of the repository. Sets
# uvmsim and work (removed at the end).
# shellcheck shell=sh
case $1 in /*) uvmsim=$1 ;; *) uvmsim=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d "$(dirname "$uvmsim")/work.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset UVMP_POLICY
. tests/cli/support/verdict.sh
ok() { echo "ok   $1"; }
fail() {
	failed=1
	echo "FAIL $1"
	head -n 5 "$work/out" "$work/err" | sed 's/^/     /'
}
# run STATUS NAME ARGUMENT...: the exit status, and no report of a sanitizer
run() {
	want=$1 name=$2
	shift 2
	"$uvmsim" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	if [ $status = "$want" ] && ! grep -q 'Sanitizer\|runtime error' "$work/err"; then
		ok "$name"
	else
		fail "$name: exit status $status, not $want"
	fi
}
# says TEXT...: on stderr
says() {
	for text in "$@"; do
		if grep -qF -- "$text" "$work/err"; then ok "$name: says $text"; else fail "$name: does not say $text"; fi
	done
}
# error TEXT: one line on stderr, with this text, and no output
error() {
	says "$1"
	if [ "$(wc -l <"$work/err")" = 1 ] && [ ! -s "$work/out" ]; then
		ok "$name: one line"
	else
		fail "$name: $(wc -l <"$work/err") lines"
	fi
}
