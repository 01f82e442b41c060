# How many pages of 64 KiB do the first cores of a trace use at a time? The trace has 16 agents, a core each; its time is cut
# into pieces of 4096 accesses. Output: `pages_K X`, X a thousandth of a page: the mean over the pieces, of the cores below K.
function end_of_piece(    k) {
	for (k = 1; k <= 16; k *= 2)
		total[k] += pages[k]
	pieces++
	split("", pages)
	split("", seen)
	rows = 0
}
BEGIN { FS = "," }
$2 !~ /^[0-9]+$/ || NF < 4 || NF > 5 { next }
{
	page = substr($4, 1, length($4) - 4)
	for (k = 16; k >= 1 && k > $2; k /= 2)
		if (!((k, page) in seen)) {
			seen[k, page] = 1
			pages[k]++
		}
	if (++rows == 4096)
		end_of_piece()
}
END {
	if (rows)
		end_of_piece()
	for (k = 1; k <= 16; k *= 2)
		printf "pages_%d %.0f\n", k, 1000 * total[k] / pieces
}
