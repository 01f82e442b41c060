/* Plugins in a pager: they decide, with private memory of every size, also in forked children; what is wrong is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/paging.h"
#include "uvmpolicy/plugin.h"

#define MEMORY (24 * MIB)
#define PAGES  (MEMORY / PAGE)

struct counts {
	uint64_t decisions, touches;
};

static struct counts counts;

/* The whole block. Private memory is zeros at first, and kept. */
static void take_all(void *user, struct uvmp_prefetch_call *call)
{
	struct counts *all = user;
	uint64_t *block = call->block, *range = call->range, *processor = call->processor;

	all->decisions++;
	*call->pages = *call->candidates;
	processor[UVMP_PREFETCH_STATE_MAX / 8u - 1u]++;
	assert_true(processor[UVMP_PREFETCH_STATE_MAX / 8u - 1u] == all->decisions);
	range[UVMP_PREFETCH_STATE_MAX / 8u - 1u]++;
	if (block)
		block[UVMP_PREFETCH_STATE_MAX / 8u - 1u]++;
}

static uint64_t by_arrival(void *user, const struct uvmp_evict_call *call)
{
	struct counts *all = user;
	uint64_t *order = call->state, *unit = call->memory;

	all->touches++;
	order[UVMP_PLUGIN_STATE_MAX / 8u - 1u]++;
	assert_true(order[UVMP_PLUGIN_STATE_MAX / 8u - 1u] == all->touches);
	if (!call->is_listed)
		unit[UVMP_PLUGIN_UNIT_MAX / 8u - 1u] = call->clock;
	return unit[UVMP_PLUGIN_UNIT_MAX / 8u - 1u];
}

static const struct uvmp_prefetch_plugin whole = {
	.size = sizeof(whole),
	.name = "whole",
	.traits = {.block_bytes = UVMP_PREFETCH_STATE_MAX,
		   .range_bytes = UVMP_PREFETCH_STATE_MAX,
		   .processor_bytes = UVMP_PREFETCH_STATE_MAX},
	.user = &counts,
	.decide = take_all,
};
static const struct uvmp_evict_plugin arrival = {
	.size = sizeof(arrival),
	.name = "arrival",
	.traits = {.unit_pages = 1},
	.state_bytes = UVMP_PLUGIN_STATE_MAX,
	.unit_bytes = UVMP_PLUGIN_UNIT_MAX,
	.user = &counts,
	.touch = by_arrival,
};
static const struct uvmp_prefetch_plugin *const prefetchers[] = {&whole};
static const struct uvmp_evict_plugin *const orders[] = {&arrival};
static const struct uvmp_plugins plugins = {sizeof(plugins), UVMP_PLUGIN_VERSION, 1, 1, prefetchers, orders};

static struct uvmp_pager_config config_of(const char *policy)
{
	struct uvmp_pager_config config;

	uvmp_pager_config_init(&config);
	assert_null(config.plugins);
	config.budget_bytes = UVMP_PAGER_BUDGET_LEAST;
	config.policy = policy;
	config.plugins = &plugins;
	counts = (struct counts){0, 0};
	return config;
}

static void test_prefetcher(void **state)
{
	struct uvmp_pager_config config = config_of("prefetch=whole");
	struct uvmp_pager *pager = open_config(&config);
	char policy[4096];
	void *memory;

	(void)state;
	uvmp_pager_policy(pager, policy, sizeof(policy));
	assert_int_equal(strncmp(policy, "prefetch=whole ", 15), 0);
	memory = uvmp_pager_alloc(pager, MEMORY);
	for (uint64_t round = 0; round < 3; round++) {
		write_from(memory, 0, PAGES, round);
		assert_int_equal(first_wrong(memory, 0, PAGES, round), PAGES);
	}
	/* A fault brings a VABlock. */
	assert_true(counts.decisions == stats_of(pager).faults);
	assert_true(counts.decisions >= MEMORY / UVMP_PAGER_BLOCK_BYTES);
	assert_true(counts.decisions <= 6 * MEMORY / UVMP_PAGER_BLOCK_BYTES);
	uvmp_pager_destroy(pager);
}

static void test_eviction_order(void **state)
{
	struct uvmp_pager_config config = config_of("prefetch=none evict=arrival");
	struct uvmp_pager *pager = open_config(&config);
	void *memory = uvmp_pager_alloc(pager, MEMORY);

	(void)state;
	for (uint64_t round = 0; round < 2; round++) {
		write_from(memory, 0, PAGES, round);
		assert_int_equal(first_wrong(memory, 0, PAGES, round), PAGES);
	}
	assert_true(counts.touches >= 4 * PAGES);
	assert_true(stats_of(pager).evictions >= 3 * PAGES);
	uvmp_pager_destroy(pager);
}

/* Pages of 64 KiB: an order with the key granularity. */
static void test_large_pages(void **state)
{
	static struct uvmp_evict_plugin blocks;
	static const struct uvmp_evict_plugin *const list[] = {&blocks};
	static const struct uvmp_plugins both = {sizeof(both), UVMP_PLUGIN_VERSION, 1, 1, prefetchers, list};
	struct uvmp_pager_config config = config_of("prefetch=whole evict=arrival");
	struct uvmp_pager *pager;
	void *memory;

	(void)state;
	blocks = arrival;
	blocks.traits.unit_pages = 512;
	blocks.traits.has_granularity = true;
	config.plugins = &both;
	config.page_bytes = 65536;
	pager = open_config(&config);
	memory = uvmp_pager_alloc(pager, MEMORY);
	write_from(memory, 0, PAGES, 1);
	assert_int_equal(first_wrong(memory, 0, PAGES, 1), PAGES);
	assert_true(counts.touches >= 2 * MEMORY / UVMP_PAGER_BLOCK_BYTES);
	assert_true(counts.decisions >= 2 * MEMORY / UVMP_PAGER_BLOCK_BYTES);
	assert_true(counts.decisions <= MEMORY / 65536u);
	uvmp_pager_destroy(pager);
}

static void test_fork(void **state)
{
	struct uvmp_pager_config config = config_of("prefetch=whole evict=arrival");
	struct uvmp_pager *pager = open_config(&config);
	void *memory = uvmp_pager_alloc(pager, MEMORY);
	struct counts before;
	int status;
	pid_t child;

	(void)state;
	write_from(memory, 0, PAGES, 1);
	before = counts;
	child = fork();
	if (child == 0) { /* private memory continues: the assertions of the functions */
		bool is_right = first_wrong(memory, 0, PAGES, 1) == PAGES;

		_exit(is_right && counts.decisions > before.decisions && counts.touches > before.touches ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(first_wrong(memory, 0, PAGES, 1), PAGES);
	uvmp_pager_destroy(pager);
}

static void refused(const struct uvmp_pager_config *config, const char *says)
{
	struct uvmp_pager *pager = NULL;

	pager_error[0] = '\0';
	assert_int_equal(uvmp_pager_create(config, &pager, pager_error, sizeof(pager_error)), -EINVAL);
	assert_null(pager);
	if (!strstr(pager_error, says))
		fail_msg("\"%s\" does not say \"%s\"", pager_error, says);
}

static void test_refusals(void **state)
{
	struct uvmp_pager_config config = config_of("prefetch=whole");
	struct uvmp_prefetch_plugin bad = whole;
	const struct uvmp_prefetch_plugin *const bads[] = {&bad};
	struct uvmp_plugins list = {sizeof(list), UVMP_PLUGIN_VERSION, 1, 0, bads, NULL};
	struct uvmp_pager *pager;

	(void)state;
	config.plugins = NULL;
	refused(&config, "policy: prefetch: \"whole\" is not accepted");
	config.plugins = &list;
	bad.name = "density";
	refused(&config, "policy: prefetcher density: the library has a policy of this name");
	bad = whole;
	list.version++;
	refused(&config, "policy: plugins: the version is not 1");
	config = config_of("evict=arrival");
	config.page_bytes = 65536;
	refused(&config, "policy: with pages of 65536 bytes only evict=lru|lru2m|");
	/* A caller that was compiled before the field was there. */
	config = config_of("prefetch=whole");
	assert_int_equal(uvmp_pager_create_size(&config, offsetof(struct uvmp_pager_config, plugins), &pager, pager_error,
						sizeof(pager_error)),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_prefetcher), cmocka_unit_test(test_eviction_order),
					   cmocka_unit_test(test_large_pages), cmocka_unit_test(test_fork), cmocka_unit_test(test_refusals)};

	if (!can_page("mem"))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
