/* Access counters of the naive model [driver: counter-service]. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

#include "naive_counter.h"

struct note {
	struct uvmp_note is;
	bool has_space;
	uint64_t space;
};

bool naive_has_notes(const struct gpu *g)
{
	return g->note_get != g->note_put;
}

/* What is at hand, at most a batch; the end of the buffer is looked at when the last look is used up
 * [driver: cached-put]. */
static uint32_t fetch_notes(struct naive_service *n, struct gpu *g, struct note *note)
{
	uint32_t most = n->policy.counter_batch < g->notes ? n->policy.counter_batch : g->notes, count = 0;

	if (g->note_get == g->note_cached_put)
		g->note_cached_put = g->note_put;
	while (count < most && g->note_get != g->note_cached_put) {
		note[count++].is = g->note[g->note_get];
		g->note_get = (g->note_get + 1) % g->notes;
	}
	return count;
}

static bool is_note_before(const struct note *a, const struct note *b)
{
	if (a->has_space != b->has_space)
		return b->has_space;
	if (a->space != b->space)
		return a->space < b->space;
	return a->is.address < b->is.address;
}

static void order_notes(struct naive_service *n, uint32_t gpu, struct note *note, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct note moved = note[i];
		uint32_t at = i;

		moved.has_space = false;
		moved.space = 0;
		for (uint32_t k = 0; k < NAIVE_CHANNELS; k++) {
			const struct channel *c = &n->channel[k];

			if (c->exists && c->gpu == gpu && c->aperture == moved.is.aperture &&
			    c->instance == moved.is.instance && c->subcontext == moved.is.subcontext) {
				moved.has_space = true;
				moved.space = c->space;
			}
		}
		for (; at > 0 && is_note_before(&moved, &note[at - 1]); at--)
			note[at] = note[at - 1];
		note[at] = moved;
	}
}

static void emit_clear(struct naive_service *n, uint32_t gpu, const struct note *note)
{
	struct uvmp_action *action = naive_emit(n, UVMP_ACTION_CLEAR, UVMP_CAUSE_COUNTER);

	action->to = (uint8_t)gpu;
	action->offset = note->is.bank;
	action->detail = note->is.tag;
}

/* Pages that the notes of one block name, but for those that the GPU has; none if it maps nothing there. */
static void named_pages(struct naive_service *n, const struct block *b, uint32_t gpu, const struct note *note,
                        uint32_t count, bool *pages)
{
	static struct uvmp_counter_note inside[PAGES];
	static uvmp_mask resident[NAIVE_PROCS];
	bool is_whole = (uint64_t)b->pages * n->page_bytes == UVMP_ROOT_CHUNK_BYTES, is_mapped = false;
	struct uvmp_counter_facts facts = {.gpu = gpu,
	                                   .page_bytes = n->page_bytes,
	                                   .granularity = UVMP_COUNTER_2M,
	                                   .quirks = n->policy.quirks,
	                                   .contiguous = is_whole ? 1 : 0,
	                                   .resident = resident};

	for (uint32_t p = 0; p < n->procs; p++) {
		bool flag[PAGES];

		naive_resident_on(b, p, flag);
		naive_pack(flag, &resident[p]);
		if (is_whole && b->owned[p][0].exists)
			facts.contiguous |= bit(p);
	}
	for (uint32_t i = 0; i < count; i++) {
		inside[i].page = (uint32_t)((note[i].is.address - b->start) / n->page_bytes);
		inside[i].sub_granularity = note[i].is.sub_granularity;
	}
	naive_counter_expand(&n->processors, &facts, inside, count, pages);
	for (uint32_t i = 0; i < b->pages; i++)
		is_mapped = is_mapped || b->page[i].right[gpu] != UVMP_RIGHT_NONE;
	for (uint32_t i = 0; i < b->pages; i++)
		pages[i] = pages[i] && is_mapped && !in(b->page[i].resident, gpu);
}

static enum uvmp_status count_block(struct naive_service *n, struct block *b, uint32_t gpu,
                                    const struct note *note, uint32_t count)
{
	struct block_service *s = malloc(sizeof(*s));
	enum uvmp_status status = UVMP_ERR_RETRY;
	uint64_t until_ns;

	for (uint32_t walk = 0; walk < WALKS && status == UVMP_ERR_RETRY; walk++) {
		bool pages[PAGES];

		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = gpu;
		s->cause = UVMP_CAUSE_COUNTER;
		s->migrate_cause = UVMP_MIGRATE_ACCESS_COUNTER;
		s->is_prefetching = true;
		s->is_retry = walk > 0;
		named_pages(n, b, gpu, note, count, pages);
		for (uint32_t i = 0; i < b->pages; i++)
			if (pages[i] &&
			    naive_choose_destination(n, s, i, UVMP_ACCESS_PREFETCH, 1, UVMP_OPERATION_ACCESS_COUNTER,
			           &until_ns) &&
			    walk == 0)
				naive_emit_throttle(n, b, gpu, i, until_ns);
		for (uint32_t p = 0; p < n->procs; p++)
			for (uint32_t i = 0; i < b->pages; i++)
				s->want[p][i] = s->want[p][i] && !in(b->page[i].resident, p);
		(void)naive_perform_group(n);
		status = naive_serve_block(n, s);
	}
	free(s);
	naive_unpin_all(n);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}

/* One batch of notifications. */
void naive_serve_notes(struct naive_service *n, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct note *note = calloc(g->notes + 1, sizeof(*note));
	uint32_t count = fetch_notes(n, g, note), group = 1;
	struct uvmp_action *action;
	enum uvmp_status status = UVMP_OK;

	n->batch = ++g->note_batches;
	action = naive_emit(n, UVMP_ACTION_BATCH, UVMP_CAUSE_COUNTER);
	action->to = (uint8_t)gpu;
	action->count = action->detail = count;
	order_notes(n, gpu, note, count);
	(void)naive_perform_group(n);
	if (!n->has_counters ||
	    (n->page_bytes == 4096 && n->policy.quirks && n->policy.counters != UVMP_COUNTERS_ON)) /* [driver: notifications-drained] */
		count = 0;
	for (uint32_t i = 0; i < count && status == UVMP_OK; i += group) {
		const struct note *first = &note[i];
		struct block *b = NULL;

		group = 1;
		if (!first->has_space || naive_find_space(n, first->space) == NULL)
			continue;
		b = naive_find_block(n, first->space, first->is.address);
		if (b != NULL) {
			while (i + group < count && note[i + group].space == first->space &&
			       note[i + group].is.address < naive_page_address(n, b, b->pages))
				group++;
			status = count_block(n, b, gpu, first, group);
			for (uint32_t k = 0; k < group && status == UVMP_OK; k++)
				emit_clear(n, gpu, &first[k]);
		} else {
			emit_clear(n, gpu, n->policy.quirks ? &note[0] : first); /* [driver: clears-first-notification] */
		}
		if (status != UVMP_OK) {
			action = naive_emit(n, UVMP_ACTION_DONE, UVMP_CAUSE_COUNTER);
			action->to = (uint8_t)gpu;
			action->status = (int8_t)status;
		}
		(void)naive_perform_group(n);
	}
	n->batch = 0;
	free(note);
}
