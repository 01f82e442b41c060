# For draw.awk: most workloads, also small ones, ones with few threads, and ones that use little of their data.
function graph() { return "scale=" one_of("15 16 17 18 19") ",degree=" one_of("3 8 15 23") ",skew=" one_of("0 40 100") }

function numerical(   which) {
	which = below(13)
	if (which == 0) return "stencil:n=" one_of("1024 2048 3072 4096") ",iterations=" one_of("2 4 8")
	if (which == 1) return "stream:bytes=" one_of("8M 16M 32M 64M") ",passes=" one_of("2 5")
	if (which == 2) return "cufft:scale=" one_of("20 21 22 23") ",out=" below(2) ",work=" below(2)
	if (which == 3) return "hpgmg:box=" one_of("4 5 6") ",boxes=2"
	if (which == 4) return "cusparse:n=" one_of("1024 2048 3072") ",sparsity=" one_of("3 10 100")
	if (which == 5) return one_of("stream_thread stream_warp") ":bytes=" one_of("32M 64M 128M")
	if (which == 6) return one_of("pathfinder srad")
	if (which == 7) return "fdtd2d:nx=" one_of("1200 2400") ",ny=" one_of("1200 2400") ",tmax=" one_of("1 5")
	if (which == 8) return "atax:nx=" one_of("2048 4096")
	if (which == 9) return "nw:n=" one_of("1024 2048 3072 4096") ",cpu=" below(3)
	if (which == 10) return "hotspot:n=" one_of("512 1024 2048 3072") ",sim_time=" one_of("2 4 8")
	if (which == 11) return "backprop:n=" one_of("65536 131056 524272 1048560")
	return "sgemm:n=" one_of("1024 2048 3072") ",tile=" one_of("128 512") ",panel=" one_of("64 512")
}

function scattered(   which) {
	which = below(10)
	if (which < 4) return one_of("bc bfs_dwc bfs_ta bfs_tf bfs_ttc bfs_twc gc_dtc gc_ttc kcore pr sssp_twc") ":" graph()
	if (which == 4) return "regular:bytes=" one_of("32M 64M 128M") ",passes=" one_of("1 2 4") ",write=" below(2)
	if (which == 5) return "random:bytes=" one_of("32M 64M 128M") ",passes=" one_of("1 2 3") ",write=" below(2)
	if (which < 8) return "sssp:nodes=" one_of("300000 1000000 2000000") ",degree=" one_of("2 6") ",rounds=" one_of("5 15")
	return "ra:n=" one_of("1048576 4194304 8388608") ",stride=" one_of("1 10 100")
}

function learning(   which) {
	which = below(5)
	if (which == 0)
		return "decode:layers=" one_of("4 8 16") ",layer=" one_of("4M 8M 16M") ",tokens=" one_of("4 16 32") \
			",sequences=" one_of("1 8 32")
	if (which == 1)
		return "moe:layers=" one_of("4 8") ",experts=" one_of("8 32 64") ",active=" one_of("2 4 8") ",expert=" \
			one_of("256K 960K 2M") ",skew=" one_of("0 80 120") ",tokens=" one_of("16 64")
	if (which == 2)
		return "paged:layers=" one_of("1 2 4") ",weights=" one_of("4M 20M") ",sequences=" one_of("16 64") ",steps=" \
			one_of("16 64") ",prompt=" one_of("161 1024")
	if (which == 3)
		return "gnn:scale=" one_of("15 16 17 18") ",degree=" one_of("8 16") ",skew=" one_of("0 100") ",batch=" \
			one_of("0 512 2048") ",epochs=" one_of("1 2")
	return "ivf:lists=" one_of("50 100 200") ",list=" one_of("512K 1M 2M") ",queries=" one_of("128 512") ",probes=" \
		one_of("1 4 16") ",skew=" one_of("0 50 120")
}

function phases(arrays) {
	if (arrays > 1 && chance(25))
		return "scan@0/" one_of("random zipf") "@1*" one_of("2 4 8") ",dense=" one_of("5 20 50 80 95")
	return sequence(arrays, "1 2 3 6", "0 1 2 4 7")
}

function synthetic(   arrays, bytes, text) {
	arrays = one_of("1 1 2 3 5 8")
	bytes = int(one_of("16 48 96 192 256") / arrays / 2) * 2
	text = "synthetic:bytes=" (bytes > 2 ? bytes : 2) "m,arrays=" arrays ",phases=" phases(arrays)
	text = text ",agents=" one_of("1 8 32 64 160 640 5120")
	if (chance(50)) text = text ",used=" one_of("32 128 512 4096")
	if (chance(40)) text = text ",pages=" one_of("2 8 32")
	if (chance(30)) text = text ",write=" one_of("10 50 100")
	if (chance(30)) text = text ",skew=" one_of("40 80 150 250")
	if (chance(40)) text = text ",accesses=" one_of("2000 20000 100000 500000")
	if (chance(20)) text = text ",inside=" one_of("2 5")
	return text
}

function machine() {
	return one_of("titan-v h100-sxm gtx-1080-ti a100-sxm rtx-4090 l4") " " one_of("102 105 110 125 150 200 300")
}

function workload(   which) {
	which = below(10)
	if (which < 4)
		return synthetic()
	return which < 6 ? numerical() : which < 8 ? scattered() : learning()
}
