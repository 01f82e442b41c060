# A micro-benchmark of docs/cuda.md as a trace: -v agents=A warps make `touches` touches each, `stride` bytes apart; warps begin
# `step` bytes apart. -v fresh=1: on memory without contents.
BEGIN {
	printf "uvmp-trace 1\nrange,0x7f0000000000,%d,a%s\nkernel,k\n",
		(agents - 1) * step + touches * stride + 4096, fresh ? ",fresh" : ""
	for (t = 0; t < touches; t++)
		for (a = 0; a < agents; a++)
			printf ",%d,r,0x7f%010x\n", a, a * step + t * stride
}
