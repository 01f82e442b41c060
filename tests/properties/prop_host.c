/* Properties of the host kit on random programs: several GPUs and the CPU fault, ranges come and go, advice and prefetches
 * interfere, copies take time and fail. The mirror (support/host_mirror.h) has memories with contents: each access reads what
 * was written last. */
#include "support/host_mirror.h"
#include "support/seed.h"
#include "uvmpolicy/uvmpolicy.h"

#define PROGRAMS 120
#define STEPS	 150
#define RANGES	 12u

struct part {
	uint32_t first, count; /* pages */
};

struct program {
	struct mirror mirror;
	uint64_t random;
	struct part range[RANGES];
	uint32_t ranges;
	uint32_t largest; /* pages of a range */
};

static const char *const orders[] = {"lru", "lru2m", "lru4k", "sl64k", "tbne", "lfu2m", "clock2m", "random4k", "mhpe", "auto"};
static const char *const prefetchers[] = {"none", "density", "tbn", "sl", "random", "pattern", "auto"};

static uint32_t below(struct program *p, uint32_t bound)
{
	return (uint32_t)uvmp_random_below(&p->random, bound);
}

static bool one_in(struct program *p, uint32_t n)
{
	return below(p, n) == 0;
}

/* -- the program -- */

static bool overlaps(const struct program *p, struct part part)
{
	for (uint32_t i = 0; i < p->ranges; i++)
		if (part.first < p->range[i].first + p->range[i].count &&
		    p->range[i].first < part.first + part.count)
			return true;
	return false;
}

static void add(struct program *p)
{
	struct part part = {below(p, p->mirror.pages), 1u + below(p, p->largest)};

	if (one_in(p, 2)) { /* whole blocks */
		uint32_t block = (uint32_t)(2097152u / p->mirror.page_bytes);

		part.first = part.first / block * block;
		part.count = (part.count + block - 1u) / block * block;
	}
	if (p->ranges == RANGES || part.first + part.count > p->mirror.pages || overlaps(p, part))
		return;
	mirror_add(&p->mirror, part.first, part.count);
	p->range[p->ranges++] = part;
}

/* Frees wait until nothing faults, so that a fault on freed memory is not cancelled. */
static void free_some(struct program *p)
{
	struct mirror *m = &p->mirror;
	struct part *range;
	uint64_t dones = m->dones;

	if (p->ranges == 0)
		return;
	mirror_settle(m);
	range = &p->range[below(p, p->ranges)];
	if (one_in(p, 2)) {
		struct part part = {range->first + below(p, range->count), 0};

		part.count = 1u + below(p, range->first + range->count - part.first);
		assert_int_equal(uvmp_host_free_part(m->host, mirror_address(m, part.first),
						     (uint64_t)part.count * m->page_bytes, m->now_ns), UVMP_OK);
		mirror_settle(m);
		mirror_freed(m, part.first, part.count);
		assert_int_equal(m->done.status, UVMP_OK);
		if (part.first == range->first && part.count == range->count) {
			*range = p->range[--p->ranges];
		} else { /* the remaining parts */
			uint32_t end = range->first + range->count;

			if (part.first > range->first)
				uvmp_host_free_part(m->host, mirror_address(m, range->first),
						    (uint64_t)(part.first - range->first) * m->page_bytes, m->now_ns);
			if (end > part.first + part.count)
				uvmp_host_free_part(m->host, mirror_address(m, part.first + part.count),
						    (uint64_t)(end - part.first - part.count) * m->page_bytes,
						    m->now_ns);
			mirror_settle(m);
			assert_int_equal(m->done.status, UVMP_OK);
			mirror_freed(m, range->first, range->count);
			*range = p->range[--p->ranges];
		}
	} else {
		assert_int_equal(uvmp_host_free(m->host, mirror_address(m, range->first), m->now_ns), UVMP_OK);
		mirror_settle(m);
		assert_int_equal(m->done.status, UVMP_OK);
		mirror_freed(m, range->first, range->count);
		*range = p->range[--p->ranges];
	}
	assert_true(m->dones > dones);
	assert_true(m->done.request == uvmp_host_last_request(m->host));
}

static void access_some(struct program *p)
{
	struct mirror *m = &p->mirror;
	struct part range;
	uint32_t page, count = 1u + below(p, one_in(p, 4) ? 64 : 4), step = one_in(p, 2) ? 1u : 1u + below(p, 40);

	if (p->ranges == 0 || m->waitings + 64u > MIRROR_WAITING)
		return;
	range = p->range[below(p, p->ranges)];
	page = below(p, range.count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t processor = below(p, one_in(p, 4) ? m->procs : m->procs - 1u) + 1u;
		enum uvmp_access access = (enum uvmp_access)(1u + below(p, 4));

		if (processor == m->procs)
			processor = UVMP_CPU;
		if (processor == UVMP_CPU && access > UVMP_ACCESS_WRITE)
			access = UVMP_ACCESS_WRITE;
		mirror_access(m, processor, below(p, 1000), range.first + (page + i * step) % range.count, access);
	}
}

static void request(struct program *p)
{
	struct mirror *m = &p->mirror;
	struct part range, part;
	uint32_t processor = below(p, m->procs);

	if (p->ranges == 0)
		return;
	range = p->range[below(p, p->ranges)];
	part.first = range.first + below(p, range.count);
	part.count = 1u + below(p, range.first + range.count - part.first);
	if (one_in(p, 2)) {
		assert_int_equal(uvmp_host_prefetch(m->host, mirror_address(m, part.first),
						    (uint64_t)part.count * m->page_bytes, processor, m->now_ns),
				 UVMP_OK);
		return;
	}
	{
		enum uvmp_advice advice = (enum uvmp_advice)below(p, UVMP_ADVISE_DISCARD + 1u);

		if (advice == UVMP_ADVISE_PREFERRED && one_in(p, 2))
			processor = UVMP_PROC_NONE;
		if (advice == UVMP_ADVISE_DISCARD) {
			mirror_settle(m);
			for (uint32_t i = part.first; i < part.first + part.count; i++) {
				m->expected[i] = MIRROR_UNKNOWN;
				m->is_vague[i] = 1;
			}
		}
		assert_int_equal(uvmp_host_advise(m->host, mirror_address(m, part.first),
						  (uint64_t)part.count * m->page_bytes, advice, processor,
						  m->now_ns),
				 UVMP_OK);
		if (advice == UVMP_ADVISE_DISCARD)
			mirror_settle(m);
	}
}

static void pass_time(struct program *p)
{
	struct mirror *m = &p->mirror;
	uint64_t next = uvmp_host_next_ns(m->host);

	for (uint32_t i = below(p, 20); i != 0 && m->copies != 0; i--)
		mirror_copied(m, below(p, m->copies),
			      m->may_cancel && one_in(p, 10) ? UVMP_ERR_STATE : UVMP_OK);
	m->now_ns += one_in(p, 2) ? below(p, 3000) : next != UINT64_MAX && next > m->now_ns ? next - m->now_ns : 0;
	(void)uvmp_host_run(m->host, m->now_ns);
}

/* -- one program -- */

static void choose(struct program *p, char *policy, size_t bytes)
{
	uint32_t gpus = 1u + below(p, 3), order = below(p, sizeof(orders) / sizeof(orders[0]));
	uint64_t memory = ((uint64_t)2 << 20) * (4u + below(p, 4));
	const char *prefetcher = prefetchers[below(p, sizeof(prefetchers) / sizeof(prefetchers[0]))];
	bool takes_64k = order == 0 || order == 1 || order == 5 || order == 6;

	snprintf(policy, bytes, "prefetch=%s evict=%s%s%s%s%s", prefetcher, orders[order],
		 one_in(p, 3) ? " plan=overlapped" : "", one_in(p, 3) ? " thrash=off" : "",
		 order != 0 && one_in(p, 4) ? " remote=adaptive" : "", one_in(p, 6) ? " counters=on" : "");
	mirror_init(&p->mirror, policy, gpus, memory);
	p->mirror.options.page_bytes = takes_64k && one_in(p, 3) ? 65536 : 4096;
	p->mirror.options.is_on_cpu = one_in(p, 2);
	p->mirror.options.counts_pages = one_in(p, 4);
	p->mirror.options.batch_ns = one_in(p, 2) ? 500 : 0;
	p->mirror.options.fault_ns = one_in(p, 2) ? 20 : 0;
	p->mirror.options.replay_ns = one_in(p, 2) ? 1000 : 0;
	p->mirror.options.seed = below(p, 100);
	p->mirror.copy_ns = one_in(p, 2) ? 100 : 0;
	if (one_in(p, 3)) {
		p->mirror.options.copy_ns = NULL;
		p->mirror.options.copy = mirror_copy;
		p->mirror.may_cancel = one_in(p, 3);
	}
	p->largest = (uint32_t)((one_in(p, 2) ? 256u << 10 : 8u << 20) / p->mirror.options.page_bytes);
}

static void run_program(struct program *p)
{
	char policy[256];

	choose(p, policy, sizeof(policy));
	mirror_open(&p->mirror);
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t what = below(p, 100);

		if (what < 8 || p->ranges == 0)
			add(p);
		else if (what < 10 && !p->mirror.may_cancel)
			free_some(p);
		else if (what < 16)
			request(p);
		else if (what < 60)
			access_some(p);
		else
			pass_time(p);
	}
	mirror_settle(&p->mirror);
	assert_int_equal(p->mirror.waitings, 0);
	mirror_check(&p->mirror);
	mirror_close(&p->mirror);
}

static void test_programs(void **unused)
{
	uint64_t seed = test_seed();
	struct program *p = malloc(sizeof(*p));

	(void)unused;
	for (uint32_t i = 0; i < test_share_of(PROGRAMS); i++) {
		memset(p, 0, sizeof(*p));
		p->random = seed + i;
		run_program(p);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
