/* Emptying a GPU's fault buffer: fetch with coalescing, and flush [driver: fetch, flush].
 *
 * A fetch walks over the same entries twice. The first walk changes no state: it counts the entries of this
 * batch and checks that each of them can be used. Every error is detected in the first walk, so no change has
 * to be undone. The second walk moves the entries into the batch one by one. Each is compared with at most
 * two earlier entries: the latest representative of its uTLB and the latest one of the batch. Cost: two
 * visits per entry, never more than the limit of the mode. */
#include "uvmpolicy/fault.h"

#include "../base/bits_internal.h"

#define BUFFER_CAPACITY_MAX (1u << 24)

static uint32_t next_entry(const struct uvmp_fault_buffer *buffer, uint32_t index)
{
	return index + 1u == buffer->capacity ? 0u : index + 1u;
}

bool uvmp_fault_buffer_is_valid(const struct uvmp_fault_buffer *buffer)
{
	return buffer != NULL && buffer->entry != NULL && buffer->capacity <= BUFFER_CAPACITY_MAX &&
	       buffer->get < buffer->capacity && buffer->cached_put < buffer->capacity;
}

bool uvmp_fault_pending(struct uvmp_fault_buffer *buffer, uint32_t put)
{
	if (!uvmp_fault_buffer_is_valid(buffer) || put >= buffer->capacity)
		return false;
	if (buffer->get != buffer->cached_put || buffer->entry[buffer->get].is_valid)
		return true;
	buffer->cached_put = put;
	return buffer->get != put;
}

bool uvmp_fault_batch_is_valid(const struct uvmp_fault_batch *batch)
{
	return batch != NULL && batch->entry != NULL && batch->utlb != NULL && batch->capacity > 0 &&
	       batch->cached <= batch->capacity && batch->coalesced <= batch->cached &&
	       batch->max_utlb < batch->utlbs;
}

uint32_t uvmp_fault_max_batch(uint32_t count, uint32_t capacity)
{
	return minimum(count != 0 ? count : 1u, capacity);
}

/* First walk: how many of the next `limit` entries make the batch. Mode ALL needs each of them
 * [driver: fetch-modes]. */
static enum uvmp_status count_ready(const struct uvmp_fault_buffer *buffer,
                                    const struct uvmp_fault_batch *batch, enum uvmp_fetch_mode mode,
                                    uint32_t limit, uint32_t *count)
{
	uint32_t get = buffer->get, n = 0;

	for (; n < limit; n++, get = next_entry(buffer, get)) {
		const struct uvmp_fault *e = &buffer->entry[get];

		if (!e->is_valid) {
			if (mode == UVMP_FETCH_ALL || n == 0)
				return UVMP_ERR_RETRY;
			break;
		}
		if (e->access > UVMP_ACCESS_ATOMIC_STRONG || e->aperture > UVMP_APERTURE_VID ||
		    e->utlb >= batch->utlbs)
			return UVMP_ERR_RANGE;
	}
	*count = n;
	return UVMP_OK;
}

/* Only the uTLBs that the previous batch has used can need it. */
static void batch_reset(struct uvmp_fault_batch *batch)
{
	for (uint32_t i = 0; i <= batch->max_utlb; i++) {
		batch->utlb[i].num_pending = 0;
		batch->utlb[i].has_fatal = false;
	}
	batch->cached = 0;
	batch->coalesced = 0;
	batch->max_utlb = 0;
	batch->is_single_instance = true;
}

static bool is_same_instance(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->instance == b->instance && a->aperture == b->aperture && a->subcontext == b->subcontext;
}

/* May e be merged into x, as far as place and fatality go? [driver: fatal-merge]: the driver does not ask
 * whether x is fatal. */
static bool can_absorb(const struct uvmp_fault *x, const struct uvmp_fault *e, bool quirks)
{
	return x->address == e->address && is_same_instance(x, e) && (quirks || !x->is_fatal);
}

/* Merges e into x. The more intrusive access represents both, the older one on a tie. True if that is e. */
static bool merge(struct uvmp_fault *x, struct uvmp_fault *e)
{
	x->num_instances++;
	x->access_mask = (uint8_t)(x->access_mask | 1u << e->access);
	if (e->access <= x->access) {
		e->is_filtered = true;
		return false;
	}
	e->num_instances = x->num_instances;
	e->access_mask = x->access_mask;
	x->is_filtered = true;
	return true;
}

/* Entry i against the latest representative of its uTLB (first comparison of [driver: coalescing]), then
 * against the latest of the batch (second comparison). */
static bool try_merge(struct uvmp_fault_batch *batch, uint32_t i, uint32_t *last, bool quirks)
{
	struct uvmp_fault *e = &batch->entry[i];
	struct uvmp_utlb *utlb = &batch->utlb[e->utlb];
	uint32_t own = utlb->last_fault;

	/* own < i always holds, unless the caller's uTLB array did not start as zeros */
	if (utlb->num_pending > 0 && own < i && can_absorb(&batch->entry[own], e, quirks)) {
		if (merge(&batch->entry[own], e)) {
			utlb->last_fault = i;
			if (!quirks && *last == own) /* [driver: lost-merge]: the driver leaves it on the filtered entry */
				*last = i;
		}
		return true;
	}
	if (!can_absorb(&batch->entry[*last], e, quirks) || e->access > batch->entry[*last].access)
		return false;
	merge(&batch->entry[*last], e);
	return true;
}

/* Second walk, one entry: the copy in batch->entry[i] becomes a merged entry or a representative. */
static void take_entry(const struct uvmp_fetch_params *params, struct uvmp_fault_batch *batch, uint32_t i,
                       uint32_t *last)
{
	struct uvmp_fault *e = &batch->entry[i];

	e->address &= ~(uvmp_addr)(params->page_bytes - 1u);
	e->is_fatal = e->type >= UVMP_FAULT_FATAL;
	e->is_filtered = false;
	e->access_mask = 0;
	e->num_instances = 0;
	if (e->utlb > batch->max_utlb)
		batch->max_utlb = e->utlb;
	if (i > 0) {
		if (params->coalesce && !e->is_fatal && try_merge(batch, i, last, params->quirks))
			return;
		if (!is_same_instance(e, &batch->entry[*last]))
			batch->is_single_instance = false;
	}
	e->num_instances = 1;
	e->access_mask = (uint8_t)(1u << e->access);
	batch->utlb[e->utlb].num_pending++;
	batch->utlb[e->utlb].last_fault = i;
	batch->coalesced++;
	*last = i;
}

enum uvmp_status uvmp_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
                                  uint32_t put, struct uvmp_fault_buffer *buffer,
                                  struct uvmp_fault_batch *batch)
{
	uint32_t available, limit, count, get, last = 0;
	enum uvmp_status status;

	if (params == NULL || !uvmp_fault_buffer_is_valid(buffer) || !uvmp_fault_batch_is_valid(batch))
		return UVMP_ERR_ARGUMENT;
	if (put >= buffer->capacity || (uint32_t)mode > UVMP_FETCH_ALL || !is_page_size(params->page_bytes))
		return UVMP_ERR_RANGE;

	/* [driver: cached-put]: what was known at the last reading of PUT is fetched before PUT is read
	 * again. */
	get = buffer->get;
	if (params->quirks && get != buffer->cached_put)
		put = buffer->cached_put;
	available = put >= get ? put - get : put + (buffer->capacity - get);
	limit = mode == UVMP_FETCH_ALL ? available
	                               : uvmp_fault_max_batch(params->max_batch, buffer->capacity);
	if (limit > batch->capacity)
		return UVMP_ERR_SPACE;
	status = count_ready(buffer, batch, mode, minimum(limit, available), &count);
	if (status != UVMP_OK)
		return status;

	batch_reset(batch);
	for (uint32_t i = 0; i < count; i++, get = next_entry(buffer, get)) {
		batch->entry[i] = buffer->entry[get];
		buffer->entry[get].is_valid = false;
		take_entry(params, batch, i, &last);
	}
	batch->cached = count;
	buffer->get = get;
	buffer->cached_put = put;
	return UVMP_OK;
}

enum uvmp_status uvmp_fault_flush(struct uvmp_fault_buffer *buffer, bool update_put, uint32_t put,
                                  uint32_t *discarded)
{
	uint32_t n = 0;

	if (!uvmp_fault_buffer_is_valid(buffer) || discarded == NULL)
		return UVMP_ERR_ARGUMENT;
	if (update_put) {
		if (put >= buffer->capacity)
			return UVMP_ERR_RANGE;
		buffer->cached_put = put;
	}
	while (buffer->get != buffer->cached_put && buffer->entry[buffer->get].is_valid) {
		buffer->entry[buffer->get].is_valid = false;
		buffer->get = next_entry(buffer, buffer->get);
		n++;
	}
	*discarded = n;
	return buffer->get == buffer->cached_put ? UVMP_OK : UVMP_ERR_RETRY;
}

uint32_t uvmp_fault_representatives(const struct uvmp_fault_batch *batch, uint32_t *order)
{
	uint32_t n = 0;

	if (!uvmp_fault_batch_is_valid(batch) || order == NULL)
		return 0;
	/* the second bound protects order[] from filter flags that the caller has changed */
	for (uint32_t i = 0; i < batch->cached && n < batch->coalesced; i++)
		if (!batch->entry[i].is_filtered)
			order[n++] = i;
	return n;
}
