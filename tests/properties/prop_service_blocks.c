/* Property: the parameter `blocks` is a hint. An engine that expects one block, and whose arena grows by what
 * uvmp_service_needs says, takes the decisions of an engine that expects all blocks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

#define ROOT	  UINT64_C(2097152)
#define BASE	  UINT64_C(0x100000000)
#define SPACE	  1u
#define GPUS	  2u
#define RANGES	  3u
#define WINDOWS	  40u /* of a range */
#define STEPS	  120
#define SEGMENTS	  8u
#define NS_A_STEP 50000u

static uint64_t seed;

/* An engine with its arena. */
struct host {
	struct uvmp_service *service;
	void *segment[SEGMENTS];
	uint32_t segments;
	uint64_t bytes;
	bool asks; /* before each uvmp_service_next, instead of after UVMP_ERR_ARENA */
	uint32_t grown;
};

struct pair {
	struct uvmp_policy policy;
	struct uvmp_needs needs;
	struct host known, hint;
	uint64_t random, now_ns;
	bool has_range[RANGES];
	uint32_t gpus;
};

static uint32_t draw(struct pair *p, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&p->random, bound);
}

static void add_segment(struct host *h, size_t bytes)
{
	assert_true(h->segments < SEGMENTS);
	h->segment[h->segments] = aligned_alloc(16, (bytes + 15u) / 16u * 16u);
	assert_non_null(h->segment[h->segments]);
	memset(h->segment[h->segments], 0xa5, bytes);
	h->bytes += bytes;
	h->segments++;
}

/* As much as the engine needs, or all again: there are eight segments. */
static void grow(struct host *h)
{
	size_t bytes = (size_t)uvmp_service_needs(h->service);

	assert_true(bytes >= UVMP_SERVICE_GROW_MIN);
	if (h->segments + 3u > SEGMENTS && bytes < 4u * h->bytes)
		bytes = (size_t)(4u * h->bytes);
	add_segment(h, bytes);
	assert_int_equal(uvmp_service_grow(h->service, h->segment[h->segments - 1u], bytes), UVMP_OK);
	assert_int_equal(uvmp_service_needs(h->service), 0);
	h->grown++;
}

static void open(struct host *h, const struct uvmp_policy *policy, uint32_t gpus, uint32_t blocks, uint64_t more,
		 bool counts_units)
{
	struct uvmp_service_gpu gpu[GPUS];
	struct uvmp_service_params params = {
		.size = sizeof(params), .policy = policy, .gpu = gpu, .gpus = gpus, .blocks = blocks, .ranges = 64, .seed = 7};
	size_t bytes;

	for (uint32_t i = 0; i < gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(gpu[i]),
						   .memory_bytes = (3u + 5u * i) * ROOT,
						   .sms = 8,
						   .fault_entries = 512,
						   .counts_units = counts_units};
	bytes = (size_t)(uvmp_service_size(&params, 0) + more);
	assert_true(bytes > more);
	add_segment(h, bytes);
	assert_int_equal(uvmp_service_init(&params, h->segment[0], bytes, &h->service), UVMP_OK);
	for (uint32_t i = 1; i <= gpus; i++)
		assert_int_equal(uvmp_service_bind(h->service, i, UVMP_APERTURE_VID, 0, 0, SPACE), UVMP_OK);
}

static void close_host(struct host *h)
{
	assert_true(uvmp_service_check(h->service));
	for (uint32_t i = 0; i < h->segments; i++)
		free(h->segment[i]);
}

static enum uvmp_status next(struct host *h, uint64_t now_ns, const struct uvmp_action **action)
{
	enum uvmp_status status;
	bool was_enough = false;

	if (h->asks && uvmp_service_needs(h->service) != 0)
		grow(h);
	status = uvmp_service_next(h->service, now_ns, action);
	while (status == UVMP_ERR_ARENA) {
		assert_false(was_enough);
		assert_true(uvmp_service_wakeup_ns(h->service) == UINT64_MAX);
		grow(h);
		was_enough = true; /* for a decision with an action */
		status = uvmp_service_next(h->service, now_ns, action);
	}
	return status;
}

/* Both take the same decisions until there is nothing to do. */
static void run(struct pair *p)
{
	static char text[2][UVMP_ACTION_TEXT_MAX];
	const struct uvmp_action *a, *b;
	enum uvmp_status status;

	do {
		uint64_t id[2][8];
		uint32_t count = 0, most = 1u + draw(p, 8);

		while (count < most && (status = next(&p->known, p->now_ns, &a)) == UVMP_OK) {
			assert_int_equal(next(&p->hint, p->now_ns, &b), UVMP_OK);
			assert_int_equal(uvmp_action_print(a, text[0], sizeof(text[0])), UVMP_OK);
			assert_int_equal(uvmp_action_print(b, text[1], sizeof(text[1])), UVMP_OK);
			assert_string_equal(text[0], text[1]);
			id[0][count] = a->id;
			id[1][count++] = b->id;
		}
		if (count < most)
			assert_int_equal(next(&p->hint, p->now_ns, &b), status);
		for (uint32_t i = 0; i < count; i++) {
			enum uvmp_status result = draw(p, 300) == 0 ? UVMP_ERR_STATE : UVMP_OK;

			assert_int_equal(uvmp_service_complete(p->known.service, id[0][i], result), UVMP_OK);
			assert_int_equal(uvmp_service_complete(p->hint.service, id[1][i], result), UVMP_OK);
		}
		most = count;
		if (most == 0)
			return;
	} while (true);
}

static uvmp_addr range_base(uint32_t range)
{
	return BASE + range * 2u * WINDOWS * ROOT;
}

static void put_range(struct pair *p, uint32_t range)
{
	uint64_t bytes = WINDOWS * ROOT - range * 8192u;

	if (p->has_range[range]) {
		assert_int_equal(uvmp_service_free_range(p->known.service, SPACE, range_base(range), NULL), UVMP_OK);
		assert_int_equal(uvmp_service_free_range(p->hint.service, SPACE, range_base(range), NULL), UVMP_OK);
	} else {
		uint32_t home = range == 0 ? UVMP_CPU : UVMP_PROC_NONE;

		assert_int_equal(uvmp_service_add_range(p->known.service, SPACE, range_base(range), bytes,
							UVMP_RIGHT_READ_WRITE_ATOMIC, home), UVMP_OK);
		assert_int_equal(uvmp_service_add_range(p->hint.service, SPACE, range_base(range), bytes,
							UVMP_RIGHT_READ_WRITE_ATOMIC, home), UVMP_OK);
	}
	p->has_range[range] = !p->has_range[range];
}

static void fault(struct pair *p, uint32_t range, uint32_t window)
{
	struct uvmp_fault f = {.aperture = UVMP_APERTURE_VID, .type = UVMP_FAULT_INVALID_PTE, .access = UVMP_ACCESS_WRITE};
	uint32_t gpu = 1u + draw(p, p->gpus), first = draw(p, 500), pages = draw(p, 4) == 0 ? 512u : 1u + draw(p, 20);

	if (pages == 512u)
		first = 0;
	for (uint32_t i = first; i < first + pages && i < 500u; i += 1u + draw(p, 3)) {
		f.address = range_base(range) + window * ROOT + i * 4096u;
		assert_int_equal(uvmp_service_fault(p->known.service, gpu, &f), uvmp_service_fault(p->hint.service, gpu, &f));
	}
	if (p->needs.touches) {
		(void)uvmp_service_touch(p->known.service, gpu, SPACE, f.address);
		(void)uvmp_service_touch(p->hint.service, gpu, SPACE, f.address);
	}
}

static void step(struct pair *p)
{
	uint32_t range = draw(p, RANGES), window = draw(p, 3) == 0 ? draw(p, WINDOWS - 1u) : draw(p, 8);

	p->now_ns += NS_A_STEP;
	if (!p->has_range[range] || draw(p, 60) == 0)
		put_range(p, range);
	for (uint32_t i = draw(p, 4); p->has_range[range] && i > 0; i--)
		fault(p, range, (window + i) % (WINDOWS - 1u));
	run(p);
}

static void compare(const char *text, uint64_t random, bool counts_units)
{
	struct pair p = {.random = random, .needs = {.size = sizeof(p.needs)}};
	uint64_t more = 0;

	assert_int_equal(uvmp_policy_parse(text, strlen(text), &p.policy, NULL), UVMP_OK);
	assert_int_equal(uvmp_policy_needs(&p.policy, &p.needs), UVMP_OK);
	/* with a full arena the engine decides without state that it can do without */
	if (p.needs.block_bytes != 0 || p.policy.thrash.is_enabled)
		more = 8u << 20;
	p.gpus = p.needs.one_gpu ? 1 : 1u + draw(&p, GPUS);
	p.hint.asks = draw(&p, 2) == 0;
	open(&p.known, &p.policy, p.gpus, 1024, 8u << 20, counts_units);
	open(&p.hint, &p.policy, p.gpus, 1, more, counts_units);
	for (uint32_t i = 0; i < STEPS; i++)
		step(&p);
	assert_int_equal(p.known.grown, 0);
	assert_true(p.hint.grown > 0 || more != 0);
	close_host(&p.known);
	close_host(&p.hint);
}

static void policies(void **state)
{
	static const char *const policy[] = {
		"evict=lru",
		"evict=lru2m",
		"evict=lru2m granularity=128k cyclic=on",
		"evict=lru4k reserve=10",
		"evict=lru2m granularity=64k thrash=off",
		"evict=lru4k prefetch=none thrash=off",
		"evict=lfu2m cyclic=on thrash=off",
		"evict=clock2m granularity=512k thrash=off",
		"evict=random4k thrash=off",
		"evict=lru thrash=off",
		"evict=random4k",
		"evict=sl64k reserve=20",
		"preset=uvmsmart",
		"evict=tbne threads=on",
		"evict=lfu2m granularity=256k",
		"evict=lfu2m cyclic=on",
		"evict=clock2m",
		"evict=mhpe reserve=5",
		"evict=auto",
		"preset=auto",
	};

	(void)state;
	for (uint64_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++)
		for (uint64_t k = 0; k < 4; k++)
			compare(policy[i], (k < 2 ? 20260101 : seed) + 100u * i + k, k % 2 != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(policies)};

	seed = test_seed();
	return cmocka_run_group_tests_name("number of blocks as a hint", tests, NULL, NULL);
}
