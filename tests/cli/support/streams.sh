# Results of a script in tests/cli, which sources this file: a line each. Standard output of the last command is in $work/out,
# standard error in $work/err, and its description in $name. The script ends with `exit $failed`.
# shellcheck shell=sh
failed=0
ok() { echo "ok   $1"; }
fail() { # NAME TEXT...: why it failed
	failed=1
	echo "FAIL $1"
	shift
	for text in "$@"; do printf '%s\n' "$text" | head -n 12 | cut -c 1-200 | sed 's/^/     /'; done
}
says() { # TEXT...: each is in what the last command printed
	for text in "$@"; do
		if cat "$work/out" "$work/err" | grep -qF -- "$text"; then
			ok "$name: says $text"
		else
			fail "$name: says $text" "$(tail -n 3 "$work/out")" "$(tail -n 5 "$work/err")"
		fi
	done
}
