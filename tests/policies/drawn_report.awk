# The lines of ablation_times.awk, `GPU OVER WORKLOAD|INDEX|SPEED-UP|BYTES`, index 1 with remote access and 2 without: a table
# of the programs that are more than 2 % slower than the policy `against` or move more than 2 % more bytes, and a summary.
function cell(name, i) {
	return sprintf("%.2f; %.2f", speed[name, i], bytes[name, i])
}

function misses(name, i) {
	return speed[name, i] < 1 / 1.02 || bytes[name, i] > 1.02
}

function summary(what, i,   n, slower, least, more, most, sum, sum_bytes) {
	least = 1e9
	for (n = 1; n <= names; n++) {
		sum += log(speed[name[n], i])
		sum_bytes += log(bytes[name[n], i])
		slower += speed[name[n], i] < 1 / 1.02
		more += bytes[name[n], i] > 1.02
		if (speed[name[n], i] < least) least = speed[name[n], i]
		if (bytes[name[n], i] > most) most = bytes[name[n], i]
	}
	return sprintf("| %s | %.2f | %.2f | %d | %.2f | %.2f | %d |",
		what, exp(sum / names), least, slower, exp(sum_bytes / names), most, more)
}

{
	split($0, f, "|")
	if (!(f[1] in known)) {
		known[f[1]] = 1
		name[++names] = f[1]
	}
	runs[f[1]]++
	speed[f[1], f[2]] = f[3]
	bytes[f[1], f[2]] = f[4]
}

END {
	for (n = 1; n <= names; n++)
		if (runs[name[n]] != 2) {
			print "drawn: " name[n] ": " runs[name[n]] " runs instead of 2" >"/dev/stderr"
			exit 1
		}
	if (names == 0) {
		print "drawn: no results" >"/dev/stderr"
		exit 1
	}
	sub(/^preset=/, "", against)
	print "Speed-up over " against ", and bytes over its bytes."
	print ""
	print "| program | GPU, memory | `auto` | `auto remote=off` |"
	print "|---|---|--:|--:|"
	for (n = 1; n <= names; n++) {
		if (!misses(name[n], 1) && !misses(name[n], 2))
			continue
		split(name[n], word, " ")
		printf "| `%s` | `%s`, %s %% | %s | %s |\n", word[3], word[1], word[2], cell(name[n], 1), cell(name[n], 2)
	}
	print ""
	print "| " names " programs | mean speed-up | least | more than 2 % slower | mean bytes | most | more than 2 % more |"
	print "|---|--:|--:|--:|--:|--:|--:|"
	print summary("`auto`", 1)
	print summary("`auto remote=off`", 2)
}
