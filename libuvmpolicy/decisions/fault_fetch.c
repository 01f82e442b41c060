/* Emptying a GPU's fault buffer: fetch with coalescing, and flush [driver: fetch, flush].
 *
 * A fetch walks over the same entries twice. The first walk changes no state: it counts the entries of this
 * batch, checks that each of them can be used, and finds the highest uTLB and whether one instance raised all
 * of them. Every error is detected in the first walk, so no change has to be undone. The second walk moves the
 * entries into the batch one by one. Each is compared with at most two earlier entries: the latest
 * representative of its uTLB and the latest one of the batch. Cost: two visits per entry, never more than the
 * limit of the mode. Each walk takes the ring as two arrays: from GET to the end of the ring, and from its
 * start. */
#include "uvmpolicy/fault.h"

#include "../base/bits_internal.h"

#define BUFFER_CAPACITY_MAX (1u << 24)

/* Groups of fields of an entry, behind its address. */
#define GPU_FIELDS   offsetof(struct uvmp_fault, timestamp_ns)
#define FETCH_FIELDS offsetof(struct uvmp_fault, is_filtered)
#define HOST_FIELDS  offsetof(struct uvmp_fault, va_space)

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

/* What the first walk finds. */
struct survey {
	const struct uvmp_fault *first; /* entry at GET */
	uint32_t utlbs;			/* of the batch */
	uint32_t max_utlb;
	bool is_single_instance;
};

static inline bool is_same_instance(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a->instance == b->instance && a->aperture == b->aperture && a->subcontext == b->subcontext;
}

/* First walk over the entries e..end: the first entry that is not written completely, or has a field out of range. An
 * entry of the same instance as the first one has its aperture too, which count_ready checks once. */
static const struct uvmp_fault *survey_entries(struct survey *survey, const struct uvmp_fault *e,
                                               const struct uvmp_fault *end)
{
	const struct uvmp_fault first = *survey->first;
	uint32_t max_utlb = survey->max_utlb;

	for (; e != end; e++) {
		if (!e->is_valid || e->access > UVMP_ACCESS_ATOMIC_STRONG)
			break;
		if (e->utlb > max_utlb) {
			if (e->utlb >= survey->utlbs)
				break;
			max_utlb = e->utlb;
		}
		if (!is_same_instance(e, &first)) {
			if (e->aperture > UVMP_APERTURE_VID)
				break;
			survey->is_single_instance = false;
		}
	}
	survey->max_utlb = max_utlb;
	return e;
}

/* How many of the next `limit` entries make the batch. Mode ALL needs each of them [driver: fetch-modes]. */
static enum uvmp_status count_ready(const struct uvmp_fault_buffer *buffer, enum uvmp_fetch_mode mode,
                                    uint32_t limit, struct survey *survey, uint32_t *count)
{
	uint32_t ahead = minimum(limit, buffer->capacity - buffer->get);
	const struct uvmp_fault *first = &buffer->entry[buffer->get], *stop;

	survey->first = first;
	stop = survey_entries(survey, first, first + ahead);
	*count = (uint32_t)(stop - first);
	if (*count == ahead) {
		stop = survey_entries(survey, buffer->entry, buffer->entry + (limit - ahead));
		*count += (uint32_t)(stop - buffer->entry);
	}
	if (limit != 0 && first->is_valid && first->aperture > UVMP_APERTURE_VID)
		return UVMP_ERR_RANGE;
	if (*count == limit)
		return UVMP_OK;
	if (stop->is_valid)
		return UVMP_ERR_RANGE;
	return mode == UVMP_FETCH_ALL || *count == 0 ? UVMP_ERR_RETRY : UVMP_OK;
}

/* Clears the records of the uTLBs that the previous batch has used, and of those that this batch uses: a uTLB without a
 * representative names entry 0. */
static void batch_reset(struct uvmp_fault_batch *batch, const struct survey *survey)
{
	uint32_t used = batch->max_utlb > survey->max_utlb ? batch->max_utlb : survey->max_utlb;

	__builtin_memset(batch->utlb, 0, ((size_t)used + 1u) * sizeof(batch->utlb[0]));
	batch->max_utlb = survey->max_utlb;
	batch->is_single_instance = survey->is_single_instance;
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
		e->num_instances = 0;
		e->access_mask = 0;
		return false;
	}
	e->num_instances = x->num_instances;
	e->access_mask = x->access_mask;
	x->is_filtered = true;
	return true;
}

/* Entry i against the latest representative of its uTLB (first comparison of [driver: coalescing]), then
 * against the latest of the batch (second comparison). Out of line: few entries have the page of one of them. */
UVMPI_NOINLINE static bool try_merge(const struct uvmp_fetch_params *params, struct uvmp_fault_batch *batch, uint32_t i,
                                     uint32_t *last)
{
	struct uvmp_fault *e = &batch->entry[i];
	struct uvmp_utlb *utlb = &batch->utlb[e->utlb];
	uint32_t own = utlb->last_fault;

	if (i == 0 || !params->coalesce || e->is_fatal)
		return false;
	if (utlb->num_pending > 0 && can_absorb(&batch->entry[own], e, params->quirks)) {
		if (merge(&batch->entry[own], e)) {
			utlb->last_fault = i;
			if (!params->quirks && *last == own) /* [driver: lost-merge]: the driver leaves it on the filtered entry */
				*last = i;
		}
		return true;
	}
	if (!can_absorb(&batch->entry[*last], e, params->quirks) || e->access > batch->entry[*last].access)
		return false;
	merge(&batch->entry[*last], e);
	return true;
}

/* Moves an entry out of the buffer, as a representative of its own: copies the fields before is_filtered and those from
 * va_space on, and sets the fields between. */
static inline void move_entry(struct uvmp_fault *restrict to, struct uvmp_fault *restrict from, uvmp_addr page_mask)
{
	to->address = from->address & page_mask;
	__builtin_memcpy((char *)to + GPU_FIELDS, (const char *)from + GPU_FIELDS, FETCH_FIELDS - GPU_FIELDS);
	__builtin_memcpy((char *)to + HOST_FIELDS, (const char *)from + HOST_FIELDS, sizeof(*to) - HOST_FIELDS);
	to->is_fatal = from->type >= UVMP_FAULT_FATAL;
	to->is_filtered = false;
	to->access_mask = (uint8_t)(1u << from->access);
	to->num_instances = 1;
	from->is_valid = false;
}

/* Second walk: moves `count` entries to batch->entry[cached..). Each becomes a merged entry or a representative. */
static void take_entries(const struct uvmp_fetch_params *params, struct uvmp_fault_batch *batch,
                         struct uvmp_fault *from, uint32_t count, uint32_t *last)
{
	uvmp_addr page_mask = ~(uvmp_addr)(page_bytes_or_default(params->page_bytes) - 1u), last_address;
	struct uvmp_fault *entry = batch->entry;
	struct uvmp_utlb *utlbs = batch->utlb;
	uint32_t i = batch->cached, end = i + count, merged = 0;

	last_address = i != 0 ? entry[*last].address : 0;
	for (; i < end; i++, from++) {
		struct uvmp_fault *e = &entry[i];
		struct uvmp_utlb *utlb;

		move_entry(e, from, page_mask);
		utlb = &utlbs[e->utlb];
		if ((entry[utlb->last_fault].address == e->address || last_address == e->address) &&
		    try_merge(params, batch, i, last)) {
			merged++;
			continue;
		}
		utlb->num_pending++;
		utlb->last_fault = i;
		last_address = e->address;
		*last = i;
	}
	batch->cached = end;
	batch->coalesced += count - merged;
}

/* Where PUT is for this fetch [driver: cached-put]: what was known at the last reading of PUT is fetched before PUT is
 * read again. */
static uint32_t put_of(const struct uvmp_fetch_params *params, const struct uvmp_fault_buffer *buffer, uint32_t put)
{
	return params->quirks && buffer->get != buffer->cached_put ? buffer->cached_put : put;
}

enum uvmp_status uvmp_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
                                  uint32_t put, struct uvmp_fault_buffer *buffer,
                                  struct uvmp_fault_batch *batch)
{
	struct survey survey = {.is_single_instance = true};
	uint32_t available, limit, count, ahead, get, last = 0;
	enum uvmp_status status;

	if (params == NULL || !uvmp_fault_buffer_is_valid(buffer) || !uvmp_fault_batch_is_valid(batch))
		return UVMP_ERR_ARGUMENT;
	if (put >= buffer->capacity || (uint32_t)mode > UVMP_FETCH_ALL || !is_page_size(page_bytes_or_default(params->page_bytes)))
		return UVMP_ERR_RANGE;

	put = put_of(params, buffer, put);
	available = put >= buffer->get ? put - buffer->get : put + (buffer->capacity - buffer->get);
	limit = mode == UVMP_FETCH_ALL ? available
	                               : uvmp_fault_max_batch(params->max_batch, buffer->capacity);
	if (limit > batch->capacity)
		return UVMP_ERR_SPACE;
	survey.utlbs = batch->utlbs;
	status = count_ready(buffer, mode, minimum(limit, available), &survey, &count);
	if (status != UVMP_OK)
		return status;

	batch_reset(batch, &survey);
	batch->cached = batch->coalesced = 0;
	ahead = minimum(count, buffer->capacity - buffer->get);
	take_entries(params, batch, &buffer->entry[buffer->get], ahead, &last);
	take_entries(params, batch, buffer->entry, count - ahead, &last);
	get = buffer->get + count;
	buffer->get = get < buffer->capacity ? get : get - buffer->capacity;
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
	const struct uvmp_fault *entry;
	uint32_t i, n = 0, cached, coalesced;

	if (!uvmp_fault_batch_is_valid(batch) || order == NULL)
		return 0;
	entry = batch->entry;
	cached = batch->cached;
	coalesced = batch->coalesced;
	for (i = 0; i < coalesced; i++)
		if (!entry[i].is_filtered)
			order[n++] = i;
	/* the second bound protects order[] from filter flags that the caller has changed */
	for (; i < cached && n < coalesced; i++)
		if (!entry[i].is_filtered)
			order[n++] = i;
	return n;
}
