/* The naive model of fault.h. Fetch keeps no running state: for each entry it goes back through what happened
 * to the earlier ones and asks which of them is "the last fault" of the uTLB and of the batch. */
#include "model/naive_fault.h"

enum outcome { NEW, MERGED, REPLACED };

struct history {
	enum outcome outcome[NAIVE_FAULT_MAX];
	uint32_t partner[NAIVE_FAULT_MAX]; /* what it was merged into, or replaced */
};

static bool same_key(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	if (a->aperture != b->aperture)
		return false;
	if (a->instance != b->instance)
		return false;
	return a->subcontext == b->subcontext;
}

/* Latest entry of the uTLB before n that was a representative when it came. */
static bool last_of_utlb(const struct naive_fetch *out, const struct history *history, uint32_t n,
                         uint32_t utlb, uint32_t *found)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		if (out->entry[i].utlb == utlb && history->outcome[i] != MERGED) {
			*found = i;
			any = true;
		}
	return any;
}

/* Latest new representative before n; without [driver: lost-merge], any entry that has replaced it since. */
static uint32_t last_of_batch(const struct history *history, uint32_t n, bool quirks)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (history->outcome[i] == NEW)
			last = i;
		if (!quirks && history->outcome[i] == REPLACED && history->partner[i] == last)
			last = i;
	}
	return last;
}

static bool may_merge(const struct uvmp_fault *into, const struct uvmp_fault *e, bool quirks)
{
	if (!quirks && into->is_fatal)
		return false;
	return same_key(into, e) && into->address == e->address;
}

static void take(const struct uvmp_fetch_params *params, struct naive_fetch *out, struct history *history,
                 uint32_t n)
{
	struct uvmp_fault *e = &out->entry[n];
	uint32_t own = 0, last = last_of_batch(history, n, params->quirks);
	struct uvmp_fault *into = NULL;

	if (n > 0 && params->coalesce && !e->is_fatal) {
		if (last_of_utlb(out, history, n, e->utlb, &own) &&
		    may_merge(&out->entry[own], e, params->quirks)) {
			into = &out->entry[own];
			history->partner[n] = own;
		} else if (may_merge(&out->entry[last], e, params->quirks) &&
		           e->access <= out->entry[last].access) {
			into = &out->entry[last];
			history->partner[n] = last;
		}
	}
	if (into == NULL) {
		if (n > 0 && !same_key(e, &out->entry[last]))
			out->is_single_instance = false;
		history->outcome[n] = NEW;
		e->num_instances = 1;
		e->access_mask = (uint8_t)(1u << e->access);
		return;
	}
	into->num_instances++;
	into->access_mask = (uint8_t)(into->access_mask | (1u << e->access));
	if (e->access > into->access) {
		history->outcome[n] = REPLACED;
		e->num_instances = into->num_instances;
		e->access_mask = into->access_mask;
		into->is_filtered = true;
	} else {
		history->outcome[n] = MERGED;
		e->is_filtered = true;
	}
}

enum uvmp_status naive_fault_fetch(const struct uvmp_fetch_params *params, enum uvmp_fetch_mode mode,
                                   uint32_t put, const struct uvmp_fault_buffer *buffer,
                                   uint32_t batch_capacity, uint32_t utlbs, struct naive_fetch *out)
{
	static struct history history;
	uint32_t stop = buffer->cached_put, waiting = 0, most = params->max_batch, get;

	if (!params->quirks || buffer->get == buffer->cached_put)
		stop = put;
	for (get = buffer->get; get != stop; get = (get + 1u) % buffer->capacity)
		waiting++;
	if (most < 1u)
		most = 1;
	if (most > buffer->capacity)
		most = buffer->capacity;
	if (batch_capacity < (mode == UVMP_FETCH_ALL ? waiting : most))
		return UVMP_ERR_SPACE;

	out->cached = out->coalesced = out->max_utlb = 0;
	out->is_single_instance = true;
	get = buffer->get;
	while (get != stop && (mode == UVMP_FETCH_ALL || out->cached < most)) {
		struct uvmp_fault *e = &out->entry[out->cached];

		*e = buffer->entry[get];
		if (!e->is_valid) {
			if (mode == UVMP_FETCH_BATCH_READY && out->cached > 0)
				break;
			return UVMP_ERR_RETRY;
		}
		if (e->access > 4 || e->aperture > 11 || e->utlb >= utlbs)
			return UVMP_ERR_RANGE;
		e->address = e->address / params->page_bytes * params->page_bytes;
		e->is_fatal = e->type >= 5;
		e->is_filtered = false;
		e->access_mask = 0;
		e->num_instances = 0;
		if (e->utlb > out->max_utlb)
			out->max_utlb = e->utlb;
		take(params, out, &history, out->cached);
		out->cached++;
		get = (get + 1u) % buffer->capacity;
	}
	for (uint32_t i = 0; i < out->cached; i++)
		if (!out->entry[i].is_filtered)
			out->coalesced++;
	out->get = get;
	out->cached_put = stop;
	return UVMP_OK;
}

/* -1, 0, 1 */
static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_pages(const struct uvmp_fault *entry, uint32_t a, uint32_t b)
{
	int c = compare(entry[a].va_space, entry[b].va_space);

	if (c == 0)
		c = compare(entry[a].gpu, entry[b].gpu);
	if (c == 0)
		c = compare(entry[a].address, entry[b].address);
	if (c == 0)
		c = compare(entry[b].access, entry[a].access); /* descending */
	if (c == 0)
		c = compare(a, b);
	return c;
}

static int compare_instances(const struct uvmp_fault *entry, uint32_t a, uint32_t b)
{
	int c = compare(entry[a].aperture, entry[b].aperture);

	if (c == 0)
		c = compare(entry[a].instance, entry[b].instance);
	if (c == 0)
		c = compare(entry[a].subcontext, entry[b].subcontext);
	if (c == 0)
		c = compare(a, b);
	return c;
}

static void select_smallest(const struct uvmp_fault *entry, uint32_t *order, uint32_t count,
                            int (*compare_entries)(const struct uvmp_fault *, uint32_t, uint32_t))
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1u; j < count; j++)
			if (compare_entries(entry, order[j], order[i]) < 0) {
				uint32_t t = order[i];

				order[i] = order[j];
				order[j] = t;
			}
}

void naive_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	select_smallest(entry, order, count, compare_pages);
}

void naive_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	select_smallest(entry, order, count, compare_instances);
}

uint32_t naive_fault_bins(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                          uint64_t block_bytes, uint32_t *bin_of, bool *is_duplicate)
{
	uint32_t bins = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct uvmp_fault *e = &entry[order[i]];
		bool is_same_bin = false;

		is_duplicate[i] = false;
		if (i > 0) {
			const struct uvmp_fault *p = &entry[order[i - 1u]];

			is_same_bin = p->va_space == e->va_space && p->gpu == e->gpu &&
			              p->address / block_bytes == e->address / block_bytes;
			is_duplicate[i] = is_same_bin && p->address == e->address;
		}
		if (!is_same_bin)
			bins++;
		bin_of[i] = bins - 1u;
	}
	return bins;
}

void naive_fault_classify(const struct uvmp_fault *fault, const struct uvmp_fault_facts *facts,
                          const struct uvmp_fault *previous,
                          const struct uvmp_fault_verdict *previous_verdict,
                          struct uvmp_fault_verdict *verdict)
{
	static const enum uvmp_right needs[5] = {UVMP_RIGHT_READ, UVMP_RIGHT_READ, UVMP_RIGHT_READ_WRITE,
	                                        UVMP_RIGHT_READ_WRITE, UVMP_RIGHT_READ_WRITE_ATOMIC};
	struct uvmp_fault_verdict v = {0};
	bool had_read = (fault->access_mask & 2u) != 0, may_read = facts->right != UVMP_RIGHT_NONE;
	bool is_granted = !facts->is_unmapped && needs[fault->access] <= facts->right;
	uint8_t as = UVMP_ACCESS_NONE;

	v.service_access = UVMP_ACCESS_NONE;
	v.is_fatal = fault->is_fatal;
	if (previous != NULL && previous->va_space == fault->va_space &&
	    previous->address == fault->address) {
		v.is_duplicate = true;
		v.is_throttled = previous_verdict->is_throttled;
		v.is_invalid_prefetch = previous_verdict->is_invalid_prefetch;
		if (!previous_verdict->is_fatal) {
			*verdict = v;
			return;
		}
	}

	/* the rows of the table */
	if (is_granted) {
		as = fault->access;
	} else if (fault->access == UVMP_ACCESS_PREFETCH) {
		if (!facts->is_retry) {
			v.is_invalid_prefetch = true;
			v.invalid_prefetches = fault->num_instances;
		}
	} else if (fault->access == UVMP_ACCESS_READ || facts->is_unmapped) {
		v.is_fatal = true;
		v.cancel_mode = UVMP_CANCEL_ALL;
	} else if (!had_read) {
		v.is_fatal = true;
		v.cancel_mode = UVMP_CANCEL_WRITE_AND_ATOMIC;
	} else if (may_read) {
		v.is_fatal = true;
		v.cancel_mode = UVMP_CANCEL_WRITE_AND_ATOMIC;
		as = UVMP_ACCESS_READ;
	} else {
		v.is_fatal = true;
		v.cancel_mode = UVMP_CANCEL_ALL;
	}

	if (as != UVMP_ACCESS_NONE && facts->mapped >= needs[as]) {
		v.is_already_mapped = true;
		as = UVMP_ACCESS_NONE;
	}
	v.service_access = as;
	if (as == fault->access)
		v.service_mask = fault->access_mask;
	else if (as != UVMP_ACCESS_NONE)
		v.service_mask = (uint8_t)(1u << as);
	*verdict = v;
}
