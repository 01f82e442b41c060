# For draw.awk: programs of some size, most of them in a few hundred MiB.
# Some allocations may stay unused, two kinds of accesses may mix in one kernel, and two sets of data may take turns.
function phases(arrays,   text, n) {
	if (arrays > 1 && chance(15))
		return "scan@0/random@1*" one_of("3 6")
	if (arrays > 1 && chance(15)) {
		n = one_of("4 8")
		text = "scan@0*" n "+scan@1*" n
		return text "+" text
	}
	return sequence(arrays, "1 2 3 4 6", "0 1 2 3 5")
}

function synthetic(   arrays, total, text) {
	arrays = one_of("1 1 2 2 3 4")
	total = one_of("48 96 192 256 384")
	text = "synthetic:bytes=" int(total / arrays / 2) * 2 "m,arrays=" arrays ",phases=" phases(arrays)
	text = text ",agents=" one_of("64 80 320 640 2048")
	if (chance(40)) text = text ",used=" one_of("128 512 1024 4096")
	if (chance(30)) text = text ",pages=" one_of("4 16 32")
	if (chance(30)) text = text ",write=" one_of("20 50 100")
	if (chance(30)) text = text ",skew=" one_of("80 110 150")
	return text
}

function program(   which) {
	which = below(11)
	if (which == 0) return "bfs_twc:scale=" one_of("18 19 20") ",degree=" one_of("8 16")
	if (which == 1) return "sssp:nodes=" one_of("1000000 2000000 5000000")
	if (which == 2) return "nw:n=" one_of("2048 3072 4096")
	if (which == 3) return "hotspot:n=" one_of("2048 3072 4096") ",sim_time=" one_of("4 8")
	if (which == 4) return "tealeaf:n=" one_of("768 1024 1536")
	if (which == 5) return "conv2d:ni=" one_of("2048 4096") ",nj=4096"
	if (which == 6) return "sgemm:n=" one_of("2048 4096") ",tile=512,panel=1024"
	if (which == 7) return "kcore:scale=" one_of("18 19 20") ",degree=15"
	if (which == 8) return "ra:n=" one_of("8388608 16777216")
	return one_of("moe ivf gnn")
}

function machine() { return one_of("titan-v titan-v h100-sxm gtx-1080-ti") " " one_of("105 110 125 150 200 300") }

function workload() { return chance(65) ? synthetic() : program() }
