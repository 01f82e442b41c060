/* policy.h: any valid policy survives printing and parsing field by field; any text, however damaged, either
 * gives a valid policy or an error that points into the text, in printable words, and leaves the policy
 * alone. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/seed.h"
#include "uvmpolicy/policy.h"

#define CHOICES  16
#define TEXT_MAX (UVMP_POLICY_TEXT_MAX + 200)

static uint64_t below(uint64_t *random, uint64_t bound)
{
	return uvmp_random_below(random, bound);
}

/* A number of min..max, often an end of it. */
static uint32_t pick(uint64_t *random, uint32_t min, uint32_t max)
{
	uint64_t kind = below(random, 4);

	return kind == 0 ? min : kind == 1 ? max : min + (uint32_t)below(random, (uint64_t)max - min + 1);
}

/* Is the chosen word (`counters=on`) the user that a key names (`counters=driver|on`)? */
static bool is_user(const char *used_by, const char *chosen)
{
	size_t name = strcspn(used_by, "="), length;
	const char *at = used_by + name;

	if (*at == '\0' || strncmp(used_by, chosen, name + 1) != 0)
		return false;
	do {
		at++;
		length = strcspn(at, "|");
		if (length == strlen(chosen + name + 1) && strncmp(at, chosen + name + 1, length) == 0)
			return true;
		at += length;
	} while (*at == '|');
	return false;
}

/* Words of random keys that fit together, in random order of the choices and what they use. */
static void random_text(uint64_t *random, char text[TEXT_MAX])
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space;
	char chosen[CHOICES][40] = {""};
	size_t choices = 0;

	text[0] = '\0';
	for (uint32_t k = 0; (key = uvmp_policy_key_at(k, &space)) != NULL; k++) {
		char word[80], value[40];
		bool is_fitting = key->used_by[0] == '\0';

		for (size_t i = 0; i < choices; i++)
			is_fitting = is_fitting || is_user(key->used_by, chosen[i]);
		if (!is_fitting || (!key->is_choice && below(random, 3) == 0))
			continue;
		if (key->is_choice)
			snprintf(value, sizeof(value), "%s",
			         uvmp_policy_choice(k, (uint32_t)below(random, (uint64_t)key->max + 1)));
		else
			snprintf(value, sizeof(value), "%lu",
			         (unsigned long)pick(random, key->min, key->max));
		snprintf(word, sizeof(word), "%s=%s", key->name, value);
		assert_true(!key->is_choice || choices < CHOICES);
		if (key->is_choice)
			snprintf(chosen[choices++], sizeof(chosen[0]), "%.39s", word);
		if (below(random, 2) == 0) {
			strcat(text, word);
			strcat(text, below(random, 2) == 0 ? "," : "  ");
		} else {
			memmove(text + strlen(word) + 1, text, strlen(text) + 1);
			memcpy(text, word, strlen(word));
			text[strlen(word)] = ' ';
		}
	}
}

/* The number that a word of the text gives a key, `name` with its '='. */
static uint32_t given(const char *text, const char *name, uint32_t otherwise)
{
	const char *at = text;

	while ((at = strstr(at, name)) != NULL) {
		if (at == text || at[-1] == ' ' || at[-1] == ',')
			return (uint32_t)strtoul(at + strlen(name), NULL, 10);
		at++;
	}
	return otherwise;
}

/* Words that are right one by one, and do not go together. */
static bool is_contradictory(const char *text)
{
	uint32_t threshold = given(text, "threshold=", 51), base = threshold > 0 ? threshold : 1;

	if (given(text, "quirks=", 1) == 0 && (threshold == 0 || given(text, "lapse_votes=", 32) == 0))
		return true;
	return given(text, "pressure_low=", 1) > base || given(text, "early_low=", 1) > base ||
	       given(text, "early_high=", 100) < base;
}

static bool same_thrash(const struct uvmp_thrash_params *a, const struct uvmp_thrash_params *b)
{
	return a->is_enabled == b->is_enabled && a->threshold == b->threshold &&
	       a->pin_threshold == b->pin_threshold && a->lapse_us == b->lapse_us &&
	       a->vote_threshold == b->vote_threshold && a->nap == b->nap && a->epoch == b->epoch &&
	       a->pin == b->pin && a->max_resets == b->max_resets && a->quirks == b->quirks;
}

static bool same_newer(const struct uvmp_policy *a, const struct uvmp_policy *b)
{
	return a->adapt == b->adapt && a->pressure_low == b->pressure_low &&
	       a->pressure_step == b->pressure_step && a->pressure_window == b->pressure_window &&
	       a->pressure_off == b->pressure_off && a->early_low == b->early_low &&
	       a->early_high == b->early_high && a->early_epoch_us == b->early_epoch_us &&
	       a->granularity == b->granularity && a->runtime == b->runtime && a->cyclic == b->cyclic &&
	       a->cyclic_share == b->cyclic_share && a->remote.remote == b->remote.remote &&
	       a->remote.threshold == b->remote.threshold && a->remote.penalty == b->remote.penalty &&
	       a->threads == b->threads && a->extra_blocks == b->extra_blocks &&
	       a->threads_period_us == b->threads_period_us && a->threads_drop == b->threads_drop &&
	       a->sm_throttle == b->sm_throttle && a->sm_epoch_us == b->sm_epoch_us &&
	       a->memory_ratio == b->memory_ratio && a->link_ratio == b->link_ratio;
}

static bool same(const struct uvmp_policy *a, const struct uvmp_policy *b)
{
	return a->prefetch.prefetcher == b->prefetch.prefetcher &&
	       a->prefetch.threshold == b->prefetch.threshold &&
	       a->prefetch.min_faults == b->prefetch.min_faults &&
	       a->prefetch.sequential_pages == b->prefetch.sequential_pages &&
	       a->prefetch.locality_pages == b->prefetch.locality_pages &&
	       a->prefetch.stride_depth == b->prefetch.stride_depth &&
	       a->prefetch.stride_confidence == b->prefetch.stride_confidence &&
	       a->prefetch.next_blocks == b->prefetch.next_blocks &&
	       a->prefetch.next_percent == b->prefetch.next_percent &&
	       a->prefetch.shared_utlbs == b->prefetch.shared_utlbs &&
	       a->prefetch.shared_threshold == b->prefetch.shared_threshold &&
	       a->prefetch.private_threshold == b->prefetch.private_threshold &&
	       a->prefetch.quirks == b->prefetch.quirks && a->evict == b->evict && a->reserve == b->reserve &&
	       a->free_buffer == b->free_buffer && a->prefetch_full == b->prefetch_full &&
	       a->pma_order == b->pma_order && a->replay.policy == b->replay.policy &&
	       a->replay.update_put_ratio == b->replay.update_put_ratio &&
	       a->replay.max_batches == b->replay.max_batches &&
	       a->replay.max_throttled == b->replay.max_throttled &&
	       a->replay.max_batch == b->replay.max_batch &&
	       a->replay.prefetch_lapse_ms == b->replay.prefetch_lapse_ms &&
	       a->replay.quirks == b->replay.quirks && a->coalesce == b->coalesce && a->quirks == b->quirks &&
	       same_thrash(&a->thrash, &b->thrash) && a->counters == b->counters &&
	       a->counter_batch == b->counter_batch && a->counter_threshold == b->counter_threshold &&
	       a->map_on_eviction == b->map_on_eviction && a->map_on_atomics == b->map_on_atomics &&
	       a->plan == b->plan && same_newer(a, b);
}

static void check_round_trip(const struct uvmp_policy *policy)
{
	char text[UVMP_POLICY_TEXT_MAX], again[UVMP_POLICY_TEXT_MAX];
	struct uvmp_thrash_space space;
	struct uvmp_policy other;

	assert_true(uvmp_policy_is_valid(policy));
	assert_true(uvmp_prefetch_params_is_valid(&policy->prefetch));
	/* the detector takes the parameters as they are; only a vote threshold of 0 is another
	 * [driver: vote-threshold-zero] */
	assert_int_equal(uvmp_thrash_space_init(&space, &policy->thrash), UVMP_OK);
	if (policy->thrash.vote_threshold == 0)
		space.params.vote_threshold = 0;
	assert_true(same_thrash(&space.params, &policy->thrash));
	assert_int_equal(uvmp_policy_print(policy, text, sizeof(text)), UVMP_OK);
	assert_int_equal(uvmp_policy_parse(text, strlen(text), &other, NULL), UVMP_OK);
	assert_true(same(policy, &other));
	assert_int_equal(uvmp_policy_print(&other, again, sizeof(again)), UVMP_OK);
	assert_string_equal(text, again);
}

/* Parses anything; says whether it is a policy. */
static bool check_any(const char *text, size_t length)
{
	struct uvmp_policy policy, before;
	struct uvmp_policy_error error;
	enum uvmp_status status;

	memset(&policy, 0x2a, sizeof(policy));
	memcpy(&before, &policy, sizeof(policy));
	memset(&error, 'x', sizeof(error));
	status = uvmp_policy_parse(text, length, &policy, &error);
	if (status == UVMP_OK) {
		check_round_trip(&policy);
		return true;
	}
	assert_memory_equal(&policy, &before, sizeof(policy));
	assert_non_null(memchr(error.text, '\0', sizeof(error.text)));
	assert_true(error.text[0] != '\0');
	for (const char *c = error.text; *c != '\0'; c++)
		assert_true(*c >= ' ' && *c <= '~');
	assert_true(error.length > 0 && error.offset < length && error.length <= length - error.offset);
	return false;
}

static void random_thrash(uint64_t *random, struct uvmp_policy *p)
{
	p->thrash.is_enabled = below(random, 2) != 0;
	if (!p->thrash.is_enabled)
		return;
	p->thrash.threshold = pick(random, 1, 7);
	p->thrash.pin_threshold = pick(random, 1, 255);
	p->thrash.lapse_us = pick(random, 1, 1000000000);
	p->thrash.vote_threshold = pick(random, p->quirks ? 0 : 1, 1000000);
	p->thrash.nap = pick(random, 1, 100);
	p->thrash.epoch = pick(random, 1, 1000000);
	p->thrash.pin = pick(random, 0, 1000000);
	p->thrash.max_resets = pick(random, 0, 1000000);
}

static void random_counters(uint64_t *random, struct uvmp_policy *p)
{
	p->counters = (enum uvmp_counters)below(random, 3);
	if (p->counters == UVMP_COUNTERS_OFF)
		return;
	p->counter_batch = pick(random, 1, 65536);
	p->counter_threshold = pick(random, 1, 65535);
	p->map_on_eviction = below(random, 2) != 0;
}

static void random_prefetch(uint64_t *random, struct uvmp_policy *p)
{
	enum uvmp_prefetcher prefetcher = p->prefetch.prefetcher;

	if (prefetcher == UVMP_PREFETCH_DENSITY || prefetcher == UVMP_PREFETCH_NEXT ||
	    prefetcher == UVMP_PREFETCH_PATTERN || prefetcher == UVMP_PREFETCH_SAFE) {
		p->prefetch.threshold = pick(random, p->quirks ? 0 : 1, 100);
		p->prefetch.min_faults = pick(random, 1, 20);
	}
	if (prefetcher == UVMP_PREFETCH_SEQUENTIAL)
		p->prefetch.sequential_pages = pick(random, 1, 512);
	if (prefetcher == UVMP_PREFETCH_LOCALITY)
		p->prefetch.locality_pages = pick(random, 1, 512);
	if (prefetcher == UVMP_PREFETCH_STRIDE) {
		p->prefetch.stride_depth = pick(random, 1, 64);
		p->prefetch.stride_confidence = pick(random, 1, 7);
	}
	if (prefetcher == UVMP_PREFETCH_NEXT) {
		p->prefetch.next_blocks = pick(random, 1, 8);
		p->prefetch.next_percent = pick(random, 1, 100);
	}
	if (prefetcher == UVMP_PREFETCH_SAFE) {
		p->prefetch.shared_utlbs = pick(random, 2, 4096);
		p->prefetch.shared_threshold = pick(random, 1, 100);
		p->prefetch.private_threshold = pick(random, 1, 100);
	}
}

static void random_adapt(uint64_t *random, struct uvmp_policy *p)
{
	uint32_t threshold = p->prefetch.threshold > 0 ? p->prefetch.threshold : 1;
	enum uvmp_prefetcher prefetcher = p->prefetch.prefetcher;

	if (prefetcher != UVMP_PREFETCH_DENSITY && prefetcher != UVMP_PREFETCH_NEXT &&
	    prefetcher != UVMP_PREFETCH_PATTERN)
		return;
	p->adapt = (enum uvmp_adapt)below(random, UVMP_ADAPT_COUNT);
	if (p->adapt == UVMP_ADAPT_PRESSURE) {
		p->pressure_low = pick(random, 1, threshold);
		p->pressure_step = pick(random, 1, 100);
		p->pressure_window = pick(random, 1, 1048576);
		p->pressure_off = below(random, 2) != 0;
	}
	if (p->adapt == UVMP_ADAPT_EARLY) {
		p->early_low = pick(random, 1, threshold);
		p->early_high = pick(random, threshold, 100);
		p->early_epoch_us = pick(random, 1, 1000000000);
	}
}

static void random_evict(uint64_t *random, struct uvmp_policy *p)
{
	p->evict = (enum uvmp_evictor)below(random, UVMP_EVICT_COUNT);
	if (p->evict == UVMP_EVICT_LRU) {
		p->pma_order = pick(random, 0, 20);
		return;
	}
	p->free_buffer = pick(random, 0, 100);
	if (p->evict != UVMP_EVICT_RANDOM_4K)
		p->reserve = pick(random, 0, UVMP_EVICT_RESERVE_MAX);
	if (p->evict == UVMP_EVICT_LRU_2M || p->evict == UVMP_EVICT_LFU_2M ||
	    p->evict == UVMP_EVICT_CLOCK_2M) {
		p->granularity = (enum uvmp_granularity)pick(random, 0, UVMP_GRANULARITY_2M);
		p->cyclic = below(random, 2) != 0;
		p->cyclic_share = p->cyclic ? pick(random, 0, 100) : p->cyclic_share;
	}
	if (p->evict == UVMP_EVICT_TBN)
		p->runtime = below(random, 2) != 0;
	p->remote.remote = (enum uvmp_remote)below(random, UVMP_REMOTE_COUNT);
	if (p->remote.remote != UVMP_REMOTE_OFF)
		p->remote.threshold = pick(random, 1, 134217727);
	if (p->remote.remote == UVMP_REMOTE_ADAPTIVE)
		p->remote.penalty = pick(random, 0, 1048576);
}

static void random_machine(uint64_t *random, struct uvmp_policy *p)
{
	p->threads = below(random, 2) != 0;
	if (p->threads) {
		p->extra_blocks = pick(random, 1, 16);
		p->threads_period_us = pick(random, 1, 1000000000);
		p->threads_drop = pick(random, 1, 100);
	}
	p->sm_throttle = below(random, 2) != 0;
	if (p->sm_throttle)
		p->sm_epoch_us = pick(random, 10, 1000000000);
	p->memory_ratio = pick(random, 100, 1000);
	p->link_ratio = pick(random, 100, 1000);
}

/* A random policy with every field set by hand, then made valid by resetting what it does not use. */
static struct uvmp_policy random_policy(uint64_t *random)
{
	struct uvmp_policy p, defaults;

	uvmp_policy_init(&defaults);
	p = defaults;
	p.prefetch.prefetcher = (enum uvmp_prefetcher)below(random, UVMP_PREFETCH_COUNT);
	p.replay.policy = (enum uvmp_replay_policy)below(random, 5);
	p.coalesce = below(random, 2) != 0;
	p.quirks = p.prefetch.quirks = p.replay.quirks = p.thrash.quirks = below(random, 2) != 0;
	random_prefetch(random, &p);
	random_adapt(random, &p);
	random_evict(random, &p);
	p.prefetch_full = pick(random, UVMP_PREFETCH_FULL_SAME, UVMP_PREFETCH_COUNT);
	if (p.replay.policy == UVMP_REPLAY_BATCH_FLUSH)
		p.replay.update_put_ratio = pick(random, 0, 100);
	p.replay.max_batch = pick(random, 1, 1048576);
	p.replay.max_batches = pick(random, 0, 1048576);
	p.replay.max_throttled = pick(random, 0, 1048576);
	p.replay.prefetch_lapse_ms = pick(random, 0, UINT32_MAX);
	random_thrash(random, &p);
	random_counters(random, &p);
	p.map_on_atomics = below(random, 2) != 0;
	p.plan = (enum uvmp_plan_order)below(random, 3);
	random_machine(random, &p);
	return p;
}

/* Changes, removes, inserts or doubles a few bytes. */
static size_t mutate(uint64_t *random, char text[TEXT_MAX], size_t length)
{
	static const char likely[] = "=, 019-ab\t";

	for (uint64_t n = 1 + below(random, 4); n > 0; n--) {
		size_t at = (size_t)below(random, length + 1), run = (size_t)below(random, length - at + 1);
		char byte = below(random, 2) == 0 ? (char)below(random, 256)
		                                  : likely[below(random, sizeof(likely) - 1)];

		switch (below(random, 4)) {
		case 0:
			if (at < length)
				text[at] = byte;
			break;
		case 1:
			memmove(text + at, text + at + run, length - at - run);
			length -= run;
			break;
		case 2:
			if (length == TEXT_MAX)
				break;
			memmove(text + at + 1, text + at, length - at);
			text[at] = byte;
			length++;
			break;
		default:
			if (length + run > TEXT_MAX)
				break;
			memmove(text + at + run, text + at, length - at);
			length += run;
		}
	}
	return length;
}

static void check_policies(uint64_t random)
{
	uint32_t accepted = 0;

	for (int i = 0; i < 4000; i++) {
		struct uvmp_policy policy = random_policy(&random);
		char text[TEXT_MAX];
		size_t length;

		check_round_trip(&policy);
		random_text(&random, text);
		length = strlen(text);
		assert_int_equal(check_any(text, length), !is_contradictory(text));
		for (int m = 0; m < 5; m++) {
			length = mutate(&random, text, length);
			accepted += check_any(text, length);
		}
	}
	assert_true(accepted > 0 && accepted < 20000);
}

static void test_fixed_seed(void **unused)
{
	(void)unused;
	check_policies(1);
}

static void test_printed_seed(void **unused)
{
	uint64_t seed = test_seed();

	(void)unused;
	check_policies(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_fixed_seed),
	        cmocka_unit_test(test_printed_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
