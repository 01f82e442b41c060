/* Edit distance: letters inserted, deleted, replaced, or two neighbours exchanged. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

#define LENGTH_MAX 40u /* longer words have no neighbour */

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Row i holds the distances of the first i letters of `a` to every beginning of `b`; three rows are enough.
 */
static unsigned distance_of(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned row[3][LENGTH_MAX + 1];

	for (unsigned j = 0; j <= b_length; j++)
		row[0][j] = j;
	for (unsigned i = 1; i <= a_length; i++) {
		unsigned *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];

		now[0] = i;
		for (unsigned j = 1; j <= b_length; j++) {
			bool is_same = small(a[i - 1]) == small(b[j - 1]);

			now[j] = least(before[j] + 1u, now[j - 1] + 1u);
			now[j] = least(now[j], before[j - 1] + !is_same);
			if (i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) &&
			    small(a[i - 2]) == small(b[j - 1]))
				now[j] = least(now[j], earlier[j - 2] + 1u);
		}
	}
	return row[a_length % 3][b_length];
}

void nearest_start(struct nearest *nearest, const char *word, size_t length)
{
	*nearest = (struct nearest){word, length, NULL, 0};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	size_t length = strlen(candidate);
	unsigned distance;

	if (length > LENGTH_MAX || nearest->length > LENGTH_MAX || nearest->length == 0)
		return;
	distance = distance_of(nearest->word, nearest->length, candidate, length);
	if (nearest->length >= 3 && nearest->length < length &&
	    memcmp(nearest->word, candidate, nearest->length) == 0) /* the beginning of a word */
		distance = 1;
	if (nearest->best && distance >= nearest->distance)
		return;
	nearest->best = candidate;
	nearest->distance = distance;
}

const char *nearest_word(const struct nearest *nearest)
{
	size_t most = nearest->length / 3;

	if (!nearest->best || nearest->distance > (most > 0 ? most : 1))
		return NULL;
	/* Nothing of a word of one or two letters is left when one differs. */
	return nearest->distance < nearest->length ? nearest->best : NULL;
}

const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_TEXT_MAX])
{
	const char *word = nearest_word(nearest);

	text[0] = '\0';
	if (word)
		snprintf(text, NEAREST_TEXT_MAX, "; did you mean %s?", word);
	return text;
}

/* -- policy strings -- */

/* The refused word, cut at its `=`. */
struct refused {
	const char *name, *value; /* value: NULL without `=` */
	size_t name_length, value_length;
};

static struct refused refused_word(const char *policy, const struct uvmp_policy_error *error)
{
	size_t length = strlen(policy);
	struct refused refused = {"", NULL, 0, 0};
	const char *equals;

	if (error->offset >= length || error->length > length - error->offset)
		return refused;
	refused.name = policy + error->offset;
	refused.name_length = error->length;
	equals = memchr(refused.name, '=', error->length);
	if (!equals)
		return refused;
	refused.value = equals + 1;
	refused.name_length = (size_t)(equals - refused.name);
	refused.value_length = error->length - refused.name_length - 1;
	return refused;
}

static bool is_name(const struct refused *refused, const char *name)
{
	return refused->name_length == strlen(name) && memcmp(refused->name, name, refused->name_length) == 0;
}

static void try_presets(struct nearest *nearest)
{
	const struct uvmp_policy_preset *preset;

	for (uint32_t i = 0; (preset = uvmp_policy_preset_at(i)) != NULL; i++)
		nearest_try(nearest, preset->name);
}

/* The plugins that the key may name. */
static void try_plugins(struct nearest *nearest, const struct refused *refused, const struct uvmp_plugins *plugins)
{
	if (plugins && is_name(refused, "evict"))
		for (uint32_t i = 0; i < plugins->orders; i++)
			nearest_try(nearest, plugins->order[i]->name);
	if (plugins && (is_name(refused, "prefetch") || is_name(refused, "prefetch_full")))
		for (uint32_t i = 0; i < plugins->prefetchers; i++)
			nearest_try(nearest, plugins->prefetcher[i]->name);
}

static void try_parameters(struct nearest *nearest, const struct uvmp_plugins *plugins)
{
	for (uint32_t i = 0; plugins && i < plugins->prefetchers; i++)
		for (uint32_t k = 0; k < plugins->prefetcher[i]->parameters; k++)
			nearest_try(nearest, plugins->prefetcher[i]->parameter[k].name);
	for (uint32_t i = 0; plugins && i < plugins->orders; i++)
		for (uint32_t k = 0; k < plugins->order[i]->parameters; k++)
			nearest_try(nearest, plugins->order[i]->parameter[k].name);
}

/* Is the name that of a parameter of a plugin? */
static bool is_parameter(const struct refused *refused, const struct uvmp_plugins *plugins)
{
	for (uint32_t i = 0; plugins && i < plugins->prefetchers; i++)
		for (uint32_t k = 0; k < plugins->prefetcher[i]->parameters; k++)
			if (is_name(refused, plugins->prefetcher[i]->parameter[k].name))
				return true;
	for (uint32_t i = 0; plugins && i < plugins->orders; i++)
		for (uint32_t k = 0; k < plugins->order[i]->parameters; k++)
			if (is_name(refused, plugins->order[i]->parameter[k].name))
				return true;
	return false;
}

/* The word names a key or a parameter, and no value follows: the error has what is accepted. */
static bool lacks_value(const struct refused *refused, const struct uvmp_plugins *plugins)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};

	if (refused->name_length == 0 || refused->value_length > 0) /* no word: the plugins may be wrong */
		return false;
	for (uint32_t k = 0; (key = uvmp_policy_key_at(k, &space)) != NULL; k++)
		if (is_name(refused, key->name))
			return true;
	return is_parameter(refused, plugins);
}

/* The key's values; true if there is such a key. */
static bool try_values(struct nearest *nearest, const struct refused *refused)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};

	for (uint32_t k = 0; (key = uvmp_policy_key_at(k, &space)) != NULL; k++) {
		if (!is_name(refused, key->name))
			continue;
		nearest_start(nearest, refused->value, refused->value_length);
		for (uint32_t i = key->min; key->is_choice && i <= key->max; i++)
			nearest_try(nearest, uvmp_policy_choice(k, i));
		return true;
	}
	return false;
}

static void try_keys(struct nearest *nearest)
{
	const struct uvmp_policy_key *key;
	struct uvmp_policy_key space = {.size = sizeof(space)};

	for (uint32_t k = 0; (key = uvmp_policy_key_at(k, &space)) != NULL; k++)
		nearest_try(nearest, key->name);
	nearest_try(nearest, "preset");
}

const char *nearest_policy(const char *policy, const struct uvmp_plugins *plugins,
			   const struct uvmp_policy_error *error, char text[NEAREST_TEXT_MAX])
{
	struct refused refused = refused_word(policy, error);
	struct nearest nearest;

	nearest_start(&nearest, refused.name, refused.name_length);
	if (lacks_value(&refused, plugins))
		return nearest_hint(&(struct nearest){.best = NULL}, text);
	if (!refused.value) {
		try_presets(&nearest);
	} else if (is_name(&refused, "preset")) {
		nearest_start(&nearest, refused.value, refused.value_length);
		try_presets(&nearest);
	} else if (try_values(&nearest, &refused)) {
		try_plugins(&nearest, &refused, plugins);
	} else {
		try_keys(&nearest);
		try_parameters(&nearest, plugins);
	}
	if (nearest.best && nearest.distance == 0) /* a right word in the wrong place */
		nearest.best = NULL;
	return nearest_hint(&nearest, text);
}

const char *nearest_policy_list(const char *policy, const struct uvmp_plugins *plugins,
				const struct uvmp_policy_error *error)
{
	struct refused refused = refused_word(policy, error);
	bool is_preset = refused.name_length > 0 && (!refused.value || is_name(&refused, "preset")) &&
			 !lacks_value(&refused, plugins);

	return is_preset ? "presets" : "policies";
}
