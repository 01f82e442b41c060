/* A policy as text. */
#include "policy_internal.h"

/* A plugin that a key names, and its parameters, which are keys. */
static void put_plugin(struct text *text, const struct uvmp_policy *policy, enum plugin_key key)
{
	struct plugin_head plugin = uvmpi_policy_plugin(policy, key);
	const uint32_t *values = uvmpi_policy_plugin_values(policy, key);

	put_text(text, plugin.name);
	for (uint32_t i = 0; values != NULL && i < plugin.parameters; i++) {
		put_char(text, ' ');
		put_text(text, plugin.parameter[i].name);
		put_char(text, '=');
		put_number(text, values[i]);
	}
}

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
		if (uvmpi_is_plugin((enum plugin_key)key->plugin, value))
			put_plugin(text, policy, (enum plugin_key)key->plugin);
		else if (key->parameter->choice != NULL)
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
