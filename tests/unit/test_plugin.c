/* Prefetchers and eviction orders that are not of the library (plugin.h): lists, policy strings, and single decisions. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/page_text.h"
#include "support/policy_names.h"
#include "uvmpolicy/advanced.h"
#include "uvmpolicy/service.h"

#define UNITS 100u

/* -- a prefetcher: the candidates up to a number of pages -- */

static uint32_t lefts, touches, decisions;

static void take_pages(void *user, struct uvmp_prefetch_call *call)
{
	uint32_t left = call->value[0];

	decisions++;
	*(uint32_t *)user += 1u;
	assert_int_equal(call->size, sizeof(*call));
	assert_true(uvmp_mask_is_empty(call->pages));
	assert_true(call->follow == UVMP_PAGE_NONE);
	for (uint32_t p = uvmp_mask_next_set(call->candidates, 0); p < UVMP_MASK_BITS && left > 0;
	     p = uvmp_mask_next_set(call->candidates, p + 1u), left--)
		uvmp_mask_set(call->pages, p);
	call->follow = call->value[1];
}

static void note_left(void *user, void *block, const struct uvmp_prefetch_departure *departure)
{
	(void)user, (void)block, (void)departure;
	lefts++;
}

static void note_touch(void *user, const uint32_t *value, const struct uvmp_prefetch_touch *touch, void *range,
		       void *block)
{
	(void)user, (void)block, (void)touch;
	assert_int_equal(value[0], 8);
	*(uint64_t *)range += 1u;
	touches++;
}

static uint32_t calls;
static const struct uvmp_plugin_parameter few_parameters[] = {
	{"few_pages", "pages to fetch", 1, 512, 8},
	{"few_follow", "page to go on with", 0, UINT32_MAX, 7},
};
static const struct uvmp_prefetch_plugin few = {
	.size = sizeof(few),
	.parameters = 2,
	.parameter = few_parameters,
	.name = "few",
	.summary = "a few pages",
	.traits = {.walks_ranges = true, .counts_touches = true, .range_bytes = 8},
	.user = &calls,
	.decide = take_pages,
	.left = note_left,
	.touched = note_touch,
};

static void take_nothing(void *user, struct uvmp_prefetch_call *call)
{
	(void)user, (void)call;
}

static const struct uvmp_prefetch_plugin nothing = {.size = sizeof(nothing), .name = "nothing", .decide = take_nothing};

/* -- eviction orders -- */

static uint64_t by_clock(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	assert_int_equal(call->size, sizeof(*call));
	return call->clock;
}

static const struct uvmp_evict_plugin oldest = {
	.size = sizeof(oldest), .name = "oldest", .traits = {.unit_pages = 1, .has_reserve = true}, .touch = by_clock};

/* Second chance: a key, and a mark in the memory of the unit. */
struct second_state {
	uint64_t touches, removals, batches, evicted_pages, untouched_pages;
};

static struct second_state *second; /* of the order that was set up last */

static void begin_second(void *user, void *state, const uint32_t *value, uint32_t units)
{
	const struct second_state zero = {0};

	(void)user;
	assert_int_equal(value[0], 3);
	assert_int_equal(units, UNITS);
	assert_memory_equal(state, &zero, sizeof(zero));
	second = state;
}

static uint64_t touch_second(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	((struct second_state *)call->state)->touches++;
	*(uint8_t *)call->memory = call->is_listed;
	return call->is_listed ? call->key : call->clock;
}

static uint64_t ask_second(void *user, const struct uvmp_evict_call *call)
{
	uint8_t *has_chance = call->memory;

	(void)user;
	if (!*has_chance)
		return call->key;
	*has_chance = 0;
	return call->clock + 1000u;
}

static void remove_second(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	assert_false(call->is_listed);
	((struct second_state *)call->state)->removals++;
}

static void left_second(void *user, const struct uvmp_evict_call *call, uint32_t pages, uint32_t untouched)
{
	struct second_state *state = call->state;

	(void)user;
	state->evicted_pages += pages;
	state->untouched_pages += untouched;
}

static void batch_second(void *user, void *state, const uint32_t *value)
{
	(void)user;
	assert_int_equal(value[0], 3);
	((struct second_state *)state)->batches++;
}

static const struct uvmp_plugin_parameter second_parameters[] = {{"second_number", "a number", 0, 9, 3}};
static const struct uvmp_evict_plugin chance = {
	.size = sizeof(chance),
	.parameters = 1,
	.parameter = second_parameters,
	.name = "chance",
	.traits = {.unit_pages = 512, .has_granularity = true, .has_reserve = true, .spares_incomplete = true},
	.state_bytes = sizeof(struct second_state),
	.unit_bytes = 1,
	.init = begin_second,
	.touch = touch_second,
	.victim = ask_second,
	.removed = remove_second,
	.left = left_second,
	.batch = batch_second,
};

static const struct uvmp_prefetch_plugin *const prefetchers[] = {&nothing, &few};
static const struct uvmp_evict_plugin *const orders[] = {&oldest, &chance};
static const struct uvmp_plugins plugins = {sizeof(plugins), UVMP_PLUGIN_VERSION, 2, 2, prefetchers, orders};

/* -- lists -- */

static void refuses(const struct uvmp_plugins *list, enum uvmp_status status, const char *text)
{
	char said[UVMP_PLUGINS_ERROR_MAX] = "", shorter[8] = "";
	struct uvmp_policy policy;
	struct uvmp_policy_error error = {7, 7, ""};

	assert_int_equal(uvmp_plugins_check(list, said, sizeof(said)), status);
	assert_string_equal(said, text);
	assert_int_equal(uvmp_plugins_check(list, NULL, 0), status);
	assert_int_equal(uvmp_plugins_check(list, shorter, sizeof(shorter)), status);
	assert_int_equal(strlen(shorter), 7);
	if (list == NULL)
		return;
	assert_int_equal(uvmp_policy_parse_plugins("", 0, list, &policy, &error), status);
	assert_string_equal(error.text, text);
	assert_int_equal(error.offset, 0);
	assert_int_equal(uvmp_policy_parse_plugins("", 0, list, &policy, NULL), status);
}

static void test_list(void **state)
{
	static const struct uvmp_prefetch_plugin *const no_prefetcher[] = {NULL};
	static const struct uvmp_evict_plugin *const no_order[] = {NULL}, *const twice[] = {&oldest, &chance, &oldest};
	struct uvmp_plugins list = plugins;

	(void)state;
	assert_int_equal(uvmp_plugins_check(&plugins, NULL, 0), UVMP_OK);
	refuses(NULL, UVMP_ERR_ARGUMENT, "plugins: missing (NULL)");
	list.size = 8;
	refuses(&list, UVMP_ERR_ARGUMENT, "plugins: size is not the sizeof of the structure");
	list = plugins;
	list.version = 2;
	refuses(&list, UVMP_ERR_UNSUPPORTED, "plugins: the version is not 1");
	list = plugins;
	list.prefetchers = 257;
	refuses(&list, UVMP_ERR_RANGE, "plugins: more than 256 of a kind");
	list = plugins;
	list.orders = 257;
	refuses(&list, UVMP_ERR_RANGE, "plugins: more than 256 of a kind");
	list = plugins;
	list.prefetcher = NULL;
	refuses(&list, UVMP_ERR_ARGUMENT, "plugins: prefetcher or order is missing");
	list.prefetchers = 0;
	assert_int_equal(uvmp_plugins_check(&list, NULL, 0), UVMP_OK);
	list = plugins;
	list.order = NULL;
	refuses(&list, UVMP_ERR_ARGUMENT, "plugins: prefetcher or order is missing");
	list.orders = 0;
	assert_int_equal(uvmp_plugins_check(&list, NULL, 0), UVMP_OK);
	list = plugins;
	list.prefetcher = no_prefetcher;
	list.prefetchers = 1;
	refuses(&list, UVMP_ERR_ARGUMENT, "prefetcher[0]: missing (NULL)");
	list = plugins;
	list.order = no_order;
	list.orders = 1;
	refuses(&list, UVMP_ERR_ARGUMENT, "order[0]: missing (NULL)");
	list = plugins;
	list.order = twice;
	list.orders = 3;
	refuses(&list, UVMP_ERR_CONFLICT, "order oldest: another plugin has this name");
}

static void refuses_prefetcher(const struct uvmp_prefetch_plugin *bad, enum uvmp_status status, const char *text)
{
	const struct uvmp_prefetch_plugin *const list[] = {&nothing, bad};
	struct uvmp_plugins all = {sizeof(all), UVMP_PLUGIN_VERSION, 2, 0, list, NULL};
	struct uvmp_prefetch_params params;

	refuses(&all, status, text);
	if (status != UVMP_ERR_CONFLICT)
		assert_int_equal(uvmp_prefetch_params_init_plugin(&params, bad), UVMP_ERR_ARGUMENT);
}

static void test_prefetcher_fields(void **state)
{
	static const struct {
		size_t offset;
	} own[] = {{offsetof(struct uvmp_prefetch_traits, is_off)},
		   {offsetof(struct uvmp_prefetch_traits, may_repeat)},
		   {offsetof(struct uvmp_prefetch_traits, has_tree)},
		   {offsetof(struct uvmp_prefetch_traits, has_threshold)},
		   {offsetof(struct uvmp_prefetch_traits, has_random)}};
	struct uvmp_prefetch_plugin bad = few;

	(void)state;
	bad.size = offsetof(struct uvmp_prefetch_plugin, touched);
	refuses_prefetcher(&bad, UVMP_ERR_ARGUMENT, "prefetcher[1]: size is not the sizeof of the structure");
	bad = few;
	bad.decide = NULL;
	refuses_prefetcher(&bad, UVMP_ERR_ARGUMENT, "prefetcher[1]: decide is missing");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		bad = few;
		*((bool *)&bad.traits + own[i].offset) = true;
		refuses_prefetcher(&bad, UVMP_ERR_UNSUPPORTED,
				   "prefetcher[1]: is_off, may_repeat, has_tree, has_threshold and has_random must be "
				   "false");
	}
	for (int i = 0; i < 4; i++) {
		bad = few;
		if (i == 0)
			bad.traits.grouping = (enum uvmp_grouping)3;
		else if (i == 1)
			bad.traits.block_bytes = UVMP_PREFETCH_STATE_MAX + 1u;
		else if (i == 2)
			bad.traits.range_bytes = UVMP_PREFETCH_STATE_MAX + 1u;
		else
			bad.traits.processor_bytes = UVMP_PREFETCH_STATE_MAX + 1u;
		refuses_prefetcher(&bad, UVMP_ERR_RANGE,
				   "prefetcher[1]: the grouping, or the bytes of private memory, at most 1040");
	}
	bad = few;
	bad.name = "density";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT, "prefetcher density: the library has a policy of this name");
	bad.name = "same";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT, "prefetcher same: the library has a policy of this name");
	bad.name = "nothing";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT, "prefetcher nothing: another plugin has this name");
	refuses_prefetcher(&nothing, UVMP_ERR_CONFLICT, "prefetcher nothing: another plugin has this name");
	refuses(&(struct uvmp_plugins){sizeof(plugins), UVMP_PLUGIN_VERSION, 2, 0,
				       (const struct uvmp_prefetch_plugin *const[]){&few, &few}, NULL},
		UVMP_ERR_CONFLICT, "prefetcher few: another plugin has this name"); /* not: its parameters */
	bad.name = "lru"; /* an order */
	assert_int_equal(uvmp_prefetch_params_init_plugin(&(struct uvmp_prefetch_params){.threshold = 0}, &bad), UVMP_OK);
}

static void test_names(void **state)
{
	static const char *const wrong[] = {NULL,    "",     "Few",	 "2few",  "few-pages",
					    "a b",   "a=b",  "a,b",	 "f\xc3", "abcdefghijklmnopqrstuvwx",
					    "_few", "few{", "few\x7f", "few/",  "few:"};
	static const char *const right[] = {"a", "z9_", "abcdefghijklmnopqrstuvw"};
	struct uvmp_prefetch_plugin plugin = nothing;
	struct uvmp_prefetch_params params;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		plugin.name = wrong[i];
		refuses_prefetcher(&plugin, UVMP_ERR_RANGE,
				   "prefetcher[1]: the name is a letter a-z, then a-z, 0-9 and _, at most 23");
	}
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		plugin.name = right[i];
		assert_int_equal(uvmp_prefetch_params_init_plugin(&params, &plugin), UVMP_OK);
	}
}

static void test_parameters(void **state)
{
	struct uvmp_plugin_parameter own[9] = {{"a", "", 0, 9, 0}, {"b", "", 1, 9, 1}};
	struct uvmp_prefetch_plugin bad = few;

	(void)state;
	bad.parameter = own;
	for (uint32_t i = 2; i < 9; i++)
		own[i] = own[0];
	bad.parameters = 9;
	refuses_prefetcher(&bad, UVMP_ERR_RANGE, "prefetcher[1]: more than 8 parameters");
	bad.parameters = 2;
	bad.parameter = NULL;
	refuses_prefetcher(&bad, UVMP_ERR_ARGUMENT, "prefetcher[1]: parameter is missing");
	bad.parameter = own;
	own[1].initial = 0;
	refuses_prefetcher(&bad, UVMP_ERR_RANGE, "prefetcher few: parameter b: the initial value 0 is not accepted; 1..9");
	own[1].initial = 10;
	refuses_prefetcher(&bad, UVMP_ERR_RANGE, "prefetcher few: parameter b: the initial value 10 is not accepted; 1..9");
	own[1].initial = 9;
	own[0].initial = 10;
	refuses_prefetcher(&bad, UVMP_ERR_RANGE, "prefetcher few: parameter a: the initial value 10 is not accepted; 0..9");
	own[0].initial = 0;
	own[1].summary = NULL;
	refuses_prefetcher(&bad, UVMP_ERR_ARGUMENT, "prefetcher few: parameter b: summary is missing");
	own[1].summary = "";
	own[1].name = "B";
	refuses_prefetcher(
		&bad, UVMP_ERR_RANGE,
		"prefetcher[1]: the name of a parameter is a letter a-z, then a-z, 0-9 and _, at most 23");
	own[1].name = "a";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT,
			   "prefetcher few: another parameter has the same name as one of its own");
	own[1].name = "reserve";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT, "prefetcher few: a parameter has the name of a key of the library");
	own[1].name = "preset";
	refuses_prefetcher(&bad, UVMP_ERR_CONFLICT, "prefetcher few: a parameter has the name of a key of the library");
}

/* Between kinds, names of plugins are free, and names of parameters are not. */
static void test_names_of_both_kinds(void **state)
{
	struct uvmp_prefetch_plugin prefetcher = few;
	struct uvmp_evict_plugin order = chance;
	const struct uvmp_prefetch_plugin *const p[] = {&prefetcher};
	const struct uvmp_evict_plugin *const o[] = {&order};
	struct uvmp_plugins list = {sizeof(list), UVMP_PLUGIN_VERSION, 1, 1, p, o};

	(void)state;
	prefetcher.name = "lru";
	order.name = "density";
	assert_int_equal(uvmp_plugins_check(&list, NULL, 0), UVMP_OK);
	order.parameter = few_parameters;
	refuses(&list, UVMP_ERR_CONFLICT, "prefetcher lru: another parameter has the same name as one of its own");
}

static void refuses_order(const struct uvmp_evict_plugin *bad, enum uvmp_status status, const char *text)
{
	const struct uvmp_evict_plugin *const list[] = {bad};
	struct uvmp_plugins all = {sizeof(all), UVMP_PLUGIN_VERSION, 0, 1, NULL, list};
	struct uvmp_evict evict;
	uint64_t memory[64];

	refuses(&all, status, text);
	if (status == UVMP_ERR_CONFLICT)
		return;
	assert_int_equal(uvmp_evict_plugin_size(bad, UNITS), 0);
	assert_int_equal(uvmp_evict_init_plugin(&evict, bad, NULL, UNITS, memory, sizeof(memory)), UVMP_ERR_ARGUMENT);
}

static void test_order_fields(void **state)
{
	static const size_t own[] = {offsetof(struct uvmp_evict_traits, is_chunked),
				     offsetof(struct uvmp_evict_traits, has_tree),
				     offsetof(struct uvmp_evict_traits, counts_uses),
				     offsetof(struct uvmp_evict_traits, is_random),
				     offsetof(struct uvmp_evict_traits, has_groups)};
	static const uint16_t units[] = {0, 2, 15, 256, 1024};
	struct uvmp_evict_plugin bad = oldest;

	(void)state;
	bad.size--;
	refuses_order(&bad, UVMP_ERR_ARGUMENT, "order[0]: size is not the sizeof of the structure");
	bad = oldest;
	bad.name = "Oldest";
	refuses_order(&bad, UVMP_ERR_RANGE, "order[0]: the name is a letter a-z, then a-z, 0-9 and _, at most 23");
	bad = oldest;
	bad.touch = NULL;
	refuses_order(&bad, UVMP_ERR_ARGUMENT, "order[0]: touch is missing");
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		bad = oldest;
		*((bool *)&bad.traits + own[i]) = true;
		refuses_order(&bad, UVMP_ERR_UNSUPPORTED,
			      "order[0]: is_chunked, has_tree, counts_uses, is_random and has_groups must be false");
	}
	bad = oldest;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		bad.traits.unit_pages = units[i];
		refuses_order(&bad, UVMP_ERR_RANGE, "order[0]: unit_pages is 1, 16 or 512, with has_granularity 512");
	}
	bad.traits.unit_pages = 512;
	assert_true(uvmp_evict_plugin_size(&bad, UNITS) != 0);
	bad.traits.unit_pages = 16;
	assert_true(uvmp_evict_plugin_size(&bad, UNITS) != 0);
	bad.traits.has_granularity = true;
	refuses_order(&bad, UVMP_ERR_RANGE, "order[0]: unit_pages is 1, 16 or 512, with has_granularity 512");
	bad = oldest;
	bad.state_bytes = UVMP_PLUGIN_STATE_MAX + 1u;
	refuses_order(&bad, UVMP_ERR_RANGE, "order[0]: state_bytes is at most 65536, unit_bytes at most 256");
	bad = oldest;
	bad.unit_bytes = UVMP_PLUGIN_UNIT_MAX + 1u;
	refuses_order(&bad, UVMP_ERR_RANGE, "order[0]: state_bytes is at most 65536, unit_bytes at most 256");
	bad = oldest;
	bad.name = "lru4k";
	refuses_order(&bad, UVMP_ERR_CONFLICT, "order lru4k: the library has a policy of this name");
}

/* -- policy strings -- */

static struct uvmp_policy policy;
static struct uvmp_policy_error error;

static enum uvmp_status parse(const char *text)
{
	return uvmp_policy_parse_plugins_size(text, strlen(text), &plugins, &policy, sizeof(policy), &error);
}

static void accepts(const char *text, const char *printed)
{
	char out[UVMP_POLICY_TEXT_MAX], again[UVMP_POLICY_TEXT_MAX];

	assert_int_equal(parse(text), UVMP_OK);
	assert_true(uvmp_policy_is_valid(&policy));
	assert_int_equal(uvmp_policy_print(&policy, out, sizeof(out)), UVMP_OK);
	assert_non_null(strstr(out, printed));
	assert_int_equal(parse(out), UVMP_OK);
	assert_int_equal(uvmp_policy_print(&policy, again, sizeof(again)), UVMP_OK);
	assert_string_equal(out, again);
}

static void refuses_text(const char *text, enum uvmp_status status, uint32_t offset, const char *what)
{
	assert_int_equal(parse(text), status);
	assert_int_equal(error.offset, offset);
	assert_non_null(strstr(error.text, what));
	assert_int_equal(uvmp_policy_parse_plugins(text, strlen(text), &plugins, &policy, NULL), status);
}

static void test_policy(void **state)
{
	(void)state;
	accepts("prefetch=few", "prefetch=few few_pages=8 few_follow=7 prefetch_full=same");
	assert_int_equal(policy.prefetch.prefetcher, UVMP_PREFETCH_PLUGIN);
	assert_ptr_equal(policy.prefetch.plugin, &few);
	assert_ptr_equal(uvmp_policy_prefetch_traits(&policy), &few.traits);
	assert_string_equal(uvmp_policy_evict_name(&policy), "lru");
	assert_ptr_equal(uvmp_policy_evict_traits(&policy), uvmp_evict_traits_of(UVMP_EVICT_LRU));
	accepts("few_follow=0 prefetch=few few_pages=512", "prefetch=few few_pages=512 few_follow=0");
	accepts("preset=uvmsmart evict=oldest reserve=20 free_buffer=5", "evict=oldest reserve=20 free_buffer=5");
	assert_int_equal(uvmp_policy_unit_pages(&policy), 1);
	assert_ptr_equal(uvmp_policy_prefetch_traits(&policy), uvmp_prefetch_traits_of(UVMP_PREFETCH_TBN));
	{
		struct uvmp_policy chosen; /* a bare preset is no parameter of a plugin */

		assert_int_equal(uvmp_policy_parse_plugins("nvidia-once", 11, &plugins, &chosen, NULL), UVMP_OK);
	}
	accepts("evict=chance second_number=9 granularity=64k cyclic=on", "evict=chance second_number=9 granularity=64k");
	assert_int_equal(uvmp_policy_unit_pages(&policy), 16);
	assert_string_equal(uvmp_policy_evict_name(&policy), "chance");
	assert_ptr_equal(uvmp_policy_evict_traits(&policy), &chance.traits);
	accepts("prefetch=nothing prefetch_full=few", "prefetch=nothing prefetch_full=few evict=lru ");
	accepts("prefetch=few evict=chance second_number=1 few_pages=3", "prefetch=few few_pages=3");
	assert_int_equal(policy.evict_value[0], 1);
	accepts("prefetch=few prefetch_full=few", "prefetch=few few_pages=8 few_follow=7 prefetch_full=few");
	accepts("evict=lru4k", "evict=lru4k");
	assert_null(policy.evict_plugin);
	assert_int_equal(uvmp_policy_parse_plugins("prefetch=none", 13, NULL, &policy, &error), UVMP_OK);
}

static void test_policy_errors(void **state)
{
	(void)state;
	refuses_text("prefetch=fex", UVMP_ERR_UNKNOWN, 0, "\"fex\" is not accepted; none density");
	refuses_text("prefetch=fex", UVMP_ERR_UNKNOWN, 0, policy_names(prefetcher_at, " nothing few"));
	refuses_text("prefetch=oldest", UVMP_ERR_UNKNOWN, 0, policy_names(prefetcher_at, " nothing few"));
	refuses_text("prefetch_full=chance", UVMP_ERR_UNKNOWN, 0, policy_names(prefetcher_at, " nothing few"));
	refuses_text("evict=few", UVMP_ERR_UNKNOWN, 0, policy_names(evictor_at, " oldest chance"));
	refuses_text("plan=few", UVMP_ERR_UNKNOWN, 0, "\"few\" is not accepted; serial overlapped unobtrusive");
	refuses_text("prefetch=few few_pages=0", UVMP_ERR_RANGE, 13, "few_pages: 0 is not accepted; 1..512");
	refuses_text("prefetch=few few_pages=x", UVMP_ERR_RANGE, 13, "few_pages: x is not accepted; 1..512");
	refuses_text("prefetch=few few_pages=", UVMP_ERR_SYNTAX, 13, "few_pages: a value must follow few_pages=; 1..512");
	refuses_text("few_pages", UVMP_ERR_SYNTAX, 0, "few_pages: a value must follow few_pages=; 1..512");
	refuses_text("evict=chance second_number", UVMP_ERR_SYNTAX, 13, "second_number: a value must follow second_number=;");
	refuses_text("evict=", UVMP_ERR_SYNTAX, 0, policy_names(evictor_at, " oldest chance"));
	refuses_text("few_pages=2 prefetch=none", UVMP_ERR_CONFLICT, 0, "few_pages: used only by prefetch=few");
	refuses_text("few_pages=2 prefetch=nothing", UVMP_ERR_CONFLICT, 0, "few_pages: used only by prefetch=few");
	refuses_text("few_pages=2 prefetch_full=few", UVMP_ERR_CONFLICT, 0, "few_pages: used only by prefetch=few");
	refuses_text("evict=oldest second_number=2", UVMP_ERR_CONFLICT, 13, "second_number: used only by evict=chance");
	refuses_text("prefetch=few few_pages=2 few_pages=2", UVMP_ERR_CONFLICT, 25, "few_pages: given twice");
	refuses_text("prefetch=few prefetch=few", UVMP_ERR_CONFLICT, 13, "prefetch: given twice");
	refuses_text("few_pagesx=2 prefetch=few", UVMP_ERR_UNKNOWN, 0, "few_pagesx: no such key");
	refuses_text("few_page=2 prefetch=few", UVMP_ERR_UNKNOWN, 0, "few_page: no such key");
	refuses_text("prefetch=few threshold=51", UVMP_ERR_CONFLICT, 13, "threshold: used only by prefetch=density");
	refuses_text("prefetch=few adapt=early", UVMP_ERR_CONFLICT, 13, "adapt: used only by prefetch=");
	refuses_text("evict=chance auto_keep=on", UVMP_ERR_CONFLICT, 13, "auto_keep: used only by evict=auto");
	refuses_text("evict=oldest granularity=64k", UVMP_ERR_CONFLICT, 13, "granularity: used only by evict=lru2m");
	refuses_text("evict=oldest pma_order=2", UVMP_ERR_CONFLICT, 13, "pma_order: used only by evict=lru");
	refuses_text("evict=chance runtime=on", UVMP_ERR_CONFLICT, 13, "runtime: used only by evict=tbne");
	assert_int_equal(uvmp_policy_parse("prefetch=few", 12, &policy, &error), UVMP_ERR_UNKNOWN);
}

static void spoils(size_t offset, const void *value, size_t bytes)
{
	struct uvmp_policy bad = policy;

	assert_true(uvmp_policy_is_valid(&bad));
	memcpy((uint8_t *)&bad + offset, value, bytes);
	assert_false(uvmp_policy_is_valid(&bad));
}

/* A policy names a plugin, and has it, or neither. */
static void test_policy_fields(void **state)
{
	static const struct uvmp_prefetch_plugin *const no_prefetcher = NULL, *const any_prefetcher = &few;
	static const struct uvmp_evict_plugin *const no_order = NULL, *const any_order = &chance;
	struct uvmp_prefetch_plugin bad_prefetcher = few;
	struct uvmp_evict_plugin bad_order = chance;
	const struct uvmp_prefetch_plugin *p = &bad_prefetcher;
	const struct uvmp_evict_plugin *o = &bad_order;
	const uint32_t ten = 10, zero = 0;
	struct uvmp_policy_error wrong;

	(void)state;
	bad_prefetcher.decide = NULL;
	bad_order.touch = NULL;
	assert_int_equal(parse("prefetch=few prefetch_full=nothing evict=chance"), UVMP_OK);
	spoils(offsetof(struct uvmp_policy, prefetch.plugin), &no_prefetcher, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, prefetch.plugin), &p, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, full_plugin), &no_prefetcher, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, full_plugin), &p, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, evict_plugin), &no_order, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, evict_plugin), &o, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, prefetch.value[0]), &zero, sizeof(zero));
	spoils(offsetof(struct uvmp_policy, prefetch.value[2]), &ten, sizeof(ten));
	spoils(offsetof(struct uvmp_policy, evict_value[0]), &ten, sizeof(ten));
	spoils(offsetof(struct uvmp_policy, evict_value[7]), &ten, sizeof(ten));
	assert_int_equal(uvmp_policy_parse("", 0, &policy, &wrong), UVMP_OK);
	spoils(offsetof(struct uvmp_policy, prefetch.plugin), &any_prefetcher, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, full_plugin), &any_prefetcher, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, evict_plugin), &any_order, sizeof(void *));
	spoils(offsetof(struct uvmp_policy, evict_value[0]), &ten, sizeof(ten));
	assert_null(uvmp_prefetch_name(UVMP_PREFETCH_PLUGIN));
	assert_null(uvmp_prefetch_traits_of(UVMP_PREFETCH_PLUGIN));
	assert_null(uvmp_evict_name(UVMP_EVICT_PLUGIN));
	assert_null(uvmp_evict_traits_of(UVMP_EVICT_PLUGIN));
	assert_int_equal(uvmp_evict_unit_pages(UVMP_EVICT_PLUGIN), 0);
	assert_int_equal(uvmp_evict_size(UVMP_EVICT_PLUGIN, UNITS), 0);
}

static void test_needs(void **state)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};

	(void)state;
	assert_int_equal(parse("prefetch=few evict=chance"), UVMP_OK);
	assert_int_equal(uvmp_policy_needs(&policy, &needs), UVMP_OK);
	assert_true(needs.touches);
	assert_int_equal(needs.page_bytes, 4096 + 16384 + 65536 + 2097152);
	assert_int_equal(parse("prefetch=nothing evict=oldest prefetch_full=few"), UVMP_OK);
	assert_int_equal(uvmp_policy_needs(&policy, &needs), UVMP_OK);
	assert_int_equal(needs.page_bytes, 4096);
	assert_false(needs.one_gpu);
}

/* -- single decisions -- */

static struct uvmp_prefetch_params params;
static struct uvmp_prefetch_facts facts;
static struct uvmp_prefetch_state block;
static struct uvmp_prefetch_hint hint;
static uvmp_mask faulted, resident, thrashing;
static uint64_t range;

static void prepare(void)
{
	memset(&facts, 0, sizeof(facts));
	memset(&hint, 0x5a, sizeof(hint));
	assert_int_equal(uvmp_prefetch_params_init_plugin(&params, &few), UVMP_OK);
	uvmp_prefetch_state_init(&block);
	block.range = &range;
	faulted = page_text("5,7");
	resident = page_text("0-3");
	thrashing = page_text("6");
	facts.faulted = &faulted;
	facts.faulted_region = uvmp_mask_bounds(&faulted);
	facts.resident = &resident;
	facts.thrashing = &thrashing;
	facts.to = 1;
	facts.range_first = 512;
	facts.range_pages = 2048;
	assert_int_equal(uvmp_block_from_shape(512, 0, 16, &facts.block), UVMP_OK);
}

static void decides(const char *pages, uint64_t follow)
{
	uvmp_mask expected = page_text(pages);

	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_OK);
	assert_true(uvmp_mask_equal(&hint.pages, &expected));
	assert_int_equal(hint.to, uvmp_mask_is_empty(&expected) ? UVMP_PROC_NONE : 1);
	assert_true(hint.follow == follow);
}

/* A plugin sees the bounds of the faults and the block as its range. */
static void test_zeroed_facts(void **state)
{
	(void)state;
	prepare();
	facts.faulted_region = (struct uvmp_region){0, 0};
	decides("4,8-14", 7);
	facts.range_first = 0;
	facts.range_pages = 0;
	params.value[0] = 2;
	params.value[1] = 511;
	decides("4,8", 511);
	params.value[1] = 512; /* outside the range */
	decides("4,8", UVMP_PAGE_NONE);
	faulted = page_text("-");
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_RANGE);
}

static void test_decide(void **state)
{
	(void)state;
	prepare();
	calls = 0;
	decides("4,8-14", 7);
	assert_int_equal(calls, 1);
	params.value[0] = 2;
	params.value[1] = 2047;
	decides("4,8", 2047);
	params.value[1] = 2048; /* outside the range */
	decides("4,8", UVMP_PAGE_NONE);
	facts.is_follow = true; /* only later blocks */
	params.value[1] = 1023;
	decides("4,8", UVMP_PAGE_NONE);
	params.value[1] = 1024;
	decides("4,8", 1024);
	facts.has_preferred = true; /* elsewhere: no candidate */
	facts.preferred = 0;
	decides("-", 1024);
	assert_int_equal(uvmp_prefetch_params_init_plugin(&params, &nothing), UVMP_OK);
	facts.is_follow = false;
	decides("-", UVMP_PAGE_NONE);
	facts.is_follow = true; /* without walks_ranges */
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_RANGE);
}

/* Every page, and pages beyond the block; a page of its own list becomes its follow. */
static void take_everything(void *user, struct uvmp_prefetch_call *call)
{
	(void)user;
	memset(call->pages, 0xff, sizeof(*call->pages));
	memset((void *)(uintptr_t)call->candidates, 0xff, sizeof(*call->candidates));
	call->follow = UVMP_PAGE_NONE - 1u;
}

static void test_hostile_prefetcher(void **state)
{
	struct uvmp_prefetch_plugin hostile = nothing;

	(void)state;
	prepare();
	hostile.decide = take_everything;
	hostile.traits.walks_ranges = true;
	assert_int_equal(uvmp_prefetch_params_init_plugin(&params, &hostile), UVMP_OK);
	decides("4,8-511", UVMP_PAGE_NONE);
	assert_int_equal(uvmp_block_from_shape(20, 0, 16, &facts.block), UVMP_OK);
	decides("4,8-19", UVMP_PAGE_NONE);
}

static void test_decide_errors(void **state)
{
	struct uvmp_prefetch_plugin bad = few;
	struct uvmp_prefetch_touch touch = {.range_page = 1, .range_pages = 2, .page = 1};
	struct uvmp_prefetch_departure departure = {.gone = &faulted};

	(void)state;
	prepare();
	decisions = touches = lefts = 0;
	assert_true(uvmp_prefetch_params_is_valid(&params));
	assert_int_equal(uvmp_prefetch_params_init_plugin(NULL, &few), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_params_init_plugin(&params, NULL), UVMP_ERR_ARGUMENT);
	params.value[0] = 0;
	assert_false(uvmp_prefetch_params_is_valid(&params));
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_ARGUMENT);
	params.value[0] = 513;
	assert_false(uvmp_prefetch_params_is_valid(&params));
	params.value[0] = 8;
	params.plugin = NULL;
	assert_false(uvmp_prefetch_params_is_valid(&params));
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_ARGUMENT);
	bad.size = 0;
	params.plugin = &bad;
	assert_false(uvmp_prefetch_params_is_valid(&params));
	params.plugin = &few;
	params.prefetcher = UVMP_PREFETCH_COUNT;
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_ARGUMENT);
	params.prefetcher = UVMP_PREFETCH_PLUGIN;
	assert_int_equal(uvmp_prefetch_decide(NULL, &facts, &block, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_decide(&params, NULL, &block, &hint), UVMP_ERR_ARGUMENT);
	block.range = NULL;
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_prefetch_touched(&params, &touch, &block), UVMP_ERR_ARGUMENT);
	block.range = &range;
	facts.range_pages = 100;
	assert_int_equal(uvmp_prefetch_decide(&params, &facts, &block, &hint), UVMP_ERR_RANGE);
	assert_int_equal(decisions, 0);
	range = 0;
	assert_int_equal(uvmp_prefetch_touched(&params, &touch, &block), UVMP_OK);
	assert_int_equal(touches, 1);
	assert_int_equal(range, 1);
	assert_int_equal(uvmp_prefetch_params_init_plugin(&params, &nothing), UVMP_OK);
	assert_int_equal(uvmp_prefetch_touched(&params, &touch, &block), UVMP_OK);
	assert_int_equal(touches, 1);
	assert_int_equal(uvmp_prefetch_left(UVMP_PREFETCH_PLUGIN, &range, &departure), UVMP_ERR_ARGUMENT);
	assert_int_equal(lefts, 0);
}

/* -- an order -- */

static struct uvmp_evict evict;
static void *memory;

static void set_up(const struct uvmp_evict_plugin *plugin, const uint32_t *value)
{
	size_t bytes = uvmp_evict_plugin_size(plugin, UNITS);

	free(memory);
	memory = malloc(bytes);
	assert_non_null(memory);
	memset(memory, 0x5a, bytes);
	assert_int_equal(uvmp_evict_init_plugin(&evict, plugin, value, UNITS, memory, bytes), UVMP_OK);
	assert_true(uvmp_evict_is_valid(&evict));
}

static uint32_t victim(void)
{
	uint32_t unit = UVMP_UNIT_NONE;

	if (uvmp_evict_victim(&evict, NULL, &unit) != UVMP_OK)
		return UVMP_UNIT_NONE;
	return unit;
}

static uint32_t after(uint32_t unit)
{
	return uvmp_evict_next(&evict, NULL, &unit) == UVMP_OK ? unit : UVMP_UNIT_NONE;
}

static void touch(uint32_t unit)
{
	assert_int_equal(uvmp_evict_touch(&evict, unit), UVMP_OK);
	assert_true(uvmp_evict_contains(&evict, unit));
}

/* As many units again, in other memory: keys, places and private memory stay. */
static void grow(const struct uvmp_evict_plugin *plugin)
{
	size_t bytes = uvmp_evict_plugin_size(plugin, 2u * evict.units);
	void *more = malloc(bytes);

	assert_non_null(more);
	memset(more, 0x5a, bytes);
	assert_int_equal(uvmp_evict_grow(&evict, 2u * evict.units, more, bytes - 1u), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_evict_grow(&evict, 2u * evict.units, more, bytes), UVMP_OK);
	free(memory);
	memory = more;
	assert_true(uvmp_evict_is_valid(&evict));
}

static void test_order_grows(void **state)
{
	static const struct uvmp_evict_plugin *const both[] = {&oldest, &chance};
	uint32_t walk[2][64];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t pass = 0; pass < 2; pass++) {
			uint32_t count = 0;

			set_up(both[i], NULL);
			for (uint32_t k = 0; k < 40; k++)
				touch(k * 7u % 23u);
			assert_int_equal(uvmp_evict_spare(&evict, 5, true), UVMP_OK);
			assert_int_equal(uvmp_evict_remove(&evict, 11), UVMP_OK);
			if (pass == 1)
				grow(both[i]);
			touch(11);
			touch(3);
			for (; evict.count != 0; count++) {
				walk[pass][count] = victim();
				assert_int_equal(uvmp_evict_remove(&evict, walk[pass][count]), UVMP_OK);
			}
			assert_int_equal(count, 23);
			if (pass == 1)
				touch(2u * UNITS - 1u);
		}
		assert_memory_equal(walk[0], walk[1], 23 * sizeof(walk[0][0]));
	}
}

static void test_order(void **state)
{
	(void)state;
	set_up(&oldest, NULL);
	assert_int_equal(victim(), UVMP_UNIT_NONE);
	assert_int_equal(uvmp_evict_remove(&evict, 9), UVMP_OK);
	assert_int_equal(uvmp_evict_forget(&evict, 9), UVMP_OK);
	touch(4);
	touch(90);
	touch(7);
	assert_int_equal(evict.count, 3);
	assert_false(uvmp_evict_contains(&evict, 5));
	assert_false(uvmp_evict_contains(&evict, 99));
	touch(4);
	assert_int_equal(victim(), 90);
	assert_int_equal(after(90), 7);
	assert_int_equal(after(7), 4);
	assert_int_equal(after(4), UVMP_UNIT_NONE);
	assert_int_equal(after(5), UVMP_UNIT_NONE);
	evict.reserve_percent = 50;
	assert_int_equal(victim(), 7);
	evict.reserve_percent = 0;
	assert_int_equal(uvmp_evict_spare(&evict, 90, true), UVMP_OK);
	assert_int_equal(uvmp_evict_spare(&evict, 60, true), UVMP_OK);
	assert_int_equal(victim(), 7);
	assert_int_equal(after(4), 90);
	assert_int_equal(uvmp_evict_remove_set(&evict, 0, 1u << 4 | 1u << 7 | 1u << 8), UVMP_OK);
	assert_int_equal(victim(), 90);
	assert_int_equal(evict.count, 1);
	assert_int_equal(uvmp_evict_batch(&evict), UVMP_OK);
	assert_int_equal(uvmp_evict_left(&evict, 99, 1, 0), UVMP_OK);
	assert_int_equal(uvmp_evict_closure(&evict, NULL, 1), 0);
	assert_int_equal(uvmp_evict_together(&evict, 90), 0);
	assert_int_equal(uvmp_evict_chosen(&evict), UVMP_CHOICE_ORDER);
	assert_int_equal(uvmp_evict_own(&evict, 90, 1), UVMP_OK);
	assert_int_equal(uvmp_evict_weigh(&evict, 90, 1), UVMP_OK);
	assert_int_equal(uvmp_evict_forget(&evict, 90), UVMP_OK);
	assert_int_equal(victim(), UVMP_UNIT_NONE);
}

static void test_order_of_second_chance(void **state)
{
	(void)state;
	set_up(&chance, NULL);
	for (uint32_t unit = 0; unit < 4; unit++)
		touch(unit);
	touch(0);
	touch(1);
	assert_int_equal(second->touches, 6);
	assert_int_equal(victim(), 2); /* 0 and 1 have been asked, and have another place */
	assert_int_equal(after(2), 3);
	assert_int_equal(after(3), 0);
	assert_int_equal(after(0), 1);
	assert_int_equal(uvmp_evict_remove(&evict, 2), UVMP_OK);
	assert_int_equal(second->removals, 1);
	assert_int_equal(uvmp_evict_left(&evict, 2, 512, 12), UVMP_OK);
	assert_int_equal(second->evicted_pages, 512);
	assert_int_equal(second->untouched_pages, 12);
	assert_int_equal(uvmp_evict_batch(&evict), UVMP_OK);
	assert_int_equal(second->batches, 1);
	touch(3);
	assert_int_equal(uvmp_evict_forget(&evict, 3), UVMP_OK); /* its mark, too */
	touch(3);
	assert_int_equal(uvmp_evict_spare(&evict, 0, true), UVMP_OK);
	assert_int_equal(uvmp_evict_spare(&evict, 1, true), UVMP_OK);
	assert_int_equal(victim(), 3);
	assert_int_equal(uvmp_evict_spare(&evict, 0, false), UVMP_OK);
	assert_int_equal(victim(), 3);
	evict.reserve_percent = 40; /* one of three */
	touch(0);
	assert_int_equal(victim(), 0); /* 3 is reserved, 0 moves behind 1, which is spared */
	assert_int_equal(after(0), 1);
}

static uint64_t never(void *user, const struct uvmp_evict_call *call)
{
	*(uint32_t *)user += 1u;
	return call->key + 1u;
}

static uint64_t zero(void *user, const struct uvmp_evict_call *call)
{
	(void)user, (void)call;
	return 0;
}

/* Each listed unit is asked once; then the first one goes. */
static void test_order_that_never_agrees(void **state)
{
	struct uvmp_evict_plugin hostile = oldest;
	uint32_t asked = 0;

	(void)state;
	hostile.user = &asked;
	hostile.touch = zero;
	hostile.victim = never;
	set_up(&hostile, NULL);
	for (uint32_t unit = 0; unit < 10; unit++)
		touch(unit);
	assert_int_equal(victim(), 0);
	assert_int_equal(asked, 10);
	assert_int_equal(evict.count, 10);
}

/* Of an order whose last unit has been listed: more units have been written than there are. The number of written units is
 * the first word of the memory that is UNITS. */
static void break_written(uint32_t *word)
{
	while (*word != UNITS)
		word++;
	(*word)++;
}

static void test_order_errors(void **state)
{
	const uint32_t value[] = {3}, wrong[] = {10};
	size_t bytes = uvmp_evict_plugin_size(&chance, UNITS);
	uint64_t *own = malloc(bytes + 8);

	(void)state;
	assert_non_null(own);
	assert_int_equal(uvmp_evict_plugin_size(NULL, UNITS), 0);
	assert_int_equal(uvmp_evict_plugin_size(&chance, 0), 0);
	assert_int_equal(uvmp_evict_plugin_size(&chance, UVMP_UNITS_MAX + 1u), 0);
	assert_int_equal(uvmp_evict_init_plugin(NULL, &chance, NULL, UNITS, own, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init_plugin(&evict, NULL, NULL, UNITS, own, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, NULL, UNITS, NULL, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, NULL, UNITS, (char *)own + 4, bytes), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, NULL, 0, own, bytes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, wrong, UNITS, own, bytes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, NULL, UNITS, own, bytes - 1), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_evict_init(&evict, UVMP_EVICT_PLUGIN, UNITS, own, bytes), UVMP_ERR_RANGE);
	assert_int_equal(uvmp_evict_init_plugin(&evict, &chance, value, UNITS, own, bytes), UVMP_OK);
	assert_true(evict.evictor >= UVMP_EVICT_COUNT);
	assert_int_equal(uvmp_evict_touch(&evict, UNITS), UVMP_ERR_RANGE);
	evict.count = 1; /* no unit has a state */
	assert_false(uvmp_evict_is_valid(&evict));
	evict.count = 0;
	evict.units--;
	assert_false(uvmp_evict_is_valid(&evict));
	evict.units++;
	assert_true(uvmp_evict_is_valid(&evict));
	assert_int_equal(uvmp_evict_touch(&evict, UNITS - 1u), UVMP_OK);
	assert_int_equal(uvmp_evict_remove(&evict, UNITS - 1u), UVMP_OK);
	assert_true(uvmp_evict_is_valid(&evict));
	break_written((uint32_t *)own);
	assert_false(uvmp_evict_is_valid(&evict));
	memset(own, 0, 8);
	assert_false(uvmp_evict_is_valid(&evict));
	free(own);
}

static uint64_t few_keys(void *user, const struct uvmp_evict_call *call)
{
	(void)user;
	return (call->clock * 2654435761u >> 13) % 20u;
}

/* Against a list of keys that is searched from end to end. */
static void test_order_at_random(void **state)
{
	uint64_t key[UNITS] = {0}, stamp[UNITS] = {0}, random = 1;
	struct uvmp_evict_call call = {.clock = 0};
	bool is_listed[UNITS] = {false};
	struct uvmp_evict_plugin hashed = oldest;

	(void)state;
	hashed.touch = few_keys;
	set_up(&hashed, NULL);
	for (int step = 0; step < 20000; step++) {
		uint32_t unit = (uint32_t)uvmp_random_below(&random, UNITS), best = UVMP_UNIT_NONE;

		if (uvmp_random_below(&random, 3) == 0) {
			assert_int_equal(uvmp_evict_remove(&evict, unit), UVMP_OK);
			is_listed[unit] = false;
		} else {
			touch(unit);
			is_listed[unit] = true;
			stamp[unit] = ++call.clock;
			key[unit] = few_keys(NULL, &call);
		}
		for (uint32_t i = 0; i < UNITS; i++) {
			if (is_listed[i] && (best == UVMP_UNIT_NONE || key[i] < key[best] ||
					     (key[i] == key[best] && stamp[i] < stamp[best])))
				best = i;
		}
		assert_int_equal(victim(), best);
	}
}

static int clean_up(void **state)
{
	(void)state;
	free(memory);
	memory = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_prefetcher_fields),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_names_of_both_kinds),
		cmocka_unit_test(test_order_fields),
		cmocka_unit_test(test_policy),
		cmocka_unit_test(test_policy_errors),
		cmocka_unit_test(test_policy_fields),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_decide),
	        cmocka_unit_test(test_zeroed_facts),
		cmocka_unit_test(test_hostile_prefetcher),
		cmocka_unit_test(test_decide_errors),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_grows),
		cmocka_unit_test(test_order_of_second_chance),
		cmocka_unit_test(test_order_that_never_agrees),
		cmocka_unit_test(test_order_errors),
		cmocka_unit_test(test_order_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, clean_up);
}
