/* A policy as text. */
#include "policy_internal.h"

static void put_policy(struct text *text, const struct uvmp_policy *policy)
{
	struct key_walk walk = {0};
	const struct key *key;

	while ((key = uvmpi_key_next(&walk)) != NULL) {
		uint32_t value = uvmpi_key_get(key, policy);

		if (!uvmpi_key_is_used(key, policy))
			continue;
		put_text(text, walk.keys > 1 ? " " : "");
		put_text(text, key->parameter->name);
		put_char(text, '=');
		if (key->parameter->choice != NULL)
			put_text(text, key->parameter->choice(value));
		else
			put_number(text, value);
	}
}

enum uvmp_status uvmp_policy_print(const struct uvmp_policy *policy, char *text, size_t capacity)
{
	struct text measure = {NULL, 0, 0}, out = {text, capacity, 0};
	struct uvmp_policy own;

	if (text == NULL || uvmpi_policy_read(&own, policy) != UVMP_OK || !uvmpi_policy_is_valid(&own))
		return UVMP_ERR_ARGUMENT;
	put_policy(&measure, &own);
	if (measure.length >= capacity)
		return UVMP_ERR_SPACE;
	put_policy(&out, &own);
	return UVMP_OK;
}
