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

#include "policy/policy_internal.h"
#include "support/seeds.h"

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
	struct uvmp_policy_key space = {.size = sizeof(space)};
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

static bool same(const struct uvmp_policy *a, const struct uvmp_policy *b)
{
	struct key_walk walk = {0};
	const struct key *key;

	while ((key = uvmpi_key_next(&walk)) != NULL)
		if (uvmpi_key_get(key, a) != uvmpi_key_get(key, b))
			return false;
	return a->prefetch.quirks == b->prefetch.quirks && a->replay.quirks == b->replay.quirks &&
	       a->thrash.quirks == b->thrash.quirks;
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

/* A random policy: each key that the policy uses has a random value in its range. */
static struct uvmp_policy random_policy(uint64_t *random)
{
	struct key_walk walk = {0};
	const struct key *key;
	struct uvmp_policy p;

	uvmp_policy_init(&p);
	p.quirks = below(random, 2) != 0; /* narrows other ranges, and is the last key */
	uvmpi_policy_share(&p);
	while ((key = uvmpi_key_next(&walk)) != NULL) {
		struct limit limit = uvmpi_key_limit(key, &p);

		if (uvmpi_key_is_used(key, &p) && strcmp(key->parameter->name, "quirks") != 0)
			uvmpi_key_set(key, &p, pick(random, limit.min, limit.max));
	}
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

int main(void)
{
	return seeds_run(check_policies);
}
