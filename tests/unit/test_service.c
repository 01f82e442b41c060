/* Setting up the engine, events, the order of what waits, and actions handed out and completed (service.c),
 * through the public functions. From inside only a header that is damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/engine_internals.h"
#include "support/engine_host.h"
#include "support/policy_names.h"

#define MIB2  0x200000u
#define PAGE  4096u
#define BASE  0x40000000u
#define SPACE 1u

static struct engine e;

static void start(const char *policy, uint32_t gpus, uint32_t roots)
{
	engine_open(&e, policy, gpus, roots, SPACE);
}

static void stop(void)
{
	assert_true(engine_agrees(&e));
	engine_stop(&e);
}

/* -- parameters -- */

/* What size and init say of e.params: both refuse, and nothing was written. */
static void refused(enum uvmp_status status)
{
	static uint64_t memory[64];
	struct uvmp_service *s = (struct uvmp_service *)&e;

	memory[0] = 77;
	assert_int_equal(uvmp_service_size(&e.params, 0), 0);
	assert_int_equal(uvmp_service_init(&e.params, memory, sizeof(memory), &s), status);
	assert_ptr_equal(s, &e);
	assert_int_equal(memory[0], 77);
}

static void test_params(void **state)
{
	struct uvmp_service *s;

	(void)state;
	assert_int_equal(uvmp_service_size(NULL, 0), 0);
	assert_int_equal(uvmp_service_init(NULL, &e, sizeof(e), &s), UVMP_ERR_ARGUMENT);
#define REFUSED(change, status)                                                                              \
	do {                                                                                                 \
		engine_init(&e, 2, 4);                                                                       \
		change;                                                                                      \
		refused(status);                                                                             \
	} while (0)
	REFUSED(e.params.gpu = NULL, UVMP_ERR_ARGUMENT);
	REFUSED(e.policy.counter_batch = 0, UVMP_ERR_ARGUMENT);
	REFUSED(e.processors.count = 65, UVMP_ERR_ARGUMENT);
	REFUSED(e.processors.count = 1, UVMP_ERR_RANGE);
	REFUSED(e.params.page_bytes = 8192, UVMP_ERR_RANGE);
	REFUSED(e.params.blocks = (1u << 24) + 1u, UVMP_ERR_RANGE);
	REFUSED(e.params.spaces = 4097, UVMP_ERR_RANGE);
	REFUSED(e.params.ranges = (1u << 20) + 1u, UVMP_ERR_RANGE);
	REFUSED(e.params.instances = 65537, UVMP_ERR_RANGE);
	REFUSED(e.params.requests = 4097, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].memory_bytes = MIB2 - 1u, UVMP_ERR_RANGE);
	REFUSED(e.processors.no_memory = 4, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].memory_bytes = (UVMP_ROOTS_MAX + (uint64_t)1) * MIB2, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].splits = 5, UVMP_ERR_RANGE);
	REFUSED((e.gpu[1].memory_bytes = (uint64_t)UVMP_ROOTS_MAX * MIB2,
	         e.gpu[1].splits = UVMP_SPLITS_MAX + 1u),
	        UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].fault_entries = 1, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].fault_entries = 65537, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].utlbs = 4097, UVMP_ERR_RANGE);
	REFUSED(e.gpu[1].notes = 65537, UVMP_ERR_RANGE);
	/* more units of 4 KiB than the order can have */
	REFUSED((e.policy.evict = UVMP_EVICT_LRU_4K, e.params.blocks = 1u << 24), UVMP_ERR_RANGE);
	REFUSED((e.policy.evict = UVMP_EVICT_LRU_4K, e.params.page_bytes = 65536), UVMP_ERR_UNSUPPORTED);
	REFUSED((e.policy.evict = UVMP_EVICT_TBN, e.params.page_bytes = 65536), UVMP_ERR_UNSUPPORTED);
	REFUSED(engine_policy(&e, "prefetch=sequential"), UVMP_ERR_UNSUPPORTED);
	REFUSED(engine_policy(&e, "prefetch=locality"), UVMP_ERR_UNSUPPORTED);
	REFUSED(engine_policy(&e, "prefetch_full=sequential"), UVMP_ERR_UNSUPPORTED);
	REFUSED(engine_policy(&e, "prefetch_full=locality"), UVMP_ERR_UNSUPPORTED);
#undef REFUSED
}

/* The error names the field, what was given, and what is accepted. */
static void test_params_check(void **state)
{
	struct uvmp_service_error error, before;

	(void)state;
#define SAYS(change, name, given, least, most, what)                                                         \
	do {                                                                                                 \
		engine_init(&e, 2, 4);                                                                       \
		change;                                                                                      \
		assert_int_not_equal(uvmp_service_params_check(&e.params, &error), UVMP_OK);                 \
		assert_string_equal(error.field, name);                                                      \
		assert_int_equal(error.value, given);                                                        \
		assert_int_equal(error.min, least);                                                          \
		assert_int_equal(error.max, most);                                                           \
		assert_memory_equal(error.text, name ": ", sizeof(name ": ") - 1);                           \
		assert_string_equal(error.text + sizeof(name ": ") - 1, what);                               \
		assert_int_equal(uvmp_service_size(&e.params, 0), 0);                                        \
	} while (0)
	engine_init(&e, 2, 4);
	memset(&error, 0x5a, sizeof(error));
	before = error;
	assert_int_equal(uvmp_service_params_check(&e.params, &error), UVMP_OK);
	assert_memory_equal(&error, &before, sizeof(error));
	assert_int_equal(uvmp_service_params_check(NULL, &error), UVMP_ERR_ARGUMENT);
	assert_string_equal(error.text, "params: missing (NULL)");
	SAYS(e.params.gpu = NULL, "gpu", 0, 1, 0, "missing (NULL)");
	SAYS(e.policy.counter_batch = 0, "policy->counter_batch", 0, 1, 65536, "0 is not accepted; 1..65536");
	SAYS(e.processors.count = 65, "processors->count", 65, 2, 64, "65 is not accepted; 2..64");
	SAYS(e.processors.count = 1, "processors->count", 1, 2, 64, "1 is not accepted; 2..64");
	SAYS(e.params.page_bytes = 8192, "page_bytes", 8192, 1, 0, "not 4096, 16384, 65536 or 2097152");
	SAYS(e.params.blocks = (1u << 24) + 1u, "blocks", (1u << 24) + 1u, 1, 1u << 24,
	     "16777217 is not accepted; 1..16777216, or 0 for the default");
	SAYS(e.params.spaces = 4097, "spaces", 4097, 1, 4096, "4097 is not accepted; 1..4096, or 0 for the default");
	SAYS(e.params.ranges = 1048577, "ranges", 1048577, 1, 1u << 20, "1048577 is not accepted; 1..1048576, or 0 for the default");
	SAYS(e.params.instances = 65537, "instances", 65537, 1, 65536, "65537 is not accepted; 1..65536, or 0 for the default");
	SAYS(e.params.requests = UINT32_MAX, "requests", UINT32_MAX, 1, 4096,
	     "4294967295 is not accepted; 1..4096, or 0 for the default");
	SAYS(e.gpu[1].memory_bytes = MIB2 - 1u, "gpu[1].memory_bytes", MIB2 - 1u, 1, 0,
	     "not 2 MiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
	SAYS(e.gpu[1].memory_bytes = (UVMP_ROOTS_MAX + (uint64_t)1) * MIB2, "gpu[1].memory_bytes",
	     (UVMP_ROOTS_MAX + (uint64_t)1) * MIB2, 1, 0,
	     "not 2 MiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
	SAYS((e.params.processors = NULL, e.params.gpus = 2, e.gpu[1].memory_bytes = MIB2 - 1u), "gpu[1].memory_bytes",
	     MIB2 - 1u, 1, 0, "not 2 MiB to 32 TiB (after memory_ratio); page-wise eviction orders take less");
	SAYS((engine_policy(&e, "evict=lru4k"), e.params.processors = NULL, e.params.gpus = 2, e.gpu[0].splits = 0,
	      e.gpu[1].splits = 0, e.gpu[1].memory_bytes = 4095),
	     "gpu[1].memory_bytes", 4095, 1, 0, "not 4 KiB to 32 TiB (after memory_ratio)");
	SAYS(e.processors.no_memory = 4, "gpu[1].memory_bytes", e.gpu[1].memory_bytes, 1, 0,
	     "2 MiB or more (after memory_ratio), but the GPU is in processors->no_memory");
	SAYS(e.gpu[0].splits = 5, "gpu[0].splits", 5, 0, 4, "5 is not accepted; 0..4");
	SAYS(e.gpu[1].fault_entries = 1, "gpu[1].fault_entries", 1, 2, 65536, "1 is not accepted; 2..65536, or 0 for the default");
	SAYS(e.gpu[1].utlbs = 4097, "gpu[1].utlbs", 4097, 1, 4096, "4097 is not accepted; 1..4096, or 0 for the default");
	SAYS(e.gpu[1].notes = 65537, "gpu[1].notes", 65537, 0, 65536, "65537 is not accepted; 0..65536");
	SAYS(e.gpu[1].sms = 65536, "gpu[1].sms", 65536, 0, 65535, "65536 is not accepted; 0..65535");
	SAYS((e.policy.evict = UVMP_EVICT_LRU_4K, e.params.blocks = 1u << 24), "blocks", 1u << 24, 1, 0,
	     "too many for this eviction order, or for size_t");
	SAYS((e.policy.evict = UVMP_EVICT_LRU_4K, e.params.page_bytes = 65536), "policy->evict",
	     UVMP_EVICT_LRU_4K, 1, 0, evictors_need(65536));
	SAYS((e.policy.evict = UVMP_EVICT_TBN, e.params.page_bytes = 16384), "policy->evict", UVMP_EVICT_TBN, 1, 0,
	     evictors_need(16384));
	SAYS((e.policy.evict = UVMP_EVICT_AUTO, e.params.page_bytes = MIB2), "policy->evict", UVMP_EVICT_AUTO, 1, 0,
	     evictors_need(MIB2));
	SAYS((engine_policy(&e, "evict=lru2m granularity=1m"), e.params.page_bytes = MIB2), "policy->granularity",
	     UVMP_GRANULARITY_1M, 1, 0, "pages of 2048 KiB need units of that size or more");
	SAYS((engine_policy(&e, "evict=lru4k"), e.gpu[0].splits = 0, e.gpu[0].memory_bytes = 4095), "gpu[0].memory_bytes",
	     4095, 1, 0, "not 4 KiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
	SAYS((engine_policy(&e, "evict=lru4k"), e.processors.no_memory = 4, e.gpu[1].memory_bytes = 4096),
	     "gpu[1].memory_bytes", 4096, 1, 0,
	     "4 KiB or more (after memory_ratio), but the GPU is in processors->no_memory");
	SAYS((engine_policy(&e, "evict=lfu2m granularity=256k"), e.gpu[0].splits = 0, e.gpu[0].memory_bytes = MIB2 / 8 - 1),
	     "gpu[0].memory_bytes", MIB2 / 8 - 1, 1, 0,
	     "not 256 KiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
	SAYS((engine_policy(&e, "evict=tbne prefetch=tbn runtime=on"), e.gpu[0].splits = 0,
	      e.gpu[0].memory_bytes = MIB2 - 4096),
	     "gpu[0].memory_bytes", MIB2 - 4096, 1, 0,
	     "not 2 MiB to 32 TiB (after memory_ratio); less only in processors->no_memory");
	SAYS((engine_policy(&e, "evict=lru4k"), e.gpu[0].memory_bytes = MIB2 / 2), "gpu[0].splits", 4, 0, 0,
	     "4 is not accepted; 0");
	SAYS(engine_policy(&e, "prefetch=stride"), "policy->prefetch", UVMP_PREFETCH_STRIDE, 1, 0,
	     prefetchers_know_one_gpu());
	SAYS(engine_policy(&e, "prefetch_full=next"), "policy->prefetch_full", 1u + UVMP_PREFETCH_NEXT, 1, 0,
	     prefetchers_know_one_gpu());
	SAYS(e.params.gpus = 1, "gpus", 1, 2, 2, "1 is not accepted; 2, or 0 for the default");
	SAYS((e.params.processors = NULL, e.params.gpus = 64), "gpus", 64, 1, 63, "64 is not accepted; 1..63, or 0 for the default");
	SAYS(*(uint32_t *)&e.policy.evict = 77, "policy->evict", 77, 0, UVMP_EVICT_COUNT - 1u,
	     not_accepted(77, UVMP_EVICT_COUNT - 1u));
	SAYS(e.policy.replay.max_batch = 0, "policy->replay.max_batch", 0, 1, 65535,
	     "0 is not accepted; 1..65535");
	SAYS(e.policy.prefetch.min_faults = 21, "policy->prefetch.min_faults", 21, 1, 20,
	     "21 is not accepted; 1..20");
	SAYS(e.policy.thrash.nap = 0, "policy->thrash.nap", 0, 1, 100, "0 is not accepted; 1..100");
	SAYS(e.policy.controls.threads_drop = 7, "policy->controls.threads_drop", 7, 20, 20,
	     "7 is not accepted; 20: this policy does not use it");
	SAYS((engine_policy(&e, "adapt=pressure"), e.policy.controls.pressure_low = 60),
	     "policy->controls.pressure_low", 60, 1, 51, "60 is not accepted; 1..51 with threshold=51");
	SAYS(e.policy.prefetch.threshold = 200, "policy->prefetch.threshold", 200, 0, 100, "200 is not accepted; 0..100");
	SAYS((engine_policy(&e, "quirks=0"), e.policy.prefetch.threshold = 0), "policy->prefetch.threshold", 0, 1, 100,
	     "0 is not accepted; 1..100 with quirks=0");
	SAYS(e.policy.prefetch.quirks = false, "policy->prefetch.quirks", 0, 1, 1,
	     "0 is not accepted; 1 with quirks=1");
	SAYS(e.policy.replay.quirks = false, "policy->replay.quirks", 0, 1, 1,
	     "0 is not accepted; 1 with quirks=1");
	SAYS(e.policy.thrash.quirks = false, "policy->thrash.quirks", 0, 1, 1,
	     "0 is not accepted; 1 with quirks=1");
	SAYS(e.processors.count = 0, "processors->count", 0, 2, 64, "0 is not accepted; 2..64");
	SAYS(e.processors.can_access[2] = 12, "processors->can_access[2]", 12, 1, 0,
	     "names a processor that does not exist");
	SAYS(e.processors.can_access[1] = 1, "processors->can_access[1]", 1, 1, 0,
	     "must include its own processor");
	SAYS(e.processors.fast_link[1] = 2, "processors->fast_link[1]", 2, 1, 0,
	     "must not include its own processor");
	SAYS(e.processors.native_atomics[0] = 2, "processors->native_atomics[0]", 2, 1, 0,
	     "must include its own processor");
	SAYS(e.processors.smc[2] = 4, "processors->smc[2]", 4, 1, 0, "must not include its own processor");
	SAYS(e.processors.smc[0] = 2, "processors->smc[0]", 2, 1, 0, "the CPU is no part of a GPU");
	SAYS(e.processors.no_memory = 1, "processors->no_memory", 1, 1, 0, "the CPU has memory");
	SAYS(e.processors.no_memory = 8, "processors->no_memory", 8, 1, 0, "names a processor that does not exist");
#undef SAYS
	engine_init(&e, 2, 4);
	e.policy.counter_batch = 0;
	assert_int_equal(uvmp_service_params_check(&e.params, NULL), UVMP_ERR_ARGUMENT);
	engine_init(&e, 2, 4);
	e.processors.smc[0] = 2;
	assert_int_equal(uvmp_service_params_check(&e.params, NULL), UVMP_ERR_ARGUMENT);
}

/* Each byte of the policy, changed: the error names a field, whole. */
static void test_params_fields(void **state)
{
	struct uvmp_service_error error;
	uint32_t refused_bytes = 0;

	(void)state;
	for (size_t at = offsetof(struct uvmp_policy, prefetch); at < sizeof(e.policy); at++) {
		engine_init(&e, 1, 4);
		((uint8_t *)&e.policy)[at] ^= 0x7e;
		if (uvmp_service_params_check(&e.params, &error) == UVMP_OK)
			continue;
		refused_bytes++;
		assert_int_equal(strncmp(error.field, "policy->", 8), 0);
		assert_int_equal(strncmp(error.text, error.field, strlen(error.field)), 0);
		assert_true(strlen(error.field) + 1u < sizeof(error.field)); /* not cut */
	}
	assert_true(refused_bytes > sizeof(e.policy) / 2u);
}

/* Only sizes, `gpu` and memory_bytes: everything else has a default. */
static void test_params_defaults(void **state)
{
	static struct uvmp_service_gpu gpu[2];
	struct uvmp_service_params params = {.size = sizeof(params), .gpu = gpu}, given;
	struct uvmp_processors processors;
	struct uvmp_service *s;
	size_t bytes;
	void *memory;

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(gpu[i]), .memory_bytes = 16u * MIB2};
	for (uint32_t gpus = 1; gpus <= 2; gpus++) {
		params.gpus = gpus - 1u == 0 ? 0 : gpus;
		bytes = uvmp_service_size(&params, 8);
		assert_true(bytes != 0);
		memory = aligned_alloc(16, bytes / 16u * 16u + 16u);
		assert_int_equal(uvmp_service_init(&params, memory, bytes, &s), UVMP_OK);
		assert_int_equal(s->processors.count, 1u + gpus);
		assert_int_equal(uvmp_processors_init(&processors, gpus), UVMP_OK);
		assert_memory_equal(&s->processors, &processors, sizeof(processors));
		assert_int_equal(s->page_bytes, 4096);
		assert_int_equal(s->gpu[1].batch.utlbs, 64);
		assert_int_equal(s->gpu[1].buffer.capacity, 1024);
		uvmp_policy_init(&e.policy);
		assert_memory_equal(&s->policy, &e.policy, sizeof(e.policy));
		free(memory);

		/* the same values, given */
		given = params;
		given.policy = &e.policy;
		given.processors = &processors;
		given.gpus = gpus;
		given.page_bytes = 4096;
		given.blocks = given.ranges = 1024;
		given.spaces = 64;
		given.instances = given.requests = 256;
		assert_int_equal(uvmp_service_size(&given, 8), bytes);
	}
	gpu[0].utlbs = gpu[1].utlbs = 64;
	gpu[0].fault_entries = gpu[1].fault_entries = 1024;
	gpu[0].splits = gpu[1].splits = 16; /* of 2048 for 1024 ranges, as many as there are roots */
	assert_int_equal(uvmp_service_size(&params, 8), bytes);
	gpu[0].splits = gpu[1].splits = 0;
	params.ranges = 4;
	bytes = uvmp_service_size(&params, 8);
	gpu[0].splits = gpu[1].splits = 8;
	assert_int_equal(uvmp_service_size(&params, 8), bytes);

	/* fault buffers hold a batch */
	params.policy = &e.policy;
	gpu[0].fault_entries = gpu[1].fault_entries = 0;
	e.policy.replay.max_batch = 5000;
	bytes = uvmp_service_size(&params, 8);
	gpu[0].fault_entries = gpu[1].fault_entries = 5001;
	assert_int_equal(uvmp_service_size(&params, 8), bytes);
	gpu[0].fault_entries = gpu[1].fault_entries = 0;
	e.policy.replay.max_batch = 65535;
	bytes = uvmp_service_size(&params, 8);
	gpu[0].fault_entries = gpu[1].fault_entries = 65536;
	assert_int_equal(uvmp_service_size(&params, 8), bytes);
}

static void test_init(void **state)
{
	struct uvmp_service *s = NULL;
	size_t bytes;
	uint8_t *memory;

	(void)state;
	engine_init(&e, 2, 4);
	bytes = uvmp_service_size(&e.params, 0);
	assert_true(bytes != 0);
	/* 208 bytes a place, 48 a block */
	assert_int_equal(uvmp_service_size(&e.params, 1000) - bytes, 1000 * (48 + 2 * 208));
	memory = aligned_alloc(16, bytes + 16);
	assert_int_equal(uvmp_service_init(&e.params, NULL, bytes, &s), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_init(&e.params, memory, bytes, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_init(&e.params, memory + 8, bytes, &s), UVMP_ERR_ARGUMENT);
	memory[0] = 77;
	assert_int_equal(uvmp_service_init(&e.params, memory, bytes - 1u, &s), UVMP_ERR_SPACE);
	assert_int_equal(memory[0], 77);
	assert_null(s);
	assert_int_equal(uvmp_service_init(&e.params, memory, bytes, &s), UVMP_OK);
	assert_true(uvmp_service_is_valid(s));
	assert_true(uvmp_service_check(s));

	/* damaged */
	s->handed = 1;
	assert_false(uvmp_service_is_valid(s));
	s->actions = 1;
	s->completed = 2;
	assert_false(uvmp_service_is_valid(s));
	s->completed = s->handed = 0;
	s->actions = UVMP_SERVICE_PENDING_MAX + 1u;
	assert_false(uvmp_service_is_valid(s));
	s->actions = 0;
	s->segments = 0;
	assert_false(uvmp_service_is_valid(s));
	s->segments = SEGMENTS_MAX + 1u;
	assert_false(uvmp_service_is_valid(s));
	s->segments = 1;
	assert_true(uvmp_service_is_valid(s));
	s->magic++;
	assert_false(uvmp_service_is_valid(s));
	assert_false(uvmp_service_has_notes(s));
	assert_int_equal(uvmp_service_complete(s, 1, UVMP_OK), UVMP_ERR_ARGUMENT);
	assert_false(uvmp_service_is_valid(NULL));

	/* an arena beyond what handles can number (if a size_t can say that): only so much of it is used */
	assert_int_equal(uvmp_service_init(&e.params, memory, SIZE_MAX / 2u, &s), UVMP_OK);
	bytes = SIZE_MAX / 2u - (size_t)(s->segment[0].memory - memory);
	assert_int_equal(s->segment[0].end, bytes / 16u < UINT32_MAX / 2u ? bytes / 16u : UINT32_MAX / 2u);
	free(memory);
}

/* The variants of the parameters that change what is set up. */
/* Words of the arena that hold something else than before uvmp_service_init. */
static uint64_t words_written(uint64_t blocks, bool is_zero)
{
	struct uvmp_service *s;
	uint64_t *memory, before = is_zero ? 0 : 0xa5a5a5a5a5a5a5a5u, written = 0;
	size_t bytes;

	engine_init(&e, 2, 4);
	e.policy.evict = UVMP_EVICT_LRU_4K;
	e.params.blocks = (uint32_t)blocks;
	e.params.memory_is_zero = is_zero;
	bytes = uvmp_service_size(&e.params, 0);
	memory = aligned_alloc(16, bytes / 16u * 16u + 16u);
	assert_non_null(memory);
	for (size_t i = 0; i < bytes / 8u; i++)
		memory[i] = before;
	assert_int_equal(uvmp_service_init(&e.params, memory, bytes, &s), UVMP_OK);
	for (size_t i = 0; i < bytes / 8u; i++)
		written += memory[i] != before;
	free(memory);
	return written;
}

/* A block takes 4 KiB of an order of pages, and half a word of the table that finds it. */
static void test_memory_as_used(void **state)
{
	(void)state;
	assert_int_equal(words_written(4096, true), words_written(64, true));
	assert_int_equal(words_written(4096, false) - words_written(64, false), (4096 - 64) / 2);
}

static void test_variants(void **state)
{
	(void)state;
	engine_init(&e, 3, 4);
	e.gpu[1].notes = 1000;
	e.gpu[2].notes = 0;
	e.gpu[2].memory_bytes = 0;
	e.gpu[2].splits = 0;
	e.processors.no_memory = 8;
	e.params.has_ats = true;
	e.params.ranges = 1;
	e.params.blocks = 33;
	assert_true(engine_start(&e, 1, 0));
	assert_true(e.service->has_counters); /* counters=driver, with ATS */
	assert_int_equal(e.service->buckets, 64);
	stop();

	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "counters=on map_on_eviction=0"));
	assert_true(engine_start(&e, 1, 0));
	assert_true(e.service->has_counters);
	assert_false(e.service->maps_evicted);
	stop();

	engine_init(&e, 1, 4);
	assert_true(engine_policy(&e, "counters=on map_on_eviction=1"));
	e.params.page_bytes = 65536;
	assert_true(engine_start(&e, 1, 0));
	assert_true(e.service->maps_evicted);
	stop();

	start("prefetch=locality evict=random4k", 1, 4);
	assert_false(e.service->has_counters);
	stop();

	start("counters=off", 1, 4);
	assert_false(e.service->has_counters);
	stop();
}

/* -- events -- */

static void test_fault(void **state)
{
	struct uvmp_fault f = engine_entry(SPACE, BASE, UVMP_ACCESS_WRITE), bad;
	struct uvmp_service_counts counts = {.size = sizeof(counts)};

	(void)state;
	engine_init(&e, 1, 4);
	e.gpu[0].fault_entries = 4;
	assert_true(engine_start(&e, 4, 0));
	engine_bind(&e, 1, SPACE);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(uvmp_service_fault(NULL, 1, &f), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_fault(e.service, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_fault(e.service, 0, &f), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_fault(e.service, 2, &f), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_fault(e.service, UINT32_MAX, &f), UVMP_ERR_RANGE);
	bad = f;
	bad.access = UVMP_ACCESS_NONE;
	assert_int_equal(uvmp_service_fault(e.service, 1, &bad), UVMP_ERR_RANGE);
	bad.access = 255;
	assert_int_equal(uvmp_service_fault(e.service, 1, &bad), UVMP_ERR_RANGE);
	bad = f;
	bad.aperture = UVMP_APERTURE_VID + 1;
	assert_int_equal(uvmp_service_fault(e.service, 1, &bad), UVMP_ERR_RANGE);
	bad = f;
	bad.utlb = 8;
	assert_int_equal(uvmp_service_fault(e.service, 1, &bad), UVMP_ERR_RANGE);

	/* one entry of the ring stays free; the ring goes round; what the host wrote of itself is ignored */
	for (uint32_t round = 0; round < 3; round++) {
		f.is_valid = false;
		f.va_space = 99;
		f.gpu = 55;
		for (uint32_t i = 0; i < 3; i++) {
			f.address = BASE + (3 * round + i) * PAGE;
			assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_OK);
		}
		assert_int_equal(uvmp_service_fault(e.service, 1, &f), UVMP_ERR_SPACE);
		assert_int_equal(engine_run(&e), UVMP_OK);
	}
	assert_int_equal(uvmp_service_count(e.service, 1, &counts), UVMP_OK);
	assert_int_equal(counts.faults, 9);
	assert_int_equal(engine_page(&e, SPACE, BASE + 8 * PAGE).atomic, 2);
	stop();
}

static void test_count(void **state)
{
	struct uvmp_service_counts counts = {.size = sizeof(counts)};

	(void)state;
	start("prefetch=none", 1, 4);
	assert_int_equal(uvmp_service_count(NULL, 1, &counts), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_count(e.service, 1, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_count(e.service, 0, &counts), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_count(e.service, 2, &counts), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_count(e.service, 1, &counts), UVMP_OK);
	assert_int_equal(counts.bottom_halves + counts.batches + counts.cancelled, 0);
	stop();
}

/* A page that was touched is not the oldest one (page-wise orders; with evict=lru only without quirks,
 * [driver: order-by-service]).
 */
static void evicted_after_touch(const char *policy, uint32_t touched, uint32_t gone)
{
	start(policy, 1, 2);
	engine_range(&e, SPACE, BASE, 3 * MIB2, UVMP_PROC_NONE);
	for (uint32_t block = 0; block < 2; block++) {
		uvmp_service_migrate(e.service, SPACE, BASE + block * MIB2, MIB2, 1, NULL);
		engine_run(&e);
	}
	assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE + touched * MIB2 + 5), UVMP_OK);
	engine_fault(&e, 1, SPACE, BASE + 2 * MIB2, UVMP_ACCESS_READ);
	engine_run(&e);
	for (uint32_t block = 0; block < 2; block++)
		assert_int_equal(engine_page(&e, SPACE, BASE + block * MIB2 + PAGE).resident,
		                 block == gone ? 1 : 2);
	stop();
}

static void test_touch(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_touch(NULL, 1, SPACE, BASE), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_touch(e.service, 2, SPACE, BASE), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_touch(e.service, UVMP_PROC_NONE, SPACE, BASE), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_touch(e.service, 1, 99, BASE), UVMP_OK);        /* no such space */
	assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE - 1), UVMP_OK); /* no range */
	assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE), UVMP_OK);     /* no block */
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_int_equal(uvmp_service_touch(e.service, 0, SPACE, BASE), UVMP_OK);
	assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE), UVMP_OK);
	assert_int_equal(uvmp_service_touch(e.service, 1, SPACE, BASE + PAGE), UVMP_OK); /* not there */
	stop();
	evicted_after_touch("prefetch=none evict=lru2m", 0, 1);
	evicted_after_touch("prefetch=none evict=lru2m", 1, 0);
	evicted_after_touch("prefetch=none", 0, 0);
	evicted_after_touch("prefetch=none quirks=0", 0, 1);
}

/* -- handing out and completing -- */

static void test_next(void **state)
{
	const struct uvmp_action *a;

	(void)state;
	start("prefetch=none", 1, 4);
	assert_int_equal(uvmp_service_next(NULL, 0, &a), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_next(e.service, 0, NULL), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_complete(NULL, 1, UVMP_OK), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_service_pending(NULL), 0);
	assert_int_equal(uvmp_service_needs(NULL), 0);
	assert_int_equal(uvmp_service_next(e.service, 5, &a), UVMP_ERR_RETRY);
	assert_int_equal(uvmp_service_pending(e.service), 0);
	assert_int_equal(uvmp_service_complete(e.service, 0, UVMP_OK), UVMP_ERR_STATE);
	assert_int_equal(uvmp_service_complete(e.service, 1, UVMP_OK), UVMP_ERR_STATE);
	stop();
}

/* A group of three, an UNMAP, a COPY and a POPULATE: completed in any order, never twice, and no further action before all are
 * completed. */
static void test_complete(void **state)
{
	const struct uvmp_action *other;
	struct uvmp_action a[3];
	static const uint8_t kinds[] = {UVMP_ACTION_UNMAP, UVMP_ACTION_COPY, UVMP_ACTION_POPULATE};

	(void)state;
	start("prefetch=none", 1, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	for (uint32_t i = 0; i < 3; i++)
		engine_fault(&e, 1, SPACE, BASE + 2 * i * PAGE, UVMP_ACCESS_READ);
	while (e.last.kind != UVMP_ACTION_ALLOCATE)
		assert_true(engine_step(&e));
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(engine_take(&e, &a[i]));
		assert_int_equal(a[i].kind, kinds[i]);
		engine_perform(&e, &a[i]);
		assert_int_equal(a[i].id, e.last.id);
		assert_int_equal(a[i].after, i == 0 ? 0 : a[i - 1].id);
		assert_int_equal(a[i].time_ns, e.now_ns);
		assert_int_equal(uvmp_service_pending(e.service), i + 1u);
	}
	assert_int_equal(uvmp_service_next(e.service, e.now_ns, &other), UVMP_ERR_RETRY);
	assert_int_equal(uvmp_service_complete(e.service, a[2].id + 1u, UVMP_OK), UVMP_ERR_STATE); /* never */
	assert_int_equal(uvmp_service_complete(e.service, a[0].id - 1u, UVMP_OK),
	                 UVMP_ERR_STATE); /* before */
	assert_int_equal(uvmp_service_complete(e.service, UINT64_MAX, UVMP_OK), UVMP_ERR_STATE);
	assert_int_equal(uvmp_service_complete(e.service, a[2].id, UVMP_OK), UVMP_OK);
	assert_int_equal(uvmp_service_complete(e.service, a[2].id, UVMP_OK), UVMP_ERR_STATE); /* twice */
	assert_int_equal(uvmp_service_next(e.service, e.now_ns, &other), UVMP_ERR_RETRY);
	/* the engine refuses a positive status and keeps its state */
	assert_int_equal(uvmp_service_complete(e.service, a[0].id, (enum uvmp_status)5), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_service_complete(e.service, a[0].id, UVMP_OK), UVMP_OK);
	assert_int_equal(uvmp_service_pending(e.service), 1);
	assert_int_equal(uvmp_service_next(e.service, e.now_ns, &other), UVMP_ERR_RETRY);
	assert_true(uvmp_service_check(e.service));
	assert_int_equal(uvmp_service_complete(e.service, a[1].id, UVMP_OK), UVMP_OK);
	assert_int_equal(engine_run(&e), UVMP_OK);
	assert_int_equal(uvmp_service_complete(e.service, e.last.id, UVMP_OK), UVMP_ERR_STATE);
	assert_int_equal(uvmp_service_next(e.service, e.now_ns, &other), UVMP_ERR_RETRY);
	assert_int_equal(uvmp_service_complete(e.service, e.last.id, UVMP_OK), UVMP_ERR_STATE);
	stop();
}

/* Unknown statuses are failures too; the status of a DONE is ignored. */
static void test_strange_status(void **state)
{
	(void)state;
	start("prefetch=none quirks=0", 1, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	engine_fail(&e, UVMP_ACTION_POPULATE, 0, 1, (enum uvmp_status) - 100000);
	engine_fail(&e, UVMP_ACTION_DONE, 0, 2, UVMP_ERR_STATE);
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), -128);
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_READ);
	assert_int_equal(engine_run(&e), UVMP_OK);
	stop();
}

/* -- the order of what waits -- */

static void test_requests_first(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	engine_range(&e, SPACE, BASE, 2 * MIB2, UVMP_PROC_NONE);
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_READ);
	uvmp_service_migrate(e.service, SPACE, BASE + MIB2, PAGE, 1, NULL);
	uvmp_service_migrate(e.service, SPACE, BASE + MIB2, PAGE, 0, NULL);
	engine_run(&e);
	assert_true(strstr(e.text, "ticket=1") < strstr(e.text, "ticket=2"));
	assert_true(strstr(e.text, "ticket=2") < strstr(e.text, "batch to=1"));
	stop();
}

/* Between two blocks of a batch, and in the middle of a step not. */
static void migrate_at(struct engine *host, const struct uvmp_action *a)
{
	if (a->kind == UVMP_ACTION_POPULATE && a->address == BASE)
		uvmp_service_migrate(host->service, SPACE, BASE + 2 * MIB2, PAGE, 0, NULL);
}

static void test_request_between(void **state)
{
	(void)state;
	start("prefetch=none", 1, 4);
	engine_range(&e, SPACE, BASE, 3 * MIB2, UVMP_PROC_NONE);
	e.hook = migrate_at;
	engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_READ);
	engine_fault(&e, 1, SPACE, BASE + MIB2, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_true(engine_has(
	        &e, "map cause=demand space=1 block=0x40000000 pages=0 from=1 to=1 right=rwa batch=1\n"
	            "populate cause=migrate space=1 block=0x40400000 pages=0 to=0"));
	assert_true(strstr(e.text, "ticket=1") < strstr(e.text, "block=0x40200000"));
	stop();
}

/* GPUs in turn: the one that was served last comes last. */
static void test_gpus_in_turn(void **state)
{
	char order[8];
	uint32_t n = 0;

	(void)state;
	start("prefetch=none batch=1 max_batches=1 replay=batch", 3, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_PROC_NONE);
	for (uint32_t gpu = 1; gpu <= 3; gpu++)
		for (uint32_t i = 0; i < 2; i++)
			engine_fault(&e, gpu, SPACE, BASE + (2 * gpu + i) * PAGE, UVMP_ACCESS_READ);
	while (engine_step(&e)) {
		if (e.last.kind == UVMP_ACTION_BATCH)
			order[n++] = (char)('0' + e.last.to);
	}
	order[n] = '\0';
	assert_string_equal(order, "123123");
	stop();
}

/* Access counters come last, the lowest GPU first. */
static void test_counters_last(void **state)
{
	const struct uvmp_note note = {.address = BASE,
	                               .instance = engine_instance(SPACE),
	                               .aperture = UVMP_APERTURE_VID,
	                               .sub_granularity = 1};

	(void)state;
	start("prefetch=none counters=on", 2, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	assert_int_equal(uvmp_service_note(e.service, 2, &note), UVMP_OK);
	assert_int_equal(uvmp_service_note(e.service, 1, &note), UVMP_OK);
	engine_fault(&e, 2, SPACE, BASE + 100 * PAGE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_true(engine_has(&e, "done to=2\nbatch cause=counter to=1 "));
	assert_true(strstr(e.text, "batch cause=counter to=1 ") <
	            strstr(e.text, "batch cause=counter to=2 "));
	stop();
}

/* -- thrashing: pins, and when they end -- */

static void test_wakeup(void **state)
{
	uint64_t due;

	(void)state;
	assert_true(uvmp_service_wakeup_ns(NULL) == UINT64_MAX);
	start("prefetch=none", 1, 4);
	engine_range(&e, SPACE, BASE, MIB2, UVMP_CPU);
	for (uint32_t i = 0; i < 100 && uvmp_service_wakeup_ns(e.service) == UINT64_MAX; i++) {
		engine_forget(&e);
		engine_fault(&e, 1, SPACE, BASE, UVMP_ACCESS_WRITE);
		engine_run(&e);
		e.now_ns += 100000;
		if (engine_has(&e, "cause=pin"))
			break;
		uvmp_service_cpu_fault(e.service, SPACE, BASE, UVMP_ACCESS_WRITE, 1, NULL);
		engine_run(&e);
		e.now_ns += 100000;
	}
	assert_true(engine_has(&e, "cause=pin"));
	assert_true(engine_page(&e, SPACE, BASE).is_pinned);
	due = uvmp_service_wakeup_ns(e.service);
	assert_true(due != UINT64_MAX && due > e.now_ns);

	/* two more spaces: one where nothing is due, one whose slot is free again */
	engine_range(&e, 2, BASE, MIB2, UVMP_CPU);
	engine_range(&e, 3, BASE, MIB2, UVMP_PROC_NONE);
	assert_int_equal(uvmp_service_free_range(e.service, 3, BASE, NULL), UVMP_OK);
	engine_run(&e);
	e.ranges--; /* engine_agrees compares no freed range */
	assert_int_equal(e.service->space[2].users, 0);
	assert_int_equal(e.service->spaces_used, 3);
	assert_true(uvmp_service_wakeup_ns(e.service) == due);

	engine_forget(&e);
	e.now_ns = due;
	engine_fault(&e, 1, SPACE, BASE + 9 * PAGE, UVMP_ACCESS_READ);
	engine_run(&e);
	assert_true(engine_has(&e, "unpin "));
	assert_true(strstr(e.text, "unpin ") < strstr(e.text, "batch "));
	assert_false(engine_page(&e, SPACE, BASE).is_pinned);
	assert_true(uvmp_service_wakeup_ns(e.service) == UINT64_MAX);
	stop();
}

/* Pins of two spaces: the sooner one counts, whichever it is. */
static void pin(uint64_t space)
{
	engine_forget(&e);
	for (uint32_t i = 0; i < 100 && !engine_has(&e, "cause=pin"); i++) {
		engine_fault(&e, 1, space, BASE, UVMP_ACCESS_WRITE);
		engine_run(&e);
		e.now_ns += 100000;
		uvmp_service_cpu_fault(e.service, space, BASE, UVMP_ACCESS_WRITE, 1, NULL);
		engine_run(&e);
		e.now_ns += 100000;
	}
	assert_true(engine_page(&e, space, BASE).is_pinned);
}

static void test_wakeup_soonest(void **state)
{
	(void)state;
	for (uint64_t first = 1; first <= 2; first++) {
		uint64_t due;

		start("prefetch=none", 1, 4);
		engine_bind(&e, 1, 2);
		engine_range(&e, 1, BASE, MIB2, UVMP_CPU);
		engine_range(&e, 2, BASE, MIB2, UVMP_CPU);
		pin(first);
		pin(3 - first);
		due = uvmp_service_wakeup_ns(e.service);
		e.now_ns = due;
		engine_run(&e);
		assert_false(engine_page(&e, first, BASE).is_pinned);
		assert_true(engine_page(&e, 3 - first, BASE).is_pinned);
		assert_true(uvmp_service_wakeup_ns(e.service) > due);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_params),
	        cmocka_unit_test(test_params_check),
	        cmocka_unit_test(test_params_fields),
	        cmocka_unit_test(test_params_defaults),
	        cmocka_unit_test(test_init),
	        cmocka_unit_test(test_memory_as_used),
	        cmocka_unit_test(test_variants),
	        cmocka_unit_test(test_fault),
	        cmocka_unit_test(test_count),
	        cmocka_unit_test(test_touch),
	        cmocka_unit_test(test_next),
	        cmocka_unit_test(test_complete),
	        cmocka_unit_test(test_strange_status),
	        cmocka_unit_test(test_requests_first),
	        cmocka_unit_test(test_request_between),
	        cmocka_unit_test(test_gpus_in_turn),
	        cmocka_unit_test(test_counters_last),
	        cmocka_unit_test(test_wakeup),
	        cmocka_unit_test(test_wakeup_soonest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
