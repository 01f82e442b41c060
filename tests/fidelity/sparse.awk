# A trace: 64 MiB on the CPU, mapped to the GPU where they lie. Each 64 KiB is used once, the first 2 MiB over and over: those
# should come home, the rest should not.
BEGIN {
	print "uvmp-trace 1\nrange,0x7f0000000000,67108864,a\nadvise,accessed-by,gpu,0x7f0000000000,67108864"
	for (k = 0; k < 8; k++) {
		print "kernel,sparse"
		for (i = 0; i < 128; i++)
			printf ",%d,r,0x7f%010x\n", i % 64, (8 * i + k) * 65536
		for (j = 0; j < 512; j++)
			printf ",%d,r,0x7f%010x\n", j % 32, j % 32 * 65536 + (16 * k + int(j / 32)) * 128
	}
	print "sync"
}
