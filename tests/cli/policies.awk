# The two tables of docs/policies.md, from `uvmsim list policies` first, then `uvmsim list presets`. With -v dict=1: the words of
# the policy string instead, one a line, as a dictionary of libFuzzer. With -v man=1: both as lists of mdoc(7), with an empty line
# between. tests/policies/tables.sh and tests/policies/man_tables.sh run it.

function print_word(word) {
	if (dict && !(word in words)) print "\"" word "\""
	words[word]
}

# With a capital, unless it begins with a word like uTLB, and a full stop.
function sentence(text) {
	return (text ~ /^[a-z][A-Z]/ ? text : toupper(substr(text, 1, 1)) substr(text, 2)) "."
}

function print_key() {
	if (key != "" && man) {
		gsub(/[`,]/, "", values)
		gsub(/`/, "", user)
		gsub(/, /, "|", user)
		print ".It Cm " key " Ns = Ns " (values ~ /[.][.]/ ? "Ar " values : "Ar value")
		print sentence(summary)
		if (values !~ /[.][.]/) print "Values:\n.Cm " values " .\nDefault:\n.Cm " value[key] " ."
		else print "Default: " value[key] "."
		print user == "every policy" ? "Used by every policy." : "Used by\n.Cm " user " ."
	} else if (key != "" && !dict) print "| `" key "` | " values " | `" value[key] "` | " user " | " summary " |"
	key = ""
}

function print_preset() {
	if (preset != "" && man) {
		if (!presets++) print ""
		print ".It Cm " preset
		print sentence(summary)
		if (keys != "") print ".br\n.Cm " keys
	} else if (preset != "" && !dict) print "| `" preset "` |" (keys != "" ? " `" keys "` |" : " |") " " summary " |"
	preset = keys = ""
}

FNR == 1 { files++; if (files == 1) print_word("preset=") }
/^prefetchers:/ { print_key(); is_over = 1 }

files == 1 && !is_over && /^[a-z]/ { print_key(); key = $1; print_word(key "="); is_summary = 1; next }
is_summary { summary = $0; sub(/^ */, "", summary); is_summary = 0; next }
files == 1 && !is_over && /^    values: / {
	sub(/^    values: /, "")
	for (i = 1; !/[.][.]/ && i <= NF; i++) print_word($i)
	values = /[.][.]/ ? $0 : "`" $0 "`"
	gsub(/ /, "`, `", values)
}
files == 1 && !is_over && /^    default: / { value[key] = $2 }
files == 1 && !is_over && /^    used by: / {
	sub(/^    used by: /, "")
	user = $0
	gsub(/[|]/, ", ", user)
	user = user == "every policy" ? "every policy" : "`" user "`"
}

files == 2 && /^[a-z]/ { print_preset(); preset = $1; print_word(preset); is_summary = 1; next }
files == 2 && /^    [a-z_]+=/ {
	for (i = 1; i <= NF; i++) {
		split($i, part, "=")
		if (value[part[1]] != part[2]) keys = keys (keys == "" ? "" : " ") $i
	}
}
END { print_preset() }
