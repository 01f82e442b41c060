/* Defaults, validity, and what follows from a policy. */
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

static bool is_key_valid(const struct key *key, const struct uvmp_policy *policy)
{
	uint32_t value = uvmpi_key_get(key, policy);
	struct limit limit;

	if (value < key->parameter->min || value > key->parameter->max)
		return false;
	if (!uvmpi_key_is_used(key, policy))
		return value == key->parameter->initial;
	limit = uvmpi_key_limit(key, policy);
	return value >= limit.min && value <= limit.max;
}

bool uvmpi_policy_is_valid(const struct uvmp_policy *policy)
{
	struct key_walk walk = {0};
	const struct key *key;

	if (policy->prefetch.quirks != policy->quirks || policy->replay.quirks != policy->quirks || policy->thrash.quirks != policy->quirks)
		return false;
	while ((key = uvmpi_key_next(&walk)) != NULL)
		if (!is_key_valid(key, policy)) /* a key stands behind the key that it depends on */
			return false;
	return true;
}

bool uvmp_policy_is_valid(const struct uvmp_policy *policy)
{
	struct uvmp_policy own;

	return uvmpi_policy_read(&own, policy) == UVMP_OK && uvmpi_policy_is_valid(&own);
}

uint32_t uvmp_policy_unit_pages(const struct uvmp_policy *policy)
{
	if (uvmp_evict_traits_of(policy->evict)->has_granularity)
		return UVMP_BASIC_BLOCK_PAGES << (uint32_t)policy->granularity;
	return uvmp_evict_unit_pages(policy->evict);
}
