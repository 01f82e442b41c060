/* policy.h: defaults, every key and choice, presets, canonical form, and every way to be wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "policy/policy_internal.h"

#define THRASH                                                                                               \
	"thrash=on thrash_threshold=3 pin_threshold=10 lapse_us=500 lapse_votes=32 nap=1 epoch=2000 "        \
	"pin=300 max_resets=4 "
#define COUNTERS "counters=driver counter_batch=256 counter_threshold=256 map_on_eviction=1 "
#define LAST     "threads=off sm_throttle=off memory_ratio=100 link_ratio=100 "
#define REST     THRASH COUNTERS "map_on_atomics=0 plan=serial " LAST

#define DRIVER                                                                                               \
	"prefetch=density threshold=51 min_faults=1 prefetch_full=same adapt=off evict=lru pma_order=6 "     \
	"replay=batch_flush put_ratio=50 batch=256 coalesce=1 max_batches=20 max_throttled=5 "               \
	"prefetch_lapse_ms=1000 " REST "quirks=1"

static enum uvmp_status parse(const char *text, struct uvmp_policy *policy)
{
	return uvmp_policy_parse(text, strlen(text), policy, NULL);
}

/* Removes the switches, which are off, of controllers that were added behind those of LAST. */
static void strip_added(char *text)
{
	for (uint32_t i = UVMP_CONTROLLER_SM_THROTTLE + 1; i < UVMP_CONTROLLER_COUNT; i++) {
		char word[64], *at;

		snprintf(word, sizeof(word), "%s=off ", uvmpi_controller_at(i)->name);
		at = strstr(text, word);
		if (at != NULL)
			memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
	}
}

/* The canonical form of what `text` means. */
static void check_canonical(const char *text, const char *expected)
{
	struct uvmp_policy policy;
	struct uvmp_policy_error error = {7, 7, "untouched"};
	char printed[UVMP_POLICY_TEXT_MAX];

	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, &error), UVMP_OK);
	assert_string_equal(error.text, "untouched");
	assert_true(uvmp_policy_is_valid(&policy));
	assert_int_equal(uvmp_policy_print(&policy, printed, sizeof(printed)), UVMP_OK);
	strip_added(printed);
	assert_string_equal(printed, expected);
}

/* `text` is refused; the error points at the first `word` in it and says `says`; the policy is not touched.
 */
static void check_error(const char *text, enum uvmp_status status, const char *word, const char *says)
{
	struct uvmp_policy policy, before;
	struct uvmp_policy_error error;

	memset(&policy, 0x5a, sizeof(policy));
	memcpy(&before, &policy, sizeof(policy));
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, &error), status);
	assert_string_equal(error.text, says);
	assert_int_equal(error.offset, strstr(text, word) - text);
	assert_int_equal(error.length, strlen(word));
	assert_memory_equal(&policy, &before, sizeof(policy));
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), status);
	assert_memory_equal(&policy, &before, sizeof(policy));
}

/* [driver: parameter-defaults], as far as this library has the mechanisms; the room's own defaults agree. */
static void test_defaults(void **unused)
{
	struct uvmp_prefetch_params prefetch;
	struct uvmp_thrash_params thrash;
	struct uvmp_policy p;

	(void)unused;
	uvmp_policy_init(NULL);
	uvmp_policy_init(&p);
	assert_true(uvmp_policy_is_valid(&p));
	uvmp_prefetch_params_init(&prefetch, UVMP_PREFETCH_DENSITY);
	assert_int_equal(p.prefetch.prefetcher, UVMP_PREFETCH_DENSITY);
	assert_int_equal(p.prefetch.threshold, prefetch.threshold);
	assert_int_equal(p.prefetch.min_faults, prefetch.min_faults);
	assert_int_equal(p.prefetch.sequential_pages, prefetch.sequential_pages);
	assert_int_equal(p.prefetch.locality_pages, prefetch.locality_pages);
	assert_int_equal(p.prefetch.stride_depth, prefetch.stride_depth);
	assert_int_equal(p.prefetch.stride_confidence, prefetch.stride_confidence);
	assert_int_equal(p.prefetch.next_blocks, prefetch.next_blocks);
	assert_int_equal(p.prefetch.next_percent, prefetch.next_percent);
	assert_int_equal(p.prefetch.shared_utlbs, prefetch.shared_utlbs);
	assert_int_equal(p.prefetch.shared_threshold, prefetch.shared_threshold);
	assert_int_equal(p.prefetch.private_threshold, prefetch.private_threshold);
	assert_int_equal(p.prefetch.threshold, 51);
	assert_int_equal(p.prefetch.min_faults, 1);
	assert_int_equal(p.evict, UVMP_EVICT_LRU);
	assert_int_equal(p.pma_order, 6);
	assert_int_equal(p.replay.policy, UVMP_REPLAY_BATCH_FLUSH);
	assert_int_equal(p.replay.update_put_ratio, 50);
	assert_int_equal(p.replay.max_batch, 256);
	assert_int_equal(p.replay.max_batches, 20);
	assert_int_equal(p.replay.max_throttled, 5);
	assert_int_equal(p.replay.prefetch_lapse_ms, 1000);
	assert_true(p.coalesce && p.quirks && p.prefetch.quirks && p.replay.quirks && p.thrash.quirks);
	uvmp_thrash_params_init(&thrash);
	assert_true(p.thrash.is_enabled && thrash.is_enabled);
	assert_int_equal(p.thrash.threshold, thrash.threshold);
	assert_int_equal(p.thrash.pin_threshold, thrash.pin_threshold);
	assert_int_equal(p.thrash.lapse_us, thrash.lapse_us);
	assert_int_equal(p.thrash.vote_threshold, thrash.vote_threshold);
	assert_int_equal(p.thrash.nap, thrash.nap);
	assert_int_equal(p.thrash.epoch, thrash.epoch);
	assert_int_equal(p.thrash.pin, thrash.pin);
	assert_int_equal(p.thrash.max_resets, thrash.max_resets);
	/* [driver: thrashing-parameters, counter-parameters, remote-on-eviction] */
	assert_int_equal(p.counters, UVMP_COUNTERS_DRIVER);
	assert_int_equal(p.counter_batch, 256);
	assert_int_equal(p.counter_threshold, 256);
	assert_true(p.map_on_eviction && !p.map_on_atomics);
	assert_int_equal(p.plan, UVMP_PLAN_SERIAL);
	/* what no driver has is off */
	assert_int_equal(p.adapt, UVMP_ADAPT_OFF);
	assert_int_equal(p.granularity, UVMP_GRANULARITY_2M);
	assert_true(!p.runtime && !p.cyclic && !p.controls.threads && !p.controls.sm_throttle && !p.controls.pressure_off);
	assert_int_equal(p.remote.remote, UVMP_REMOTE_OFF);
	assert_int_equal(p.memory_ratio, 100);
	assert_int_equal(p.link_ratio, 100);
}

/* A controller's thresholds that were defaulted are clamped to the policy's threshold, and are printed with
 * their final values. */
static void check_fitted(const char *text, const char *printed_as, uint32_t pressure_low, uint32_t early_low,
                         uint32_t early_high)
{
	struct uvmp_policy p, again;
	char printed[UVMP_POLICY_TEXT_MAX];

	assert_int_equal(parse(text, &p), UVMP_OK);
	assert_true(uvmp_policy_is_valid(&p));
	assert_int_equal(p.controls.pressure_low, pressure_low);
	assert_int_equal(p.controls.early_low, early_low);
	assert_int_equal(p.controls.early_high, early_high);
	assert_int_equal(uvmp_policy_print(&p, printed, sizeof(printed)), UVMP_OK);
	assert_non_null(strstr(printed, printed_as));
	assert_int_equal(parse(printed, &again), UVMP_OK);
	assert_int_equal(again.controls.pressure_low, pressure_low);
	assert_int_equal(again.controls.early_low, early_low);
	assert_int_equal(again.controls.early_high, early_high);
}

static void test_fitted(void **unused)
{
	(void)unused;
	check_fitted("adapt=early", "early_low=26 early_high=76", 1, 26, 76);
	check_fitted("adapt=early threshold=1", "early_low=1 early_high=76", 1, 1, 76);
	check_fitted("preset=early-adaptor threshold=0", "early_low=1 early_high=76", 1, 1, 76);
	check_fitted("threshold=90 adapt=early", "early_low=26 early_high=90", 1, 26, 90);
	check_fitted("threshold=90 adapt=early early_low=90", "early_low=90 early_high=90", 1, 90, 90);
	check_fitted("threshold=1 adapt=off", "adapt=off", 1, 26, 76);
	check_fitted("adapt=pressure threshold=0", "pressure_low=1", 1, 26, 76);
	check_fitted("adapt=pressure threshold=7 pressure_low=7", "pressure_low=7", 7, 26, 76);
}

/* No policy prints longer than this: every key at once, each with its longest value. Part of it cannot be
 * used together, so UVMP_POLICY_TEXT_MAX is more than enough. */
static void test_longest(void **unused)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};
	size_t longest = 0;

	(void)unused;
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		size_t value = 0;

		for (uint32_t v = 0; key->is_choice && v <= key->max; v++) {
			size_t length = strlen(uvmp_policy_choice(i, v));

			value = length > value ? length : value;
		}
		if (!key->is_choice)
			value = (size_t)snprintf(NULL, 0, "%lu", (unsigned long)key->max);
		longest += strlen(key->name) + 1 + value + 1; /* `=`, and a blank or the NUL */
	}
	assert_true(longest > strlen(DRIVER));
	assert_true(longest <= UVMP_POLICY_TEXT_MAX);
}

/* What the key needs: of several users (`counters=driver|on`) the first, and what that one needs. */
static void add_users(const struct uvmp_policy_key *key, char text[128])
{
	struct uvmp_policy_key space = {.size = sizeof(space)}, next = *key;

	key = &next;
	for (uint32_t u = 0; key->used_by[0] != '\0'; u++) {
		const struct uvmp_policy_key *user = uvmp_policy_key_at(u, &space);

		if (strlen(user->name) != strcspn(key->used_by, "=") ||
		    strncmp(key->used_by, user->name, strlen(user->name)) != 0)
			continue;
		snprintf(text + strlen(text), 128 - strlen(text), " %.*s", (int)strcspn(key->used_by, "|"),
		         key->used_by);
		next = *user;
		u = UINT32_MAX; /* from the first key on */
	}
}

/* Is `with` (`counters=on`) among the users of the key? */
static bool is_user(const struct uvmp_policy_key *key, const char *with)
{
	const char *value = strchr(with, '=') + 1, *at = strchr(key->used_by, '=') + 1;

	while (strcspn(at, "|") != strlen(value) || strncmp(at, value, strlen(value)) != 0) {
		at += strcspn(at, "|");
		if (*at == '\0')
			return false;
		at++;
	}
	return true;
}

/* The thresholds of controllers are bounded by `threshold`: as far away as it goes. */
static void add_threshold(const struct uvmp_policy_key *key, char text[128])
{
	if (strcmp(key->name, "pressure_low") == 0 || strcmp(key->name, "early_low") == 0)
		strcat(text, " threshold=100");
	if (strcmp(key->name, "early_high") == 0)
		strcat(text, " threshold=1");
}

/* Does the text, "key=value key=value", give the key a value, or fit it to a threshold that the text gives? */
static bool is_given(const char *text, const struct parameter *parameter)
{
	char word[64];

	snprintf(word, sizeof(word), " %s=", parameter->name);
	return strstr(text, word) != NULL ||
	       ((parameter->limit == LIMIT_TO_THRESHOLD || parameter->limit == LIMIT_FROM_THRESHOLD) &&
		strstr(text, " threshold=") != NULL);
}

/* The key reaches its own field and no other. */
static void check_field(uint32_t index)
{
	struct uvmp_policy_key space = {.size = sizeof(space)};
	const struct uvmp_policy_key *key = uvmp_policy_key_at(index, &space);
	uint32_t value = key->max != key->initial ? key->max : key->min;
	struct key_walk walk = {0};
	const struct key *other;
	struct uvmp_policy p;
	char text[128];

	if (key->is_choice)
		snprintf(text, sizeof(text), " %s=%s", key->name, uvmp_policy_choice(index, value));
	else
		snprintf(text, sizeof(text), " %s=%lu", key->name, (unsigned long)value);
	add_users(key, text);
	add_threshold(key, text);
	assert_int_equal(parse(text, &p), UVMP_OK);
	for (uint32_t i = 0; (other = uvmpi_key_next(&walk)) != NULL; i++) {
		if (i == index)
			assert_int_equal(uvmpi_key_get(other, &p), value);
		else if (!is_given(text, other->parameter))
			assert_int_equal(uvmpi_key_get(other, &p), other->parameter->initial);
	}
}

static void test_fields(void **unused)
{
	struct uvmp_policy_key key = {.size = sizeof(key)};
	struct uvmp_policy p;

	(void)unused;
	for (uint32_t i = 0; uvmp_policy_key_at(i, &key) != NULL; i++)
		check_field(i);
	assert_int_equal(parse("evict=random4k reserve=1", &p), UVMP_ERR_CONFLICT);
	assert_int_equal(parse("evict=lru free_buffer=1", &p), UVMP_ERR_CONFLICT);
	assert_int_equal(parse("evict=sl64k reserve=100", &p), UVMP_ERR_RANGE);
	assert_int_equal(parse("thrash=off counters=off", &p), UVMP_OK);
	assert_false(p.thrash.is_enabled);
	assert_int_equal(p.counters, UVMP_COUNTERS_OFF);
	assert_int_equal(p.thrash.threshold, 3);
}

static void test_canonical(void **unused)
{
	(void)unused;
	check_canonical("", DRIVER);
	check_canonical(" ,, ", DRIVER);
	check_canonical("preset=nvidia-595", DRIVER);
	check_canonical("nvidia-595", DRIVER);
	check_canonical(DRIVER, DRIVER);
	check_canonical(",batch=0256 , quirks=1,", DRIVER);
	check_canonical(
	        "quirks=0,threshold=1,prefetch=density,min_faults=20,evict=lru,pma_order=20,put_ratio=100,"
	        "batch="
	        "65535,coalesce=0,max_batches=1048576,max_throttled=1048576,prefetch_lapse_ms=4294967295",
	        "prefetch=density threshold=1 min_faults=20 prefetch_full=same adapt=off evict=lru "
	        "pma_order=20 "
	        "replay=batch_flush "
	        "put_ratio=100 batch=65535 coalesce=0 max_batches=1048576 max_throttled=1048576 "
	        "prefetch_lapse_ms=4294967295 " REST "quirks=0");
	check_canonical("threshold=0 pma_order=0 put_ratio=0 batch=1 max_batches=0 max_throttled=0 "
	                "prefetch_lapse_ms=0 lapse_votes=0 pin=0 max_resets=0",
	                "prefetch=density threshold=0 min_faults=1 prefetch_full=same adapt=off evict=lru "
	                "pma_order=0 "
	                "replay=batch_flush "
	                "put_ratio=0 "
	                "batch=1 coalesce=1 max_batches=0 max_throttled=0 prefetch_lapse_ms=0 "
	                "thrash=on thrash_threshold=3 pin_threshold=10 lapse_us=500 lapse_votes=0 nap=1 "
	                "epoch=2000 pin=0 max_resets=0 " COUNTERS "map_on_atomics=0 plan=serial " LAST
	                "quirks=1");
	check_canonical("prefetch=sequential seq_pages=512 evict=lru4k replay=block thrash=off counters=on "
	                "map_on_eviction=0 counter_batch=1",
	                "prefetch=sequential seq_pages=512 prefetch_full=same evict=lru4k reserve=0 "
	                "free_buffer=0 remote=off replay=block batch=256 coalesce=1 "
	                "max_batches=20 "
	                "max_throttled=5 prefetch_lapse_ms=1000 thrash=off counters=on counter_batch=1 "
	                "counter_threshold=256 map_on_eviction=0 map_on_atomics=0 plan=serial " LAST
	                "quirks=1");
	check_canonical("locality_pages=1 prefetch=locality evict=random4k replay=once quirks=0 counters=off "
	                "plan=overlapped map_on_atomics=1",
	                "prefetch=locality locality_pages=1 prefetch_full=same evict=random4k free_buffer=0 "
	                "remote=off "
	                "replay=once batch=256 coalesce=1 "
	                "max_batches=20 max_throttled=5 prefetch_lapse_ms=1000 " THRASH
	                "counters=off map_on_atomics=1 plan=overlapped " LAST "quirks=0");
}

static void test_unit_pages(void **unused)
{
	struct uvmp_policy p;

	(void)unused;
	assert_int_equal(parse("evict=lru4k", &p), UVMP_OK);
	assert_int_equal(uvmp_policy_unit_pages(&p), 1);
	assert_int_equal(parse("evict=lfu2m", &p), UVMP_OK);
	assert_int_equal(uvmp_policy_unit_pages(&p), 512);
	assert_int_equal(parse("evict=clock2m granularity=128k", &p), UVMP_OK);
	assert_int_equal(uvmp_policy_unit_pages(&p), 32);
}

static bool is_policy_name(const char *key)
{
	return strcmp(key, "prefetch") == 0 || strcmp(key, "prefetch_full") == 0 || strcmp(key, "evict") == 0;
}

/* Every accepted word of every key lands in the policy and comes back; NULL beyond the last. */
static void test_keys(void **unused)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};
	uint32_t i;

	(void)unused;
	for (i = 0; (key = uvmp_policy_key_at(i, &space)) != NULL; i++) {
		uint32_t step = key->max - key->min > 1000 ? key->max - key->min : 1;

		assert_true(strlen(key->name) > 0 && strlen(key->name) < 24); /* also: the arrays hold a NUL */
		assert_true(strlen(key->summary) < 96);
		assert_non_null(memchr(key->used_by, '\0', sizeof(key->used_by)));
		assert_true(key->summary[0] != '\0' && key->initial >= key->min && key->initial <= key->max);
		for (uint64_t v = key->min; v <= key->max; v += step) {
			const char *name = uvmp_policy_choice(i, (uint32_t)v);
			char word[64], text[128], printed[UVMP_POLICY_TEXT_MAX + 2] = " ";
			struct uvmp_policy policy;

			assert_int_equal(key->is_choice, name != NULL);
			if (name != NULL)
				snprintf(word, sizeof(word), "%s=%s", key->name, name);
			else
				snprintf(word, sizeof(word), "%s=%lu", key->name, (unsigned long)v);
			snprintf(text, sizeof(text), "%s", word);
			add_users(key, text);
			add_threshold(key, text);
			assert_int_equal(parse(text, &policy), UVMP_OK);
			assert_int_equal(uvmp_policy_print(&policy, printed + 1, UVMP_POLICY_TEXT_MAX),
			                 UVMP_OK);
			strcat(printed, " ");
			strcat(word, " ");
			memmove(word + 1, word, strlen(word) + 1);
			word[0] = ' ';
			assert_non_null(strstr(printed, word));
		}
		assert_null(uvmp_policy_choice(i, key->max + 1));
		assert_null(uvmp_policy_choice_summary(i, key->max + 1));
		/* one line for each prefetcher and each eviction order */
		for (uint32_t v = key->min; key->is_choice && v <= key->max; v++)
			assert_int_equal(strlen(uvmp_policy_choice_summary(i, v)) > 5, is_policy_name(key->name));
	}
	assert_true(i >= 63);
	assert_null(uvmp_policy_choice(i, 0));
	assert_null(uvmp_policy_choice_summary(i, 0));
	assert_null(uvmp_policy_key_at(UINT32_MAX, &space));
	assert_null(uvmp_policy_key_at(0, NULL));
}

/* What a key depends on, as told to people, is what the parser enforces: with it accepted, with any other
 * choice refused. */
static void test_used_by(void **unused)
{
	struct uvmp_policy_key key_space = {.size = sizeof(key_space)}, user_space = {.size = sizeof(user_space)};
	const struct uvmp_policy_key *key, *user;

	(void)unused;
	for (uint32_t i = 0; (key = uvmp_policy_key_at(i, &key_space)) != NULL; i++) {
		for (uint32_t u = 0; (user = uvmp_policy_key_at(u, &user_space)) != NULL; u++) {
			if (key->used_by[0] == '\0' || !user->is_choice ||
			    strlen(user->name) != strcspn(key->used_by, "=") ||
			    strncmp(key->used_by, user->name, strlen(user->name)) != 0)
				continue;
			for (uint32_t v = 0; v <= user->max; v++) {
				char with[64], text[128], says[UVMP_POLICY_ERROR_MAX];
				struct uvmp_policy_error error;
				struct uvmp_policy policy;
				enum uvmp_status status;

				snprintf(with, sizeof(with), "%s=%s", user->name, uvmp_policy_choice(u, v));
				snprintf(text, sizeof(text), "%s %s=", with, key->name);
				if (key->is_choice)
					strcat(text, uvmp_policy_choice(i, key->initial));
				else
					sprintf(text + strlen(text), "%lu", (unsigned long)key->initial);
				add_users(user, text);
				snprintf(says, sizeof(says), "%s: used only by %s", key->name, key->used_by);
				status = uvmp_policy_parse(text, strlen(text), &policy, &error);
				if (is_user(key, with)) {
					assert_int_equal(status, UVMP_OK);
					continue;
				}
				assert_int_equal(status, UVMP_ERR_CONFLICT);
				assert_string_equal(error.text, says);
				assert_int_equal(error.offset, strlen(with) + 1);
			}
		}
	}
}

static void test_presets(void **unused)
{
	const struct uvmp_policy_preset *preset;
	struct uvmp_policy policy;
	uint32_t i;

	(void)unused;
	for (i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		char text[128], by_name[UVMP_POLICY_TEXT_MAX], by_text[UVMP_POLICY_TEXT_MAX];

		assert_true(preset->summary[0] != '\0');
		assert_non_null(memchr(preset->text, '\0', sizeof(preset->text)));
		assert_int_equal(parse(preset->name, &policy), UVMP_OK);
		snprintf(text, sizeof(text), "preset=%s", preset->name);
		assert_int_equal(parse(text, &policy), UVMP_OK);
		assert_int_equal(uvmp_policy_print(&policy, by_name, sizeof(by_name)), UVMP_OK);
		assert_int_equal(parse(preset->text, &policy), UVMP_OK);
		assert_int_equal(uvmp_policy_print(&policy, by_text, sizeof(by_text)), UVMP_OK);
		assert_string_equal(by_name, by_text);
	}
	assert_true(i >= 6);
	assert_null(uvmp_policy_preset_at(UINT32_MAX));

	assert_string_equal(uvmp_policy_preset_at(0)->name, "nvidia-595");
	assert_int_equal(parse("preset=uvmsmart", &policy), UVMP_OK);
	assert_int_equal(policy.prefetch.prefetcher, UVMP_PREFETCH_TBN);
	assert_int_equal(policy.evict, UVMP_EVICT_LRU_2M);
	assert_int_equal(policy.pma_order, 6);
	assert_false(policy.thrash.is_enabled);
	assert_int_equal(policy.counters, UVMP_COUNTERS_OFF);
	assert_int_equal(parse("preset=uvmsmart evict=lru4k", &policy), UVMP_OK);
	assert_int_equal(policy.evict, UVMP_EVICT_LRU_4K);
	/* a later key may make others useless; those of the text itself may not */
	assert_int_equal(parse("preset=zheng-locality prefetch=density threshold=60", &policy), UVMP_OK);
	assert_int_equal(policy.prefetch.threshold, 60);
	assert_int_equal(parse("preset=on-demand", &policy), UVMP_OK);
	assert_int_equal(policy.prefetch.prefetcher, UVMP_PREFETCH_NONE);
	/* only the driver detects thrashing and counts accesses */
	assert_true(policy.thrash.is_enabled);
	assert_int_equal(policy.counters, UVMP_COUNTERS_DRIVER);
	for (i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		if (strncmp(preset->name, "zheng-", 6) != 0 && strcmp(preset->name, "uvmsmart") != 0)
			continue;
		assert_int_equal(parse(preset->text, &policy), UVMP_OK);
		assert_false(policy.thrash.is_enabled);
		assert_int_equal(policy.counters, UVMP_COUNTERS_OFF);
	}
	assert_int_equal(parse("preset=uvmsmart thrash=on nap=2 counters=on counter_batch=2", &policy),
	                 UVMP_OK);
	assert_int_equal(policy.thrash.nap, 2);
}

/* An error lists the names of all choices of a key. */
static void check_unknown_choice(const char *text, const char *quoted, const char *name)
{
	char says[UVMP_POLICY_ERROR_MAX];
	struct uvmp_policy_key space = {.size = sizeof(space)};
	const char *choice;
	uint32_t key = 0;

	snprintf(says, sizeof(says), "%s: \"%s\" is not accepted;", name, quoted);
	while (strcmp(uvmp_policy_key_at(key, &space)->name, name) != 0)
		key++;
	for (uint32_t i = 0; (choice = uvmp_policy_choice(key, i)) != NULL; i++)
		strcat(strcat(says, " "), choice);
	check_error(text, UVMP_ERR_UNKNOWN, text, says);
}

static void test_unknown_choices(void **unused)
{
	(void)unused;
	check_unknown_choice("prefetch=tbm", "tbm", "prefetch");
	check_unknown_choice("evict=lru2", "lru2", "evict");
	check_unknown_choice("replay=batch_flushed", "batch_flushed", "replay");
	check_unknown_choice("thrash=1", "1", "thrash");
	check_unknown_choice("counters=drivers", "drivers", "counters");
	check_unknown_choice("plan=Serial", "Serial", "plan");
	check_error("thrash=no", UVMP_ERR_UNKNOWN, "thrash=no", "thrash: \"no\" is not accepted; off on");
	check_error("counters=1", UVMP_ERR_UNKNOWN, "counters=1",
	            "counters: \"1\" is not accepted; driver off on");
	check_error("replay=BATCH", UVMP_ERR_UNKNOWN, "replay=BATCH",
	            "replay: \"BATCH\" is not accepted; block batch batch_flush once batch_wait");
	check_error("preset=nvidia", UVMP_ERR_UNKNOWN, "preset=nvidia", "preset: \"nvidia\" is not accepted");
}

static void test_errors(void **unused)
{
	(void)unused;
	check_error("threshold=101", UVMP_ERR_RANGE, "threshold=101",
	            "threshold: 101 is not accepted; 0..100");
	check_error("quirks=1,min_faults=0", UVMP_ERR_RANGE, "min_faults=0",
	            "min_faults: 0 is not accepted; 1..20");
	check_error("batch=-1", UVMP_ERR_RANGE, "batch=-1", "batch: -1 is not accepted; 1..65535");
	check_error("batch=0x10", UVMP_ERR_RANGE, "batch=0x10", "batch: 0x10 is not accepted; 1..65535");
	check_error("batch=65536", UVMP_ERR_RANGE, "batch=65536", "batch: 65536 is not accepted; 1..65535");
	check_error("prefetch_lapse_ms=4294967296", UVMP_ERR_RANGE, "prefetch_lapse_ms=4294967296",
	            "prefetch_lapse_ms: 4294967296 is not accepted; 0..4294967295");
	check_error("thrash_threshold=8", UVMP_ERR_RANGE, "thrash_threshold=8",
	            "thrash_threshold: 8 is not accepted; 1..7");
	check_error("counter_threshold=65536", UVMP_ERR_RANGE, "counter_threshold=65536",
	            "counter_threshold: 65536 is not accepted; 1..65535");
	check_error("  colour=red", UVMP_ERR_UNKNOWN, "colour=red", "colour: no such key");
	check_error("Batch=1", UVMP_ERR_UNKNOWN, "Batch=1", "Batch: no such key");

	check_error("batch=1 tbn evict=lru", UVMP_ERR_SYNTAX, "tbn", "tbn: neither key=value nor a preset");
	check_error("=5", UVMP_ERR_SYNTAX, "=5", "=5: neither key=value nor a preset");
	check_error("batch= 5", UVMP_ERR_SYNTAX, "batch=", "batch: a value must follow batch=; 1..65535");
	check_error("threshold", UVMP_ERR_SYNTAX, "threshold", "threshold: a value must follow threshold=; 0..100");
	check_error("nap=3 thrash=", UVMP_ERR_SYNTAX, "thrash=", "thrash: a value must follow thrash=; off on");
	check_error("preset=", UVMP_ERR_SYNTAX, "preset=", "preset: the name of a preset must follow preset=");
	check_error("colour=", UVMP_ERR_SYNTAX, "colour=", "colour=: neither key=value nor a preset");
	check_error("=", UVMP_ERR_SYNTAX, "=", "=: neither key=value nor a preset");
	check_error("batch=1\t", UVMP_ERR_SYNTAX, "\t", "byte 9 is not printable ASCII");
	check_error("batch=1 \x7f", UVMP_ERR_SYNTAX, "\x7f", "byte 127 is not printable ASCII");
	check_error("pr\xc3\xa9set=1", UVMP_ERR_SYNTAX, "\xc3", "byte 195 is not printable ASCII");

	check_error("batch=1 batch=2", UVMP_ERR_CONFLICT, "batch=2", "batch: given twice");
	check_error("batch=1 preset=uvmsmart", UVMP_ERR_CONFLICT, "preset=uvmsmart",
	            "preset: must be the first word, and occur once");
	check_error("batch=1 uvmsmart", UVMP_ERR_CONFLICT, "uvmsmart", "preset: must be the first word, and occur once");
	check_error("uvmsmart on-demand", UVMP_ERR_CONFLICT, "on-demand", "preset: must be the first word, and occur once");
	check_error("nvidia", UVMP_ERR_SYNTAX, "nvidia", "nvidia: neither key=value nor a preset");
	check_error("preset=on-demand preset=uvmsmart", UVMP_ERR_CONFLICT, "preset=uvmsmart",
	            "preset: must be the first word, and occur once");
	check_error("threshold=60 prefetch=tbn", UVMP_ERR_CONFLICT, "threshold=60",
	            "threshold: used only by prefetch=density|next|pattern|safe|forest|auto");
	check_error("replay=block put_ratio=50", UVMP_ERR_CONFLICT, "put_ratio=50",
	            "put_ratio: used only by replay=batch_flush");
	check_error("preset=uvmsmart pma_order=6", UVMP_ERR_CONFLICT, "pma_order=6",
	            "pma_order: used only by evict=lru");
	check_error("threshold=0 quirks=0", UVMP_ERR_CONFLICT, "threshold=0",
	            "threshold: 0 is not accepted with quirks=0; 1..100");
	check_error("quirks=0 lapse_votes=0", UVMP_ERR_CONFLICT, "lapse_votes=0",
	            "lapse_votes: 0 is not accepted with quirks=0; 1..1000000"); /* [driver: vote-threshold-zero] */
	check_error("pressure_low=61 threshold=60 adapt=pressure", UVMP_ERR_CONFLICT, "pressure_low=61",
	            "pressure_low: 61 is not accepted with threshold=60; 1..60");
	check_error("adapt=early early_low=52", UVMP_ERR_CONFLICT, "early_low=52",
	            "early_low: 52 is not accepted with threshold=51; 1..51");
	check_error("preset=early-adaptor early_high=50", UVMP_ERR_CONFLICT, "early_high=50",
	            "early_high: 50 is not accepted with threshold=51; 51..100");
	check_error("threshold=0 adapt=early early_low=2", UVMP_ERR_CONFLICT, "early_low=2",
	            "early_low: 2 is not accepted with threshold=0; 1..1");
	/* of several contradictions the first is named; a key without use comes before all */
	check_error("adapt=early early_low=52 early_high=50", UVMP_ERR_CONFLICT, "early_low=52",
	            "early_low: 52 is not accepted with threshold=51; 1..51");
	check_error("adapt=early early_low=52 pma_order=2 evict=lru4k", UVMP_ERR_CONFLICT, "pma_order=2",
	            "pma_order: used only by evict=lru");
	check_error("preset=uvmsmart nap=2", UVMP_ERR_CONFLICT, "nap=2", "nap: used only by thrash=on");
	check_error("counters=off map_on_eviction=1", UVMP_ERR_CONFLICT, "map_on_eviction=1",
	            "map_on_eviction: used only by counters=driver|on");
}

/* Words of any length leave room for what is wrong with them. */
static void test_long_words(void **unused)
{
	char text[UVMP_POLICY_TEXT_MAX + 2], *end;
	struct uvmp_policy policy;
	struct uvmp_policy_error error;

	(void)unused;
	memset(text, 'x', sizeof(text));
	memcpy(text, "evict=", 6);
	assert_int_equal(uvmp_policy_parse(text, UVMP_POLICY_TEXT_MAX, &policy, &error), UVMP_ERR_UNKNOWN);
	assert_non_null(
	        strstr(error.text,
	               "evict: \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" is not accepted; lru lru2m"));
	assert_int_equal(error.length, UVMP_POLICY_TEXT_MAX);
	assert_int_equal(uvmp_policy_parse(text, UVMP_POLICY_TEXT_MAX + 1, &policy, &error), UVMP_ERR_SYNTAX);
	assert_string_equal(error.text, "longer than 4096 bytes");
	assert_int_equal(error.offset, UVMP_POLICY_TEXT_MAX);
	assert_int_equal(error.length, 1);
	assert_int_equal(uvmp_policy_parse(text, SIZE_MAX, &policy, &error), UVMP_ERR_SYNTAX);

	/* up to 40 bytes are quoted whole; any printable byte is */
	check_error("~234567890123456789012345678901234567890=1", UVMP_ERR_UNKNOWN,
	            "~234567890123456789012345678901234567890=1",
	            "~234567890123456789012345678901234567890: no such key");
	check_error("!2345678901234567890123456789012345678901=1", UVMP_ERR_UNKNOWN,
	            "!2345678901234567890123456789012345678901=1",
	            "!234567890123456789012345678901234567890...: no such key");

	memcpy(text, "preset=", 7);
	assert_int_equal(uvmp_policy_parse(text, 200, &policy, &error), UVMP_ERR_UNKNOWN);
	assert_true(strlen(error.text) < UVMP_POLICY_ERROR_MAX);

	/* a value may use the whole length */
	memset(text, '0', sizeof(text));
	memcpy(text, "batch=", 6);
	end = text + UVMP_POLICY_TEXT_MAX - 1;
	*end = '7';
	assert_int_equal(uvmp_policy_parse(text, UVMP_POLICY_TEXT_MAX, &policy, &error), UVMP_OK);
	assert_int_equal(policy.replay.max_batch, 7);

	/* bytes behind `length` are not looked at; a NUL before it is an error */
	assert_int_equal(uvmp_policy_parse("batch=12!", 8, &policy, &error), UVMP_OK);
	assert_int_equal(policy.replay.max_batch, 12);
	assert_int_equal(uvmp_policy_parse("batch=1\0", 8, &policy, &error), UVMP_ERR_SYNTAX);
	assert_string_equal(error.text, "byte 0 is not printable ASCII");
}

static void test_is_valid(void **unused)
{
	struct uvmp_policy p;

	(void)unused;
	assert_false(uvmp_policy_is_valid(NULL));
#define INVALID(change)                                                                                      \
	uvmp_policy_init(&p);                                                                                \
	assert_true(uvmp_policy_is_valid(&p));                                                               \
	change;                                                                                              \
	assert_false(uvmp_policy_is_valid(&p))
	INVALID(p.prefetch.prefetcher = UVMP_PREFETCH_COUNT);
	INVALID(p.prefetch.threshold = 101);
	INVALID(p.prefetch.min_faults = 0);
	INVALID(p.prefetch.sequential_pages = 2); /* unused, not at its default */
	INVALID(p.prefetch.locality_pages = 0);
	INVALID(p.prefetch.quirks = false);
	INVALID(p.evict = UVMP_EVICT_COUNT);
	INVALID(p.evict = UVMP_EVICT_LRU_4K; p.pma_order = 7);
	INVALID(p.replay.policy = (enum uvmp_replay_policy)5);
	INVALID(p.replay.quirks = false);
	INVALID(p.replay.max_batch = 0);
	INVALID(p.thrash.quirks = false);
	INVALID(p.thrash.threshold = 8);
	INVALID(p.thrash.pin_threshold = 256);
	INVALID(p.thrash.lapse_us = 0);
	INVALID(p.thrash.vote_threshold = 1000001);
	INVALID(p.thrash.nap = 0);
	INVALID(p.thrash.epoch = 0);
	INVALID(p.thrash.pin = 1000001);
	INVALID(p.thrash.max_resets = UINT32_MAX);
	INVALID(p.thrash.is_enabled = false; p.thrash.nap = 2);
	INVALID(p.counters = (enum uvmp_counters)3);
	INVALID(p.counters = (enum uvmp_counters)99); /* beyond the bits of a set */
	INVALID(p.counters = UVMP_COUNTERS_OFF; p.map_on_eviction = false);
	INVALID(p.counter_batch = 65537);
	INVALID(p.counter_threshold = 0);
	INVALID(p.plan = (enum uvmp_plan_order)3);
	INVALID(p.adapt = UVMP_ADAPT_COUNT);
	INVALID(p.granularity = UVMP_GRANULARITY_64K); /* not of lru */
	INVALID(p.evict = UVMP_EVICT_LRU_2M; p.granularity = UVMP_GRANULARITY_2M + 1);
	INVALID(p.cyclic = true);
	INVALID(p.memory_ratio = 99);
	INVALID(p.controls.threads_drop = 21);
	INVALID(p.quirks = false);
#define CORRECTED(p) (p.quirks = p.prefetch.quirks = p.replay.quirks = p.thrash.quirks = false)
	INVALID(CORRECTED(p); p.prefetch.threshold = 0);    /* [driver: threshold-zero] */
	INVALID(CORRECTED(p); p.thrash.vote_threshold = 0); /* [driver: vote-threshold-zero] */
	INVALID(p.adapt = UVMP_ADAPT_PRESSURE; p.controls.pressure_low = 52);
	INVALID(p.adapt = UVMP_ADAPT_EARLY; p.controls.early_low = 52);
	INVALID(p.adapt = UVMP_ADAPT_EARLY; p.controls.early_high = 50);
	INVALID(p.adapt = UVMP_ADAPT_EARLY; p.prefetch.threshold = 0);
	INVALID(p.controls.early_low = 25); /* unused */
	uvmp_policy_init(&p);
	p.prefetch.threshold = 0;
	p.thrash.vote_threshold = 0;
	assert_true(uvmp_policy_is_valid(&p));
	uvmp_policy_init(&p);
	CORRECTED(p);
	assert_true(uvmp_policy_is_valid(&p));
}

static void test_bad_calls(void **unused)
{
	struct uvmp_policy p;
	struct uvmp_policy_error error;
	char text[UVMP_POLICY_TEXT_MAX] = "as it was", full[UVMP_POLICY_TEXT_MAX];

	(void)unused;
	assert_int_equal(uvmp_policy_parse(NULL, 0, &p, &error), UVMP_ERR_ARGUMENT);
	assert_string_equal(error.text, "missing or invalid argument");
	assert_int_equal(error.length, 0);
	assert_int_equal(uvmp_policy_parse("", 0, NULL, NULL), UVMP_ERR_ARGUMENT);

	uvmp_policy_init(&p);
	assert_int_equal(uvmp_policy_print(&p, full, sizeof(full)), UVMP_OK);
	assert_int_equal(uvmp_policy_print(NULL, text, sizeof(text)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_policy_print(&p, NULL, sizeof(text)), UVMP_ERR_ARGUMENT);
	assert_int_equal(uvmp_policy_print(&p, text, 0), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_policy_print(&p, text, strlen(full)), UVMP_ERR_SPACE);
	assert_string_equal(text, "as it was");
	assert_int_equal(uvmp_policy_print(&p, text, strlen(full) + 1), UVMP_OK);
	assert_string_equal(text, full);
	p.pma_order = 21;
	assert_int_equal(uvmp_policy_print(&p, text, sizeof(text)), UVMP_ERR_ARGUMENT);
	assert_string_equal(text, full);
}

/* -- what a host provides -- */

static struct uvmp_needs needs_of(const char *text)
{
	struct uvmp_needs needs;
	struct uvmp_policy policy;

	assert_int_equal(uvmp_policy_parse(text, strlen(text), &policy, NULL), UVMP_OK);
	memset(&needs, 0x5a, sizeof(needs));
	needs.size = sizeof(needs);
	assert_int_equal(uvmp_policy_needs(&policy, &needs), UVMP_OK);
	return needs;
}

static void test_controller_names(void **unused)
{
	(void)unused;
	assert_string_equal(uvmp_controller_name(UVMP_CONTROLLER_EARLY), "early");
	assert_string_equal(uvmp_controller_name(UVMP_CONTROLLER_SM_THROTTLE), "sm_throttle");
	assert_null(uvmp_controller_name(UVMP_CONTROLLER_COUNT));
}

static void test_needs(void **unused)
{
	struct uvmp_needs needs = needs_of("");

	(void)unused;
	assert_int_equal(needs.page_bytes, 4096 + 16384 + 65536 + 2097152);
	assert_false(needs.touches || needs.accesses || needs.notifications || needs.kernels || needs.utlbs);
	assert_false(needs.sms || needs.one_gpu || needs.histories);
	assert_int_equal(needs.block_bytes, 0);

	assert_true(needs_of("quirks=0").touches); /* [driver: order-by-service] */
	assert_true(needs_of("evict=lru2m").touches);
	assert_false(needs_of("evict=lru2m").histories);
	assert_false(needs_of("evict=auto quirks=0").touches);
	assert_true(needs_of("evict=auto prefetch=pattern").touches);
	assert_int_equal(needs_of("evict=auto").page_bytes, 4096 + 16384 + 65536);
	assert_int_equal(needs_of("evict=sl64k").page_bytes, 4096 + 16384 + 65536);
	assert_int_equal(needs_of("evict=tbne").page_bytes, 4096);
	assert_int_equal(needs_of("evict=random4k").page_bytes, 4096);
	assert_int_equal(needs_of("evict=clock2m").page_bytes, 4096 + 16384 + 65536 + 2097152);
	assert_int_equal(needs_of("evict=clock2m granularity=1m").page_bytes, 4096 + 16384 + 65536);
	needs = needs_of("prefetch=pattern");
	assert_true(needs.touches && needs.histories && needs.block_bytes != 0);
	assert_true(needs_of("prefetch_full=pattern").histories);
	assert_true(needs_of("evict=mhpe").histories);
	needs = needs_of("evict=tbne prefetch=tbn runtime=on");
	assert_true(needs.kernels && needs.accesses);
	assert_true(needs.block_bytes > needs_of("evict=lru2m remote=always").block_bytes);
	assert_true(needs_of("evict=lru2m remote=always").accesses);
	assert_false(needs_of("evict=lru2m remote=always").kernels);
	assert_true(needs_of("counters=on").notifications);
	assert_false(needs_of("counters=off").notifications);
	needs = needs_of("evict=auto remote=auto");
	assert_true(needs.notifications && needs.requests && !needs.accesses);
	assert_false(needs_of("evict=auto counters=on").requests);
	assert_true(needs_of("evict=tbne prefetch=tbn runtime=on remote=auto").accesses);
	assert_true(needs_of("prefetch=safe").utlbs);
	assert_true(needs_of("prefetch_full=safe").utlbs);
	assert_true(needs_of("prefetch=stride").one_gpu);
	assert_true(needs_of("prefetch_full=next").one_gpu);
	assert_int_equal(needs_of("threads=on").sms, 1u << UVMP_CONTROLLER_THREADS);
	assert_int_equal(needs_of("threads=on sm_throttle=on adapt=early").sms,
	                 1u << UVMP_CONTROLLER_THREADS | 1u << UVMP_CONTROLLER_SM_THROTTLE);
	assert_true(needs_of("sm_throttle=on").block_bytes != 0);
	assert_true(needs_of("adapt=pressure").block_bytes != 0); /* the bytes: test_service_arena */
	assert_true(needs_of("adapt=early").block_bytes > needs_of("adapt=pressure").block_bytes);
	assert_int_equal(needs_of("prefetch_full=sl").block_bytes, needs_of("prefetch=tbn").block_bytes);
}

static void test_needs_errors(void **unused)
{
	struct uvmp_needs needs = {.size = sizeof(needs)};
	struct uvmp_policy policy;

	(void)unused;
	uvmp_policy_init(&policy);
	assert_int_equal(uvmp_policy_needs(&policy, NULL), UVMP_ERR_ARGUMENT);
	policy.prefetch.threshold = 101;
	assert_int_equal(uvmp_policy_needs(&policy, &needs), UVMP_ERR_ARGUMENT);
}

/* Every order that the list names says so itself, and only those. */
/* The orders whose units are whole pages, in the order of the enumeration: a new order needs no change here. */
static void check_evictors(uint32_t page_bytes)
{
	char text[UVMP_POLICY_EVICTORS_MAX], expected[UVMP_POLICY_EVICTORS_MAX] = "", word[32];
	size_t length = 0;

	for (int i = 0; i < UVMP_EVICT_COUNT; i++) {
		const char *name = uvmp_evict_name((enum uvmp_evictor)i);

		snprintf(word, sizeof(word), "evict=%s", name);
		if ((needs_of(word).page_bytes & page_bytes) != 0)
			length += (size_t)snprintf(expected + length, sizeof(expected) - length, "%s%s",
			                           length != 0 ? "|" : "", name);
	}
	assert_int_equal(uvmp_policy_evictors(page_bytes, text, sizeof(text)), UVMP_OK);
	assert_string_equal(text, expected);
}

static bool is_evictor(uint32_t page_bytes, const char *name)
{
	char text[UVMP_POLICY_EVICTORS_MAX + 2] = "|", word[32];

	assert_int_equal(uvmp_policy_evictors(page_bytes, text + 1, UVMP_POLICY_EVICTORS_MAX), UVMP_OK);
	strcat(text, "|");
	snprintf(word, sizeof(word), "|%s|", name);
	return strstr(text, word) != NULL;
}

static void test_evictors(void **unused)
{
	char text[UVMP_POLICY_EVICTORS_MAX];

	(void)unused;
	for (uint32_t page_bytes = 4096; page_bytes <= 2097152; page_bytes *= 2)
		check_evictors(page_bytes);
	for (int i = 0; i < UVMP_EVICT_COUNT; i++)
		assert_true(is_evictor(4096, uvmp_evict_name((enum uvmp_evictor)i)));
	assert_true(is_evictor(65536, "lru") && is_evictor(65536, "sl64k") && is_evictor(65536, "auto"));
	assert_false(is_evictor(65536, "lru4k") || is_evictor(65536, "random4k"));
	assert_true(is_evictor(2097152, "lru") && is_evictor(2097152, "clock2m"));
	assert_false(is_evictor(2097152, "sl64k") || is_evictor(2097152, "auto"));
	assert_int_equal(uvmp_policy_evictors(8192, text, sizeof(text)), UVMP_OK);
	assert_string_equal(text, "");
	assert_int_equal(uvmp_policy_evictors(4096, text, 10), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_policy_evictors(4096, text, 0), UVMP_ERR_SPACE);
	assert_int_equal(uvmp_policy_evictors(4096, NULL, 10), UVMP_ERR_ARGUMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_controller_names),
	        cmocka_unit_test(test_needs),
	        cmocka_unit_test(test_needs_errors),
	        cmocka_unit_test(test_evictors),
	        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_fields),
	        cmocka_unit_test(test_canonical), cmocka_unit_test(test_longest),
	        cmocka_unit_test(test_keys),      cmocka_unit_test(test_used_by),
	        cmocka_unit_test(test_presets),   cmocka_unit_test(test_unknown_choices),
	        cmocka_unit_test(test_errors),    cmocka_unit_test(test_long_words),
	        cmocka_unit_test(test_fitted),    cmocka_unit_test(test_unit_pages),
	        cmocka_unit_test(test_is_valid),  cmocka_unit_test(test_bad_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
