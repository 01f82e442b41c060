/* Memory of the host kit: allocation, the arena of the engine, the text of the latest failure. */
#include "host_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SPARE  ((uint64_t)1 << 20) /* beyond uvmp_service_size for RESIDENT blocks */
#define RESIDENT     256u
#define CAPACITY_LEAST 16u

/* -- allocation -- */

static void *allocate(const struct uvmp_host_options *options, uint64_t count, size_t each)
{
	if (count > SIZE_MAX / each)
		return NULL;
	if (options->allocate != NULL)
		return options->allocate(options->user, (size_t)count * each);
	return malloc((size_t)count * each);
}

void hostkit_release(const struct uvmp_host_options *options, void *memory)
{
	if (memory == NULL)
		return;
	if (options->release != NULL)
		options->release(options->user, memory);
	else
		free(memory);
}

/* calloc leaves the pages of large tables to the operating system until they are used. */
void *hostkit_zeros(const struct uvmp_host_options *options, uint64_t count, size_t each)
{
	void *memory;

	if (options->allocate == NULL)
		return count > SIZE_MAX / each ? NULL : calloc((size_t)count, each);
	memory = allocate(options, count, each);
	if (memory != NULL)
		memset(memory, 0, (size_t)count * each);
	return memory;
}

void *hostkit_reserve(const struct uvmp_host *host, void *array, uint64_t *capacity, uint64_t used,
		      uint64_t count, size_t each)
{
	uint64_t most = *capacity < CAPACITY_LEAST ? CAPACITY_LEAST : *capacity;
	void *fresh;

	if (count <= *capacity && array != NULL)
		return array;
	while (most < count)
		most *= 2u;
	fresh = allocate(&host->options, most, each);
	if (fresh == NULL)
		return NULL;
	if (used != 0)
		memcpy(fresh, array, (size_t)used * each);
	hostkit_release(&host->options, array);
	*capacity = most;
	return fresh;
}

/* -- the arena -- */

static bool add_segment(struct uvmp_host *h, uint64_t bytes, bool is_zero)
{
	void *segment;

	if (h->segments == HOSTKIT_SEGMENTS)
		return false;
	segment = is_zero ? hostkit_zeros(&h->options, bytes, 1) : allocate(&h->options, bytes, 1);
	if (segment == NULL)
		return false;
	h->segment[h->segments++] = segment;
	h->arena_bytes += bytes;
	return true;
}

/* The options have other names for the fields of the engine's parameters. */
static const char *without_prefix(const char *text)
{
	static const char *const prefix[] = {"gpu[0].", "policy->", "params."};

	for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
		if (strncmp(text, prefix[i], strlen(prefix[i])) == 0)
			return text + strlen(prefix[i]);
	return text;
}

bool hostkit_open_engine(struct uvmp_host *h, struct uvmp_service_params *params)
{
	struct uvmp_service_error error;
	uint64_t bytes;

	params->memory_is_zero = true;
	if (uvmp_service_params_check(params, &error) != UVMP_OK) {
		snprintf(h->error, sizeof(h->error), "%s", without_prefix(error.text));
		return false;
	}
	bytes = uvmp_service_size(params, RESIDENT);
	if (bytes == 0 || !add_segment(h, (bytes + ARENA_SPARE) / 16u * 16u, true) ||
	    uvmp_service_init(params, h->segment[0], (size_t)h->arena_bytes, &h->service) != UVMP_OK) {
		snprintf(h->error, sizeof(h->error), "out of memory: the engine needs %llu bytes",
			 (unsigned long long)bytes);
		return false;
	}
	return true;
}

/* Doubles the arena: the engine accepts enough segments for that. */
bool hostkit_grow_engine(struct uvmp_host *h)
{
	uint64_t bytes = h->arena_bytes;

	if (!add_segment(h, bytes, false))
		return false;
	if (uvmp_service_grow(h->service, h->segment[h->segments - 1u], (size_t)bytes) == UVMP_OK)
		return true;
	hostkit_release(&h->options, h->segment[--h->segments]);
	h->arena_bytes -= bytes;
	return false;
}

/* -- failures -- */

enum uvmp_status hostkit_fail(struct uvmp_host *h, enum uvmp_status status, const char *text)
{
	h->status = status;
	snprintf(h->error, sizeof(h->error), "%s", text);
	return status;
}

bool hostkit_be_short(struct uvmp_host *h)
{
	(void)hostkit_fail(h, UVMP_ERR_NO_MEMORY,
			   "out of memory: nothing is lost; the next call of uvmp_host_run tries again");
	h->is_short = true;
	return false;
}
