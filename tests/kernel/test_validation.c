/* Arguments of every kind, from every kind of caller: refused with the documented error, without
 * effect, and without exposing memory of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu.h"

#define IN_KERNEL ((void *)0xffff888000000000u)

static const unsigned long requests[] = {UVMP_EMU_INFO,   UVMP_EMU_SUBMIT, UVMP_EMU_PREFETCH_RANGE,
                                         UVMP_EMU_ADVISE, UVMP_EMU_LOOK,   UVMP_EMU_STATS};
#define REQUESTS (sizeof(requests) / sizeof(*requests))

/* Memory that can be read and not written. */
static void *constant_page(void)
{
	void *at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(at != MAP_FAILED, "mmap: %s", strerror(errno));
	return at;
}

/* The last `bytes` of a page behind which nothing is. */
static void *end_of_page(size_t bytes)
{
	char *at = mmap(NULL, 2u * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(at != MAP_FAILED && munmap(at + PAGE_BYTES, PAGE_BYTES) == 0, "mmap: %s", strerror(errno));
	return at + PAGE_BYTES - bytes;
}

static void expect_works(int fd, uint64_t *at)
{
	static uint64_t round;

	at[3] = ++round;
	EXPECT(emu_gpu_add(fd, 1, at + 3, 1) == round && at[3] == round + 1u,
	       "valid calls fail after the invalid ones");
}

static void bad_pointers(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES);
	struct uvmp_emu_stats *stats = end_of_page(sizeof(*stats) - 8u);

	for (size_t i = 0; i < REQUESTS; i++) {
		EXPECT(emu_ioctl(fd, requests[i], NULL) == -EFAULT, "request %zu with NULL", i);
		EXPECT(emu_ioctl(fd, requests[i], IN_KERNEL) == -EFAULT, "request %zu with a kernel address",
		       i);
		EXPECT(emu_ioctl(fd, requests[i], (void *)-8) == -EFAULT, "request %zu with the last address",
		       i);
		EXPECT(emu_ioctl(fd, requests[i], end_of_page(4)) == -EFAULT, "request %zu at a page's end",
		       i);
	}
	EXPECT(emu_ioctl(fd, UVMP_EMU_INFO, constant_page()) == -EFAULT, "INFO into constant memory");
	EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, constant_page()) == -EFAULT, "STATS into constant memory");
	EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, stats) == -EFAULT, "STATS over a page's end");
	expect_works(fd, at);
}

/* The good call from which each bad one differs in one field. */
static int submit_with(int fd, uint64_t warp, uint32_t warps, uint32_t gpu, uint32_t zero)
{
	struct uvmp_emu_submit submit = {.warp = warp, .warps = warps, .gpu = gpu, .zero = zero};

	return emu_ioctl(fd, UVMP_EMU_SUBMIT, &submit);
}

static int warp_with(int fd, uint64_t access, uint32_t accesses, uint32_t sm)
{
	struct uvmp_emu_warp warp = {.access = access, .accesses = accesses, .sm = sm};

	return submit_with(fd, (uintptr_t)&warp, 1, 1, 0);
}

static int access_with(int fd, uint64_t address, uint32_t kind, uint32_t zero)
{
	struct uvmp_emu_access access = {.address = address, .value = 1, .kind = kind, .zero = zero};

	return warp_with(fd, (uintptr_t)&access, 1, 0);
}

static void bad_submissions(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, 2u * PAGE_BYTES);
	uint64_t address = (uintptr_t)at;
	struct uvmp_emu_access access[2] = {{.address = address, .value = 7, .kind = UVMP_EMU_WRITE},
	                                    {.address = address, .kind = UVMP_EMU_READ}};
	struct uvmp_emu_warp warp[2] = {{.access = (uintptr_t)access, .accesses = 1},
	                                {.access = (uintptr_t)access, .accesses = 1}};
	struct uvmp_emu_warp *many = calloc(UVMP_EMU_WARPS_MAX + 1u, sizeof(*many));
	uint64_t good = (uintptr_t)warp;

	EXPECT(many != NULL, "no memory");
	for (size_t i = 0; i <= UVMP_EMU_WARPS_MAX; i++)
		many[i] = warp[1];
	EXPECT(submit_with(fd, good, 0, 1, 0) == -EINVAL, "no warps");
	EXPECT(submit_with(fd, (uintptr_t)many, UVMP_EMU_WARPS_MAX + 1u, 1, 0) == -EINVAL, "too many warps");
	EXPECT(submit_with(fd, good, ~0u, 1, 0) == -EINVAL, "2^32 - 1 warps");
	EXPECT(submit_with(fd, good, 1, 0, 0) == -EINVAL, "the CPU as GPU");
	EXPECT(submit_with(fd, good, 1, 3, 0) == -EINVAL, "a GPU too many");
	EXPECT(submit_with(fd, good, 1, ~0u, 0) == -EINVAL, "GPU 2^32 - 1");
	EXPECT(submit_with(fd, good, 1, 1, 1) == -EINVAL, "zero is 1");
	EXPECT(submit_with(fd, 0, 1, 1, 0) == -EFAULT, "warps at NULL");
	EXPECT(submit_with(fd, (uintptr_t)IN_KERNEL, 1, 1, 0) == -EFAULT, "warps in the kernel");
	EXPECT(submit_with(fd, (uint64_t)-16, 2, 1, 0) == -EFAULT, "warps around the end of addresses");
	EXPECT(submit_with(fd, (uintptr_t)end_of_page(sizeof(*warp)), 2, 1, 0) == -EFAULT,
	       "warps over a page's end");
	EXPECT(warp_with(fd, 0, 1, 0) == -EFAULT, "accesses at NULL");
	EXPECT(warp_with(fd, (uintptr_t)IN_KERNEL, 1, 0) == -EFAULT, "accesses in the kernel");
	EXPECT(warp_with(fd, (uintptr_t)end_of_page(sizeof(*access)), 2, 0) == -EFAULT,
	       "accesses over a page's end");
	EXPECT(warp_with(fd, (uintptr_t)access, UVMP_EMU_ACCESS_MAX + 1u, 0) == -EINVAL, "too many accesses");
	EXPECT(warp_with(fd, (uintptr_t)access, ~0u, 0) == -EINVAL, "2^32 - 1 accesses");
	EXPECT(warp_with(fd, (uintptr_t)access, 1, 1024) == -EINVAL, "SM 1024");
	EXPECT(warp_with(fd, (uintptr_t)access, 1, ~0u) == -EINVAL, "SM 2^32 - 1");
	EXPECT(access_with(fd, address, 4, 0) == -EINVAL, "kind 4");
	EXPECT(access_with(fd, address, ~0u, 0) == -EINVAL, "kind 2^32 - 1");
	EXPECT(access_with(fd, address, UVMP_EMU_WRITE, 1) == -EINVAL, "zero of an access is 1");
	for (unsigned kind = UVMP_EMU_READ; kind <= UVMP_EMU_ADD; kind++)
		EXPECT(access_with(fd, address + 4u, kind, 0) == -EINVAL, "kind %u at a multiple of 4", kind);
	EXPECT(access_with(fd, address + 3u, UVMP_EMU_PREFETCH, 0) == 0, "a prefetch at any byte");
	EXPECT(warp_with(fd, 0, 0, 0) == 0, "a warp without accesses");
	/* Counts whose sum does not fit 32 bits. */
	warp[0].accesses = warp[1].accesses = 0x80000000u;
	EXPECT(submit_with(fd, good, 2, 1, 0) == -EINVAL, "2^31 accesses twice");
	warp[0].accesses = UVMP_EMU_ACCESS_MAX;
	warp[1].accesses = 1;
	EXPECT(submit_with(fd, good, 2, 1, 0) != 0, "one access too many in all");
	/* A bad access after a good one: not even the good one is performed. */
	at[0] = 5;
	warp[0].accesses = 2;
	access[1].kind = 9;
	EXPECT(submit_with(fd, good, 1, 1, 0) == -EINVAL, "a good and a bad access");
	EXPECT(at[0] == 5 && emu_gpu_read(fd, 1, at) == 5, "a refused submission has written");
	access[1].kind = UVMP_EMU_READ;
	warp[0].accesses = warp[1].accesses = 1;
	warp[1].sm = 5000;
	EXPECT(submit_with(fd, good, 2, 1, 0) == -EINVAL && at[0] == 5, "a good and a bad warp");
	/* Results that cannot be written back. */
	struct uvmp_emu_warp *constant = constant_page();

	EXPECT(mprotect(constant, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0, "mprotect");
	*constant = (struct uvmp_emu_warp){.access = (uintptr_t)access, .accesses = 1};
	EXPECT(mprotect(constant, PAGE_BYTES, PROT_READ) == 0, "mprotect");
	EXPECT(submit_with(fd, (uintptr_t)constant, 1, 1, 0) == -EFAULT, "warps that cannot be written");
	expect_works(fd, at);
	free(many);
}

/* What no range holds is the warp's trouble alone, wherever it points. */
static void wild_addresses(void)
{
	static const uint64_t wild[] = {0,
	                                8,
	                                0x7ffffffff000u,
	                                0x800000000000u,
	                                0xffff800000000000u,
	                                0xffffffff81000000u,
	                                0xfffffffffffff000u,
	                                0xfffffffffffffff8u};
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES), value = 1;

	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++)
		for (unsigned kind = UVMP_EMU_READ; kind <= UVMP_EMU_ADD; kind++)
			EXPECT(emu_gpu_try(fd, 1, kind, (void *)(uintptr_t)wild[i], &value) == -EFAULT,
			       "kind %u at 0x%llx", kind, (unsigned long long)wild[i]);
	EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_READ, &value, &value) == -EFAULT,
	       "the GPU reads memory that is not managed");
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++)
		EXPECT(emu_gpu_try(fd, 1, UVMP_EMU_PREFETCH, (void *)(uintptr_t)wild[i], &value) == 0,
		       "a prefetch at 0x%llx is an error", (unsigned long long)wild[i]);
	expect_works(fd, at);
}

static int call_with(int fd, unsigned long request, uint64_t address, uint64_t bytes, uint32_t processor,
                     uint32_t advice)
{
	struct uvmp_emu_call call = {
	        .address = address, .bytes = bytes, .processor = processor, .advice = advice};

	return emu_ioctl(fd, request, &call);
}

/* Of arguments that are bad in two ways, either error will do. */
static bool is_refused(int error)
{
	return error == -EINVAL || error == -ENOENT;
}

static void bad_calls(void)
{
	int fd = emu_open();
	char *space = mmap(NULL, 64u * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const size_t bytes = 8u * PAGE_BYTES;
	uint64_t *at = mmap(space + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	uint64_t address = (uintptr_t)at;
	static const unsigned long both[] = {UVMP_EMU_PREFETCH_RANGE, UVMP_EMU_ADVISE};

	EXPECT(at == (void *)(space + bytes), "mmap: %s", strerror(errno));
	at[0] = 1;
	for (size_t i = 0; i < 2; i++) {
		unsigned long request = both[i];

		EXPECT(is_refused(call_with(fd, request, address, 0, 1, 0)), "%zu: no bytes", i);
		EXPECT(is_refused(call_with(fd, request, address + 8u, PAGE_BYTES, 1, 0)), "%zu: odd address",
		       i);
		EXPECT(is_refused(call_with(fd, request, address, PAGE_BYTES + 8u, 1, 0)), "%zu: odd bytes",
		       i);
		EXPECT(is_refused(call_with(fd, request, address, 1, 1, 0)), "%zu: one byte", i);
		EXPECT(is_refused(call_with(fd, request, address, (uint64_t)-PAGE_BYTES, 1, 0)),
		       "%zu: below zero", i);
		EXPECT(is_refused(call_with(fd, request, address, -address, 1, 0)), "%zu: up to 2^64", i);
		EXPECT(is_refused(call_with(fd, request, address, -address + PAGE_BYTES, 1, 0)),
		       "%zu: around 2^64", i);
		EXPECT(is_refused(call_with(fd, request, (uint64_t)-PAGE_BYTES, 2u * PAGE_BYTES, 1, 0)),
		       "%zu: from the last page around", i);
		EXPECT(is_refused(call_with(fd, request, address, 1ull << 63, 1, 0)), "%zu: 2^63 bytes", i);
		EXPECT(call_with(fd, request, address, bytes + PAGE_BYTES, 1, 0) == -ENOENT,
		       "%zu: beyond the end", i);
		EXPECT(call_with(fd, request, address - PAGE_BYTES, PAGE_BYTES * 2u, 1, 0) == -ENOENT,
		       "%zu: before the begin", i);
		EXPECT(call_with(fd, request, address - PAGE_BYTES, PAGE_BYTES, 1, 0) == -ENOENT,
		       "%zu: before", i);
		EXPECT(call_with(fd, request, 0, PAGE_BYTES, 1, 0) == -ENOENT, "%zu: page 0", i);
		EXPECT(call_with(fd, request, address, bytes, 3, 0) == -EINVAL, "%zu: processor 3 of 2 GPUs",
		       i);
		EXPECT(call_with(fd, request, address, bytes, 256, 0) == -EINVAL, "%zu: processor 256", i);
		EXPECT(call_with(fd, request, address, bytes, 257, 0) == -EINVAL, "%zu: processor 257", i);
		EXPECT(call_with(fd, request, address, bytes, ~0u, 0) == -EINVAL, "%zu: processor 2^32 - 1",
		       i);
		emu_expect_where(fd, at, PAGE_BYTES, i ? ON_GPU(2) : ON_CPU, "refused calls");
		EXPECT(call_with(fd, request, address, bytes, 2, 0) == 0, "%zu: the good call", i);
	}
	EXPECT(call_with(fd, UVMP_EMU_PREFETCH_RANGE, address, bytes, UVMP_EMU_NONE, 0) == -EINVAL,
	       "PREFETCH to nowhere");
	EXPECT(call_with(fd, UVMP_EMU_PREFETCH_RANGE, address, bytes, 1, 1) == -EINVAL,
	       "PREFETCH with advice");
	EXPECT(call_with(fd, UVMP_EMU_ADVISE, address, bytes, 1, 7) == -EINVAL, "advice 7");
	EXPECT(call_with(fd, UVMP_EMU_ADVISE, address, bytes, 1, ~0u) == -EINVAL, "advice 2^32 - 1");
	EXPECT(call_with(fd, UVMP_EMU_ADVISE, address, bytes, UVMP_EMU_NONE, UVMP_EMU_READ_DUPLICATE) == 0,
	       "duplication without a processor");
	EXPECT(call_with(fd, UVMP_EMU_ADVISE, address, bytes, UVMP_EMU_NONE, UVMP_EMU_ACCESSED_BY) == -EINVAL,
	       "accessed-by without a processor");
	EXPECT(call_with(fd, UVMP_EMU_ADVISE, address, bytes, 3, UVMP_EMU_NOT_ACCESSED_BY) == -EINVAL,
	       "not accessed by GPU 3 of 2");
	expect_works(fd, at);
}

static int look_with(int fd, uint64_t address, uint64_t bytes, uint64_t where, uint32_t zero)
{
	struct uvmp_emu_look look = {.address = address, .bytes = bytes, .where = where, .zero = zero};

	return emu_ioctl(fd, UVMP_EMU_LOOK, &look);
}

static void bad_looks(void)
{
	int fd = emu_open();
	const size_t bytes = 4u * PAGE_BYTES;
	uint64_t *at = emu_map(fd, bytes);
	uint64_t address = (uintptr_t)at;
	uint8_t where[6];

	at[0] = 1;
	EXPECT(is_refused(look_with(fd, address, 0, 0, 0)), "no bytes");
	EXPECT(is_refused(look_with(fd, address + 1u, PAGE_BYTES, 0, 0)), "odd address");
	EXPECT(is_refused(look_with(fd, address, PAGE_BYTES - 1u, 0, 0)), "odd bytes");
	EXPECT(is_refused(look_with(fd, address, 1025u * MIB, 0, 0)), "more than 1 GiB");
	EXPECT(is_refused(look_with(fd, address, (uint64_t)-PAGE_BYTES, 0, 0)), "below zero");
	EXPECT(is_refused(look_with(fd, (uint64_t)-PAGE_BYTES, 2u * PAGE_BYTES, 0, 0)), "around 2^64");
	EXPECT(look_with(fd, 0, PAGE_BYTES, 0, 0) == -ENOENT, "page 0");
	EXPECT(look_with(fd, address, bytes, 0, 1) == -EINVAL, "zero is 1");
	EXPECT(look_with(fd, address, bytes, (uintptr_t)IN_KERNEL, 0) == -EFAULT, "where: in the kernel");
	EXPECT(look_with(fd, address, bytes, 8, 0) == -EFAULT, "where: address 8");
	EXPECT(look_with(fd, address, bytes, (uintptr_t)constant_page(), 0) == -EFAULT, "where: constant");
	EXPECT(look_with(fd, address, bytes, (uintptr_t)end_of_page(3), 0) == -EFAULT,
	       "where: over a page's end");
	memset(where, 0xa5, sizeof(where));
	EXPECT(look_with(fd, address, bytes, (uintptr_t)(where + 1), 0) == 0, "the good LOOK");
	EXPECT(where[0] == 0xa5 && where[1] == ON_CPU && where[2] != 0xa5 && where[3] != 0xa5 &&
	               where[4] != 0xa5 && where[5] == 0xa5,
	       "one byte a page: %02x %02x %02x %02x %02x %02x", where[0], where[1], where[2], where[3],
	       where[4], where[5]);
	expect_works(fd, at);
}

static void bad_stats(void)
{
	static const uint32_t bad[] = {3, 4, 5, 255, 256, ~0u};
	int fd = emu_open();
	struct uvmp_emu_stats stats;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(&stats, 0, sizeof(stats));
		stats.gpu = bad[i];
		EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, &stats) == -EINVAL, "GPU %u of 2", bad[i]);
	}
	memset(&stats, 0, sizeof(stats));
	stats.zero = 1;
	EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, &stats) == -EINVAL, "zero is 1");
}

/* Into memory of zeros and of ones: every byte is the same, once the driver has come to rest. */
static void read_twice(int fd, unsigned gpu, struct uvmp_emu_stats *stats)
{
	unsigned tries = 0;

	do {
		memset(&stats[0], 0, sizeof(stats[0]));
		memset(&stats[1], 0xff, sizeof(stats[1]));
		stats[0].gpu = stats[1].gpu = gpu;
		stats[1].zero = 0;
		EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, &stats[0]) == 0 &&
		               emu_ioctl(fd, UVMP_EMU_STATS, &stats[1]) == 0,
		       "STATS of %u", gpu);
	} while (memcmp(&stats[0], &stats[1], sizeof(*stats)) != 0 && tries++ < 1000u);
	EXPECT(tries <= 1000u, "bytes of STATS of %u are not written", gpu);
}

/* What INFO and STATS give is what they are for, and every byte of it is the same for any memory that it is
 * written into. */
static void outputs(void)
{
	int fd = emu_open(), other = emu_open();
	uint64_t *at = emu_map(fd, 64u * PAGE_BYTES);
	struct uvmp_emu_info info[2], others;
	struct uvmp_emu_stats stats[2], sum;

	memset(&info[0], 0, sizeof(info[0]));
	memset(&info[1], 0xff, sizeof(info[1]));
	EXPECT(emu_ioctl(fd, UVMP_EMU_INFO, &info[0]) == 0 && emu_ioctl(fd, UVMP_EMU_INFO, &info[1]) == 0,
	       "INFO");
	EXPECT(memcmp(&info[0], &info[1], sizeof(*info)) == 0, "bytes of INFO are not written");
	EXPECT(info->version == 1 && info->gpus == 3 && info->memory_bytes == 6u * MIB &&
	               info->fault_entries == 128 && info->counter_entries == 32,
	       "INFO: version %u, %u GPUs of %llu bytes, %u and %u entries", info->version, info->gpus,
	       (unsigned long long)info->memory_bytes, info->fault_entries, info->counter_entries);
	EXPECT(emu_ioctl(other, UVMP_EMU_INFO, &others) == 0 && others.space != info->space &&
	               info->space != 0,
	       "two files have one address space");
	for (unsigned gpu = 1; gpu <= 3; gpu++)
		for (size_t i = 0; i < 64; i++)
			emu_gpu_write(fd, gpu, at + i * PAGE_WORDS, i);
	sum = emu_stats(0);
	EXPECT(sum.accesses == 192, "%llu accesses counted, 192 made", (unsigned long long)sum.accesses);
	for (unsigned gpu = 0; gpu <= 3; gpu++) {
		read_twice(fd, gpu, stats);
		EXPECT(stats->gpu == gpu && stats->zero == 0, "STATS of %u says gpu %u, zero %u", gpu,
		       stats->gpu, stats->zero);
		if (gpu == 0)
			continue;
		EXPECT(stats->accesses == 64, "GPU %u: %llu accesses counted, 64 made", gpu,
		       (unsigned long long)stats->accesses);
		EXPECT(stats->faults_written > 0 && stats->batches > 0 && stats->replays > 0 &&
		               stats->interrupts > 0,
		       "GPU %u has not faulted", gpu);
		sum.faults_written -= stats->faults_written;
		sum.batches -= stats->batches;
		sum.frames_gpu -= stats->frames_gpu;
	}
	EXPECT(sum.faults_written == 0 && sum.batches == 0 && sum.frames_gpu == 0, "the sum is not the sum");
}

/* Numbers, sizes and directions that are no call. */
static void unknown_requests(void)
{
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES);
	char buffer[4096];
	int error;

	memset(buffer, 0, sizeof(buffer));
	for (unsigned number = 0; number < 256; number++)
		for (unsigned direction = 0; direction < 4; direction++)
			for (unsigned size = 0; size < 260; size += 13) {
				unsigned long request = _IOC(direction, 'U', number, size);
				bool is_known = false;

				for (size_t i = 0; i < REQUESTS; i++)
					is_known = is_known || requests[i] == request;
				error = is_known ? -ENOTTY : emu_ioctl(fd, request, buffer);
				EXPECT(error == -ENOTTY || error == -EINVAL, "request 0x%lx: %s", request,
				       strerror(-error));
			}
	for (size_t i = 0; i < REQUESTS; i++) {
		error = emu_ioctl(fd, requests[i] ^ (1ul << _IOC_SIZESHIFT), buffer);
		EXPECT(error == -ENOTTY || error == -EINVAL, "call %zu of another size: %s", i,
		       strerror(-error));
		error = emu_ioctl(fd, requests[i] ^ (1ul << _IOC_TYPESHIFT), buffer);
		EXPECT(error == -ENOTTY || error == -EINVAL, "call %zu of another type: %s", i,
		       strerror(-error));
	}
	memset(buffer, 0xff, sizeof(buffer));
	for (size_t i = 1; i < REQUESTS; i++) {
		error = emu_ioctl(fd, requests[i], buffer);
		EXPECT(error == -EINVAL || error == -EFAULT || error == -ENOENT, "call %zu with all ones: %s",
		       i, strerror(-error));
	}
	for (size_t i = 0; i < sizeof(buffer); i++)
		EXPECT((unsigned char)buffer[i] == 0xff, "a call that failed has changed byte %zu", i);
	EXPECT(read(fd, buffer, 1) == -1 && write(fd, buffer, 1) == -1, "read or write on the device works");
	expect_works(fd, at);
}

static void bad_mappings(void)
{
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open(), only_read = open("/dev/" UVMP_EMU_DEVICE, O_RDONLY);
	uint64_t *at = emu_map(fd, bytes), *moved;

	EXPECT(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL,
	       "MAP_PRIVATE");
	EXPECT(mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL,
	       "MAP_PRIVATE to read");
	EXPECT(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)PAGE_BYTES) == MAP_FAILED,
	       "an offset");
	EXPECT(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(1ull << 62)) == MAP_FAILED,
	       "a large offset");
	EXPECT(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, only_read, 0) == MAP_FAILED,
	       "written through a descriptor to read");
	EXPECT(mmap(NULL, bytes, PROT_READ, MAP_SHARED, only_read, 0) == MAP_FAILED,
	       "mapped through a descriptor to read");
	EXPECT(mmap(NULL, bytes, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL,
	       "to write and not to read");
	EXPECT(mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0) == MAP_FAILED &&
	               (errno == EINVAL || errno == EPERM), /* the latter where /dev is mounted so */
	       "to execute");
	EXPECT(mprotect(at, bytes, PROT_READ | PROT_EXEC) == -1 && errno == EACCES, "mprotect to execute");
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 1);
	EXPECT(emu_prefetch(fd, at, bytes / 2u, 1) == 0, "PREFETCH");
	EXPECT(mremap(at, bytes, 2u * bytes, 0) == MAP_FAILED, "grown in its place");
	EXPECT(mremap(at, bytes, 2u * bytes, MREMAP_MAYMOVE) == MAP_FAILED, "grown elsewhere");
	EXPECT(mremap(at, 0, bytes, MREMAP_MAYMOVE) == MAP_FAILED, "mapped twice");
	moved = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
	EXPECT(moved == MAP_FAILED, "moved");
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 1), "word %zu changed by what was refused", i);
	EXPECT(mremap(at, bytes, bytes / 2u, 0) == at, "shrunk: %s", strerror(errno));
	EXPECT(emu_look(fd, at, bytes, NULL, NULL) == -ENOENT &&
	               emu_look(fd, at, bytes / 2u, NULL, NULL) == 0,
	       "LOOK after shrinking");
	for (size_t i = 0; i < bytes / 16u; i++)
		EXPECT(at[i] == emu_value(i, 1), "word %zu changed by shrinking", i);
	expect_works(fd, at);
}

/* Pages move, so no reference to a page may be kept: neither to one in the CPU's page table nor to one
 * on a GPU. */
static void no_references(void)
{
	const size_t bytes = 4u * PAGE_BYTES;
	int fd = emu_open(), pipes[2];
	uint64_t *at = emu_map(fd, bytes), copy[4] = {0};

	EXPECT(pipe(pipes) == 0, "pipe");
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 1);
	EXPECT(emu_prefetch(fd, at + 2u * PAGE_WORDS, bytes / 2u, 1) == 0, "PREFETCH");
	for (size_t page = 0; page < 4; page++) {
		struct iovec there = {.iov_base = at + page * PAGE_WORDS, .iov_len = sizeof(copy)};
		struct iovec here = {.iov_base = copy, .iov_len = sizeof(copy)};

		EXPECT(vmsplice(pipes[1], &there, 1, 0) == -1 && errno == EFAULT, "page %zu: vmsplice", page);
		EXPECT(process_vm_readv(getpid(), &here, 1, &there, 1, 0) == -1 && errno == EFAULT,
		       "page %zu: process_vm_readv", page);
		EXPECT(process_vm_writev(getpid(), &here, 1, &there, 1, 0) == -1 && errno == EFAULT,
		       "page %zu: process_vm_writev", page);
	}
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 1), "word %zu is 0x%llx", i, (unsigned long long)at[i]);
	expect_works(fd, at);
}

/* Half of it on the GPU, and the same contents as ever. */
static void lay_out(int fd, uint64_t *at, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8u; i++)
		at[i] = emu_value(i, 1);
	EXPECT(emu_prefetch(fd, at, bytes / 2u, UVMP_EMU_CPU) == 0 &&
	               emu_prefetch(fd, at + bytes / 16u, bytes / 2u, 1) == 0,
	       "PREFETCH");
}

static void expect_laid_out(int fd, uint64_t *at, size_t bytes, const char *when)
{
	emu_expect_where(fd, at, bytes / 2u, ON_CPU, when);
	emu_expect_where(fd, at + bytes / 16u, bytes / 2u, ON_GPU(1), when);
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 1), "%s: word %zu is 0x%llx", when, i,
		       (unsigned long long)at[i]);
}

/* The disk in memory that init has made; -1: this kernel has none (the debug one). */
static int open_disk(int flags)
{
	int disk = open("/dev/ram0", O_RDWR | flags);

	EXPECT(disk >= 0 || errno == ENOENT, "/dev/ram0: %s", strerror(errno));
	return disk;
}

/* What a disk would read or write by itself, past the CPU's page table, is refused: nothing is transferred,
 * no page moves. */
static void direct_io(void)
{
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open(), disk = open_disk(O_DIRECT);
	uint64_t *at = emu_map(fd, bytes);
	uint64_t *plain = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(plain != MAP_FAILED, "mmap: %s", strerror(errno));
	if (disk < 0) {
		printf("     no disk in memory, so no O_DIRECT\n");
		return;
	}
	for (size_t i = 0; i < bytes / 8u; i++)
		plain[i] = emu_value(i, 2);
	EXPECT(pwrite(disk, plain, bytes, 0) == (ssize_t)bytes, "O_DIRECT from other memory: %s",
	       strerror(errno));
	lay_out(fd, at, bytes);
	for (size_t half = 0; half < 2; half++) {
		uint64_t *part = at + half * bytes / 16u;

		EXPECT(pwrite(disk, part, bytes / 2u, 0) == -1 && errno == EFAULT, "half %zu: written", half);
		EXPECT(pread(disk, part, bytes / 2u, 0) == -1 && errno == EFAULT, "half %zu: read", half);
	}
	expect_laid_out(fd, at, bytes, "O_DIRECT");
	memset(plain, 0, bytes);
	EXPECT(pread(disk, plain, bytes, 0) == (ssize_t)bytes, "O_DIRECT to other memory: %s",
	       strerror(errno));
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(plain[i] == emu_value(i, 2), "word %zu of the disk is 0x%llx", i,
		       (unsigned long long)plain[i]);
	close(disk);
	expect_works(fd, at);
}

struct victim {
	pid_t process;
	uint64_t *at;
	size_t bytes;
};

/* As a debugger does it. */
static void pry(void *argument)
{
	const struct victim *victim = argument;
	uint64_t copy[4] = {1, 2, 3, 4}, same[4] = {1, 2, 3, 4};
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)victim->process);
	memory = open(path, O_RDWR);
	EXPECT(memory >= 0, "%s: %s", path, strerror(errno));
	for (size_t page = 0; page < victim->bytes / PAGE_BYTES; page++) {
		uint64_t *at = victim->at + page * PAGE_WORDS;
		struct iovec there = {.iov_base = at, .iov_len = sizeof(copy)};
		struct iovec here = {.iov_base = copy, .iov_len = sizeof(copy)};

		EXPECT(process_vm_readv(victim->process, &here, 1, &there, 1, 0) == -1 && errno == EFAULT,
		       "page %zu: process_vm_readv", page);
		EXPECT(process_vm_writev(victim->process, &here, 1, &there, 1, 0) == -1 && errno == EFAULT,
		       "page %zu: process_vm_writev", page);
		EXPECT(pread(memory, copy, sizeof(copy), (off_t)(uintptr_t)at) == -1 && errno == EIO,
		       "page %zu: read by %s", page, path);
		EXPECT(pwrite(memory, copy, sizeof(copy), (off_t)(uintptr_t)at) == -1 && errno == EIO,
		       "page %zu: written by %s", page, path);
		EXPECT(memcmp(copy, same, sizeof(copy)) == 0, "page %zu: something was read", page);
	}
}

static void pried_into(void)
{
	const size_t bytes = 4u * PAGE_BYTES;
	int fd = emu_open();
	struct victim victim = {.process = getpid(), .at = emu_map(fd, bytes), .bytes = bytes};

	lay_out(fd, victim.at, bytes);
	emu_finish(emu_start(pry, &victim));
	expect_laid_out(fd, victim.at, bytes, "another process has looked");
}

/* Advice of a program to the kernel does not apply to managed memory: it is refused or has no effect.
 * Locked pages move as others do. */
static void advice_to_the_kernel(void)
{
	static const struct {
		int advice;
		bool is_refused;
	} advices[] = {{MADV_DONTNEED, true},  {MADV_FREE, true},          {MADV_REMOVE, true},
	               {MADV_HUGEPAGE, false}, {MADV_MERGEABLE, false},    {MADV_COLD, false},
	               {MADV_PAGEOUT, false},  {MADV_POPULATE_READ, true}, {MADV_POPULATE_WRITE, true}};
	const size_t bytes = 8u * PAGE_BYTES;
	int fd = emu_open();
	uint64_t *at = emu_map(fd, bytes), *later;

	for (size_t i = 0; i < sizeof(advices) / sizeof(*advices); i++) {
		int result;

		lay_out(fd, at, bytes);
		result = madvise(at, bytes, advices[i].advice);
		EXPECT(result == -1 || !advices[i].is_refused, "advice %d is taken", advices[i].advice);
		expect_laid_out(fd, at, bytes, "advice to the kernel");
	}
	lay_out(fd, at, bytes);
	EXPECT(mlock(at, bytes) == 0, "mlock: %s", strerror(errno));
	expect_laid_out(fd, at, bytes, "locked");
	EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
	emu_expect_where(fd, at, bytes, ON_GPU(1), "locked, and prefetched");
	EXPECT(mlockall(MCL_FUTURE) == 0, "mlockall: %s", strerror(errno));
	later = emu_map(fd, bytes);
	emu_expect_where(fd, later, bytes, 0, "mapped by who locks all");
	expect_works(fd, later);
	EXPECT(munlockall() == 0 && munlock(at, bytes) == 0, "munlock: %s", strerror(errno));
	for (size_t i = 0; i < bytes / 8u; i++)
		EXPECT(at[i] == emu_value(i, 1), "word %zu is 0x%llx", i, (unsigned long long)at[i]);
}

/* -- other processes ----------------------------------------------------------------------------- */

struct place {
	int fd;
	uint64_t *at;
	size_t bytes;
};

static void be_a_stranger(void *argument)
{
	const struct place *place = argument;
	struct uvmp_emu_info info;
	struct uvmp_emu_stats stats = {0};
	struct uvmp_emu_access access = {.address = (uintptr_t)place->at};
	struct uvmp_emu_warp warp = {.access = (uintptr_t)&access, .accesses = 1};
	int fd;
	uint64_t *at;

	EXPECT(emu_ioctl(place->fd, UVMP_EMU_INFO, &info) == 0, "INFO of another's file");
	EXPECT(emu_ioctl(place->fd, UVMP_EMU_STATS, &stats) == 0, "STATS of another's file");
	EXPECT(submit_with(place->fd, (uintptr_t)&warp, 1, 1, 0) == -EACCES, "SUBMIT to another's file");
	EXPECT(emu_prefetch(place->fd, place->at, place->bytes, 1) == -EACCES, "PREFETCH of another's");
	EXPECT(emu_advise(place->fd, place->at, place->bytes, UVMP_EMU_DISCARD, 0) == -EACCES,
	       "ADVISE of another's");
	EXPECT(emu_look(place->fd, place->at, place->bytes, NULL, NULL) == -EACCES, "LOOK at another's");
	EXPECT(mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, place->fd, 0) == MAP_FAILED && errno == EACCES,
	       "mmap of another's file: %s", strerror(errno));
	/* Its own is its own, also at addresses that the other uses. */
	munmap(place->at, place->bytes);
	fd = emu_open();
	at = mmap(place->at, place->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	EXPECT(at == place->at, "mmap at the other's address: %s", strerror(errno));
	EXPECT(at[0] == 0 && emu_gpu_read(fd, 1, at + PAGE_WORDS) == 0, "the other's contents");
	for (size_t i = 0; i < place->bytes / 8u; i++)
		at[i] = 0xbad;
	EXPECT(emu_prefetch(fd, at, place->bytes, 1) == 0, "PREFETCH");
}

static void touch_and_be_a_stranger(void *argument)
{
	const struct place *place = argument;

	for (size_t page = 0; page < place->bytes / PAGE_BYTES; page++) {
		int read = emu_touch(place->at + page * PAGE_WORDS, false);
		int written = emu_touch(place->at + page * PAGE_WORDS, true);

		EXPECT(read == SIGBUS && written == SIGBUS,
		       "a child touches page %zu of managed memory: signals %d and %d, expected SIGBUS", page,
		       read, written);
	}
	be_a_stranger(argument);
}

static void forked(void)
{
	struct place place = {.fd = emu_open(), .bytes = 8u * PAGE_BYTES};

	place.at = emu_map(place.fd, place.bytes);
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < place.bytes / 8u; i++)
			place.at[i] = emu_value(i, round);
		EXPECT(emu_prefetch(place.fd, place.at, place.bytes / 2u, 1) == 0, "PREFETCH");
		if (round > 0)
			madvise(place.at, place.bytes, round == 1 ? MADV_DOFORK : MADV_WIPEONFORK);
		emu_finish(emu_start(touch_and_be_a_stranger, &place));
		EXPECT(emu_gpu_read(place.fd, 1, place.at + 3) == emu_value(3, round),
		       "a child has changed the GPU's view");
		for (size_t i = 0; i < place.bytes / 8u; i++)
			EXPECT(place.at[i] == emu_value(i, round), "a child has changed word %zu", i);
	}
}

/* A descriptor that another process takes, which is no child of the one that opened it. */
static void passed_on(void)
{
	int there[2], back[2], fd = -1, pid_fd;
	pid_t child;

	EXPECT(pipe(there) == 0 && pipe(back) == 0, "pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		fd = emu_open();
		uint64_t *at = emu_map(fd, PAGE_BYTES);

		at[0] = 5;
		emu_gpu_add(fd, 1, at, 1);
		EXPECT(write(there[1], &fd, sizeof(fd)) == sizeof(fd), "write: %s", strerror(errno));
		EXPECT(read(back[0], &fd, 1) == 1, "read: %s", strerror(errno));
		_exit(0);
	}
	EXPECT(read(there[0], &fd, sizeof(fd)) == sizeof(fd), "read: %s", strerror(errno));
	pid_fd = (int)syscall(SYS_pidfd_open, child, 0);
	EXPECT(pid_fd >= 0, "pidfd_open: %s", strerror(errno));
	fd = (int)syscall(SYS_pidfd_getfd, pid_fd, fd, 0);
	EXPECT(fd >= 0, "pidfd_getfd: %s", strerror(errno));
	close(pid_fd);
	EXPECT(write(back[1], "", 1) == 1, "write: %s", strerror(errno));
	emu_finish(child);
	/* Its owner has ended; the file has not. */
	struct place place = {.fd = fd, .at = emu_map(emu_open(), 2u * PAGE_BYTES), .bytes = 2u * PAGE_BYTES};

	be_a_stranger(&place);
}

static void be_nobody(void *argument)
{
	bool may = *(bool *)argument;
	int fd;

	EXPECT(setgid(1000) == 0 && setuid(1000) == 0, "setuid: %s", strerror(errno));
	fd = open("/dev/" UVMP_EMU_DEVICE, O_RDWR);
	EXPECT(may ? fd >= 0 : fd < 0 && errno == EACCES, "another user opens the device: %s",
	       strerror(errno));
	if (may)
		expect_works(fd, emu_map(fd, PAGE_BYTES));
	EXPECT(open("/sys/kernel/debug/uvmp_emu/policy", O_RDWR) < 0, "another user may change the policy");
	EXPECT(open("/sys/kernel/debug/uvmp_emu/log", O_RDONLY) < 0, "another user may read the log");
}

static void mode_of_device(void)
{
	static const struct {
		const char *parameters;
		unsigned mode;
	} modes[] = {{"", 0600}, {"mode=0666", 0666}, {"mode=0640", 0640}};

	for (size_t i = 0; i < 3; i++) {
		bool may = modes[i].mode == 0666;
		struct stat status;
		int error = emu_load(modes[i].parameters);

		EXPECT(error == 0, "%s: %s", modes[i].parameters, strerror(-error));
		EXPECT(stat("/dev/" UVMP_EMU_DEVICE, &status) == 0 && S_ISCHR(status.st_mode), "no device");
		EXPECT((status.st_mode & 07777) == modes[i].mode, "%s: the device has mode 0%o",
		       modes[i].parameters, status.st_mode & 07777);
		emu_finish(emu_start(be_nobody, &may));
		EXPECT((error = emu_unload()) == 0, "unload: %s", strerror(-error));
	}
}

static void bad_parameters(void)
{
	static const char *const bad[] = {"gpus=0",
	                                  "gpus=5",
	                                  "memory_mib=1",
	                                  "memory_mib=65537",
	                                  "fault_entries=1",
	                                  "fault_entries=65537",
	                                  "counter_entries=65537",
	                                  "utlbs=0",
	                                  "utlbs=65",
	                                  "policy=nonsense=1",
	                                  "policy=threshold=0,quirks=0",
	                                  "policy=preset=none-such",
	                                  "policy=evict=lru2m,evict=fifo",
	                                  "gpus=x",
	                                  "mode=017777"};
	int error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		error = emu_load(bad[i]);
		EXPECT(error == -EINVAL || error == -ERANGE, "%s: %s", bad[i],
		       error ? strerror(-error) : "is loaded");
	}
	EXPECT((error = emu_load("gpus=4 memory_mib=2 fault_entries=2 counter_entries=0 utlbs=1 blocks=1 "
	                         "log_kib=1")) == 0,
	       "the smallest of everything: %s", strerror(-error));
	int fd = emu_open();
	uint64_t *at = emu_map(fd, PAGE_BYTES);

	expect_works(fd, at);
	emu_unmap(at, PAGE_BYTES);
	close(fd);
	EXPECT((error = emu_unload()) == 0, "unload: %s", strerror(-error));
}

/* Structures and arrays that lie in managed memory, on the GPU: copying them faults to the very driver that
 * copies. */
static void arguments_in_managed_memory(void)
{
	const size_t bytes = 16u * PAGE_BYTES;
	int fd = emu_open();
	char *at = (char *)emu_map_at(fd, bytes, 0);
	struct uvmp_emu_submit *submit = (void *)at;
	struct uvmp_emu_warp *warp = (void *)(at + PAGE_BYTES);
	struct uvmp_emu_access *access = (void *)(at + 2u * PAGE_BYTES);
	struct uvmp_emu_look *look = (void *)(at + 3u * PAGE_BYTES);
	struct uvmp_emu_stats *stats = (void *)(at + 4u * PAGE_BYTES);
	struct uvmp_emu_call *call = (void *)(at + 5u * PAGE_BYTES);
	uint64_t *data = (uint64_t *)(at + 6u * PAGE_BYTES);
	uint8_t *where = (uint8_t *)at + 7u * PAGE_BYTES;

	for (unsigned round = 0; round < 4; round++) {
		*access = (struct uvmp_emu_access){
		        .address = (uintptr_t)data, .value = 1, .kind = UVMP_EMU_ADD};
		*warp = (struct uvmp_emu_warp){.access = (uintptr_t)access, .accesses = 1};
		*submit = (struct uvmp_emu_submit){.warp = (uintptr_t)warp, .warps = 1, .gpu = 1};
		*data = 40 + round;
		EXPECT(emu_prefetch(fd, at, bytes, round % 2u) == 0, "PREFETCH");
		EXPECT(emu_ioctl(fd, UVMP_EMU_SUBMIT, submit) == 0 && submit->failed == 0 &&
		               warp->done == 1 && access->value == 40 + round && *data == 41 + round,
		       "SUBMIT from managed memory: %u failed, done %u, value %llu", submit->failed,
		       warp->done, (unsigned long long)access->value);
		*look = (struct uvmp_emu_look){
		        .address = (uintptr_t)at, .bytes = bytes, .where = (uintptr_t)where};
		where[0] = 0xa5;
		EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
		/* The page of the argument has come to the CPU, and others may with it. */
		EXPECT(emu_ioctl(fd, UVMP_EMU_LOOK, look) == 0 &&
		               (where[0] == ON_GPU(1) || where[0] == ON_CPU),
		       "LOOK into managed memory: 0x%x", where[0]);
		memset(stats, 0, sizeof(*stats));
		*call = (struct uvmp_emu_call){.address = (uintptr_t)at, .bytes = bytes, .processor = 1};
		EXPECT(emu_prefetch(fd, at, bytes, 1) == 0, "PREFETCH");
		EXPECT(emu_ioctl(fd, UVMP_EMU_STATS, stats) == 0 && stats->accesses > round,
		       "STATS into managed memory");
		EXPECT(emu_ioctl(fd, UVMP_EMU_PREFETCH_RANGE, call) == 0, "PREFETCH from managed memory");
	}
}

/* -- at random ----------------------------------------------------------------------------------- */

struct fuzz {
	int fd;
	uint64_t random;
	char *managed;
	char *plain;
	char *constant;
};
#define FUZZ_BYTES (MIB + 3u * PAGE_BYTES)
#define FUZZ_CALLS 10000u

static uint64_t any_address(struct fuzz *fuzz)
{
	uint64_t random = emu_random(&fuzz->random);
	uint64_t managed = (uintptr_t)fuzz->managed;

	switch (random % 16u) {
	case 0:
		return 0;
	case 1:
		return emu_random(&fuzz->random);
	case 2:
		return (uintptr_t)IN_KERNEL + (random >> 40);
	case 3:
		return -(random >> 44);
	case 4:
		return (uintptr_t)fuzz->constant;
	case 5:
		return managed + FUZZ_BYTES - ((random >> 8) & 0xff);
	case 6:
	case 7:
	case 8:
		return managed + (random >> 8) % (FUZZ_BYTES / PAGE_BYTES) * PAGE_BYTES;
	case 9:
	case 10:
		return managed + (random >> 8) % (FUZZ_BYTES / 8u) * 8u;
	default:
		return (uintptr_t)fuzz->plain + (random >> 8) % 2048u * 8u;
	}
}

static uint64_t any_number(struct fuzz *fuzz)
{
	uint64_t random = emu_random(&fuzz->random);

	switch (random % 8u) {
	case 0:
		return random >> 8;
	case 1:
		return -(random >> 60);
	case 2:
		return 1ull << (random >> 58);
	case 3:
		return (random >> 8) % 64u * PAGE_BYTES;
	case 4:
		return 0;
	default:
		return (random >> 8) % 5u;
	}
}

/* Fields at random, most of them such that some calls are good. */
static void any_call(struct fuzz *fuzz)
{
	uint64_t random = emu_random(&fuzz->random);
	union {
		struct uvmp_emu_submit submit;
		struct uvmp_emu_call call;
		struct uvmp_emu_look look;
		struct uvmp_emu_stats stats;
		uint64_t word[64];
	} argument = {0};
	struct uvmp_emu_access access[4] = {0};
	struct uvmp_emu_warp warp[4] = {0};
	unsigned long request = requests[random % REQUESTS];

	for (size_t i = 0; i < 4; i++) {
		access[i] = (struct uvmp_emu_access){.address = any_address(fuzz),
		                                     .kind = (uint32_t)any_number(fuzz)};
		access[i].address &= random & 1024 ? ~7ull : ~0ull;
		warp[i] = (struct uvmp_emu_warp){
		        .access = random & 2048 ? (uintptr_t)access : any_address(fuzz),
		        .accesses = random & 4096 ? 4 : (uint32_t)any_number(fuzz) & 0xfffff,
		        .sm = (uint32_t)any_number(fuzz)};
	}
	if (request == UVMP_EMU_SUBMIT)
		argument.submit =
		        (struct uvmp_emu_submit){.warp = random & 8192 ? (uintptr_t)warp : any_address(fuzz),
		                                 .warps = random & 16384 ? 4 : (uint32_t)any_number(fuzz),
		                                 .gpu = random & 32768 ? 1 : (uint32_t)any_number(fuzz),
		                                 .zero = random & 0xff0000 ? 0 : 1};
	else if (request == UVMP_EMU_LOOK)
		argument.look = (struct uvmp_emu_look){
		        .address = any_address(fuzz), .bytes = any_number(fuzz), .where = any_address(fuzz)};
	else if (request == UVMP_EMU_STATS)
		argument.stats.gpu = (uint32_t)any_number(fuzz);
	else
		argument.call = (struct uvmp_emu_call){.address = any_address(fuzz),
		                                       .bytes = any_number(fuzz),
		                                       .processor = (uint32_t)any_number(fuzz),
		                                       .advice = (uint32_t)any_number(fuzz)};
	if (random >> 56 == 0)
		request ^= 1ul << ((random >> 32) % 32u);
	if (_IOC_TYPE(request) != 'U')
		request = UVMP_EMU_INFO;
	if ((random >> 48 & 0xff) == 1)
		for (size_t i = 0; i < 64; i++)
			argument.word[i] = emu_random(&fuzz->random);
	(void)ioctl(fuzz->fd, request,
	            (random >> 40 & 0xff) < 8 ? (void *)(uintptr_t)any_address(fuzz) : &argument);
	/* What a call writes anywhere may be the arguments of another; the CPU takes part too. */
	if (random >> 60 == 1)
		((uint64_t *)fuzz->managed)[random % (FUZZ_BYTES / 8u)] = random;
}

static void fuzz_calls(void *argument)
{
	struct fuzz fuzz = {.random = *(uint64_t *)argument, .fd = emu_open()};
	char *room;

	/* Nothing of the test lies after the written memory. */
	room = mmap(NULL, 8u * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(room != MAP_FAILED, "mmap: %s", strerror(errno));
	fuzz.managed =
	        mmap(room + MIB, FUZZ_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fuzz.fd, 0);
	fuzz.plain = mmap(room + 4u * MIB, 64u * PAGE_BYTES, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	EXPECT(fuzz.managed == room + MIB && fuzz.plain == room + 4u * MIB, "mmap: %s", strerror(errno));
	fuzz.constant = constant_page();
	for (unsigned i = 0; i < FUZZ_CALLS; i++)
		any_call(&fuzz);
	/* All still works. */
	EXPECT(emu_advise(fuzz.fd, fuzz.managed, FUZZ_BYTES, UVMP_EMU_PREFERRED, UVMP_EMU_NONE) == 0,
	       "ADVISE");
	for (size_t i = 0; i < FUZZ_BYTES / 8u; i++)
		((uint64_t *)fuzz.managed)[i] = emu_value(i, 9);
	uint32_t crc = emu_crc(fuzz.managed, FUZZ_BYTES);

	EXPECT(emu_prefetch(fuzz.fd, fuzz.managed, FUZZ_BYTES, 1) == 0, "PREFETCH");
	emu_expect_crc(fuzz.fd, fuzz.managed, FUZZ_BYTES, crc, "after random calls");
	expect_works(fuzz.fd, (uint64_t *)fuzz.managed);
}

static void random_calls(void)
{
	uint64_t seed[2] = {20221122, 42};
	pid_t child[2];

	for (size_t i = 0; i < 2; i++)
		child[i] = emu_start(fuzz_calls, &seed[i]);
	for (size_t i = 0; i < 2; i++)
		emu_finish(child[i]);
}

int main(int argc, char **argv)
{
	static const struct emu_case cases[] = {
	        {"bad_pointers", "", bad_pointers},
	        {"bad_submissions", "gpus=2", bad_submissions},
	        {"wild_addresses", "", wild_addresses},
	        {"bad_calls", "gpus=2", bad_calls},
	        {"bad_looks", "", bad_looks},
	        {"bad_stats", "gpus=2", bad_stats},
	        {"outputs", "gpus=3 memory_mib=6 fault_entries=128 counter_entries=32", outputs},
	        {"unknown_requests", "", unknown_requests},
	        {"bad_mappings", "", bad_mappings},
	        {"no_references", "", no_references},
	        {"direct_io", "", direct_io},
	        {"pried_into", "", pried_into},
	        {"advice_to_the_kernel", "", advice_to_the_kernel},
	        {"forked", "", forked},
	        {"passed_on", "", passed_on},
	        {"arguments_in_managed_memory", "", arguments_in_managed_memory},
	        {"random_calls", "gpus=2 memory_mib=4 fault_entries=16", random_calls},
	        {"mode_of_device", NULL, mode_of_device},
	        {"bad_parameters", NULL, bad_parameters},
	};

	return emu_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
