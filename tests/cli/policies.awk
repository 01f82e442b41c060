# The rows of docs/policies.md that the program itself can say: `uvmsim list policies` first, then `uvmsim list presets`. Prints each as it
# must stand there: keys whole, of presets the name and the keys that differ from their defaults.

function print_key() {
	if (key != "") print "| `" key "` | " values " | `" value[key] "` | " user " |"
	key = ""
}

function print_preset() {
	if (preset != "") print "| `" preset "` |" (keys != "" ? " `" keys "` |" : " |")
	preset = keys = ""
}

FNR == 1 { files++ }
/^prefetchers:/ { print_key(); is_over = 1 }

files == 1 && !is_over && /^[a-z]/ { print_key(); key = $1 }
files == 1 && !is_over && /^    values: / {
	sub(/^    values: /, "")
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

files == 2 && /^[a-z]/ { print_preset(); preset = $1 }
files == 2 && /^    [a-z_]+=/ {
	for (i = 1; i <= NF; i++) {
		split($i, part, "=")
		if (value[part[1]] != part[2]) keys = keys (keys == "" ? "" : " ") $i
	}
}
END { print_preset() }
