/* Decision logs of the engine where uvmsim has no option for it: pages of 64 KiB, several GPUs, requests, read
 * duplication, access counters.
 *
 *   record POLICY PAGE_BYTES GPUS [EVENTS [SEED]]    prints the log, or the reason why the engine refuses the policy
 *
 * The events are drawn from the seed and do not depend on what the engine answers, so two versions of the library see the
 * same ones. Every action is completed at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uvmpolicy/service.h"

#define GPUS_MAX   3u
#define ROOTS	   6u
#define RANGES	   3u
#define BLOCK	   UINT64_C(2097152)
#define BASE	   UINT64_C(0x7f0000000000)
#define SPACE	   1u
#define ARENA	   ((size_t)64 << 20)
#define DRAINS_MAX 1000000u

struct recorder {
	struct uvmp_service *service;
	uint32_t page_bytes, gpus;
	uint64_t random, now_ns;
	bool is_chunked; /* the eviction order evicts root chunks */
};

static uint32_t draw(struct recorder *r, uint32_t bound)
{
	r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((r->random >> 33) % bound);
}

/* Ranges of 8, 5 and 3.25 blocks with a gap behind each. */
static uint64_t range_bytes(uint32_t i)
{
	static const uint64_t bytes[RANGES] = {8 * BLOCK, 5 * BLOCK, 3 * BLOCK + BLOCK / 4};

	return bytes[i];
}

static uvmp_addr range_base(uint32_t i)
{
	return BASE + (uint64_t)i * 16 * BLOCK;
}

/* Half of the pages lie close to each other, so that prefetchers find something. */
static uvmp_addr draw_page(struct recorder *r)
{
	uint32_t i = draw(r, RANGES), pages = (uint32_t)(range_bytes(i) / r->page_bytes);
	uint32_t near = (uint32_t)(r->now_ns / 400000u) % pages;
	uint32_t page = draw(r, 2) != 0 ? draw(r, pages) : (near + draw(r, 64)) % pages;

	return range_base(i) + (uint64_t)page * r->page_bytes;
}

/* Frames of page-wise orders take no time, so that a log differs from the logs of versions without frames by the lines
 * of ALLOCATE and FREE only. */
static bool takes_time(const struct recorder *r, const struct uvmp_action *action)
{
	return r->is_chunked || (action->kind != UVMP_ACTION_ALLOCATE && action->kind != UVMP_ACTION_FREE);
}

/* Every transfer of a copy takes as long as another action. */
static uint64_t duration_ns(const struct recorder *r, const struct uvmp_action *action)
{
	if (action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE)
		return 300u * uvmp_action_transfers(action);
	return takes_time(r, action) ? 300u : 0;
}

static void drain(struct recorder *r)
{
	static char text[UVMP_ACTION_TEXT_MAX];
	const struct uvmp_action *action;

	for (uint32_t i = 0; i < DRAINS_MAX; i++) {
		if (uvmp_service_next(r->service, r->now_ns, &action) != UVMP_OK)
			return;
		if (uvmp_action_print(action, text, sizeof(text)) == UVMP_OK)
			puts(text);
		r->now_ns += duration_ns(r, action);
		(void)uvmp_service_complete(r->service, action->id, UVMP_OK);
	}
	puts("the engine does not come to an end");
	exit(1);
}

static void raise_faults(struct recorder *r, uint32_t gpu)
{
	uint32_t count = 1 + draw(r, 96);

	for (uint32_t i = 0; i < count; i++) {
		struct uvmp_fault fault = {.address = draw_page(r),
		                           .aperture = UVMP_APERTURE_VID,
		                           .utlb = draw(r, 8),
		                           .type = UVMP_FAULT_INVALID_PTE,
		                           .access = (uint8_t)(UVMP_ACCESS_READ + draw(r, 2))};

		(void)uvmp_service_fault(r->service, gpu, &fault);
	}
}

static void advise(struct recorder *r, uvmp_addr base, uint64_t bytes)
{
	static const enum uvmp_advice advice[] = {UVMP_ADVISE_PREFERRED,      UVMP_ADVISE_ACCESSED_BY,
	                                          UVMP_ADVISE_NOT_ACCESSED_BY, UVMP_ADVISE_READ_DUPLICATE,
	                                          UVMP_ADVISE_UNSET_DUPLICATE};

	(void)uvmp_service_advise(r->service, SPACE, base, bytes, advice[draw(r, 5)], draw(r, r->gpus + 1), NULL);
}

static void touch(struct recorder *r, uint32_t gpu)
{
	for (uint32_t i = 0; i < 40; i++)
		(void)uvmp_service_access(r->service, gpu, SPACE, draw_page(r),
		                          draw(r, 3) == 0 ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
}

static void event(struct recorder *r)
{
	uint32_t gpu = 1 + draw(r, r->gpus), kind = draw(r, 100);
	uvmp_addr page = draw_page(r);
	uint64_t kernel;
	struct uvmp_note note = {.address = page & ~(BLOCK - 1),
	                         .aperture = UVMP_APERTURE_VID,
	                         .sub_granularity = 1u << draw(r, 32),
	                         .tag = draw(r, 4)};

	if (kind < 60)
		raise_faults(r, gpu);
	else if (kind < 75)
		touch(r, gpu);
	else if (kind < 85)
		(void)uvmp_service_cpu_fault(r->service, SPACE, page,
		                             draw(r, 2) != 0 ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ, kind, NULL);
	else if (kind < 88)
		advise(r, page & ~(uint64_t)65535, 65536);
	else if (kind < 92)
		(void)uvmp_service_migrate(r->service, SPACE, page & ~(uint64_t)65535, 65536, draw(r, r->gpus + 1),
		                           NULL);
	else if (kind < 96)
		(void)uvmp_service_note(r->service, gpu, &note);
	else if (uvmp_service_begin_kernel(r->service, gpu, r->now_ns, &kernel) == UVMP_OK) {
		raise_faults(r, gpu);
		drain(r);
		(void)uvmp_service_end_kernel(r->service, kernel, r->now_ns);
	}
}

/* UVMP_OK, or why the engine refuses: printed. */
static enum uvmp_status open_engine(struct recorder *r, const char *text, uint64_t seed)
{
	static struct uvmp_policy policy;
	static struct uvmp_processors processors;
	static struct uvmp_service_gpu gpu[GPUS_MAX];
	struct uvmp_service_params params = {.size = sizeof(params),
	                                     .policy = &policy,
	                                     .processors = &processors,
	                                     .gpu = gpu,
	                                     .page_bytes = r->page_bytes,
	                                     .blocks = 64,
	                                     .spaces = 2,
	                                     .ranges = 256,
	                                     .instances = 8,
	                                     .requests = 64,
	                                     .seed = seed};
	struct uvmp_service_error error;
	enum uvmp_status status;

	status = uvmp_policy_parse(text, strlen(text), &policy, NULL);
	if (status != UVMP_OK) {
		printf("policy refused: %s\n", uvmp_status_text(status));
		return status;
	}
	r->is_chunked = uvmp_evict_traits_of(policy.evict)->is_chunked;
	processors.count = r->gpus + 1;
	for (uint32_t p = 0; p <= r->gpus; p++) {
		processors.can_access[p] = (uint64_t)1 << p | 1u;
		processors.native_atomics[p] = (uint64_t)1 << p;
	}
	for (uint32_t i = 0; i < r->gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(struct uvmp_service_gpu),
		                                   .memory_bytes = ROOTS * BLOCK,
		                                   .splits = ROOTS,
		                                   .fault_entries = 1024,
		                                   .utlbs = 8,
		                                   .notes = 64,
		                                   .sms = 80};
	status = uvmp_service_params_check(&params, &error);
	if (status != UVMP_OK) {
		printf("refused: %s\n", error.text);
		return status;
	}
	return uvmp_service_init(&params, aligned_alloc(4096, ARENA), ARENA, &r->service);
}

int main(int argc, char **argv)
{
	struct recorder r = {.now_ns = 1000000};
	uint64_t events, seed;

	if (argc < 4) {
		fprintf(stderr, "usage: record POLICY PAGE_BYTES GPUS [EVENTS [SEED]]\n");
		return 2;
	}
	r.page_bytes = (uint32_t)strtoul(argv[2], NULL, 0);
	r.gpus = (uint32_t)strtoul(argv[3], NULL, 0);
	events = argc > 4 ? strtoull(argv[4], NULL, 0) : 400;
	seed = argc > 5 ? strtoull(argv[5], NULL, 0) : 1;
	r.random = seed;
	if (r.gpus < 1 || r.gpus > GPUS_MAX || open_engine(&r, argv[1], seed) != UVMP_OK)
		return r.gpus < 1 || r.gpus > GPUS_MAX ? 2 : 0;
	for (uint32_t gpu = 1; gpu <= r.gpus; gpu++)
		(void)uvmp_service_bind(r.service, gpu, UVMP_APERTURE_VID, 0, 0, SPACE);
	for (uint32_t i = 0; i < RANGES; i++)
		(void)uvmp_service_add_range(r.service, SPACE, range_base(i), range_bytes(i),
		                             UVMP_RIGHT_READ_WRITE_ATOMIC, i == 1 ? UVMP_CPU : UVMP_PROC_NONE);
	for (uint64_t i = 0; i < events; i++) {
		event(&r);
		drain(&r);
		r.now_ns += 20000;
	}
	(void)uvmp_service_synchronise(r.service, 1);
	drain(&r);
	printf("the engine is %s\n", uvmp_service_check(r.service) ? "consistent" : "NOT consistent");
	return uvmp_service_check(r.service) ? 0 : 1;
}
