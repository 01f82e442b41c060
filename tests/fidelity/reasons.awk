# Reasons in rows.txt that have a name: `reason NAME TEXT`, and `@NAME` in `why` and `uncounted` lines after it. Included with
# -f before a program that reads rows.txt. That program gets these lines with the texts in the place of the names, and gets no
# `reason` lines. After a message, the exit status is 2.
function fail_at(where, what) {
	printf "%s: %s\n", where, what > "/dev/stderr"
	failed = 1
	exit 2
}
function fail(what) { fail_at(FILENAME ":" FNR, what) }
# Returns the text with every `@NAME` replaced by the text of that reason.
function with_reasons(text,    out, name) {
	while (match(text, /@[A-Za-z0-9_-]+/)) {
		name = substr(text, RSTART + 1, RLENGTH - 1)
		if (!(name in reason_text))
			fail("no reason " name)
		is_named[name] = 1
		out = out substr(text, 1, RSTART - 1) reason_text[name]
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}
function define_reason(name, text) {
	if (name !~ /^[a-z][a-z0-9-]*$/ || text == "")
		fail("a reason has a NAME of a-z, 0-9 and -, and a TEXT")
	if (name in reason_text)
		fail("reason " name " twice")
	reason_text[name] = with_reasons(text)
	reason_at[name] = FILENAME ":" FNR
	reason_name[++reason_names] = name
}
FILENAME ~ /rows/ && /^reason / {
	split($0, word_of_reason, " ")
	define_reason(word_of_reason[2], substr($0, length("reason " word_of_reason[2]) + 2))
	next
}
FILENAME ~ /rows/ && /^why / && !/^why @[a-z0-9-]+$/ {
	if ($0 in why_at)
		fail("the text of " why_at[$0] " again: give it a name with `reason`")
	why_at[$0] = FILENAME ":" FNR
}
FILENAME ~ /rows/ && /^(why|uncounted) / { $0 = with_reasons($0) }
END {
	if (failed)
		exit 2
	for (i = 1; i <= reason_names; i++)
		if (!(reason_name[i] in is_named))
			fail_at(reason_at[reason_name[i]], "no row refers to reason " reason_name[i])
}
