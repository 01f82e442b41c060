/* --version: the version; with -v also the arena that an engine needs (uvmp_service_size). */
#include "cli.h"

#include "uvmpolicy/service.h"

#ifndef UVMSIM_VERSION
#define UVMSIM_VERSION UVMP_VERSION_STRING
#endif

#define MIB 1048576.0

/* For one GPU under the default policy, with state for `resident` blocks of 2 MiB on the CPU and the GPU. */
static double arena_mib(uint64_t managed, uint64_t memory, uint64_t resident)
{
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {.size = sizeof(gpu), .memory_bytes = memory, .fault_entries = 4096, .utlbs = 64};
	struct uvmp_policy policy;
	struct uvmp_service_params params = {.size = sizeof(params),
					     .policy = &policy,
					     .processors = &processors,
					     .gpu = &gpu,
					     .page_bytes = 4096,
					     .blocks = (uint32_t)(managed / UVMP_ROOT_CHUNK_BYTES),
					     .spaces = 1,
					     .ranges = 1024,
					     .instances = 1,
					     .requests = 16};

	uvmp_policy_init(&policy);
	return (double)uvmp_service_size(&params, (uint32_t)resident) / MIB;
}

static void print_arena(void)
{
	static const struct {
		const char *managed_text, *memory_text;
		uint64_t managed, memory;
	} sizes[] = {
		{"16 GiB", "8 GiB", UINT64_C(1) << 34, UINT64_C(1) << 33},
		{"1 TiB", "141 GiB", UINT64_C(1) << 40, UINT64_C(141) << 30},
	};
	const uint64_t root = UVMP_ROOT_CHUNK_BYTES;

	puts("\narena of an engine with one GPU, in MiB\n"
	     "managed   GPU memory      empty   GPU full   all blocks touched");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t managed = sizes[i].managed, memory = sizes[i].memory;

		printf("%-9s %-10s %10.1f %10.1f %20.1f\n", sizes[i].managed_text, sizes[i].memory_text,
		       arena_mib(managed, memory, 0), arena_mib(managed, memory, memory / root),
		       arena_mib(managed, memory, managed / root));
	}
}

int cli_version(bool is_verbose)
{
	printf("uvmsim %s\n", UVMSIM_VERSION);
	if (is_verbose)
		print_arena();
	return CLI_DONE;
}
