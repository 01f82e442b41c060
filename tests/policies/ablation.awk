# Variants on standard input, `what is left out|policy`, and `results`, the lines of ablation_times.awk: a table.
BEGIN {
	while ((getline line < results) > 0) {
		split(line, f, "|")
		i = f[2]
		count[i]++
		sum[i] += log(f[3])
		bytes[i] += log(f[4] > 0.001 ? f[4] : 0.001)
		if (!(i in least) || f[3] < least[i]) {
			least[i] = f[3]
			worst[i] = f[1]
		}
	}
	print "| left out | policy | speed-up | bytes | least speed-up | where |"
	print "|---|---|---|---|---|---|"
}
{
	if (count[NR] == 0) {
		print "ablation: no results" >"/dev/stderr"
		exit 1
	}
	printf "| %s | `%s` | %.2f | %.2f | %.2f | `%s` |\n",
		$1, $2, exp(sum[NR] / count[NR]), exp(bytes[NR] / count[NR]), least[NR], worst[NR]
}
END {
	printf "\n%d cases\n", count[1]
}
