/* uvmp_prefetch_check: the status of uvmp_prefetch_decide, with the argument and what is accepted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/prefetch_case.h"
#include "uvmpolicy/plugin.h"

static struct prefetch_case c;

static void take_nothing(void *user, struct uvmp_prefetch_call *call)
{
	(void)user, (void)call;
}

static const struct uvmp_prefetch_plugin plugin = {
	.size = sizeof(plugin), .name = "mine", .traits = {.range_bytes = 8}, .decide = take_nothing};

static void begin(enum uvmp_prefetcher prefetcher)
{
	prefetch_case_init(&c, prefetcher, 100);
	c.facts.is_follow = false;
	c.faulted = page_text("5");
	c.facts.faulted_region = uvmp_mask_bounds(&c.faulted);
}

/* Both functions have this status; `text` is what the check says. */
static void holds(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
		  struct uvmp_prefetch_state *state, enum uvmp_status status, const char *text)
{
	char said[UVMP_PREFETCH_ERROR_MAX] = "unchanged", cut[8] = "";

	assert_int_equal(uvmp_prefetch_check(params, facts, state, said, sizeof(said)), status);
	assert_string_equal(said, text);
	assert_int_equal(uvmp_prefetch_check(params, facts, state, NULL, sizeof(said)), status);
	assert_int_equal(uvmp_prefetch_check(params, facts, state, cut, sizeof(cut)), status);
	assert_memory_equal(cut, status == UVMP_OK ? "" : text, status == UVMP_OK ? 1 : sizeof(cut) - 1u);
	assert_int_equal(uvmp_prefetch_decide(params, facts, state, &c.hint), status);
}

#define REFUSED(prefetcher, change, status, text)                                                            \
	do {                                                                                                 \
		begin(prefetcher);                                                                           \
		change;                                                                                      \
		holds(&c.params, &c.facts, &c.state, status, text);                                          \
	} while (0)
#define ACCEPTED(prefetcher, change) REFUSED(prefetcher, change, UVMP_OK, "unchanged")

static void test_params(void **state)
{
	char text[UVMP_PREFETCH_ERROR_MAX];

	(void)state;
	for (uint32_t i = 0; i < UVMP_PREFETCH_COUNT; i++)
		ACCEPTED((enum uvmp_prefetcher)i, (void)0);
	begin(UVMP_PREFETCH_DENSITY);
	holds(NULL, &c.facts, &c.state, UVMP_ERR_ARGUMENT, "params: missing (NULL)");
	snprintf(text, sizeof(text), "params->prefetcher: 77 is not accepted; 0..%d", UVMP_PREFETCH_COUNT - 1);
	REFUSED(UVMP_PREFETCH_DENSITY, c.params.prefetcher = (enum uvmp_prefetcher)77, UVMP_ERR_ARGUMENT, text);
	REFUSED(UVMP_PREFETCH_DENSITY, c.params.threshold = 200, UVMP_ERR_ARGUMENT,
		"params->threshold: 200 is not accepted; 0..100");
	REFUSED(UVMP_PREFETCH_SAFE, c.params.shared_utlbs = 1, UVMP_ERR_ARGUMENT,
		"params->shared_utlbs: 1 is not accepted; 2..4096");
	REFUSED(UVMP_PREFETCH_SAFE, c.params.min_faults = 0, UVMP_ERR_ARGUMENT,
		"params->min_faults: 0 is not accepted; 1..20");
	ACCEPTED(UVMP_PREFETCH_DENSITY, c.params.threshold = 0);
	ACCEPTED(UVMP_PREFETCH_DENSITY, c.params.quirks = false);
	REFUSED(UVMP_PREFETCH_DENSITY, (c.params.quirks = false, c.params.threshold = 0), UVMP_ERR_ARGUMENT,
		"params->threshold: 0 is not accepted without quirks; 1..100");
	ACCEPTED(UVMP_PREFETCH_STRIDE, c.params.min_faults = 0); /* of another prefetcher */
}

static void test_plugin(void **state)
{
	(void)state;
	ACCEPTED(UVMP_PREFETCH_NONE, (void)uvmp_prefetch_params_init_plugin(&c.params, &plugin));
	REFUSED(UVMP_PREFETCH_NONE, c.params.prefetcher = UVMP_PREFETCH_PLUGIN, UVMP_ERR_ARGUMENT,
		"params->plugin: not a valid plugin with values of its parameters");
	REFUSED(UVMP_PREFETCH_NONE, ((void)uvmp_prefetch_params_init_plugin(&c.params, &plugin), c.state.range = NULL),
		UVMP_ERR_ARGUMENT, "state->range: missing (NULL); required by prefetch=mine");
}

static void test_state(void **state)
{
	(void)state;
	begin(UVMP_PREFETCH_DENSITY);
	holds(&c.params, &c.facts, NULL, UVMP_ERR_ARGUMENT, "state: missing (NULL)");
	REFUSED(UVMP_PREFETCH_DENSITY, c.state.last_proc = 99, UVMP_ERR_ARGUMENT,
		"state->last_proc: 99 is not accepted; 0..64");
	REFUSED(UVMP_PREFETCH_DENSITY, c.tree.blocks = 3, UVMP_ERR_ARGUMENT, "state->tree: not set up");
	ACCEPTED(UVMP_PREFETCH_DENSITY, c.state.tree = NULL);
	REFUSED(UVMP_PREFETCH_TBN, c.state.tree = NULL, UVMP_ERR_ARGUMENT,
		"state->tree: missing (NULL); required by prefetch=tbn");
	REFUSED(UVMP_PREFETCH_SL, c.tree.blocks = 4, UVMP_ERR_ARGUMENT, "state->tree: smaller than the block");
	REFUSED(UVMP_PREFETCH_RANDOM, c.state.random = NULL, UVMP_ERR_ARGUMENT,
		"state->random: missing (NULL); required by prefetch=random");
	REFUSED(UVMP_PREFETCH_STRIDE, c.state.range = NULL, UVMP_ERR_ARGUMENT,
		"state->range: missing (NULL); required by prefetch=stride");
	REFUSED(UVMP_PREFETCH_AUTO, c.state.processor = NULL, UVMP_ERR_ARGUMENT,
		"state->processor: missing (NULL); required by prefetch=auto");
}

static void test_facts(void **state)
{
	struct uvmp_region group[2] = {{0, 4}, {90, 100}};

	(void)state;
	begin(UVMP_PREFETCH_DENSITY);
	holds(&c.params, NULL, &c.state, UVMP_ERR_ARGUMENT, "facts: missing (NULL)");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.block.pages = 0, UVMP_ERR_ARGUMENT,
		"facts->block: not a block of geometry.h");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.faulted = NULL, UVMP_ERR_ARGUMENT, "facts->faulted: missing (NULL)");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.range_groups = 1, UVMP_ERR_ARGUMENT,
		"facts->range_group: missing (NULL), and range_groups is not 0");
	ACCEPTED(UVMP_PREFETCH_DENSITY, (c.facts.range_groups = 2, c.facts.range_group = group));
	group[1].end = 101;
	REFUSED(UVMP_PREFETCH_DENSITY, (c.facts.range_groups = 2, c.facts.range_group = group), UVMP_ERR_RANGE,
		"facts->range_group: no region of the block");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.to = 64, UVMP_ERR_RANGE, "facts->to: 64 is not accepted; 0..63");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.preferred = 3, UVMP_ERR_RANGE,
		"facts->preferred: not 0..63 with has_preferred, not 0 or 64 without");
}

static void test_pages(void **state)
{
	static const char none[] = "facts->faulted: no page, or faulted_region is no region of the block";
	static uvmp_mask beyond;

	(void)state;
	beyond = page_text("100");
	ACCEPTED(UVMP_PREFETCH_DENSITY, (c.facts.faulted_region = (struct uvmp_region){0, 0}));
	ACCEPTED(UVMP_PREFETCH_DENSITY, (c.facts.faulted_region = (struct uvmp_region){0, 100}));
	REFUSED(UVMP_PREFETCH_DENSITY, c.faulted = page_text(""), UVMP_ERR_RANGE, none);
	REFUSED(UVMP_PREFETCH_DENSITY, (c.facts.faulted_region = (struct uvmp_region){5, 101}), UVMP_ERR_RANGE, none);
	REFUSED(UVMP_PREFETCH_DENSITY, (c.facts.faulted_region = (struct uvmp_region){5, 5}), UVMP_ERR_RANGE, none);
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.resident = &beyond, UVMP_ERR_RANGE,
		"facts->resident: a page beyond block.pages");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.cpu_read_mapped = &beyond, UVMP_ERR_RANGE,
		"facts->cpu_read_mapped: a page beyond block.pages");
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.is_hmm = true, UVMP_ERR_RANGE,
		"facts->max_region: no region of the block, and is_hmm is set");
	ACCEPTED(UVMP_PREFETCH_DENSITY, (c.facts.is_hmm = true, c.facts.max_region = (struct uvmp_region){0, 100}));
	REFUSED(UVMP_PREFETCH_DENSITY, c.facts.is_follow = true, UVMP_ERR_RANGE,
		"facts->is_follow: only for prefetchers with the trait walks_ranges");
	ACCEPTED(UVMP_PREFETCH_STRIDE, (c.facts.is_follow = true, c.faulted = page_text("")));
	ACCEPTED(UVMP_PREFETCH_STRIDE, c.facts.range_pages = 0);
	REFUSED(UVMP_PREFETCH_STRIDE, c.facts.range_pages = 99, UVMP_ERR_RANGE,
		"facts->range_first: the block is not within range_pages");
	REFUSED(UVMP_PREFETCH_STRIDE, c.facts.range_first = 1, UVMP_ERR_RANGE,
		"facts->range_first: the block is not within range_pages");
	REFUSED(UVMP_PREFETCH_TBN, c.resident = page_text("5"), UVMP_ERR_RANGE,
		"facts->faulted: a page that is resident or pending");
	REFUSED(UVMP_PREFETCH_RANDOM, c.pending = page_text("5"), UVMP_ERR_RANGE,
		"facts->faulted: a page that is resident or pending");
	ACCEPTED(UVMP_PREFETCH_DENSITY, c.pending = page_text("5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_params), cmocka_unit_test(test_plugin),
					   cmocka_unit_test(test_state), cmocka_unit_test(test_facts),
					   cmocka_unit_test(test_pages)};

	return cmocka_run_group_tests_name("checks of prefetch arguments", tests, NULL, NULL);
}
