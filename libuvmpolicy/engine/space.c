/* Address spaces and channels; space_internal.h.
 *
 * Address spaces have slots, which stay the same until they are removed. Channels are sorted. */
#include "space_internal.h"

/* -- spaces -- */

uint32_t uvmpi_space_find(const struct uvmp_service *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->spaces_used; i++)
		if (s->space[i].users != 0 && s->space[i].id == id)
			return i;
	return NO_INDEX;
}

uint32_t uvmpi_space_use(struct uvmp_service *s, uint64_t id)
{
	uint32_t slot = uvmpi_space_find(s, id);

	for (uint32_t i = 0; slot == NO_INDEX && i < s->spaces; i++)
		if (s->space[i].users == 0)
			slot = i;
	if (slot == NO_INDEX)
		return NO_INDEX;
	if (s->space[slot].users == 0) {
		s->space[slot].id = id;
		uvmp_thrash_space_init(&s->space[slot].thrash, &s->policy.thrash);
	}
	s->space[slot].users++;
	if (slot >= s->spaces_used)
		s->spaces_used = slot + 1u;
	return slot;
}

void uvmpi_space_unuse(struct uvmp_service *s, uint32_t slot)
{
	s->space[slot].users--;
}

/* -- channels -- */

/* Negative, 0 or positive: a is before, equal to, or after b. */
static int compare(const struct instance *a, const struct instance *b)
{
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	if (a->aperture != b->aperture)
		return a->aperture < b->aperture ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->subcontext < b->subcontext ? -1 : a->subcontext > b->subcontext;
}

bool uvmpi_instance_is_before(const struct instance *a, const struct instance *b)
{
	return compare(a, b) < 0;
}

/* Index of the first instance that is not before `key`; they are sorted. */
static uint32_t find_key(const struct uvmp_service *s, const struct instance *key)
{
	uint32_t first = 0, end = s->instances;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2u;

		if (compare(&s->instance[middle], key) < 0)
			first = middle + 1u;
		else
			end = middle;
	}
	return first;
}

static bool is_key(const struct uvmp_service *s, uint32_t index, const struct instance *key)
{
	return index < s->instances && compare(&s->instance[index], key) == 0;
}

/* The same channel, with any subcontext? */
static bool is_sibling(const struct uvmp_service *s, uint32_t index, const struct instance *key)
{
	const struct instance *at = &s->instance[index];

	return index < s->instances && at->gpu == key->gpu && at->aperture == key->aperture &&
	       at->key == key->key;
}

uint32_t uvmpi_instance_find(const struct uvmp_service *s, uint32_t gpu, uint32_t aperture, uint64_t instance,
                             uint32_t subcontext, bool *is_channel)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index = find_key(s, &key);

	if (is_channel != NULL)
		*is_channel = is_sibling(s, index, &key) || (index > 0 && is_sibling(s, index - 1u, &key));
	return is_key(s, index, &key) ? s->instance[index].space : NO_INDEX;
}

enum uvmp_status uvmp_service_bind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
                                   uint64_t instance, uint32_t subcontext, uint64_t space)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	if (gpu == UVMP_CPU || gpu >= service->processors.count || aperture > UVMP_APERTURE_VID)
		return UVMP_ERR_RANGE;
	index = find_key(service, &key);
	if (is_key(service, index, &key))
		return UVMP_ERR_CONFLICT;
	if (service->instances == service->instance_slots)
		return UVMP_ERR_SPACE;
	key.space = uvmpi_space_use(service, space);
	if (key.space == NO_INDEX)
		return UVMP_ERR_SPACE;
	for (uint32_t i = service->instances++; i > index; i--)
		service->instance[i] = service->instance[i - 1u];
	service->instance[index] = key;
	return UVMP_OK;
}

enum uvmp_status uvmp_service_unbind(struct uvmp_service *service, uint32_t gpu, uint32_t aperture,
                                     uint64_t instance, uint32_t subcontext)
{
	struct instance key = {.key = instance, .aperture = aperture, .subcontext = subcontext, .gpu = gpu};
	uint32_t index;

	if (!uvmp_service_is_valid(service))
		return UVMP_ERR_ARGUMENT;
	index = find_key(service, &key);
	if (!is_key(service, index, &key))
		return UVMP_ERR_STATE;
	uvmpi_space_unuse(service, service->instance[index].space);
	service->instances--;
	for (uint32_t i = index; i < service->instances; i++)
		service->instance[i] = service->instance[i + 1u];
	return UVMP_OK;
}
