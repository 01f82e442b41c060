/* Memory of the GPUs in the naive model: chunks (evict=lru), frames of units (page-wise orders), and what counts. */
#include "naive_service_internal.h"

#include <string.h>

/* Pages of 64 KiB and more are big pages themselves. */
uint32_t naive_big_pages(const struct naive_service *n)
{
	return n->page_bytes < 65536u ? 65536u / n->page_bytes : 1u;
}

/* [driver: root-chunks]: one chunk of 2 MiB, else aligned big pages, else pages. */
struct uvmp_region naive_chunk_around(const struct naive_service *n, const struct block *b, uint32_t page)
{
	uint32_t big = naive_big_pages(n);
	uint32_t offset = (uint32_t)(b->start / n->page_bytes % big);
	uint32_t from = (page + offset) / big * big;
	struct uvmp_region region = {page, page + 1};

	if ((uint64_t)b->pages * n->page_bytes == UVMP_ROOT_CHUNK_BYTES) {
		region.first = 0;
		region.end = b->pages;
	} else if (from >= offset && from - offset + big <= b->pages) {
		region.first = from - offset;
		region.end = region.first + big;
	}
	return region;
}

uint32_t naive_size_of(const struct naive_service *n, struct uvmp_region region)
{
	uint64_t bytes = (uint64_t)(region.end - region.first) * n->page_bytes;

	return bytes == UVMP_ROOT_CHUNK_BYTES ? UVMP_CHUNK_2M
	       : bytes == 65536u              ? UVMP_CHUNK_64K
	                                      : UVMP_CHUNK_4K;
}

uint64_t naive_offset_of(struct uvmp_chunk chunk)
{
	return (uint64_t)chunk.root * UVMP_ROOT_CHUNK_BYTES + (uint64_t)chunk.page * 4096u;
}

/* The smallest chunks have 4 KiB, or a page of 16 KiB. */
uint32_t naive_bytes_of(const struct naive_service *n, struct uvmp_chunk chunk)
{
	return chunk.size == UVMP_CHUNK_2M    ? UVMP_ROOT_CHUNK_BYTES
	       : chunk.size == UVMP_CHUNK_64K ? 65536u
	                                      : n->page_bytes;
}

static void forget_pins(struct naive_service *n, const struct block *b, uint32_t gpu, uint32_t first)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n->pins; i++)
		if (n->pin[i].block != b || n->pin[i].gpu != gpu || n->pin[i].first != first)
			n->pin[kept++] = n->pin[i];
	n->pins = kept;
}

/* The dispatch or request ends. What a walk took that was repeated, and the last one did not need, goes. */
void naive_unpin_all(struct naive_service *n)
{
	for (uint32_t i = 0; i < n->pins; i++) {
		struct owned *o = &n->pin[i].block->owned[n->pin[i].gpu][n->pin[i].first];

		if (o->is_announced) {
			naive_pmm_unpin(n->gpu[n->pin[i].gpu].pmm, o->chunk);
		} else {
			naive_pmm_free(n->gpu[n->pin[i].gpu].pmm, o->chunk);
			o->exists = false;
		}
	}
	n->pins = 0;
	for (uint32_t g = 1; g < n->procs; g++) {
		for (uint32_t i = 0; i < n->gpu[g].parkeds; i++)
			naive_pmm_free(n->gpu[g].pmm, n->gpu[g].parked[i]);
		n->gpu[g].parkeds = 0;
	}
}

/* Marks the chunks of these pages. */
void naive_mark_chunks(struct naive_service *n, struct block *b, uint32_t p, const bool *pages,
                 enum uvmp_chunk_mark what)
{
	for (uint32_t i = 0; p != UVMP_CPU && i < b->pages; i++) {
		const struct owned *o = &b->owned[p][i];
		bool is_named = false;

		for (uint32_t k = i; o->exists && k < o->end; k++)
			is_named = is_named || pages[k];
		if (is_named)
			naive_pmm_mark(n->gpu[p].pmm, o->chunk, what);
	}
}

/* A frame may be reused. */
static void give_frame(struct gpu *g, uint32_t *frame)
{
	if (*frame != 0)
		g->free_frame[g->free_frames++] = *frame;
	*frame = 0;
}

/* Gives the unit the free frame that was freed first, or a new frame. */
void naive_take_frame(struct gpu *g, uint32_t *frame)
{
	if (g->free_frames == 0) {
		*frame = ++g->last_frame;
		return;
	}
	*frame = g->free_frame[0];
	g->free_frames--;
	memmove(g->free_frame, g->free_frame + 1, g->free_frames * sizeof(g->free_frame[0]));
}

/* Units of which some of these pages have just left, or did not arrive, and that hold nothing now, give their frames up. */
void naive_give_frames(struct gpu *g, struct block *b, uint32_t gpu, const bool *left)
{
	for (uint32_t first = 0; g->unit_pages != 0 && first < b->pages; first += g->unit_pages) {
		bool has_left = false, is_held = false;

		for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++) {
			has_left = has_left || left[i];
			is_held = is_held || is_on(b, i, gpu);
		}
		if (has_left && !is_held)
			give_frame(g, &b->frame[gpu][first]);
	}
}

/* The processor holds them no more. is_free: their memory is given up next. */
void naive_leave_processor(struct naive_service *n, struct block *b, uint32_t p, const bool *pages, bool is_free)
{
	bool all[PAGES], left[PAGES] = {false}, is_gone = false;

	for (uint32_t i = 0; i < b->pages; i++)
		left[i] = pages[i] && is_on(b, i, p);

	for (uint32_t i = 0; i < b->pages; i++) {
		is_gone = is_gone || (pages[i] && in(b->page[i].resident, p));
		if (pages[i])
			b->page[i].resident &= ~bit(p);
	}
	if (p != UVMP_CPU && !is_free)
		naive_give_frames(&n->gpu[p], b, p, left);
	memset(all, 1, sizeof(all));
	if (is_gone && !naive_is_anywhere_on(b, p))
		naive_mark_chunks(n, b, p, all, UVMP_MARK_UNUSED);
}

/* Does a page count against the memory? It is resident, or with counts_units another page of its unit is. `want`: pages that
 * are on their way, or NULL. */
bool naive_page_counts(const struct naive_service *n, const struct block *b, uint32_t gpu, uint32_t page,
                        const bool *want)
{
	uint32_t unit = n->gpu[gpu].counts_units ? n->gpu[gpu].unit_pages : 1, first = page - page % unit;
	bool counts = false;

	for (uint32_t i = first; i < first + unit && i < b->pages; i++)
		counts = counts || in(b->page[i].resident, gpu) || (want != NULL && want[i]);
	return counts;
}

uint32_t naive_count_pages(const struct naive_service *n, uint32_t gpu)
{
	uint32_t pages = 0;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++)
			pages += naive_page_counts(n, n->block[k], gpu, i, NULL);
	return pages;
}

/* Is the unit with this first page touched when these pages are? A large page is, as soon as any page of it is there. */
static bool is_unit_touched(const struct gpu *g, const struct block *b, uint32_t gpu, uint32_t first, const bool *pages)
{
	for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++)
		if (pages[i] || (g->order_pages == PAGES && is_on(b, i, gpu)))
			return true;
	return false;
}

/* The unit is the newest. */
static void touch_unit(struct gpu *g, struct block *b, uint32_t gpu, uint32_t first)
{
	b->touch[gpu][first / g->unit_pages] = b->entry[gpu][first / g->unit_pages] = ++g->clock;
}

/* Pages are used, or have arrived. */
void naive_touch_units(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages)
{
	struct gpu *g = &n->gpu[gpu];

	for (uint32_t first = 0; gpu != UVMP_CPU && g->unit_pages != 0 && first < b->pages; first += g->unit_pages)
		if (is_unit_touched(g, b, gpu, first, pages)) {
			touch_unit(g, b, gpu, first);
			b->touches[gpu][first / g->unit_pages]++;
		}
}

/* Was the unit listed before these pages arrived? */
static bool was_listed(const struct gpu *g, const struct block *b, uint32_t gpu, uint32_t first, const bool *arrived)
{
	for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++)
		if (is_on(b, i, gpu) && !arrived[i])
			return true;
	return false;
}

/* The latest touch of a listed unit of the tree; 0: none. */
static uint64_t tree_touch(const struct gpu *g, const struct block *b, uint32_t gpu, const bool *arrived)
{
	uint64_t latest = 0;

	for (uint32_t first = 0; first < b->pages; first += g->unit_pages)
		if (was_listed(g, b, gpu, first, arrived) && b->touch[gpu][first / g->unit_pages] > latest)
			latest = b->touch[gpu][first / g->unit_pages];
	return latest;
}

/* It is decided that pages are there, of which some arrive. This touches their units, unless the host reports arrivals: then a
 * listed unit stays at its place. A new one is the newest, but of a tree with listed units it does not make the tree newer. */
void naive_decide_units(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages, const bool *arrived)
{
	bool has_trees = n->policy.evict == UVMP_EVICT_SL_64K || n->policy.evict == UVMP_EVICT_TBN;
	struct gpu *g = &n->gpu[gpu];
	bool is_new[PAGES] = {false};

	if (gpu == UVMP_CPU || g->unit_pages == 0 || !g->hears_arrivals) {
		naive_touch_units(n, b, gpu, pages);
		return;
	}
	for (uint32_t i = 0; i < b->pages; i++)
		is_new[i] = arrived[i] && is_on(b, i, gpu);
	for (uint32_t first = 0; first < b->pages; first += g->unit_pages) {
		uint64_t latest = tree_touch(g, b, gpu, is_new);

		if (!is_unit_touched(g, b, gpu, first, pages) || was_listed(g, b, gpu, first, is_new))
			continue;
		touch_unit(g, b, gpu, first);
		if (has_trees && latest != 0)
			b->touch[gpu][first / g->unit_pages] = latest;
		for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++)
			is_new[i] = false;
	}
}

bool naive_take_parked_chunk(struct gpu *g, uint32_t size, struct uvmp_chunk *chunk)
{
	for (uint32_t i = 0; i < g->parkeds; i++)
		if (g->parked[i].size == size) {
			*chunk = g->parked[i];
			memmove(&g->parked[i], &g->parked[i + 1],
			        (g->parkeds - i - 1) * sizeof(g->parked[0]));
			g->parkeds--;
			return true;
		}
	return false;
}

void naive_own_chunk(struct naive_service *n, struct block *b, uint32_t gpu, struct uvmp_region region,
                struct uvmp_chunk chunk)
{
	b->owned[gpu][region.first] = (struct owned){true, false, region.first, region.end, chunk};
	n->pin[n->pins++] = (struct pin){b, gpu, region.first};
	naive_add_place(b, gpu);
}

void naive_disown_chunk(struct naive_service *n, struct block *b, uint32_t gpu, uint32_t first)
{
	struct owned *o = &b->owned[gpu][first];

	naive_pmm_free(n->gpu[gpu].pmm, o->chunk);
	forget_pins(n, b, gpu, first);
	o->exists = false;
}

/* [uvmsmart: eviction-trigger]: does it fit, beside what is to be kept free? */
bool naive_is_over(const struct naive_service *n, uint32_t gpu, uint64_t coming)
{
	uint64_t total = n->gpu[gpu].memory_pages;

	return 100 * total < total * n->policy.free_buffer + 100 * (naive_count_pages(n, gpu) + coming);
}

void naive_emit_frames(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
                        struct frame_run *run)
{
	uint64_t bytes = (uint64_t)n->gpu[gpu].order_pages * 4096;
	struct uvmp_action *action;

	if (run->frames == 0)
		return;
	action = naive_emit_pages(n, kind, run->cause, b, run->pages);
	*(kind == UVMP_ACTION_FREE ? &action->from : &action->to) = (uint8_t)gpu;
	action->offset = (run->frame - 1) * bytes;
	action->detail = (uint32_t)(run->frames * bytes);
	memset(run, 0, sizeof(*run));
}

/* The unit with this first page joins the run, or begins one. */
void naive_add_frame(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
                      uint32_t first, enum uvmp_cause cause, struct frame_run *run)
{
	uint32_t frame = b->frame[gpu][first];

	if (run->next != first || run->frame + run->frames != frame || run->cause != cause)
		naive_emit_frames(n, b, gpu, kind, run);
	if (run->frames++ == 0)
		run->frame = frame;
	run->cause = cause;
	run->next = first + n->gpu[gpu].unit_pages;
	for (uint32_t i = first; i < run->next && i < b->pages; i++)
		run->pages[i] = true;
}

/* All memory that the block has, one GPU after the other. */
void naive_give_memory(struct naive_service *n, struct block *b)
{
	for (uint32_t k = 0; k < b->places; k++) {
		struct frame_run run = {{false}, 0, 0, 0, UVMP_CAUSE_NONE};
		bool was_known;

		for (uint32_t i = 0; b->place[k] != UVMP_CPU && i < b->pages; i++) {
			if (b->frame[b->place[k]][i] == 0)
				continue;
			naive_add_frame(n, b, b->place[k], UVMP_ACTION_FREE, i, UVMP_CAUSE_FREE, &run);
			give_frame(&n->gpu[b->place[k]], &b->frame[b->place[k]][i]);
		}
		naive_emit_frames(n, b, b->place[k], UVMP_ACTION_FREE, &run);
		for (uint32_t i = 0; b->place[k] != UVMP_CPU && i < b->pages; i++) {
			struct owned *o = &b->owned[b->place[k]][i];
			struct uvmp_action *action;
			bool pages[PAGES] = {false};

			if (!o->exists)
				continue;
			for (uint32_t p = o->first; p < o->end; p++)
				pages[p] = true;
			action = naive_emit_pages(n, UVMP_ACTION_FREE, UVMP_CAUSE_FREE, b, pages);
			action->from = (uint8_t)b->place[k];
			action->offset = naive_offset_of(o->chunk);
			action->detail = naive_bytes_of(n, o->chunk);
			naive_disown_chunk(n, b, b->place[k], i);
		}
		was_known = b->is_known[b->place[k]];
		b->is_known[b->place[k]] = false;
		naive_release(&n->holds, b->place[k], b->number);
		memset(b->touches[b->place[k]], 0, sizeof(b->touches[0]));
		if (n->actions > 0 && (was_known || n->group[n->actions - 1].kind == UVMP_ACTION_FREE))
			(void)naive_perform_group(n);
	}
}

bool naive_has_memory(const struct naive_service *n, const struct block *b)
{
	for (uint32_t p = 1; p < n->procs; p++)
		for (uint32_t i = 0; i < b->pages; i++)
			if (b->owned[p][i].exists || b->is_known[p])
				return true;
	return false;
}
