# The batches of a decision log as CSV: MiB moved to the GPU, and microseconds per page from the fetch to the replay.
# Into the file `keys`: the time per page, in ns, of the smaller half of the batches and of the larger half.
function field(name,    i) {
	for (i = 3; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}
BEGIN { print "x,batch" }
$2 == "batch" { start = field("t"); pages = 0 }
$2 ~ /^(copy|populate)$/ && field("to") == "1" {
	count = split(field("pages"), part, ",")
	for (i = 1; i <= count; i++)
		pages += split(part[i], end, "-") == 2 ? end[2] - end[1] + 1 : 1
}
$2 == "replay" && pages {
	n++
	size[n] = pages; time[n] = field("t") - start
	printf "%.5g,%.5g\n", pages / 256, time[n] / 1000 / pages
	pages = 0
}
END {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && size[j - 1] > size[j]; j--) {
			keep = size[j]; size[j] = size[j - 1]; size[j - 1] = keep
			keep = time[j]; time[j] = time[j - 1]; time[j - 1] = keep
		}
	for (i = 1; i <= n; i++) {
		half = 2 * i > n
		sum[half] += time[i]; all[half] += size[i]
	}
	if (n > 1)
		printf "small_page_ns %.0f\nlarge_page_ns %.0f\n", sum[0] / all[0], sum[1] / all[1] > keys
}
