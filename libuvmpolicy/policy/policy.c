/* Defaults, validity, and what follows from a policy. */
#include "../prefetch/prefetch_internal.h"
#include "policy_internal.h"

void uvmpi_policy_share(struct uvmp_policy *policy)
{
	policy->prefetch.quirks = policy->quirks;
	policy->replay.quirks = policy->quirks;
	policy->thrash.quirks = policy->quirks;
}

enum uvmp_status uvmpi_policy_read(struct uvmp_policy *to, const struct uvmp_policy *from)
{
	return from != NULL ? uvmpi_sized_read(to, sizeof(*to), from, POLICY_SIZE_LEAST) : UVMP_ERR_ARGUMENT;
}

void uvmpi_policy_reset(struct uvmp_policy *policy)
{
	struct key_walk walk = {0};
	const struct key *key;

	*policy = (struct uvmp_policy){.size = sizeof(*policy), .quirks = true};
	while ((key = uvmpi_key_next(&walk)) != NULL)
		uvmpi_key_set(key, policy, key->parameter->initial);
	uvmpi_policy_share(policy);
}

enum uvmp_status uvmp_policy_init_size(struct uvmp_policy *policy, size_t size)
{
	struct uvmp_policy defaults;

	if (policy == NULL)
		return UVMP_ERR_ARGUMENT;
	uvmpi_policy_reset(&defaults);
	return uvmpi_sized_write(policy, size, &defaults, sizeof(defaults), POLICY_SIZE_LEAST);
}

/* What the key accepts; the keys before it are valid, among them the key that it depends on. */
static struct limit accepted(const struct key *key, const struct uvmp_policy *policy)
{
	const struct parameter *parameter = key->parameter;

	if (uvmpi_key_is_used(key, policy))
		return uvmpi_key_limit(key, policy);
	return (struct limit){"", 0, parameter->initial, parameter->initial};
}

/* Is the value in this range? False: *fault says what is wrong; `key` may be NULL. */
static bool is_accepted(const struct key *key, uint64_t value, const struct limit *limit, struct policy_fault *fault)
{
	struct text text = {fault->field, sizeof(fault->field), 0};

	if (value >= limit->min && value <= limit->max)
		return true;
	if (key != NULL)
		uvmpi_key_put_field(key, &text);
	fault->value = value;
	fault->min = limit->min;
	fault->max = limit->max;
	fault->by = limit->by;
	fault->by_value = limit->by_value;
	fault->why = NULL;
	return false;
}

/* Does the policy have a plugin exactly where the key names one? */
static bool has_plugin_fields(const struct key *key, const struct uvmp_policy *policy, struct policy_fault *fault)
{
	static const char *const field[] = {"", "prefetch.plugin", "full_plugin", "evict_plugin"};
	struct text text = {fault->field, sizeof(fault->field), 0};

	if (key->plugin == PLUGIN_NONE ||
	    uvmpi_policy_plugin_is_valid(policy, (enum plugin_key)key->plugin, uvmpi_key_get(key, policy)))
		return true;
	put_text(&text, field[key->plugin]);
	fault->value = 0;
	fault->why = "a valid plugin, with values of its parameters, if the key names one; otherwise zeros";
	return false;
}

/* quirks stands in four places. */
static bool agrees(const struct uvmp_policy *policy, struct policy_fault *fault)
{
	static const struct {
		char name[16];
		uint16_t offset;
	} copies[] = {{"prefetch.quirks", offsetof(struct uvmp_policy, prefetch.quirks)},
		      {"replay.quirks", offsetof(struct uvmp_policy, replay.quirks)},
		      {"thrash.quirks", offsetof(struct uvmp_policy, thrash.quirks)}};
	const struct limit limit = {"quirks", policy->quirks, policy->quirks, policy->quirks};

	for (uint32_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		if (is_accepted(NULL, uvmpi_field_get(policy, copies[i].offset, 1), &limit, fault))
			continue;
		__builtin_memcpy(fault->field, copies[i].name, sizeof(copies[i].name));
		return false;
	}
	return true;
}

bool uvmpi_policy_check(const struct uvmp_policy *policy, struct policy_fault *fault)
{
	struct key_walk walk = {0};
	const struct key *key;
	struct limit limit;

	while ((key = uvmpi_key_next(&walk)) != NULL) {
		if (!has_plugin_fields(key, policy, fault))
			return false;
		if (uvmpi_is_plugin((enum plugin_key)key->plugin, uvmpi_key_get(key, policy)))
			continue;
		limit = accepted(key, policy);
		if (!is_accepted(key, uvmpi_key_get(key, policy), &limit, fault))
			return false;
	}
	return agrees(policy, fault);
}

bool uvmpi_policy_is_valid(const struct uvmp_policy *policy)
{
	struct policy_fault fault;

	return uvmpi_policy_check(policy, &fault);
}

bool uvmp_policy_is_valid(const struct uvmp_policy *policy)
{
	struct uvmp_policy own;

	return uvmpi_policy_read(&own, policy) == UVMP_OK && uvmpi_policy_is_valid(&own);
}

const struct uvmp_evict_traits *uvmp_policy_evict_traits(const struct uvmp_policy *policy)
{
	return policy->evict == UVMP_EVICT_PLUGIN ? &policy->evict_plugin->traits : uvmp_evict_traits_of(policy->evict);
}

const char *uvmp_policy_evict_name(const struct uvmp_policy *policy)
{
	return policy->evict == UVMP_EVICT_PLUGIN ? policy->evict_plugin->name : uvmp_evict_name(policy->evict);
}

const struct uvmp_prefetch_traits *uvmp_policy_prefetch_traits(const struct uvmp_policy *policy)
{
	return uvmpi_prefetch_params_traits(&policy->prefetch);
}

uint32_t uvmp_policy_unit_pages(const struct uvmp_policy *policy)
{
	const struct uvmp_evict_traits *order = uvmp_policy_evict_traits(policy);

	if (order->has_granularity)
		return UVMP_BASIC_BLOCK_PAGES << (uint32_t)policy->granularity;
	return order->unit_pages;
}
