# The two tables of docs/policies.md, from `uvmsim list policies` first, then `uvmsim list presets`. With -v dict=1: the words of
# the policy string instead, one a line, as a dictionary of libFuzzer. tests/policies/tables.sh runs it.

function print_word(word) {
	if (dict && !(word in words)) print "\"" word "\""
	words[word]
}

function print_key() {
	if (key != "" && !dict) print "| `" key "` | " values " | `" value[key] "` | " user " | " summary " |"
	key = ""
}

function print_preset() {
	if (preset != "" && !dict) print "| `" preset "` |" (keys != "" ? " `" keys "` |" : " |") " " summary " |"
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
