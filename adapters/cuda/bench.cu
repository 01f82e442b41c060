/* uvmp-cuda-bench: micro-benchmarks of unified memory on a real GPU, in the form that uvmp-calibrate reads (docs/cuda.md).
 *
 * Each benchmark is a kernel whose warps touch pages in a known pattern: tests/cuda/touches.awk is the same pattern as a trace.
 * CUPTI tells the fault groups; the counts of blocks and pages follow from the pattern and from the faults' addresses. */
#include <cuda_runtime.h>
#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

static const size_t block_bytes = 2097152, page_bytes = 4096;

static void check(cudaError_t status, const char *what)
{
	if (status == cudaSuccess)
		return;
	fprintf(stderr, "uvmp-cuda-bench: %s: %s\n", what, cudaGetErrorString(status));
	exit(2);
}

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityUnifiedMemoryCounter3 counter_record;
#else
typedef CUpti_ActivityUnifiedMemoryCounter2 counter_record;
#endif

struct event {
	uint64_t start, end, address, value;
};
static std::vector<event> faults, copies;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*bytes = 1 << 20;
	*buffer = static_cast<uint8_t *>(aligned_alloc(8, *bytes));
	*records = 0;
}

static void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *activity = nullptr;

	while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) {
		if (activity->kind != CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
			continue;
		const counter_record *counter = reinterpret_cast<const counter_record *>(activity);
		const event event = {counter->start, counter->end, counter->address, counter->value};

		if (counter->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT)
			faults.push_back(event);
		else if (counter->counterKind == CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD)
			copies.push_back(event);
	}
	free(buffer);
}

static void start_profiler()
{
	CUpti_ActivityUnifiedMemoryCounterConfig config[2] = {};

	config[0].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
	config[1].kind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD;
	for (auto &one : config) {
		one.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES;
		one.enable = 1;
	}
	if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) != CUPTI_SUCCESS ||
	    cuptiActivityConfigureUnifiedMemoryCounter(config, 2) != CUPTI_SUCCESS ||
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) != CUPTI_SUCCESS) {
		fputs("uvmp-cuda-bench: CUPTI does not report faults of unified memory here\n", stderr);
		exit(2);
	}
}

/* The first lane of each warp touches; warps are spread over the thread blocks of 32 threads. */
__global__ void touch(const volatile char *memory, unsigned touches, size_t stride, size_t step, char *sink)
{
	char sum = 0;

	if (threadIdx.x == 0)
		for (unsigned t = 0; t < touches; t++)
			sum += memory[blockIdx.x * step + t * stride];
	if (sum == 77)
		*sink = sum;
}

__global__ void chase(const uint64_t *next, unsigned steps, uint64_t *sink)
{
	uint64_t at = 0;

	for (unsigned i = 0; i < steps; i++)
		at = next[at];
	*sink = at;
}

static float time_of(cudaEvent_t from, cudaEvent_t to)
{
	float ms = 0;

	check(cudaEventSynchronize(to), "event");
	check(cudaEventElapsedTime(&ms, from, to), "event");
	return ms;
}

static cudaEvent_t before, after;
static char *sink;

/* Groups: faults whose times overlap. Returns the kernel's time in ns. */
static double run(const char *name, bool is_fresh, unsigned warps, unsigned touches, size_t stride, size_t step, bool is_printed)
{
	size_t bytes = (warps - 1) * step + touches * stride + page_bytes;
	std::set<std::pair<uint64_t, uint64_t>> blocks; /* group and block */
	uint64_t group_end = 0, groups = 0, raw = 0, pages = 0, moved = 0;
	std::set<uint64_t> distinct;
	char *memory;
	double ns;

	check(cudaMallocManaged(&memory, bytes), "cudaMallocManaged");
	if (!is_fresh)
		for (size_t i = 0; i < bytes; i += page_bytes)
			memory[i] = 1;
	check(cudaDeviceSynchronize(), "synchronise");
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	faults.clear();
	copies.clear();
	check(cudaEventRecord(before), "event");
	touch<<<warps, 32>>>(memory, touches, stride, step, sink);
	check(cudaEventRecord(after), "event");
	ns = 1e6 * time_of(before, after);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	std::sort(faults.begin(), faults.end(), [](const event &a, const event &b) { return a.start < b.start; });
	for (const event &fault : faults) {
		groups += fault.start >= group_end;
		group_end = std::max(group_end, fault.end);
		raw += std::max<uint64_t>(fault.value, 1);
		distinct.insert(fault.address / page_bytes);
		blocks.insert({groups, fault.address / block_bytes});
	}
	pages = distinct.size();
	for (const event &copy : copies)
		moved += copy.value / page_bytes;
	if (is_printed)
		printf("run,%s,%.0f,0,%llu,%llu,%llu,%zu,%llu,%zu,%llu\n", name, ns, (unsigned long long)groups, (unsigned long long)raw,
		       (unsigned long long)pages, blocks.size(), (unsigned long long)std::max(pages, moved), copies.empty() ? 0 : blocks.size(),
		       (unsigned long long)moved);
	check(cudaFree(memory), "cudaFree");
	return ns;
}

static void measure_copies()
{
	for (size_t bytes = page_bytes; bytes <= (size_t)64 << 20; bytes *= 4) {
		for (int is_in = 0; is_in < 2; is_in++) {
			void *host, *device;
			const int count = bytes < (1 << 20) ? 100 : 10;

			check(cudaMallocHost(&host, bytes), "cudaMallocHost");
			check(cudaMalloc(&device, bytes), "cudaMalloc");
			check(cudaEventRecord(before), "event");
			for (int i = 0; i < count; i++)
				check(cudaMemcpyAsync(is_in ? device : host, is_in ? host : device, bytes,
						      is_in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost),
				      "copy");
			check(cudaEventRecord(after), "event");
			printf("copy,%s,%zu,%.0f\n", is_in ? "h2d" : "d2h", bytes, 1e6 * time_of(before, after) / count);
			check(cudaFree(device), "cudaFree");
			check(cudaFreeHost(host), "cudaFreeHost");
		}
	}
}

/* One dependent access after another, `stride` bytes apart, `count` places; ns an access. */
static double chase_ns(uint64_t *memory, size_t count, size_t stride)
{
	const size_t words = stride / sizeof(uint64_t);
	uint64_t *result;
	double ns[2];

	check(cudaMalloc(&result, sizeof(*result)), "cudaMalloc");
	for (size_t i = 0; i < count; i++)
		check(cudaMemcpy(memory + i * words, std::vector<uint64_t>{(i + 1) % count * words}.data(), sizeof(uint64_t), cudaMemcpyDefault),
		      "copy");
	for (unsigned turn = 0; turn < 2; turn++) {
		check(cudaEventRecord(before), "event");
		chase<<<1, 1>>>(memory, (unsigned)count * (turn + 1) * 16, result);
		check(cudaEventRecord(after), "event");
		ns[turn] = 1e6 * time_of(before, after);
	}
	check(cudaFree(result), "cudaFree");
	return (ns[1] - ns[0]) / (double)(count * 16);
}

static void measure_latencies(size_t free_bytes)
{
	size_t most = std::min<size_t>(free_bytes / 2 / block_bytes, 8192);
	uint64_t *memory, *host;

	check(cudaMalloc(&memory, most * block_bytes), "cudaMalloc");
	/* a stride of a block less a line, so that places do not share a set of the caches */
	for (size_t count = 4; count < most; count += std::max<size_t>(count / 8, 1))
		printf("chase,%zu,%.1f\n", count * block_bytes, chase_ns(memory, count, block_bytes - 128));
	check(cudaFree(memory), "cudaFree");
	check(cudaMallocHost(&host, 4096 * 4096), "cudaMallocHost");
	printf("remote,%.1f\n", chase_ns(host, 4096, 4096));
	check(cudaFreeHost(host), "cudaFreeHost");
}

static double memory_mb_s(size_t free_bytes)
{
	size_t bytes = std::min<size_t>(free_bytes / 4, (size_t)1 << 30);
	char *from, *to;
	float ms;

	check(cudaMalloc(&from, bytes), "cudaMalloc");
	check(cudaMalloc(&to, bytes), "cudaMalloc");
	check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copy");
	check(cudaEventRecord(before), "event");
	check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copy");
	check(cudaEventRecord(after), "event");
	ms = time_of(before, after);
	check(cudaFree(from), "cudaFree");
	check(cudaFree(to), "cudaFree");
	return 2.0 * (double)bytes / ms / 1000;
}

/* FP32 lanes of an SM, by compute capability (CUDA programming guide). */
static int cores_of(int major, int minor)
{
	return major == 6 && minor == 0 ? 64 : major == 7 ? 64 : major == 8 && minor == 0 ? 64 : 128;
}

static void print_gpu()
{
	cudaDeviceProp properties;
	size_t free_bytes, all_bytes;
	int khz = 0;

	check(cudaGetDeviceProperties(&properties, 0), "device properties");
	check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "clock");
	check(cudaMemGetInfo(&free_bytes, &all_bytes), "memory");
	printf("gpu,%s,%d,%d,%d,%d,%d,%zu,%.0f,%ld\n", properties.name, properties.multiProcessorCount, properties.maxThreadsPerMultiProcessor / 32,
	       properties.maxBlocksPerMultiProcessor, khz / 1000, cores_of(properties.major, properties.minor), free_bytes, memory_mb_s(free_bytes),
	       sysconf(_SC_PAGESIZE));
	measure_latencies(free_bytes);
}

static void measure_runs()
{
	static const struct {
		const char *name;
		bool is_fresh;
		unsigned warps, touches;
		size_t stride, step;
	} all[] = {
		{"launch", true, 1, 1, 65536, 0},	 {"chain", true, 1, 64, 65536, 0},
		{"chain-blocks", true, 1, 64, block_bytes, 0}, {"wide", true, 128, 8, 4096, 32768},
		{"wide-32", true, 32, 8, 4096, 32768},	 {"same", true, 128, 8, 4096, 0},
		{"same-32", true, 32, 16, 4096, 0},	 {"blocks-64", true, 64, 4, 4096, block_bytes},
		{"blocks-16", true, 16, 4, 4096, block_bytes}, {"four", true, 4, 64, 65536, 4096},
		{"four-blocks", true, 64, 4, 4096, 524288}, {"moved-chain", false, 1, 64, 65536, 0},
		{"moved-four", false, 4, 64, 65536, 4096}, {"moved-blocks", false, 64, 4, 4096, block_bytes},
		{"moved-16", false, 64, 4, 4096, 524288},  {"moved-4", false, 64, 4, 4096, 131072},
	};
	double first = run("first", true, 1, 1, 65536, 0, false), like = run("like", true, 1, 1, 65536, 0, false);

	printf("first,%.0f,%.0f\n", first, like);
	for (const auto &one : all) {
		(void)run(one.name, one.is_fresh, one.warps, one.touches, one.stride, one.step, false); /* the allocator is warm */
		for (int turn = 0; turn < 5; turn++)
			(void)run(one.name, one.is_fresh, one.warps, one.touches, one.stride, one.step, true);
	}
}

int main()
{
	start_profiler(); /* before the first call of CUDA */
	check(cudaSetDevice(0), "device");
	check(cudaEventCreate(&before), "event");
	check(cudaEventCreate(&after), "event");
	check(cudaMalloc(&sink, 1), "cudaMalloc");
	puts("uvmp-measurements 1");
	print_gpu();
	measure_copies();
	measure_runs();
	return fflush(stdout) == 0 ? 0 : 2;
}
