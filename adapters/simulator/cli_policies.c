/* Policies by string, by name and by pattern. Every preset's name is itself a pattern that matches one. */
#include "cli_policies.h"

#include <fnmatch.h>
#include <string.h>

#include "cli.h"

#define PRESET "preset="

/* The preset that the text names, and nothing else; NULL. */
static const char *preset_of(const char *text)
{
	const struct uvmp_policy_preset *preset;

	if (strncmp(text, PRESET, strlen(PRESET)) == 0)
		text += strlen(PRESET);
	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++)
		if (strcmp(text, preset->name) == 0)
			return preset->name;
	return NULL;
}

/* What the names of presets are matched with; NULL if the text is an ordinary policy. */
static const char *pattern_of(const char *text)
{
	if (strcmp(text, "all") == 0)
		return "*";
	if (strncmp(text, PRESET, strlen(PRESET)) != 0)
		return NULL;
	text += strlen(PRESET);
	return strpbrk(text, "*?[") ? text : NULL;
}

static int add(struct cli_policies *policies, const char *option, const char *text, const char *given,
	       const char *preset)
{
	struct cli_policy *policy = &policies->policy[policies->count];

	if (policies->count == CLI_POLICIES_MAX)
		return say_error("%s: more than %d policies", option, CLI_POLICIES_MAX);
	if (!options_policy(option, text, &policy->policy))
		return CLI_BAD_INPUT;
	policy->given = given;
	policy->preset = preset;
	policies->count++;
	return CLI_DONE;
}

static int add_matching(struct cli_policies *policies, const char *option, const char *pattern)
{
	const struct uvmp_policy_preset *preset;
	size_t before = policies->count;

	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++) {
		char text[sizeof(PRESET) + sizeof(preset->name)];

		if (fnmatch(pattern, preset->name, 0) != 0)
			continue;
		snprintf(text, sizeof(text), PRESET "%s", preset->name);
		if (add(policies, option, text, preset->name, preset->name) != CLI_DONE)
			return CLI_BAD_INPUT;
	}
	if (policies->count == before)
		return say_error("%s: no preset is named like %.100s; see `uvmsim list presets`", option,
				 pattern);
	return CLI_DONE;
}

int cli_policies_add(struct cli_policies *policies, const char *option, const char *text)
{
	const char *pattern = pattern_of(text);
	bool is_all = strcmp(text, "all") == 0;

	if (policies->is_all || (is_all && policies->count > 0))
		return say_error("%s all is every preset; it excludes other policies", option);
	policies->is_all = is_all;
	policies->is_sweep = policies->is_sweep || pattern;
	return pattern ? add_matching(policies, option, pattern)
		       : add(policies, option, text, text, preset_of(text));
}
