/* The whole engine, its memory, and the parser of policy strings. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "space.h"
#include "uvmpolicy/advanced.h"
#include "uvmpolicy/uvmpolicy.h"

/* -- the whole engine: one GPU whose memory is full of `resident` blocks of 2 MiB -- */

#define SPACE 1u
#define BASE  0x100000000u
/* faults of a batch: it is served before the next faults are drawn */
#define FAULTS 64u

static struct uvmp_service *service;
static uint64_t now_ns;

static void fault_on(uint64_t page)
{
	struct uvmp_fault fault = {.address = BASE + page * 4096u,
	                           .aperture = UVMP_APERTURE_VID,
	                           .utlb = bench_draw(64),
	                           .type = UVMP_FAULT_INVALID_PTE,
	                           .access = UVMP_ACCESS_WRITE};

	bench_check(uvmp_service_fault(service, 1, &fault) == UVMP_OK);
}

static void serve(void)
{
	const struct uvmp_action *action;

	now_ns += 100000;
	while (uvmp_service_next(service, now_ns, &action) == UVMP_OK)
		uvmp_service_complete(service, action->id, UVMP_OK);
}

/* The same, under a name of its own for callgrind to count in. */
__attribute__((noinline)) void bench_serve(void);
void bench_serve(void)
{
	serve();
}

static size_t engine_bytes(uint64_t managed, uint64_t memory, uint32_t resident, struct uvmp_service **engine)
{
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 3u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {
	        .size = sizeof(gpu), .memory_bytes = memory, .splits = 0, .fault_entries = 4096, .utlbs = 64};
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = 4096,
	                                     .blocks = (uint32_t)(managed / UVMP_ROOT_CHUNK_BYTES),
	                                     .spaces = 1,
	                                     .ranges = 1024,
	                                     .instances = 1,
	                                     .requests = 16};
	struct uvmp_policy policy;
	size_t bytes;

	uvmp_policy_init(&policy);
	params.policy = &policy;
	bytes = uvmp_service_size(&params, resident);
	bench_check(!engine || uvmp_service_init(&params, bench_memory(bytes), bytes, engine) == UVMP_OK);
	return bytes;
}

static void draw_faults(uint64_t blocks)
{
	for (uint32_t i = 0; i < FAULTS; i++) {
		uint64_t page;
		struct uvmp_page_state state = {.size = sizeof(state)};

		do {
			page = bench_draw_long(blocks * 512u);
			uvmp_service_page(service, SPACE, BASE + page * 4096u, &state);
		} while ((state.resident & 2u) != 0);
		fault_on(page);
	}
}

static void engine(uint32_t resident, unsigned long batches)
{
	uint64_t blocks = resident + resident / 8u, root = UVMP_ROOT_CHUNK_BYTES;

	now_ns = 0;
	engine_bytes(blocks * root, resident * root, (uint32_t)blocks, &service);
	bench_check(uvmp_service_bind(service, 1, UVMP_APERTURE_VID, 0, 0, SPACE) == UVMP_OK);
	bench_check(uvmp_service_add_range(service, SPACE, BASE, blocks * root, UVMP_RIGHT_READ_WRITE_ATOMIC,
	                                   UVMP_CPU) == UVMP_OK);
	for (uint32_t i = 0; i < resident; i++) {
		fault_on((uint64_t)i * 512u);
		if (i % FAULTS == FAULTS - 1u || i + 1u == resident)
			serve();
	}
	for (unsigned long i = 0; i < batches; i++) {
		draw_faults(blocks);
		bench_begin();
		bench_serve();
		bench_end();
	}
	free(service);
}

/* Bytes that an engine for one large GPU needs. */
void bench_print_arena(void)
{
	static const struct {
		const char *text;
		uint64_t managed, memory;
	} sizes[] = {
	        {"16 GiB managed, 8 GiB of GPU memory", 1ull << 34, 1ull << 33},
	        {"1 TiB managed, 141 GiB of GPU memory", 1ull << 40, 141ull << 30},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t managed = sizes[i].managed, root = UVMP_ROOT_CHUNK_BYTES;
		size_t fixed = engine_bytes(managed, sizes[i].memory, 0, NULL);
		size_t full =
		        engine_bytes(managed, sizes[i].memory, (uint32_t)(sizes[i].memory / root), NULL);
		size_t all = engine_bytes(managed, sizes[i].memory, (uint32_t)(managed / root), NULL);

		printf("arena: %s: %.1f MiB empty, %.1f MiB with the GPU full, %.1f MiB with all blocks "
		       "touched\n",
		       sizes[i].text, (double)fixed / 1048576.0, (double)full / 1048576.0,
		       (double)all / 1048576.0);
	}
}

void bench_print_state(void)
{
	uint64_t managed = 32ull << 30, memory = 12ull << 30, blocks = managed / UVMP_ROOT_CHUNK_BYTES;
	uint64_t bytes =
	        engine_bytes(managed, memory, (uint32_t)blocks, NULL) + blocks * sizeof(struct sim_block);

	printf("%llu\n", (unsigned long long)(bytes * 1000u / (managed / 4096u)));
}

static void parse(unsigned long calls)
{
	static const char text[] =
	        "prefetch=density threshold=51 min_faults=1 evict=lru replay=batch_flush batch=256";
	struct uvmp_policy policy;
	int is_ok = 1;

	bench_begin();
	for (unsigned long i = 0; i < calls; i++)
		is_ok &= uvmp_policy_parse(text, sizeof(text) - 1, &policy, NULL) == UVMP_OK;
	bench_end();
	bench_check(is_ok);
}

static void service_1000(unsigned long calls)
{
	engine(1000, calls);
}

static void service_70000(unsigned long calls)
{
	engine(70000, calls);
}

const struct bench_case bench_engine_cases[] = {
        {"service-1000", "bench_serve", .units = FAULTS, .calls = 32, .unit = "fault",
         .text = "engine: batches of 64 random faults; memory full of 1000 blocks", .run = service_1000},
        {"service-70000", "bench_serve", .units = FAULTS, .calls = 32, .unit = "fault",
         .text = "engine: batches of 64 random faults; memory full of 70000 blocks", .run = service_70000},
        {"parse", "uvmp_policy_parse_size", .units = 1, .unit = "string", .text = "policy string of six keys",
         .run = parse},
        {0}};
