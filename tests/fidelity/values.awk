# Fills `key(#NUMBER)` in the first field of each line with the value of that run, or makes the field `error: why`.
function load(number,    line, part) {
	if (number in loaded)
		return
	loaded[number] = 1
	while ((getline line < (work "/" number ".run")) > 0) {
		split(line, part, " ")
		if (part[1] == "error")
			broken[number] = substr(line, 7)
		value[number, part[1]] = part[2]
	}
	close(work "/" number ".run")
}
{
	text = $1; out = ""
	while (match(text, /[a-z][a-z0-9_]*\(#[0-9-]+\)/)) {
		key = number = substr(text, RSTART, RLENGTH)
		sub(/\(.*/, "", key)
		gsub(/^[^#]*#|\)$/, "", number)
		load(number)
		if (number in broken)
			error = "error: " broken[number]
		else if (!((number, key) in value))
			error = "error: the run has no number " key
		out = out substr(text, 1, RSTART - 1) value[number, key]
		text = substr(text, RSTART + RLENGTH)
	}
	print (error != "" ? error : out text) substr($0, length($1) + 1)
	error = ""
}
