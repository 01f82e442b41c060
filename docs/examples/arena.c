/* How much memory an engine needs: for a few GPUs, under the driver's policy, with one address space.
 *
 *   cc -std=c11 -Iinclude docs/examples/arena.c build/libuvmpolicy.a -o arena
 */
#include <stdio.h>

#include <uvmpolicy/service.h>

#define GIB (UINT64_C(1) << 30)

/* Of an engine with `gpus` GPUs of so much memory and room for `resident` blocks, in KiB. */
static double arena_kib(uint32_t gpus, uint64_t memory_bytes, uint64_t managed_bytes, uint64_t resident)
{
	struct uvmp_processors processors = {.count = 1 + gpus};
	struct uvmp_service_gpu gpu[8];
	struct uvmp_policy policy;
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = gpu,
	                                     .page_bytes = 4096,
	                                     .blocks = (uint32_t)(managed_bytes / UVMP_ROOT_CHUNK_BYTES),
	                                     .spaces = 1,
	                                     .ranges = 1024,
	                                     .instances = 64,
	                                     .requests = 64};

	uvmp_policy_init(&policy);
	for (uint32_t p = 0; p <= gpus; p++) {
		processors.can_access[p] = UINT64_C(1) << p | 1u;
		processors.native_atomics[p] = UINT64_C(1) << p;
	}
	for (uint32_t i = 0; i < gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                   .memory_bytes = memory_bytes,
		                                   .splits = 64,
		                                   .fault_entries = 4096,
		                                   .utlbs = 64,
		                                   .notes = 1024};
	return (double)uvmp_service_size(&params, (uint32_t)resident) / 1024;
}

int main(void)
{
	static const struct {
		uint32_t gpus, gib;
	} machines[] = {{1, 4}, {1, 8}, {1, 24}, {1, 80}, {1, 141}, {8, 80}};

	puts("GPUs  memory each   managed     empty, KiB  GPUs full, KiB  all touched, KiB");
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		uint32_t gpus = machines[i].gpus;
		uint64_t memory = machines[i].gib * GIB, managed = 4 * gpus * memory;

		printf("%4u  %7u GiB  %4u GiB  %13.0f  %14.0f  %16.0f\n", gpus, machines[i].gib,
		       (unsigned int)(managed / GIB), arena_kib(gpus, memory, managed, 0),
		       arena_kib(gpus, memory, managed, gpus * memory / UVMP_ROOT_CHUNK_BYTES),
		       arena_kib(gpus, memory, managed, managed / UVMP_ROOT_CHUNK_BYTES));
	}
	return 0;
}
