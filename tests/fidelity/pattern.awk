# A decision log as points: the pages that came to the GPU in the order in which the driver took them, and the blocks
# that were evicted at that time; both thinned out. The log is read twice: first for the counts.
function hex(text,    i, n) {
	for (i = 3; i <= length(text); i++)
		n = n * 16 + index("123456789abcdef", substr(text, i, 1))
	return n
}
function field(name,    i) {
	for (i = 3; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}
$2 !~ /^(copy|populate|evict)$/ || $2 == "copy" && field("to") != "1" { next }
{ block = hex(field("block")) / 4096 }
NR == FNR {
	if (base == "" || block < base)
		base = block
	if ($2 == "evict") { evictions++; next }
	count = split(field("pages"), part, ",")
	for (i = 1; i <= count; i++)
		pages += split(part[i], end, "-") == 2 ? end[2] - end[1] + 1 : 1
	next
}
FNR == 1 || !started {
	started = 1
	step = pages / 330; victim_step = evictions / 50
	print "order,page" (evictions ? ",evicted" : "")
}
$2 == "evict" { if (++victims >= due_victim) { print order "," "," block - base; due_victim += victim_step } next }
{
	count = split(field("pages"), part, ",")
	for (i = 1; i <= count; i++) {
		if (split(part[i], end, "-") == 1)
			end[2] = end[1]
		for (page = end[1] + 0; page <= end[2]; page++)
			if (++order >= due) { print order "," block - base + page (evictions ? "," : ""); due += step }
	}
}
