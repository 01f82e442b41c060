/* Fuzzing of the policy string: the input is the text. What is accepted is valid, survives printing and
 * parsing, and prints the same again; what is refused has an error that points into the text, in printable
 * words, and leaves the policy alone. Which texts are accepted is checked against a naive reading: no word
 * may be understood that is not `KEY=VALUE` of the table or, as the first one, the name of a preset, and none
 * may be lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uvmpolicy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "fuzz_policy: not true: %s\n", what);
	abort();
}

/* Is this the name of a preset, which means the same as preset=NAME? */
static bool is_preset(const char *word)
{
	const struct uvmp_policy_preset *preset;

	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++)
		if (strcmp(word, preset->name) == 0)
			return true;
	return false;
}

/* Does the canonical form hold `key=value` as the word means it? Numbers lose leading zeros. */
static void check_word(const char *canonical, const char *word, bool is_first)
{
	const char *value = strchr(word, '=');
	char padded[UVMP_POLICY_TEXT_MAX + 2], wanted[UVMP_POLICY_TEXT_MAX + 3];

	if (is_first && is_preset(word))
		return;
	check(value != NULL, "an accepted word has a '=' or is, as the first one, a preset");
	if (strncmp(word, "preset=", 7) == 0)
		return;
	for (value++; value[0] == '0' && value[1] != '\0';)
		value++;
	snprintf(padded, sizeof(padded), " %s ", canonical);
	snprintf(wanted, sizeof(wanted), " %.*s=%s ", (int)strcspn(word, "="), word, value);
	check(strstr(padded, wanted) != NULL, "an accepted word stands in the canonical form");
}

static void check_words(const char *canonical, const char *text, size_t size)
{
	char copy[UVMP_POLICY_TEXT_MAX + 1];

	memcpy(copy, text, size);
	copy[size] = '\0';
	for (char *word = strtok(copy, " ,"), *first = word; word != NULL; word = strtok(NULL, " ,"))
		check_word(canonical, word, word == first);
}

/* The detector corrects parameters that are out of range; in an accepted policy none is, but for a number of
 * votes of 0 [driver: vote-threshold-zero]. */
static void check_thrash(const struct uvmp_thrash_params *params)
{
	struct uvmp_thrash_space space;

	check(uvmp_thrash_space_init(&space, params) == UVMP_OK, "the detector starts");
	check(space.params.threshold == params->threshold &&
	              space.params.pin_threshold == params->pin_threshold &&
	              space.params.lapse_us == params->lapse_us && space.params.nap == params->nap &&
	              space.params.epoch == params->epoch,
	      "the detector takes the parameters as they are");
	check(space.params.vote_threshold == params->vote_threshold ||
	              (params->vote_threshold == 0 && params->quirks),
	      "0 votes only with quirks");
}

static void check_accepted(const struct uvmp_policy *policy, const char *text, size_t size)
{
	char first[UVMP_POLICY_TEXT_MAX], second[UVMP_POLICY_TEXT_MAX];
	struct uvmp_policy again;

	check(uvmp_policy_is_valid(policy), "an accepted policy is valid");
	check(uvmp_prefetch_params_is_valid(&policy->prefetch),
	      "an accepted policy's prefetch parameters are valid");
	check_thrash(&policy->thrash);
	check(uvmp_policy_print(policy, first, sizeof(first)) == UVMP_OK, "it prints");
	check(uvmp_policy_parse(first, strlen(first), &again, NULL) == UVMP_OK, "the canonical form parses");
	check(uvmp_policy_print(&again, second, sizeof(second)) == UVMP_OK, "it prints again");
	check(strcmp(first, second) == 0, "the canonical form is stable");
	check_words(first, text, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uvmp_policy policy, before;
	struct uvmp_policy_error error;
	const char *text = size > 0 ? (const char *)data : "";

	memset(&policy, 0x2a, sizeof(policy));
	memcpy(&before, &policy, sizeof(policy));
	memset(&error, 'x', sizeof(error));
	if (uvmp_policy_parse(text, size, &policy, &error) == UVMP_OK) {
		check_accepted(&policy, text, size);
		return 0;
	}
	check(memcmp(&policy, &before, sizeof(policy)) == 0, "a refused text changes nothing");
	check(error.length > 0 && error.offset < size && error.length <= size - error.offset,
	      "the error points into the text");
	check(error.text[0] != '\0' && memchr(error.text, '\0', sizeof(error.text)) != NULL,
	      "the error has a text");
	for (const char *c = error.text; *c != '\0'; c++)
		check(*c >= ' ' && *c <= '~', "the error is printable");
	return 0;
}
