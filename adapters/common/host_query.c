/* Queries. */
#include "host_internal.h"

#include <string.h>

/* Copies what the caller's version of a structure has; fields that this library does not know become 0. The size stays.
 * False: the size is not accepted. */
static bool put(void *to, uint32_t size, const void *from, size_t bytes)
{
	if (size < sizeof(uint32_t) || size > UVMP_SIZE_MAX)
		return false;
	memset((uint8_t *)to + sizeof(uint32_t), 0, size - sizeof(uint32_t));
	memcpy((uint8_t *)to + sizeof(uint32_t), (const uint8_t *)from + sizeof(uint32_t),
	       (size < bytes ? size : bytes) - sizeof(uint32_t));
	return true;
}

bool uvmp_host_is_mapped(const struct uvmp_host *h, uint32_t processor, uvmp_addr address, enum uvmp_access access)
{
	if (h == NULL || processor > h->options.gpus || (uint32_t)access >= UVMP_ACCESS_NONE)
		return false;
	return hostkit_may(h, processor, address, access);
}

enum uvmp_status uvmp_host_page(const struct uvmp_host *h, uint32_t processor, uvmp_addr address,
				struct uvmp_host_page_state *page)
{
	struct uvmp_page_state state = {.size = sizeof(state)};
	struct uvmp_host_page_state own = {.frame = UVMP_HOST_NO_FRAME};
	enum uvmp_status status;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (page == NULL)
		return hostkit_fail(h, UVMP_ERR_ARGUMENT, "uvmp_host_page: page: missing (NULL)");
	if (processor > h->options.gpus)
		return hostkit_fail(h, UVMP_ERR_RANGE, "uvmp_host_page: no such processor");
	status = uvmp_service_page(h->service, UVMP_HOST_SPACE, address, &state);
	if (status != UVMP_OK)
		return hostkit_fail(h, status, "uvmp_host_page: the page is not managed");
	own.resident = state.resident;
	own.read = state.read;
	own.write = state.write;
	if (processor != UVMP_CPU && (state.resident >> processor & 1u) != 0)
		own.frame = hostkit_frame(h, processor, hostkit_page_of(h, address));
	if (put(page, page->size, &own, sizeof(own)))
		return UVMP_OK;
	return hostkit_fail(h, UVMP_ERR_ARGUMENT, "uvmp_host_page: page->size: set it to sizeof(*page)");
}

enum uvmp_status uvmp_host_count(const struct uvmp_host *h, struct uvmp_host_counts *counts)
{
	struct uvmp_service_counts of_gpu = {.size = sizeof(of_gpu)};
	struct uvmp_host_counts own;

	if (h == NULL)
		return UVMP_ERR_ARGUMENT;
	if (counts == NULL)
		return hostkit_fail(h, UVMP_ERR_ARGUMENT, "uvmp_host_count: counts: missing (NULL)");
	own = h->counts;
	for (uint32_t gpu = 1; gpu <= h->options.gpus; gpu++) {
		(void)uvmp_service_count(h->service, gpu, &of_gpu);
		own.duplicates += of_gpu.duplicates;
	}
	own.waiting = h->stalled.count;
	own.requests_waiting = h->requests + h->queued.count;
	for (uint64_t i = 0; i < h->inbox.count; i++) {
		bool is_fault = h->inbox.event[h->inbox.first + i].kind == HOSTKIT_FAULT;

		own.waiting += is_fault;
		own.requests_waiting += !is_fault;
	}
	if (put(counts, counts->size, &own, sizeof(own)))
		return UVMP_OK;
	return hostkit_fail(h, UVMP_ERR_ARGUMENT, "uvmp_host_count: counts->size: set it to sizeof(*counts)");
}

bool uvmp_host_wants_accesses(const struct uvmp_host *h)
{
	return h != NULL && (h->needs.touches || h->needs.accesses || h->counts_accesses);
}

uint64_t uvmp_host_last_request(const struct uvmp_host *h)
{
	return h == NULL ? 0 : h->request_number;
}

uint64_t uvmp_host_capacity(const struct uvmp_host *h)
{
	return h == NULL ? 0 : h->capacity_bytes;
}

enum uvmp_status uvmp_host_status(const struct uvmp_host *h)
{
	return h == NULL ? UVMP_ERR_ARGUMENT : h->failure->status;
}

const char *uvmp_host_error(const struct uvmp_host *h)
{
	return h == NULL ? "no host object (NULL)" : h->failure->text;
}

struct uvmp_service *uvmp_host_service(struct uvmp_host *h)
{
	return h == NULL ? NULL : h->service;
}
