/* The pass as docs/engine.md tells it: every paragraph of it is a function here. Sets of pages are arrays of
 * flags, sets of ranges, blocks and channels are arrays with holes. */
#include "naive_service.h"

#include <stdlib.h>
#include <string.h>

#include "naive_counter.h"
#include "naive_density.h"
#include "naive_plan.h"
#include "naive_residency.h"
#include "naive_withdraw.h"

#define NONE  UVMP_PROC_NONE
#define PAGES NAIVE_SERVICE_PAGES
#define WALKS 1100u

/* -- what there is --------------------------------------------------------------------------- */

struct page {
	uint64_t resident;
	uint64_t evicted; /* GPUs that lost it by eviction */
	uint8_t right[NAIVE_PROCS];
	bool is_duplicated, is_discarded;
};

/* A chunk that backs pages [first, end) of a block on a GPU. */
struct owned {
	bool exists, is_announced;
	uint32_t first, end;
	struct uvmp_chunk chunk;
};

struct range {
	bool exists;
	uint64_t space;
	uvmp_addr base, end, origin; /* end inclusive */
	enum uvmp_right right;
	uint32_t home, preferred;
	uint64_t accessed_by;
	enum uvmp_read_duplication duplication;
};

struct block {
	bool exists;
	uint32_t number;
	uint64_t space, stamp; /* when it was made */
	struct range *range;
	uvmp_addr start;
	uint32_t pages;
	struct page page[PAGES];
	struct owned owned[NAIVE_PROCS][PAGES]; /* by first page */
	/* orders of units: has there been memory since it was last given up, the latest touch of each unit, and how many */
	bool is_known[NAIVE_PROCS];
	uint64_t touch[NAIVE_PROCS][PAGES], touches[NAIVE_PROCS][PAGES];
	uint32_t frame[NAIVE_PROCS][PAGES]; /* of the unit with this first page, from 1 on; 0: none */
	uint32_t place[NAIVE_PROCS], places; /* newest first */
	struct uvmp_prefetch_state prefetch;
	bool is_suspect; /* the detector has, or has had, an array of its pages */
};

struct space {
	bool exists;
	uint64_t id;
	struct naive_thrash thrash;
};

struct channel {
	bool exists;
	uint32_t gpu, aperture, subcontext;
	uint64_t instance, space;
};

struct gpu {
	struct naive_pmm *pmm;
	uint32_t order_pages; /* of 4 KiB, of a unit of the order; 0: memory in chunks */
	uint32_t unit_pages;  /* the same in pages of the host */
	bool counts_units;   /* a unit counts with all its pages */
	/* frames of units: those that were given up, oldest first; and the last that was ever used */
	uint32_t free_frame[NAIVE_BLOCKS * PAGES], free_frames, last_frame;
	uint64_t memory_pages, clock;
	struct uvmp_fault *entry; /* the ring */
	uint32_t capacity, get, put, cached_put;
	struct naive_replay replay;
	struct uvmp_service_counts counts;
	struct uvmp_chunk parked[PAGES]; /* evicted for, not taken yet */
	uint32_t parkeds;
	struct uvmp_note *note; /* the ring */
	uint32_t notes, note_get, note_put, note_cached_put, note_batches;
};

enum request_kind { FREE_RANGE, FREE_PART, ADVISE, MIGRATE, WITHDRAW, CPU_FAULT };

struct request {
	enum request_kind kind;
	uint64_t ticket, space, bytes, thread;
	uvmp_addr base;
	enum uvmp_advice advice;
	enum uvmp_access access;
	uint32_t processor;
};

/* A chunk that is pinned until the operation ends. */
struct pin {
	struct block *block;
	uint32_t gpu, first;
};

struct naive_service {
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	uint32_t procs, page_bytes;
	uint32_t max_spaces, max_ranges, max_instances, max_requests;
	bool has_counters, maps_evicted;
	naive_service_group *host_group;
	void *host;
	uint64_t now, id, tickets, stamps;
	uint32_t batch, last_gpu;
	bool is_full; /* some memory has been */
	struct uvmp_action *group;
	enum uvmp_status *status;
	uvmp_mask *moved;
	uint32_t actions, performed; /* of this group; of the one before, which can still be read */
	struct space space[NAIVE_SPACES];
	struct range range[NAIVE_RANGES];
	struct block *block[NAIVE_BLOCKS];
	struct channel channel[NAIVE_CHANNELS];
	struct gpu gpu[NAIVE_PROCS];
	struct request request[NAIVE_REQUESTS];
	uint32_t requests;
	struct pin pin[NAIVE_PROCS * PAGES * 4u];
	uint32_t pins;
	struct naive_holds holds; /* of units, until some time */
	bool hint[PAGES], is_hint; /* of the prefetcher */
	struct uvmp_region subtree[PAGES];
	bool label[PAGES];         /* what the detector is told to be prefetched [driver: stale-prefetch-mask] */
	uint32_t present;

	/* the batch of the running bottom half */
	uint32_t in_gpu;
	struct naive_fetch *fetch;
	uint32_t order[NAIVE_FAULT_MAX];
	bool is_fatal[NAIVE_FAULT_MAX]; /* by position in order */
	uint8_t cancel_mode[NAIVE_FAULT_MAX];
	enum uvmp_status replay_error;     /* of the replay machine's last failure */
	uint32_t orders, position, walked; /* walked: of them now, from position on */
	bool has_fatal;
	bool has_next; /* a block with faults in this batch that is serviced next */
	uvmp_addr next_start;
	uint64_t fatal_space;
	bool was_prefetch_enabled;

	/* a CPU fault that was let pass [driver: cpu-fault] */
	uint64_t latch_ns, latch_thread, latch_space;
	uvmp_addr latch_page;
	bool is_latched;
};

static bool in(uint64_t set, uint32_t p)
{
	return p < 64 && (set >> p & 1) != 0;
}

static uint64_t bit(uint32_t p)
{
	return (uint64_t)1 << p;
}

static bool any(const bool *flag)
{
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			return true;
	return false;
}

static void pack(const bool *flag, uvmp_mask *mask)
{
	memset(mask, 0, sizeof(*mask));
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			uvmp_mask_set(mask, i);
}

static struct uvmp_region bounds(const bool *flag)
{
	struct uvmp_region region = {0, 0};

	for (uint32_t i = PAGES; i-- > 0;)
		if (flag[i])
			region.first = i;
	for (uint32_t i = 0; i < PAGES; i++)
		if (flag[i])
			region.end = i + 1;
	return region;
}

/* -- groups of actions ----------------------------------------------------------------------- */

static struct uvmp_action *emit(struct naive_service *n, enum uvmp_action_kind kind, enum uvmp_cause cause)
{
	struct uvmp_action *action = &n->group[n->actions++];

	memset(action, 0, sizeof(*action));
	action->id = ++n->id;
	action->after = n->actions == 1 ? 0 : action->id - 1;
	action->time_ns = n->now;
	action->kind = (uint8_t)kind;
	action->cause = (uint8_t)cause;
	action->from = action->to = NONE;
	action->batch = n->batch;
	return action;
}

static struct uvmp_action *emit_pages(struct naive_service *n, enum uvmp_action_kind kind,
                                      enum uvmp_cause cause, const struct block *b, const bool *pages)
{
	struct uvmp_action *action = emit(n, kind, cause);

	action->space = b->space;
	action->address = b->start;
	action->page_bytes = n->page_bytes;
	pack(pages, &action->pages);
	return action;
}

/* A page of a copy that has failed. */
static bool has_failed_to_move(const struct naive_service *n, uint32_t k, uint32_t i)
{
	return uvmp_mask_test(&n->group[k].pages, i) && !uvmp_mask_test(&n->moved[k], i);
}

/* The group is complete. The first status that is none of success. */
static enum uvmp_status perform(struct naive_service *n)
{
	enum uvmp_status status = UVMP_OK;
	uint32_t actions = n->actions;

	n->performed = 0;
	if (actions == 0)
		return UVMP_OK;
	memset(n->status, 0, actions * sizeof(*n->status));
	memset(n->moved, 0, actions * sizeof(*n->moved));
	n->host_group(n->host, n->group, actions, n->status, n->moved);
	n->actions = 0;
	n->performed = actions;
	for (uint32_t i = 0; i < actions; i++)
		if (status == UVMP_OK)
			status = n->status[i];
	return status;
}

/* -- spaces, channels, ranges, blocks -------------------------------------------------------- */

static struct space *find_space(struct naive_service *n, uint64_t id)
{
	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		if (n->space[i].exists && n->space[i].id == id)
			return &n->space[i];
	return NULL;
}

static struct space *make_space(struct naive_service *n, uint64_t id)
{
	struct space *space = find_space(n, id);

	for (uint32_t i = 0; i < n->max_spaces && space == NULL; i++)
		if (!n->space[i].exists) {
			space = &n->space[i];
			memset(space, 0, sizeof(*space));
			space->exists = true;
			space->id = id;
			naive_thrash_init(&space->thrash, &n->policy.thrash, &n->processors, NAIVE_BLOCKS,
			                  PAGES);
		}
	return space;
}

static void drop_space(struct naive_service *n, uint64_t id)
{
	struct space *space = find_space(n, id);

	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		if (n->range[i].exists && n->range[i].space == id)
			return;
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++)
		if (n->channel[i].exists && n->channel[i].space == id)
			return;
	naive_thrash_free(&space->thrash);
	space->exists = false;
}

static struct range *find_range(struct naive_service *n, uint64_t space, uvmp_addr address)
{
	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		if (n->range[i].exists && n->range[i].space == space && n->range[i].base <= address &&
		    address <= n->range[i].end)
			return &n->range[i];
	return NULL;
}

static struct block *find_block(const struct naive_service *n, uint64_t space, uvmp_addr address)
{
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++) {
		struct block *b = n->block[i];

		if (b->exists && b->space == space && b->start <= address &&
		    address < b->start + (uint64_t)b->pages * n->page_bytes)
			return b;
	}
	return NULL;
}

/* From now on the processor has state of the block. */
static void add_place(struct block *b, uint32_t p)
{
	for (uint32_t i = 0; i < b->places; i++)
		if (b->place[i] == p)
			return;
	for (uint32_t i = b->places; i > 0; i--)
		b->place[i] = b->place[i - 1];
	b->place[0] = p;
	b->places++;
}

static struct block *make_block(struct naive_service *n, struct range *range, uvmp_addr address)
{
	struct block *b = find_block(n, range->space, address);
	uvmp_addr first = address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;
	uvmp_addr last = first + (UVMP_ROOT_CHUNK_BYTES - 1u);
	uint32_t i = 0;

	if (b != NULL)
		return b;
	while (n->block[i]->exists)
		i++;
	b = n->block[i];
	memset(b, 0, sizeof(*b));
	b->exists = true;
	b->number = i;
	b->stamp = ++n->stamps;
	b->space = range->space;
	b->range = range;
	b->start = first > range->base ? first : range->base;
	last = last < range->end ? last : range->end;
	b->pages = (uint32_t)((last - b->start + 1) / n->page_bytes);
	b->prefetch.last_proc = NONE;
	if (range->home == UVMP_CPU) {
		add_place(b, UVMP_CPU);
		for (uint32_t p = 0; p < b->pages; p++) {
			b->page[p].resident = 1;
			b->page[p].right[0] = (uint8_t)range->right;
		}
	}
	return b;
}

static struct space *space_of(struct naive_service *n, const struct block *b)
{
	return find_space(n, b->space);
}

static struct naive_thrash_block *thrash_of(struct naive_service *n, const struct block *b)
{
	return &space_of(n, b)->thrash.block[b->number];
}

/* Pages of 64 KiB and more are big pages themselves. */
static uint32_t big_pages(const struct naive_service *n)
{
	return n->page_bytes < 65536u ? 65536u / n->page_bytes : 1u;
}

/* [driver: root-chunks]: one chunk of 2 MiB, else aligned big pages, else pages. */
static struct uvmp_region chunk_around(const struct naive_service *n, const struct block *b, uint32_t page)
{
	uint32_t big = big_pages(n);
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

static uint32_t size_of(const struct naive_service *n, struct uvmp_region region)
{
	uint64_t bytes = (uint64_t)(region.end - region.first) * n->page_bytes;

	return bytes == UVMP_ROOT_CHUNK_BYTES ? UVMP_CHUNK_2M
	       : bytes == 65536u              ? UVMP_CHUNK_64K
	                                      : UVMP_CHUNK_4K;
}

static uint64_t offset_of(struct uvmp_chunk chunk)
{
	return (uint64_t)chunk.root * UVMP_ROOT_CHUNK_BYTES + (uint64_t)chunk.page * 4096u;
}

/* The smallest chunks have 4 KiB, or a page of 16 KiB. */
static uint32_t bytes_of(const struct naive_service *n, struct uvmp_chunk chunk)
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
static void unpin_all(struct naive_service *n)
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
static void mark(struct naive_service *n, struct block *b, uint32_t p, const bool *pages,
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

static bool is_anywhere_on(const struct block *b, uint32_t p)
{
	for (uint32_t i = 0; i < b->pages; i++)
		if (in(b->page[i].resident, p))
			return true;
	return false;
}

static bool is_on(const struct block *b, uint32_t i, uint32_t p)
{
	return in(b->page[i].resident, p);
}

/* A frame may be reused. */
static void give_frame(struct gpu *g, uint32_t *frame)
{
	if (*frame != 0)
		g->free_frame[g->free_frames++] = *frame;
	*frame = 0;
}

/* A frame for the unit: the one that was given up first, or a new one. */
static void take_frame(struct gpu *g, uint32_t *frame)
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
static void give_frames(struct gpu *g, struct block *b, uint32_t gpu, const bool *left)
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
static void leave(struct naive_service *n, struct block *b, uint32_t p, const bool *pages, bool is_free)
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
		give_frames(&n->gpu[p], b, p, left);
	memset(all, 1, sizeof(all));
	if (is_gone && !is_anywhere_on(b, p))
		mark(n, b, p, all, UVMP_MARK_UNUSED);
}

/* -- eviction -------------------------------------------------------------------------------- */

/* UNMAP of these pages from a processor. */
static void unmap(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
                  const bool *pages, uvmp_addr for_address)
{
	bool gone[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t i = 0; i < b->pages; i++)
		gone[i] = pages[i] && b->page[i].right[p] != UVMP_RIGHT_NONE;
	if (!any(gone))
		return;
	action = emit_pages(n, UVMP_ACTION_UNMAP, cause, b, gone);
	action->to = (uint8_t)p;
	action->for_address = for_address;
	for (uint32_t i = 0; i < b->pages; i++)
		if (gone[i])
			b->page[i].right[p] = UVMP_RIGHT_NONE;
}

static bool is_local_only(const struct naive_service *n, const struct range *range, uint32_t p)
{
	return range->duplication == UVMP_DUPLICATION_ENABLED ||
	       (range->preferred == p && !in(n->processors.no_memory, p));
}

/* [driver: va-policy]: the highest right that is possible remotely. */
static uint8_t remote_right(const struct naive_service *n, const struct block *b, uint32_t i, uint32_t p,
                            uint32_t holder)
{
	uint64_t native = n->processors.native_atomics[holder];
	uint8_t right = UVMP_RIGHT_READ_WRITE_ATOMIC;

	for (uint32_t other = 0; other < n->procs; other++)
		if (other != p && !in(native, p) && b->page[i].right[other] >= UVMP_RIGHT_READ_WRITE)
			right = UVMP_RIGHT_READ_WRITE;
	for (uint32_t other = 0; other < n->procs; other++)
		if (other != p && !in(native, other) &&
		    b->page[i].right[other] == UVMP_RIGHT_READ_WRITE_ATOMIC)
			right = UVMP_RIGHT_READ;
	return right < (uint8_t)b->range->right ? right : (uint8_t)b->range->right;
}

/* A processor is mapped to pages that others hold. */
static void map_remote(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
                       const bool *pages, uvmp_addr for_address)
{
	for (uint32_t holder = 0; holder < n->procs && !is_local_only(n, b->range, p); holder++) {
		uint8_t gain[PAGES] = {0};

		for (uint32_t i = 0; i < b->pages && in(n->processors.can_access[p], holder); i++) {
			const struct page *page = &b->page[i];

			if (pages[i] && !in(page->resident, p) && !page->is_duplicated &&
			    naive_closest(&n->processors, p, page->resident) == holder &&
			    remote_right(n, b, i, p, holder) > page->right[p])
				gain[i] = remote_right(n, b, i, p, holder);
		}
		for (uint8_t right = 1; right <= 3; right++) {
			bool flag[PAGES] = {false};
			struct uvmp_action *action;

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = gain[i] == right;
			if (!any(flag))
				continue;
			add_place(b, p);
			action = emit_pages(n, UVMP_ACTION_MAP, cause, b, flag);
			action->to = (uint8_t)p;
			action->from = (uint8_t)holder;
			action->right = right;
			action->for_address = for_address;
			for (uint32_t i = 0; i < b->pages; i++)
				if (flag[i])
					b->page[i].right[p] = right;
		}
	}
}

/* Accessed-by processors get their mappings of evicted pages back. */
static void map_evicted(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages,
                        uvmp_addr for_address)
{
	for (uint32_t p = 0; p < n->procs; p++)
		if (in(b->range->accessed_by, p) || (p == gpu && n->maps_evicted))
			map_remote(n, UVMP_CAUSE_EVICTION, b, p, pages, for_address);
}

/* The page at which the memory of a GPU continues at another offset. */
static void mark_cuts(const struct naive_service *n, const struct block *b, uint32_t gpu, bool *cut)
{
	uint64_t behind = UINT64_MAX;

	for (uint32_t p = 0; p < b->pages; p++) {
		const struct owned *o = &b->owned[gpu][p];

		if (!o->exists)
			continue;
		cut[p] = cut[p] || offset_of(o->chunk) != behind;
		behind = offset_of(o->chunk) + (uint64_t)(o->end - o->first) * n->page_bytes;
	}
}

/* -- orders of units [uvmsmart: eviction-list, evictable, eviction-trigger, victim-selection] -- */

/* Does a page count against the memory? It is resident, or with counts_units another page of its unit is. `want`: pages that
 * are on their way, or NULL. */
static bool page_counts(const struct naive_service *n, const struct block *b, uint32_t gpu, uint32_t page,
                        const bool *want)
{
	uint32_t unit = n->gpu[gpu].counts_units ? n->gpu[gpu].unit_pages : 1, first = page - page % unit;
	bool counts = false;

	for (uint32_t i = first; i < first + unit && i < b->pages; i++)
		counts = counts || in(b->page[i].resident, gpu) || (want != NULL && want[i]);
	return counts;
}

static uint32_t count_pages(const struct naive_service *n, uint32_t gpu)
{
	uint32_t pages = 0;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++)
			pages += page_counts(n, n->block[k], gpu, i, NULL);
	return pages;
}

/* Pages have come or are used: a large page is touched as soon as any page of it is there. */
static void touch_units(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages)
{
	struct gpu *g = &n->gpu[gpu];
	uint32_t size = gpu == UVMP_CPU ? 0 : g->unit_pages;

	for (uint32_t first = 0; size != 0 && first < b->pages; first += size) {
		bool is_touched = false;

		for (uint32_t i = first; i < b->pages && i < first + size; i++)
			is_touched = is_touched || pages[i] || (g->order_pages == PAGES && is_on(b, i, gpu));
		if (!is_touched)
			continue;
		b->touch[gpu][first / size] = ++g->clock;
		b->touches[gpu][first / size]++;
	}
}

struct unit {
	struct block *block;
	uint32_t first;
	uint64_t key[2];
};

static bool is_unit_there(const struct gpu *g, const struct block *b, uint32_t gpu, uint32_t first)
{
	for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++)
		if (is_on(b, i, gpu))
			return true;
	return false;
}

/* What the order compares: the group's newest touch before the own one, or the number of touches. */
static void set_key(const struct naive_service *n, uint32_t gpu, struct unit *unit)
{
	const struct gpu *g = &n->gpu[gpu];
	struct block *b = unit->block;

	unit->key[0] = 0;
	unit->key[1] = b->touch[gpu][unit->first / g->unit_pages];
	if (n->policy.evict == UVMP_EVICT_LFU_2M)
		unit->key[0] = b->touches[gpu][unit->first / g->unit_pages];
	if (n->policy.evict != UVMP_EVICT_SL_64K && n->policy.evict != UVMP_EVICT_TBN)
		return;
	for (uint32_t first = 0; first < b->pages; first += g->unit_pages)
		if (is_unit_there(g, b, gpu, first) && b->touch[gpu][first / g->unit_pages] > unit->key[0])
			unit->key[0] = b->touch[gpu][first / g->unit_pages];
}

static int compare_units(const void *x, const void *y)
{
	const struct unit *a = x, *b = y;
	int k = a->key[0] == b->key[0];

	return a->key[k] < b->key[k] ? -1 : a->key[k] > b->key[k];
}

/* The list, sorted. */
static uint32_t sort_units(const struct naive_service *n, uint32_t gpu, struct unit *unit)
{
	uint32_t units = 0;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages;
		     i += n->gpu[gpu].unit_pages)
			if (is_unit_there(&n->gpu[gpu], n->block[k], gpu, i)) {
				unit[units] = (struct unit){.block = n->block[k], .first = i};
				set_key(n, gpu, &unit[units++]);
			}
	qsort(unit, units, sizeof(*unit), compare_units);
	return units;
}

/* Do pages arrive in this part of the faulting block? A page may be evicted for other pages of its block. */
static bool is_unit_busy(const struct gpu *g, const struct block *b, const bool *want,
                         const struct unit *unit)
{
	if (b != unit->block || g->order_pages == 1)
		return false;
	for (uint32_t i = unit->first; i < unit->first + g->unit_pages; i++)
		if (want[i])
			return true;
	return g->order_pages == PAGES;
}

static bool is_complete(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	for (uint32_t i = unit->first; i < unit->block->pages && i < unit->first + n->gpu[gpu].unit_pages; i++)
		if (!is_on(unit->block, i, gpu))
			return false;
	return true;
}

/* [uvmsmart: evictable]: a basic block leaves only if all its pages are resident, and so does a unit of lfu2m
 * [uvmsmart: incomplete-tree-stays]. */
static bool is_spared(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	bool spares = n->policy.evict == UVMP_EVICT_SL_64K || n->policy.evict == UVMP_EVICT_TBN ||
	              n->policy.evict == UVMP_EVICT_LFU_2M;

	return spares && n->policy.quirks && !is_complete(n, gpu, unit);
}

/* [uvmsmart: evictable]: an access or a copy is under way. [uvmsmart: incomplete-tree-stays]: a unit of 2 MiB that was held
 * stays while a page of it is missing. */
static bool is_held(const struct naive_service *n, uint32_t gpu, const struct unit *unit)
{
	uint64_t until_ns;

	if (!naive_was_held(&n->holds, gpu, unit->block->number, unit->first / n->gpu[gpu].unit_pages, &until_ns))
		return false;
	return until_ns > n->now || (n->policy.quirks && n->gpu[gpu].order_pages == PAGES && !is_complete(n, gpu, unit));
}

/* TBNe: fill states of the tree's nodes, from the leaves up, and what is dropped. */
struct basic_block {
	uint32_t valid;
	bool may_leave, leaves;
};

static uint32_t sum(const struct basic_block *block, uint32_t first, uint32_t blocks)
{
	uint32_t pages = 0;

	for (uint32_t i = first; i < first + blocks; i++)
		pages += block[i].valid;
	return pages;
}

static void balance(struct basic_block *block, uint32_t first, uint32_t blocks)
{
	uint32_t pages;

	if (blocks == 1)
		return;
	balance(block, first, blocks / 2);
	balance(block, first + blocks / 2, blocks / 2);
	pages = sum(block, first, blocks);
	for (uint32_t i = first; i < first + blocks && pages != 0 && 2 * pages < 16 * blocks; i++)
		if (block[i].valid == 16 && block[i].may_leave) {
			block[i].valid = 0;
			block[i].leaves = true;
		}
}

static void take_closure(const struct naive_service *n, uint32_t gpu, const struct block *step, const bool *want,
                         const struct unit *unit, bool *rest)
{
	const struct gpu *g = &n->gpu[gpu];
	const struct block *b = unit->block;
	struct basic_block block[32] = {{0, false, false}};
	uint32_t blocks = 1;

	while (16 * blocks < b->pages)
		blocks *= 2;
	for (uint32_t k = 0; k < blocks; k++) {
		struct unit other = {.block = unit->block, .first = 16 * k};
		uint32_t here = 0;

		for (uint32_t i = 16 * k; i < b->pages && i < 16 * k + 16; i++) {
			here += is_on(b, i, gpu);
			block[k].valid += is_on(b, i, gpu) || (b == step && want[i]);
		}
		block[k].may_leave = here == 16 && !is_unit_busy(g, step, want, &other) && !is_held(n, gpu, &other);
		if (16 * k == unit->first)
			block[k].valid -= here;
	}
	balance(block, 0, blocks);
	for (uint32_t i = 0; i < PAGES; i++)
		rest[i] = rest[i] || block[i / 16].leaves;
}

/* Which unit leaves, while these pages come to a block (NULL: none)? */
static bool choose_unit(const struct naive_service *n, uint32_t gpu, const struct block *b, const bool *want,
                        bool withdraws, struct unit *victim)
{
	struct unit *unit = malloc((size_t)NAIVE_BLOCKS * PAGES * sizeof(*unit));
	struct naive_candidate *list = malloc((size_t)NAIVE_BLOCKS * PAGES * sizeof(*list));
	uint32_t units = sort_units(n, gpu, unit), at;

	for (uint32_t i = 0; i < units; i++)
		list[i] = (struct naive_candidate){.is_own = is_unit_busy(&n->gpu[gpu], b, want, &unit[i]),
		                                   .is_spared = is_spared(n, gpu, &unit[i]),
		                                   .is_held = is_held(n, gpu, &unit[i])};
	at = naive_choose(list, units, units * n->policy.reserve / 100, withdraws);
	if (at != NAIVE_NO_UNIT)
		*victim = unit[at];
	free(list);
	free(unit);
	return at != NAIVE_NO_UNIT;
}

/* What an eviction is about, and the block that leaves now. */
struct eviction {
	bool rest[PAGES]; /* order of units: what has to leave yet */
	uint32_t gpu, root, number;
	int victim;
	uvmp_addr for_address;
	struct block *block;
	bool held[PAGES], leaving[PAGES], lost[PAGES], copied[PAGES];
	struct naive_transfer out[UVMP_PLAN_TRANSFERS_MAX];
	uint32_t outs;
};

static void plan_out(struct naive_service *n, struct eviction *e)
{
	static uvmp_mask resident[NAIVE_PROCS];
	bool cut[PAGES] = {false};
	uvmp_mask pages, cuts;
	struct uvmp_copy_facts facts = {.to = UVMP_CPU,
	                                .pages = &pages,
	                                .resident = resident,
	                                .grouping = UVMP_GROUPING_BY_CAUSE,
	                                .cuts = &cuts};

	memset(resident, 0, sizeof(resident));
	pack(e->copied, &pages);
	for (uint32_t p = 1; p < n->processors.count; p++) {
		bool here[PAGES] = {false};

		for (uint32_t i = 0; i < e->block->pages; i++)
			here[i] = e->copied[i] && in(e->block->page[i].resident, p);
		pack(here, &resident[p]);
	}
	mark_cuts(n, e->block, e->gpu, cut);
	pack(cut, &cuts);
	e->outs = naive_plan_copies(&n->processors, &facts, e->out);
}

/* Order of units: the first of the runs that have to leave, as far as it is there. */
static void hold_run(const struct naive_service *n, struct eviction *e, const struct block *b)
{
	uint32_t i = 0;

	if (n->gpu[e->gpu].unit_pages == 0)
		return;
	while (!e->rest[i])
		i++;
	for (; i < PAGES && e->rest[i]; i++) {
		e->rest[i] = false;
		e->held[i] = i < b->pages && is_on(b, i, e->gpu);
		e->leaving[i] = e->held[i];
		e->lost[i] = e->held[i] && b->page[i].is_discarded;
		e->copied[i] = e->held[i] && !is_on(b, i, UVMP_CPU) && !b->page[i].is_discarded;
	}
}

/* A block is told to leave the root; its copies are planned. */
static void begin_leaving(struct naive_service *n, struct eviction *e, struct block *b)
{
	struct uvmp_action *action;

	e->block = b;
	memset(e->held, 0, sizeof(e->held));
	memset(e->leaving, 0, sizeof(e->leaving));
	memset(e->lost, 0, sizeof(e->lost));
	memset(e->copied, 0, sizeof(e->copied));
	hold_run(n, e, b);
	for (uint32_t f = 0; f < b->pages; f++) {
		const struct owned *o = &b->owned[e->gpu][f];

		for (uint32_t i = f; o->exists && o->chunk.root == e->root && i < o->end; i++) {
			e->held[i] = true;
			e->leaving[i] = in(b->page[i].resident, e->gpu);
			e->lost[i] = e->leaving[i] && b->page[i].is_discarded;
			e->copied[i] = e->leaving[i] && !in(b->page[i].resident, UVMP_CPU) &&
			               !b->page[i].is_discarded;
		}
	}
	if (any(e->copied))
		add_place(b, UVMP_CPU);
	action = emit_pages(n, UVMP_ACTION_EVICT, UVMP_CAUSE_EVICTION, b, e->held);
	action->from = (uint8_t)e->gpu;
	action->victim = (uint8_t)e->victim;
	action->count = e->number++;
	action->offset = (uint64_t)e->root * UVMP_ROOT_CHUNK_BYTES;
	action->for_address = e->for_address;
	for (uint32_t i = 0; i < b->pages; i++)
		action->detail += e->held[i] ? n->page_bytes : 0;
	for (uint32_t i = 0; i < b->places; i++)
		unmap(n, UVMP_CAUSE_EVICTION, b, b->place[i], e->leaving, e->for_address);
	if (any(e->lost)) {
		action = emit_pages(n, UVMP_ACTION_DISCARD, UVMP_CAUSE_EVICTION, b, e->lost);
		action->from = (uint8_t)e->gpu;
		action->for_address = e->for_address;
	}
	plan_out(n, e);
}

/* The copies have ended: what has arrived is the CPU's. If all has, the memory is gone. */
static enum uvmp_status end_leaving(struct naive_service *n, struct eviction *e)
{
	struct block *b = e->block;
	struct uvmp_pmm_eviction ignored;
	enum uvmp_status status = UVMP_OK;
	bool found;

	for (uint32_t k = 0; k < n->performed; k++)
		if (n->group[k].kind == UVMP_ACTION_COPY && n->group[k].cause == UVMP_CAUSE_EVICTION &&
		    n->status[k] != UVMP_OK) {
			status = n->status[k];
			for (uint32_t i = 0; i < PAGES; i++)
				if (has_failed_to_move(n, k, i))
					e->leaving[i] = false;
		}
	for (uint32_t i = 0; i < b->pages; i++)
		if (e->leaving[i] && e->copied[i])
			b->page[i].resident |= 1;
	for (uint32_t p = 1; p < n->processors.count; p++)
		leave(n, b, p, e->leaving, false);
	for (uint32_t i = 0; i < b->pages; i++) {
		b->page[i].is_duplicated = b->page[i].is_duplicated && !e->leaving[i];
		e->leaving[i] = e->leaving[i] && !e->lost[i];
	}
	if (n->gpu[e->gpu].unit_pages != 0) {
		for (uint32_t i = 0; i < b->pages; i++)
			e->held[i] = e->held[i] && is_on(b, i, e->gpu);
		if (status != UVMP_OK)
			touch_units(n, b, e->gpu, e->held);
		else
			map_evicted(n, b, e->gpu, e->leaving, e->for_address);
		(void)perform(n);
		return status;
	}
	if (status != UVMP_OK)
		return status;
	naive_pmm_evict_next(n->gpu[e->gpu].pmm, e->root, &ignored, &found);
	for (uint32_t f = 0; f < b->pages; f++)
		if (e->held[f])
			b->owned[e->gpu][f].exists = false;
	map_evicted(n, b, e->gpu, e->leaving, e->for_address);
	(void)perform(n);
	return UVMP_OK;
}

static int victim_of(const struct naive_pmm *before, uint32_t root)
{
	static const int kind[] = {UVMP_VICTIM_UNUSED, UVMP_VICTIM_DISCARDED, UVMP_VICTIM_USED};
	int queue = before->root[root].queue;

	return queue < 3 ? kind[queue] : UVMP_VICTIM_FREE;
}

/* Who has the first memory of the root? */
static struct block *first_owner(struct naive_service *n, uint32_t gpu, uint32_t root)
{
	struct block *first = NULL;
	uint32_t lowest = UINT32_MAX;

	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++) {
			const struct owned *o = &n->block[k]->owned[gpu][i];

			if (o->exists && o->chunk.root == root && o->chunk.page < lowest) {
				lowest = o->chunk.page;
				first = n->block[k];
			}
		}
	return first;
}

/* -- the step -------------------------------------------------------------------------------- */

struct step {
	struct block *block;
	uint32_t requester;
	enum uvmp_cause cause;
	enum uvmp_migrate_cause migrate_cause;
	bool is_retry, is_prefetching, is_unmapped; /* unmapped: no processor is mapped afterwards */
	bool withdraws; /* a victim comes back */
	bool want[NAIVE_PROCS][PAGES], duplicate[PAGES], pinned[PAGES], prefetched[PAGES];
	uint8_t access[PAGES];
	uint64_t procs[PAGES]; /* of pinned pages */
	uint32_t throttles[PAGES];
	uint32_t faults, present; /* pages that faulted; that were there when the prefetcher was asked */
	uint32_t source[PAGES];   /* from where the pages of this destination come; itself: they are there */
	bool arrived[PAGES];
};

static void resident_on(const struct block *b, uint32_t p, bool *flag)
{
	for (uint32_t i = 0; i < PAGES; i++)
		flag[i] = i < b->pages && in(b->page[i].resident, p);
}

static bool ask_density(struct naive_service *n, struct step *s, uint32_t dst, bool *more)
{
	struct block *b = s->block;
	const struct naive_thrash_block *thrash = thrash_of(n, b);
	bool flag[PAGES];
	uvmp_mask faulted, resident, mapped, thrashing;
	struct uvmp_prefetch_facts facts;
	struct naive_density hint;

	memset(&facts, 0, sizeof(facts));
	facts.block.start = b->start;
	facts.block.last = b->start + (uint64_t)b->pages * n->page_bytes - 1;
	facts.block.pages = b->pages;
	facts.block.big_pages = big_pages(n);
	facts.block.offset = (uint32_t)(b->start / n->page_bytes % facts.block.big_pages);
	pack(s->want[dst], &faulted);
	facts.faulted = &faulted;
	facts.faulted_region = bounds(s->want[dst]);
	resident_on(b, dst, flag);
	pack(flag, &resident);
	facts.resident = &resident;
	facts.to = dst;
	facts.preferred = b->range->preferred;
	facts.has_preferred = facts.preferred != NONE;
	facts.is_first_touch = true;
	for (uint32_t i = 0; i < PAGES; i++) {
		flag[i] = i < b->pages && b->page[i].right[0] != UVMP_RIGHT_NONE;
		if (i < b->pages && b->page[i].resident != 0)
			facts.is_first_touch = false;
	}
	pack(flag, &mapped);
	facts.cpu_read_mapped = &mapped;
	memset(flag, 0, sizeof(flag));
	for (uint32_t i = 0; i < b->pages; i++)
		flag[i] = thrash->has_array && thrash->page[i].thrashing;
	pack(flag, &thrashing);
	facts.thrashing = n->policy.thrash.is_enabled && any(flag) ? &thrashing : NULL;
	naive_density(&n->policy.prefetch, &facts, &b->prefetch, &hint);
	b->prefetch.last_proc = hint.last_proc;
	b->prefetch.faults = (uint16_t)hint.faults;
	memcpy(more, hint.pages, PAGES);
	memcpy(n->subtree, hint.subtree, sizeof(n->subtree));
	return hint.to != NONE;
}

/* What else comes: the answer stays for the walks that repeat this one. */
static void ask(struct naive_service *n, struct step *s, uint32_t dst)
{
	const struct block *b = s->block;
	bool is_density = n->policy.prefetch.prefetcher == UVMP_PREFETCH_DENSITY, is_missing = false;

	s->present = 0;
	for (uint32_t i = 0; i < b->pages; i++) {
		s->present += in(b->page[i].resident, dst);
		is_missing = is_missing || (s->want[dst][i] && !in(b->page[i].resident, dst));
	}
	n->present = s->present;
	memset(n->hint, 0, sizeof(n->hint));
	memset(n->subtree, 0, sizeof(n->subtree));
	n->is_hint = false;
	if (is_density) {
		n->is_hint = ask_density(n, s, dst, n->hint);
	} else if (n->policy.prefetch.prefetcher == UVMP_PREFETCH_BLOCK && is_missing) {
		for (uint32_t i = 0; i < b->pages; i++)
			n->hint[i] = !s->want[dst][i] && !in(b->page[i].resident, dst);
		n->is_hint = any(n->hint);
	}
}

static void prefetch(struct naive_service *n, struct step *s, uint32_t destinations, uint32_t dst)
{
	struct block *b = s->block;
	bool is_density = n->policy.prefetch.prefetcher == UVMP_PREFETCH_DENSITY;

	for (uint32_t p = 0; p < n->procs; p++)
		for (uint32_t i = 0; i < b->pages; i++)
			s->faults += s->want[p][i];
	if (!s->is_prefetching || destinations != 1 || (dst == UVMP_CPU && !is_density)) {
		n->is_hint = false;
		if (!n->policy.quirks || !s->is_prefetching) /* else [driver: stale-prefetch-mask]: labels stay */
			memset(n->label, 0, sizeof(n->label));
		return;
	}
	if (!s->is_retry || is_density)
		ask(n, s, dst);
	s->present = n->present;
	for (uint32_t i = 0; i < PAGES; i++) /* a page evicted for its own block does not return */
		n->label[i] =
		        n->hint[i] && !s->want[dst][i] &&
		        !(n->is_hint && dst != UVMP_CPU && n->gpu[dst].unit_pages != 0 && is_on(b, i, dst));
	for (uint32_t i = 0; i < b->pages && n->is_hint; i++) {
		if (!n->label[i])
			continue;
		s->want[dst][i] = s->prefetched[i] = true;
		s->access[i] = UVMP_ACCESS_PREFETCH;
		s->duplicate[i] =
		        b->range->duplication == UVMP_DUPLICATION_ENABLED ||
		        (b->range->duplication == UVMP_DUPLICATION_UNSET && b->page[i].is_duplicated);
	}
}

static bool take_parked(struct gpu *g, uint32_t size, struct uvmp_chunk *chunk)
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

static void own(struct naive_service *n, struct block *b, uint32_t gpu, struct uvmp_region region,
                struct uvmp_chunk chunk)
{
	b->owned[gpu][region.first] = (struct owned){true, false, region.first, region.end, chunk};
	n->pin[n->pins++] = (struct pin){b, gpu, region.first};
	add_place(b, gpu);
}

/* ALLOCATE for the chunks that are wanted and that the host does not know yet. */
static uint32_t announce(struct naive_service *n, const struct step *s, uint32_t gpu, uint32_t *first)
{
	struct block *b = s->block;
	uint32_t firsts = 0;

	for (uint32_t k = 0; k < n->pins; k++) {
		struct owned *o = &n->pin[k].block->owned[n->pin[k].gpu][n->pin[k].first];
		bool pages[PAGES] = {false}, has_faulted = false, is_wanted = false;
		struct uvmp_action *action;

		if (n->pin[k].block != b || n->pin[k].gpu != gpu || o->is_announced)
			continue;
		for (uint32_t i = o->first; i < o->end; i++) {
			pages[i] = true;
			is_wanted = is_wanted || s->want[gpu][i];
			has_faulted = has_faulted || (s->want[gpu][i] && !s->prefetched[i]);
		}
		if (!is_wanted)
			continue;
		action = emit_pages(n, UVMP_ACTION_ALLOCATE, has_faulted ? s->cause : UVMP_CAUSE_PREFETCH, b,
		                    pages);
		action->to = (uint8_t)gpu;
		action->offset = offset_of(o->chunk);
		action->detail = bytes_of(n, o->chunk);
		o->is_announced = true;
		first[firsts++] = o->first;
	}
	return firsts;
}

static void disown(struct naive_service *n, struct block *b, uint32_t gpu, uint32_t first)
{
	struct owned *o = &b->owned[gpu][first];

	naive_pmm_free(n->gpu[gpu].pmm, o->chunk);
	forget_pins(n, b, gpu, first);
	o->exists = false;
}

static enum uvmp_status evict(struct naive_service *n, uint32_t gpu, uint32_t size, struct block *b);
static enum uvmp_status evict_unit(struct naive_service *n, uint32_t gpu, const struct block *b,
                                   const bool *want, bool withdraws, uvmp_addr for_address);

/* [uvmsmart: eviction-trigger]: does it fit, beside what is to be kept free? */
static bool is_over(const struct naive_service *n, uint32_t gpu, uint64_t coming)
{
	uint64_t total = n->gpu[gpu].memory_pages;

	return 100 * total < total * n->policy.free_buffer + 100 * (count_pages(n, gpu) + coming);
}

/* Memory for less than a block: the wanted pages of some units stay wanted, those of others are left out. */
static void drop_units(const struct naive_service *n, struct step *s, uint32_t gpu)
{
	const struct gpu *g = &n->gpu[gpu];
	uint64_t most = g->memory_pages / g->unit_pages, kept = 0;
	bool keep[PAGES] = {false};

	for (int with_fault = 1; with_fault >= 0; with_fault--)
		for (uint32_t first = 0; first < s->block->pages; first += g->unit_pages) {
			bool is_wanted = false;

			for (uint32_t i = first; i < s->block->pages && i < first + g->unit_pages; i++)
				is_wanted = is_wanted ||
				            (s->want[gpu][i] && (with_fault == 0 || !s->prefetched[i]));
			if (is_wanted && !keep[first] && kept < most) {
				keep[first] = true;
				kept++;
			}
		}
	for (uint32_t i = 0; i < s->block->pages; i++)
		s->want[gpu][i] = s->want[gpu][i] && keep[i - i % g->unit_pages];
}

/* Orders of units: evicts until the wanted pages that are not resident fit. */
static enum uvmp_status make_room(struct naive_service *n, struct step *s, uint32_t gpu)
{
	struct block *b = s->block;
	enum uvmp_status status = UVMP_OK;

	b->is_known[gpu] = true;
	while (status == UVMP_OK) {
		uint32_t missing = 0;

		for (uint32_t i = 0; i < b->pages; i++)
			missing += page_counts(n, b, gpu, i, s->want[gpu]) && !page_counts(n, b, gpu, i, NULL);
		n->is_full = n->is_full || is_over(n, gpu, missing);
		if (count_pages(n, gpu) + missing <= n->gpu[gpu].memory_pages)
			return UVMP_OK;
		status = evict_unit(n, gpu, b, s->want[gpu], s->withdraws, b->start);
	}
	return status;
}

/* Neighbouring units of a block with neighbouring frames, as one action. */
struct frame_run {
	bool pages[PAGES];
	uint32_t next, frame, frames; /* page behind, first frame, and how many */
	enum uvmp_cause cause;
};

static void emit_frames(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
                        struct frame_run *run)
{
	uint64_t bytes = (uint64_t)n->gpu[gpu].order_pages * 4096;
	struct uvmp_action *action;

	if (run->frames == 0)
		return;
	action = emit_pages(n, kind, run->cause, b, run->pages);
	*(kind == UVMP_ACTION_FREE ? &action->from : &action->to) = (uint8_t)gpu;
	action->offset = (run->frame - 1) * bytes;
	action->detail = (uint32_t)(run->frames * bytes);
	memset(run, 0, sizeof(*run));
}

/* The unit with this first page joins the run, or begins one. */
static void add_frame(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
                      uint32_t first, enum uvmp_cause cause, struct frame_run *run)
{
	uint32_t frame = b->frame[gpu][first];

	if (run->next != first || run->frame + run->frames != frame || run->cause != cause)
		emit_frames(n, b, gpu, kind, run);
	if (run->frames++ == 0)
		run->frame = frame;
	run->cause = cause;
	run->next = first + n->gpu[gpu].unit_pages;
	for (uint32_t i = first; i < run->next && i < b->pages; i++)
		run->pages[i] = true;
}

/* Order of units: frames for the units of the wanted pages. */
static enum uvmp_status allocate_frames(struct naive_service *n, struct step *s, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct block *b = s->block;
	struct frame_run run = {{false}, 0, 0, 0, UVMP_CAUSE_NONE};
	enum uvmp_status status;

	for (uint32_t first = 0; first < b->pages; first += g->unit_pages) {
		bool is_wanted = false, has_faulted = false;

		for (uint32_t i = first; i < b->pages && i < first + g->unit_pages; i++) {
			is_wanted = is_wanted || s->want[gpu][i];
			has_faulted = has_faulted || (s->want[gpu][i] && !s->prefetched[i]);
		}
		if (!is_wanted || b->frame[gpu][first] != 0)
			continue;
		take_frame(g, &b->frame[gpu][first]);
		add_frame(n, b, gpu, UVMP_ACTION_ALLOCATE, first,
		          has_faulted ? s->cause : UVMP_CAUSE_PREFETCH, &run);
	}
	emit_frames(n, b, gpu, UVMP_ACTION_ALLOCATE, &run);
	if (n->actions == 0)
		return UVMP_OK;
	status = perform(n);
	if (status != UVMP_OK)
		give_frames(g, b, gpu, s->want[gpu]);
	return status;
}

/* Every missing chunk of a destination. */
static enum uvmp_status allocate(struct naive_service *n, struct step *s, uint32_t gpu)
{
	struct block *b = s->block;
	uint32_t first[PAGES], firsts;
	enum uvmp_status status;

	add_place(b, gpu);
	if (gpu == UVMP_CPU)
		return UVMP_OK;
	if (n->gpu[gpu].unit_pages != 0) {
		drop_units(n, s, gpu);
		status = make_room(n, s, gpu);
		return status == UVMP_OK ? allocate_frames(n, s, gpu) : status;
	}
	for (uint32_t i = 0; i < b->pages; i++) {
		struct uvmp_region region = chunk_around(n, b, i);
		struct uvmp_chunk chunk;

		if (!s->want[gpu][i] || b->owned[gpu][region.first].exists)
			continue;
		status = take_parked(&n->gpu[gpu], size_of(n, region), &chunk)
		                 ? UVMP_OK
		                 : naive_pmm_alloc(n->gpu[gpu].pmm, UVMP_CHUNK_USER, size_of(n, region),
		                                   b->number, &chunk);
		n->is_full = n->is_full || status == UVMP_ERR_NO_MEMORY;
		if (status == UVMP_ERR_NO_MEMORY)
			return evict(n, gpu, size_of(n, region), b);
		if (status != UVMP_OK)
			return UVMP_ERR_NO_MEMORY;
		own(n, b, gpu, region, chunk);
	}
	firsts = announce(n, s, gpu, first);
	if (firsts == 0)
		return UVMP_OK;
	status = perform(n);
	for (uint32_t i = 0; i < firsts && status != UVMP_OK; i++)
		if (n->status[i] != UVMP_OK)
			disown(n, b, gpu, first[i]);
	return status;
}

/* What stands in the way of the copies. */
static void clear_way(struct naive_service *n, struct step *s, uint32_t dst)
{
	struct block *b = s->block;
	bool absent[PAGES] = {false}, extra[PAGES] = {false};

	for (uint32_t k = 0; k < b->places; k++) {
		uint32_t p = b->place[k];
		bool down[PAGES] = {false};
		struct uvmp_action *action;

		for (uint32_t i = 0; i < b->pages; i++)
			down[i] = s->want[dst][i] && s->duplicate[i] && !in(b->page[i].resident, dst) &&
			          in(b->page[i].resident, p) && b->page[i].right[p] > UVMP_RIGHT_READ;
		if (!any(down))
			continue;
		action = emit_pages(n, UVMP_ACTION_REVOKE, UVMP_CAUSE_REVOKE, b, down);
		action->to = (uint8_t)p;
		action->right = UVMP_RIGHT_READ;
		for (uint32_t i = 0; i < b->pages; i++)
			if (down[i])
				b->page[i].right[p] = UVMP_RIGHT_READ;
	}
	for (uint32_t k = 0; k < b->places; k++) {
		bool remote[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			remote[i] = s->want[dst][i] && s->duplicate[i] && !in(b->page[i].resident, dst) &&
			            !in(b->page[i].resident, b->place[k]);
		unmap(n, s->cause, b, b->place[k], remote, 0);
	}
	for (uint32_t i = 0; i < b->pages; i++) {
		absent[i] = s->want[dst][i] && !s->duplicate[i] && !in(b->page[i].resident, dst);
		extra[i] = s->want[dst][i] && !s->duplicate[i] && in(b->page[i].resident, dst) &&
		           b->page[i].is_duplicated;
	}
	for (uint32_t k = 0; k < b->places; k++)
		unmap(n, s->cause, b, b->place[k], absent, 0);
	for (uint32_t k = 0; k < b->places; k++)
		if (b->place[k] != dst)
			unmap(n, s->cause, b, b->place[k], extra, 0);
}

/* Of the first pinned page among these. */
static uint32_t throttles_of(const struct step *s, const bool *pages)
{
	for (uint32_t i = 0; i < PAGES; i++)
		if (pages[i] && s->pinned[i])
			return s->throttles[i];
	return 0;
}

/* Does a pinned page come with the transfer? */
static bool is_pinning(const struct step *s, const struct naive_transfer *t)
{
	for (uint32_t i = t->pages.first; i < t->pages.end; i++)
		if (s->pinned[i])
			return true;
	return false;
}

/* Where the subtrees of the block begin, and end, that the prefetcher chose. */
static void name_subtrees(const struct naive_service *n, const struct block *b, uvmp_mask *subtrees)
{
	bool is_any = false;

	for (uint32_t i = 0; i < b->pages && n->is_hint; i++) {
		if (n->subtree[i].end == 0)
			continue;
		is_any = true;
		uvmp_mask_set(subtrees, n->subtree[i].first);
		if (n->subtree[i].end < b->pages)
			uvmp_mask_set(subtrees, n->subtree[i].end);
	}
	if (is_any)
		uvmp_mask_set(subtrees, b->pages);
}

static void label_copy(const struct naive_service *n, const struct step *s, uint8_t kind, struct uvmp_action *action)
{
	bool pages[PAGES];

	if (kind == UVMP_GROUP_FAULT) {
		action->detail = 0;
		for (uint32_t i = 0; i < PAGES; i++) {
			pages[i] = uvmp_mask_test(&action->pages, i);
			action->detail += pages[i];
		}
		if (action->cause == UVMP_CAUSE_PIN)
			action->throttles = throttles_of(s, pages);
		return;
	}
	action->faulted = s->faults;
	action->present = s->present;
	name_subtrees(n, s->block, &action->subtrees);
}

/* Transfers of the arriving pages. */
static uint32_t plan_in(struct naive_service *n, struct step *s, uint32_t dst, struct naive_transfer *copy)
{
	static uvmp_mask resident[NAIVE_PROCS];
	struct block *b = s->block;
	bool pages[PAGES] = {false}, faulted[PAGES] = {false}, cut[PAGES] = {false};
	uvmp_mask pages_mask, faulted_mask, cuts_mask;
	struct uvmp_copy_facts facts = {.to = dst,
	                                .pages = &pages_mask,
	                                .faulted = &faulted_mask,
	                                .resident = resident,
	                                .grouping = UVMP_GROUPING_BY_CAUSE,
	                                .cuts = &cuts_mask};
	uint32_t copies;

	for (uint32_t i = 0; i < b->pages; i++) {
		pages[i] = s->want[dst][i];
		faulted[i] = pages[i] && !s->prefetched[i];
	}
	for (uint32_t p = 1; p < n->procs; p++)
		mark_cuts(n, b, p, cut);
	pack(pages, &pages_mask);
	pack(faulted, &faulted_mask);
	pack(cut, &cuts_mask);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool flag[PAGES];

		resident_on(b, p, flag);
		pack(flag, &resident[p]);
	}
	copies = naive_plan_copies(&n->processors, &facts, copy);
	for (uint32_t k = 0; k < copies; k++)
		for (uint32_t i = copy[k].pages.first; copy[k].to == dst && i < copy[k].pages.end; i++)
			s->source[i] = copy[k].from;
	return copies;
}

/* What the transfers of one action have in common, and the order of the actions. */
static uint64_t key_of(const struct step *s, const struct naive_transfer *t)
{
	bool is_pin = s != NULL && t->kind == UVMP_GROUP_FAULT && is_pinning(s, t);
	bool is_second = t->from != t->source;

	return (uint64_t)t->kind << 32 | t->rank << 8 | (uint64_t)is_second << 1 | !is_pin;
}

/* All transfers with a key become one action. */
static struct uvmp_action *emit_copy(struct naive_service *n, const struct step *s, struct block *b,
                                     const struct naive_transfer *t, uint32_t count, uint64_t key)
{
	struct uvmp_action *action = NULL;
	bool none[PAGES] = {false};

	for (uint32_t i = 0; i < count; i++) {
		if (key_of(s, &t[i]) != key)
			continue;
		if (action == NULL) {
			action = emit_pages(n, t[i].from == NONE ? UVMP_ACTION_POPULATE : UVMP_ACTION_COPY,
			                    UVMP_CAUSE_EVICTION, b, none);
			action->from = t[i].from;
			action->to = t[i].to;
			if (s != NULL && t[i].kind == UVMP_GROUP_FAULT)
				action->cause = (uint8_t)(is_pinning(s, &t[i]) ? UVMP_CAUSE_PIN : s->cause);
			else if (s != NULL)
				action->cause = UVMP_CAUSE_PREFETCH;
		}
		naive_plan_add(&t[i].pages, &action->pages, &action->cuts);
	}
	return action;
}

/* All actions of one direction (s: incoming), each after the one before it. */
static void emit_direction(struct naive_service *n, const struct step *s, const struct eviction *e,
                           const struct naive_transfer *t, uint32_t count)
{
	bool is_first = true;
	uint64_t done = 0;

	for (;;) {
		struct uvmp_action *action;
		uint64_t key = UINT64_MAX;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t at = key_of(s, &t[i]);

			if ((is_first || at > done) && at < key)
				key = at;
		}
		if (key == UINT64_MAX)
			return;
		action = emit_copy(n, s, s != NULL ? s->block : e->block, t, count, key);
		if (s != NULL)
			label_copy(n, s, (uint8_t)(key >> 32), action);
		else
			action->for_address = e->for_address;
		is_first = false;
		done = key;
	}
}

/* Incoming pages of the block service (NULL: none) and evicted pages (NULL: none). Side by side, the first outgoing copy waits
 * for what the first incoming copy waits for. */
static void emit_copies(struct naive_service *n, const struct step *s, const struct naive_transfer *in,
                        uint32_t ins, const struct eviction *e)
{
	uint32_t outs = e == NULL || e->block == NULL ? 0 : e->outs, first = n->actions, out;

	if (n->policy.plan == UVMP_PLAN_SERIAL && outs != 0)
		emit_direction(n, NULL, e, e->out, outs);
	if (ins != 0)
		emit_direction(n, s, NULL, in, ins);
	out = n->actions;
	if (n->policy.plan == UVMP_PLAN_SERIAL || outs == 0)
		return;
	emit_direction(n, NULL, e, e->out, outs);
	n->group[out].after = n->group[first].after;
}

/* The next victim; NULL: none. */
static struct eviction *choose_victim(struct naive_service *n, uint32_t gpu, uvmp_addr for_address)
{
	struct naive_pmm *before = malloc(sizeof(*before));
	struct eviction *e = calloc(1, sizeof(*e));

	e->gpu = gpu;
	e->for_address = for_address;
	*before = *n->gpu[gpu].pmm;
	if (naive_pmm_evict_begin(n->gpu[gpu].pmm, UVMP_CHUNK_USER, &e->root) != UVMP_OK) {
		free(e);
		e = NULL;
	} else {
		e->victim = victim_of(before, e->root);
	}
	free(before);
	return e;
}

/* The blocks in the root that are left. */
static enum uvmp_status evict_rest(struct naive_service *n, struct eviction *e)
{
	enum uvmp_status status = UVMP_OK;
	struct block *b = first_owner(n, e->gpu, e->root);

	while (b != NULL && status == UVMP_OK) {
		begin_leaving(n, e, b);
		emit_copies(n, NULL, NULL, 0, e);
		(void)perform(n);
		status = end_leaving(n, e);
		b = first_owner(n, e->gpu, e->root);
	}
	if (status != UVMP_OK)
		naive_pmm_evict_abort(n->gpu[e->gpu].pmm, e->root);
	return status;
}

/* Evicts one unit, with TBNe its closure. */
static enum uvmp_status evict_unit(struct naive_service *n, uint32_t gpu, const struct block *b,
                                   const bool *want, bool withdraws, uvmp_addr for_address)
{
	struct eviction *e = calloc(1, sizeof(*e));
	enum uvmp_status status = UVMP_OK;
	struct unit unit;

	if (!choose_unit(n, gpu, b, want, withdraws, &unit)) {
		free(e);
		return UVMP_ERR_NO_MEMORY;
	}
	e->gpu = gpu;
	e->for_address = for_address;
	e->victim = UVMP_VICTIM_ORDER;
	for (uint32_t i = unit.first; i < unit.first + n->gpu[gpu].unit_pages; i++)
		e->rest[i] = true;
	if (n->policy.evict == UVMP_EVICT_TBN)
		take_closure(n, gpu, b, want, &unit, e->rest);
	while (status == UVMP_OK && any(e->rest)) {
		begin_leaving(n, e, unit.block);
		emit_copies(n, NULL, NULL, 0, e);
		(void)perform(n);
		status = end_leaving(n, e);
	}
	free(e);
	return status;
}

/* free_buffer: before the batch is serviced, if it has a fault to service. */
static void trim(struct naive_service *n)
{
	const struct uvmp_fault *f = &n->fetch->entry[n->order[0]];
	struct range *range = n->orders > 0 ? find_range(n, f->va_space, f->address) : NULL;
	uvmp_addr start = f->address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;

	if (range == NULL)
		return;
	if (start < range->base)
		start = range->base;
	while (is_over(n, n->in_gpu, 0) && evict_unit(n, n->in_gpu, NULL, NULL, false, start) == UVMP_OK)
		;
}

/* [uvmsmart: oversubscription-switch]: from the next batch on. */
static void switch_prefetcher(struct naive_service *n)
{
	enum uvmp_prefetcher full = (enum uvmp_prefetcher)(n->policy.prefetch_full - 1u);
	bool quirks = n->policy.quirks;

	if (!n->is_full || n->policy.prefetch_full == 0 || n->policy.prefetch.prefetcher == full)
		return;
	uvmp_prefetch_params_init(&n->policy.prefetch, full);
	n->policy.prefetch.quirks = quirks;
}

/* Evicts for one chunk. The new chunk is parked, and the walk is repeated. */
static enum uvmp_status evict(struct naive_service *n, uint32_t gpu, uint32_t size, struct block *b)
{
	struct gpu *g = &n->gpu[gpu];
	struct eviction *e = choose_victim(n, gpu, b->start);
	enum uvmp_status status;

	if (e == NULL)
		return UVMP_ERR_NO_MEMORY;
	status = evict_rest(n, e);
	if (status == UVMP_OK) {
		status = naive_pmm_evict_end(g->pmm, e->root, UVMP_CHUNK_USER, size, b->number,
		                             &g->parked[g->parkeds]);
		if (status != UVMP_OK)
			naive_pmm_evict_release(g->pmm, e->root);
		g->parkeds += status == UVMP_OK;
		status = status == UVMP_OK ? UVMP_ERR_RETRY : UVMP_ERR_NO_MEMORY;
	}
	free(e);
	return status;
}

/* Which block of the batch follows? A walk, or a request between two walks, knows it from its beginning on: a range that is
 * added later is too late. */
static void look_ahead(struct naive_service *n)
{
	uint32_t next = n->position + n->walked;
	const struct uvmp_fault *f;
	struct range *range;

	n->has_next = false;
	if (n->in_gpu == 0 || next >= n->orders)
		return;
	f = &n->fetch->entry[n->order[next]];
	range = find_range(n, f->va_space, f->address);
	if (range == NULL)
		return;
	n->has_next = true;
	n->next_start = f->address / UVMP_ROOT_CHUNK_BYTES * UVMP_ROOT_CHUNK_BYTES;
	if (n->next_start < range->base)
		n->next_start = range->base;
}

/* Overlapped: while pages of a block come, room is made for the next block of the batch, if the memory is
 * full and the victim does not hold the block itself. Its first block leaves now. */
static struct eviction *evict_ahead(struct naive_service *n, uint32_t gpu, const struct block *b)
{
	struct naive_pmm *pmm = n->gpu[gpu].pmm, *before;
	struct eviction *e;
	bool is_wrong;

	if (n->policy.plan != UVMP_PLAN_OVERLAPPED || gpu == UVMP_CPU || n->in_gpu == 0 || !n->has_next ||
	    n->gpu[gpu].unit_pages != 0)
		return NULL;
	for (uint32_t r = 0; r < pmm->params.roots; r++)
		if (pmm->root[r].node[0].state == NAIVE_POOL)
			return NULL;
	before = malloc(sizeof(*before));
	*before = *pmm;
	e = choose_victim(n, gpu, n->next_start);
	if (e != NULL) {
		is_wrong = e->victim == UVMP_VICTIM_FREE;
		for (uint32_t i = 0; i < b->pages; i++)
			if (b->owned[gpu][i].exists && b->owned[gpu][i].chunk.root == e->root)
				is_wrong = true;
		if (is_wrong) {
			*pmm = *before;
			free(e);
			e = NULL;
		} else if (first_owner(n, gpu, e->root) != NULL) {
			begin_leaving(n, e, first_owner(n, gpu, e->root));
		}
	}
	free(before);
	return e;
}

static void end_ahead(struct naive_service *n, struct eviction *e)
{
	if (e->block != NULL && end_leaving(n, e) != UVMP_OK)
		naive_pmm_evict_abort(n->gpu[e->gpu].pmm, e->root);
	else if (evict_rest(n, e) == UVMP_OK)
		naive_pmm_evict_release(n->gpu[e->gpu].pmm, e->root);
	free(e);
}

/* The detector hears of what came from where. */
static void report(struct naive_service *n, struct step *s, uint32_t dst, bool is_duplicate)
{
	struct block *b = s->block;

	for (uint32_t from = 0; from < n->procs; from++) {
		for (uint32_t i = 0; i < b->pages; i++) {
			struct uvmp_thrash_migration m = {.to = dst, .final_to = dst, .now_ns = n->now};
			uint32_t end = i;

			while (end < b->pages && s->arrived[end] && s->source[end] == from &&
			       s->duplicate[end] == is_duplicate && n->label[end] == n->label[i])
				end++;
			if (end == i)
				continue;
			m.region.first = i;
			m.region.end = end;
			m.cause = n->label[i] ? UVMP_MIGRATE_PREFETCH : s->migrate_cause;
			m.is_copy = is_duplicate;
			m.is_read_duplicated = b->range->duplication == UVMP_DUPLICATION_ENABLED;
			naive_thrash_migrate(&space_of(n, b)->thrash, b->number, &m);
			b->is_suspect = b->is_suspect || thrash_of(n, b)->has_array;
			i = end - 1;
		}
	}
}

static void settle(struct naive_service *n, struct step *s, uint32_t dst)
{
	struct block *b = s->block;
	bool here[PAGES] = {false}, moved[PAGES] = {false};

	for (uint32_t i = 0; i < b->pages; i++) {
		here[i] = s->want[dst][i] && (s->arrived[i] || in(b->page[i].resident, dst));
		moved[i] = here[i] && !s->duplicate[i];
		if (here[i])
			b->page[i].resident |= bit(dst);
	}
	for (uint32_t k = 0; k < b->places; k++)
		if (b->place[k] != dst)
			leave(n, b, b->place[k], moved, false);
	for (uint32_t i = 0; i < b->pages; i++)
		if (here[i])
			b->page[i].is_duplicated = (b->page[i].resident & (b->page[i].resident - 1)) != 0;
	touch_units(n, b, dst, here);
	if ((uint64_t)b->pages * n->page_bytes == UVMP_ROOT_CHUNK_BYTES)
		memset(here, 1, sizeof(here)); /* even if no page moved [driver: root-queues] */
	mark(n, b, dst, here, UVMP_MARK_USED);
}

static uint64_t mapped_at(const struct naive_service *n, const struct page *page, uint32_t right)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < n->procs; p++)
		if (page->right[p] >= right)
			set |= bit(p);
	return set;
}

static struct uvmp_map rights_of(struct naive_service *n, struct step *s, uint32_t dst, uint32_t i)
{
	const struct page *page = &s->block->page[i];
	const struct range *range = s->block->range;
	struct uvmp_map_facts facts = {.requester = s->requester,
	                               .to = dst,
	                               .access = s->access[i],
	                               .right = (uint8_t)range->right,
	                               .read = mapped_at(n, page, UVMP_RIGHT_READ),
	                               .write = mapped_at(n, page, UVMP_RIGHT_READ_WRITE),
	                               .atomic = mapped_at(n, page, UVMP_RIGHT_READ_WRITE_ATOMIC),
	                               .accessed_by = range->accessed_by,
	                               .thrashing = s->pinned[i] ? s->procs[i] : 0,
	                               .has_preferred = range->preferred != NONE,
	                               .preferred = range->preferred,
	                               .duplication = (uint8_t)range->duplication,
	                               .is_duplicated = page->is_duplicated,
	                               .has_migrated = s->arrived[i] ||
	                                               s->migrate_cause == UVMP_MIGRATE_ACCESS_COUNTER,
	                               .is_discarded = page->is_discarded};

	return naive_residency_map(&n->processors, &facts);
}

/* Pages become mapped; only what changes. */
static void map(struct naive_service *n, const struct step *s, uint32_t p, uint32_t from, uint8_t right,
                const bool *pages)
{
	enum uvmp_cause cause = p == s->requester ? s->cause : UVMP_CAUSE_HINT;
	struct block *b = s->block;
	bool changed[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t i = 0; i < b->pages; i++)
		changed[i] = pages[i] && b->page[i].right[p] < right;
	if (!any(changed))
		return;
	for (uint32_t i = 0; i < b->pages; i++)
		if (changed[i] && s->pinned[i])
			cause = UVMP_CAUSE_PIN;
	action = emit_pages(n, UVMP_ACTION_MAP, cause, b, changed);
	action->to = (uint8_t)p;
	action->from = (uint8_t)from;
	if (cause == UVMP_CAUSE_PIN)
		action->throttles = throttles_of(s, changed);
	action->right = right;
	add_place(b, p);
	for (uint32_t i = 0; i < b->pages; i++)
		if (changed[i])
			b->page[i].right[p] = right;
}

static void revoke(struct naive_service *n, struct step *s, uint32_t p, uint8_t left, const bool *pages)
{
	struct block *b = s->block;
	struct uvmp_action *action;

	if (!any(pages))
		return;
	action = emit_pages(n, UVMP_ACTION_REVOKE, UVMP_CAUSE_REVOKE, b, pages);
	action->to = (uint8_t)p;
	action->right = left;
	for (uint32_t i = 0; i < b->pages; i++) {
		uint32_t end = i;

		while (end < b->pages && pages[end])
			b->page[end++].right[p] = left;
		if (end > i)
			naive_thrash_revoke(&space_of(n, b)->thrash, b->number, (struct uvmp_region){i, end},
			                    p, n->now);
		b->is_suspect = b->is_suspect || thrash_of(n, b)->has_array;
		i = end > i ? end - 1 : i;
	}
}

static void map_others(struct naive_service *n, struct step *s, uint32_t dst, const struct uvmp_map *rights)
{
	struct block *b = s->block;
	uvmp_mask level[3], pinned;
	uint32_t levels;

	pack(s->pinned, &pinned);
	for (uint8_t right = 1; right <= 3; right++) {
		bool flag[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			flag[i] = s->want[dst][i] && rights[i].right == right;
		pack(flag, &level[right - 1]);
	}
	levels = naive_residency_levels(level, &pinned, n->policy.quirks);
	for (uint32_t p = 0; p < n->procs; p++)
		for (uint8_t right = 1; right <= 3; right++) {
			bool flag[PAGES] = {false};

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = s->want[dst][i] && rights[i].right <= levels &&
				          ((right == 3 && in(rights[i].others_atomic, p)) ||
				           (right == rights[i].others_right && in(rights[i].others, p)));
			map(n, s, p, dst, right, flag);
		}
}

static void map_all(struct naive_service *n, struct step *s, uint32_t dst)
{
	struct block *b = s->block;
	struct uvmp_map rights[PAGES];
	bool all[PAGES], is_lost;

	memset(rights, 0, sizeof(rights));
	for (uint32_t i = 0; i < b->pages; i++)
		if (s->want[dst][i])
			rights[i] = rights_of(n, s, dst, i);
	for (uint32_t k = 0; k < b->places; k++)
		for (uint8_t left = 1; left <= 2; left++) {
			bool flag[PAGES] = {false};

			for (uint32_t i = 0; i < b->pages; i++)
				flag[i] = s->want[dst][i] && in(rights[i].victims, b->place[k]) &&
				          rights[i].left == left;
			revoke(n, s, b->place[k], left, flag);
		}
	for (uint8_t right = 1; right <= 3; right++) {
		bool flag[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			flag[i] = s->want[dst][i] && rights[i].right == right;
		if (in(n->processors.can_access[s->requester], dst))
			map(n, s, s->requester, dst, right, flag);
	}
	map_others(n, s, dst, rights);
	for (uint32_t i = 0; i < b->pages; i++)
		if (s->want[dst][i] && rights[i].leaves_discarded)
			b->page[i].is_discarded = false;
	is_lost = true;
	for (uint32_t i = 0; i < b->pages; i++)
		if (in(b->page[i].resident, dst) && !b->page[i].is_discarded)
			is_lost = false;
	for (uint32_t i = 0; i < b->pages; i++) /* [driver: root-queues]: mapping pages of which some are discarded */
		if (s->want[dst][i] && b->page[i].is_discarded && s->requester == dst)
			is_lost = true;
	memset(all, 1, sizeof(all));
	if (is_lost)
		mark(n, b, dst, all, UVMP_MARK_DISCARDED);
}

static enum uvmp_status serve_destination(struct naive_service *n, struct step *s, uint32_t dst)
{
	static struct naive_transfer in[UVMP_PLAN_TRANSFERS_MAX];
	bool has_failed[PAGES] = {false};
	struct block *b = s->block;
	enum uvmp_status status = allocate(n, s, dst);
	struct eviction *ahead;
	uint32_t ins;

	if (status != UVMP_OK)
		return status;
	for (uint32_t i = 0; i < PAGES; i++)
		s->source[i] = dst;
	memset(s->arrived, 0, sizeof(s->arrived));
	clear_way(n, s, dst);
	for (uint32_t i = 0; i < b->pages; i++)
		s->arrived[i] = s->want[dst][i] && !is_on(b, i, dst);
	ins = plan_in(n, s, dst, in);
	ahead = evict_ahead(n, dst, b);
	emit_copies(n, s, in, ins, ahead);
	(void)perform(n);
	for (uint32_t k = 0; k < n->performed; k++) {
		bool is_out =
		        n->group[k].kind == UVMP_ACTION_COPY && n->group[k].cause == UVMP_CAUSE_EVICTION;

		if (n->status[k] == UVMP_OK || is_out)
			continue;
		if (status == UVMP_OK)
			status = n->status[k];
		if (n->group[k].kind == UVMP_ACTION_COPY || n->group[k].kind == UVMP_ACTION_POPULATE)
			for (uint32_t i = 0; i < PAGES; i++)
				if (has_failed_to_move(n, k, i))
					has_failed[i] = true, s->arrived[i] = false;
	}
	if (ahead != NULL)
		end_ahead(n, ahead);
	report(n, s, dst, true);
	report(n, s, dst, false);
	settle(n, s, dst);
	if (dst != UVMP_CPU)
		give_frames(&n->gpu[dst], b, dst, has_failed);
	if (status != UVMP_OK || s->is_unmapped)
		return status;
	map_all(n, s, dst);
	return perform(n);
}

static enum uvmp_status step(struct naive_service *n, struct step *s)
{
	uint32_t destinations = 0, only = 0;

	for (uint32_t p = 0; p < n->procs; p++)
		if (any(s->want[p])) {
			destinations++;
			only = p;
		}
	if (destinations > 0)
		prefetch(n, s, destinations, only);
	for (uint32_t p = 0; p < n->procs; p++) {
		enum uvmp_status status = any(s->want[p]) ? serve_destination(n, s, p) : UVMP_OK;

		if (status != UVMP_OK)
			return status;
	}
	return UVMP_OK;
}

/* -- one page of a walk ---------------------------------------------------------------------- */

/* Hint and residency of a page that is to be serviced; true: it is throttled, until *until_ns. */
static bool choose(struct naive_service *n, struct step *s, uint32_t i, enum uvmp_access access, uint8_t accesses,
                   uint8_t operation, uint64_t *until_ns)
{
	struct block *b = s->block;
	const struct range *range = b->range;
	struct uvmp_thrash_facts asked = {i,     s->requester, range->preferred, b->page[i].resident,
	                                  false, n->now,        range->preferred != NONE};
	uint32_t throttles = thrash_of(n, b)->page[i].thr_count;
	struct uvmp_thrash_hint hint = naive_thrash_decide(&space_of(n, b)->thrash, b->number, &asked);
	struct uvmp_residency_facts facts = {.requester = s->requester,
	                                     .accesses = accesses,
	                                     .operation = operation,
	                                     .has_preferred = range->preferred != NONE,
	                                     .preferred = range->preferred,
	                                     .accessed_by = range->accessed_by,
	                                     .resident = b->page[i].resident,
	                                     .pin = hint.pin_to,
	                                     .has_pin = hint.pin_to != NONE,
	                                     .duplication = (uint8_t)range->duplication,
	                                     .is_duplicated = b->page[i].is_duplicated,
	                                     .maps_on_atomics = n->policy.map_on_atomics};
	struct uvmp_residency_place place;

	if (hint.kind == UVMP_THRASH_THROTTLE) {
		*until_ns = hint.until_ns;
		return true;
	}
	if (hint.kind == UVMP_THRASH_PIN) {
		s->pinned[i] = true;
		s->procs[i] = hint.procs;
	}
	s->throttles[i] = throttles;
	place = naive_residency_select(&n->processors, &facts);
	s->want[place.to][i] = true;
	s->duplicate[i] = place.is_duplicate &&
	                  (operation != UVMP_OPERATION_ACCESS_COUNTER || !n->policy.quirks); /* [driver: counter-ignores-duplication] */
	s->access[i] = (uint8_t)access;
	return false;
}

static void throttle(struct naive_service *n, struct block *b, uint32_t p, uint32_t i, uint64_t until_ns)
{
	bool page[PAGES] = {false};
	struct uvmp_action *action;

	for (uint32_t k = 0; k < n->actions; k++) /* of this walk: each page once */
		if (uvmp_mask_test(&n->group[k].pages, i))
			return;
	page[i] = true;
	action = emit_pages(n, UVMP_ACTION_THROTTLE, UVMP_CAUSE_THRASHING, b, page);
	action->to = (uint8_t)p;
	action->until_ns = until_ns;
}

/* -- requests -------------------------------------------------------------------------------- */

/* All memory that the block has, one GPU after the other. */
static void give_memory(struct naive_service *n, struct block *b)
{
	for (uint32_t k = 0; k < b->places; k++) {
		struct frame_run run = {{false}, 0, 0, 0, UVMP_CAUSE_NONE};
		bool was_known;

		for (uint32_t i = 0; b->place[k] != UVMP_CPU && i < b->pages; i++) {
			if (b->frame[b->place[k]][i] == 0)
				continue;
			add_frame(n, b, b->place[k], UVMP_ACTION_FREE, i, UVMP_CAUSE_FREE, &run);
			give_frame(&n->gpu[b->place[k]], &b->frame[b->place[k]][i]);
		}
		emit_frames(n, b, b->place[k], UVMP_ACTION_FREE, &run);
		for (uint32_t i = 0; b->place[k] != UVMP_CPU && i < b->pages; i++) {
			struct owned *o = &b->owned[b->place[k]][i];
			struct uvmp_action *action;
			bool pages[PAGES] = {false};

			if (!o->exists)
				continue;
			for (uint32_t p = o->first; p < o->end; p++)
				pages[p] = true;
			action = emit_pages(n, UVMP_ACTION_FREE, UVMP_CAUSE_FREE, b, pages);
			action->from = (uint8_t)b->place[k];
			action->offset = offset_of(o->chunk);
			action->detail = bytes_of(n, o->chunk);
			disown(n, b, b->place[k], i);
		}
		was_known = b->is_known[b->place[k]];
		b->is_known[b->place[k]] = false;
		naive_release(&n->holds, b->place[k], b->number);
		memset(b->touches[b->place[k]], 0, sizeof(b->touches[0]));
		if (n->actions > 0 && (was_known || n->group[n->actions - 1].kind == UVMP_ACTION_FREE))
			(void)perform(n);
	}
}

static void free_block(struct naive_service *n, struct block *b)
{
	bool all[PAGES];

	memset(all, 1, sizeof(all));
	for (uint32_t k = 0; k < b->places; k++)
		unmap(n, UVMP_CAUSE_FREE, b, b->place[k], all, 0);
	give_memory(n, b);
	naive_thrash_end(&space_of(n, b)->thrash, b->number);
	b->exists = false;
	(void)perform(n);
}

/* The newest block of a range that was made before a time; NULL: none. */
static struct block *block_before(struct naive_service *n, const struct range *range, uint64_t before)
{
	struct block *newest = NULL;

	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		if (n->block[i]->exists && n->block[i]->range == range && n->block[i]->stamp < before &&
		    (newest == NULL || n->block[i]->stamp > newest->stamp))
			newest = n->block[i];
	return newest;
}

/* The lowest piece of what was added as a range at `origin`, from `from` on; NULL: none. */
static struct range *lowest_piece(struct naive_service *n, uint64_t space, uvmp_addr origin, uvmp_addr from)
{
	struct range *lowest = NULL;

	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		struct range *r = &n->range[i];

		if (r->exists && r->space == space && r->origin == origin && r->base >= from &&
		    (lowest == NULL || r->base < lowest->base))
			lowest = r;
	}
	return lowest;
}

static void free_piece(struct naive_service *n, struct range *range)
{
	while (block_before(n, range, UINT64_MAX) != NULL)
		free_block(n, block_before(n, range, UINT64_MAX));
	range->exists = false;
	drop_space(n, range->space);
}

static enum uvmp_status free_range(struct naive_service *n, const struct request *r)
{
	struct range *range = find_range(n, r->space, r->base);

	if (range == NULL || range->base != r->base || range->origin != r->base)
		return UVMP_ERR_UNKNOWN;
	while (range != NULL) {
		uvmp_addr next = range->end + 1;

		free_piece(n, range);
		range = lowest_piece(n, r->space, r->base, next);
	}
	return UVMP_OK;
}

/* Nothing can be done about it. */
static void refuse(struct naive_service *n, uint32_t gpu, uint64_t space, uvmp_addr address,
                   enum uvmp_cause cause, uint8_t mode, bool has_pages)
{
	struct block *b = find_block(n, space, address);
	struct uvmp_action *action;
	bool page[PAGES] = {false};

	if (b != NULL && has_pages) {
		page[(address - b->start) / n->page_bytes] = true;
		action = emit_pages(n, UVMP_ACTION_CANCEL, cause, b, page);
	} else {
		action = emit(n, UVMP_ACTION_CANCEL, cause);
		action->space = space;
		action->address = address;
		action->page_bytes = n->page_bytes;
	}
	action->to = (uint8_t)gpu;
	action->right = mode;
	action->status = (int8_t)(cause == UVMP_CAUSE_ERROR ? n->replay_error : UVMP_OK);
}

/* A fault although the CPU has the right: is it let pass? */
static bool is_let_pass(struct naive_service *n, const struct request *r)
{
	bool is_same = n->latch_thread == r->thread && n->latch_space == r->space && n->latch_page == r->base;

	if (!n->is_latched) {
		n->is_latched = true;
		n->latch_ns = n->now;
		n->latch_thread = r->thread;
		n->latch_space = r->space;
		n->latch_page = r->base;
		return true;
	}
	if (!is_same && n->now - n->latch_ns <= 300000u)
		return true;
	n->is_latched = false;
	return false;
}

static enum uvmp_status serve_cpu(struct naive_service *n, struct block *b, uint32_t page, uint8_t access)
{
	struct step *s = malloc(sizeof(*s));
	enum uvmp_status status = UVMP_ERR_RETRY;
	uint64_t until_ns = 0;

	for (uint32_t walk = 0; walk < WALKS && status == UVMP_ERR_RETRY; walk++) {
		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = UVMP_CPU;
		s->cause = UVMP_CAUSE_DEMAND;
		s->migrate_cause = UVMP_MIGRATE_FAULT;
		s->is_prefetching = true;
		s->is_retry = walk > 0;
		if (choose(n, s, page, access, (uint8_t)(1u << access), UVMP_OPERATION_FAULT, &until_ns)) {
			throttle(n, b, UVMP_CPU, page, until_ns);
			free(s);
			return UVMP_ERR_RETRY;
		}
		status = step(n, s);
	}
	free(s);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}

static enum uvmp_status cpu_fault(struct naive_service *n, const struct request *r)
{
	static const uint8_t needed[] = {1, 1, 2, 2, 3};
	struct range *range = find_range(n, r->space, r->base);
	uint8_t access = UVMP_ACCESS_READ;
	struct block *b;
	uint32_t page;

	if (range == NULL) {
		refuse(n, UVMP_CPU, r->space, r->base, UVMP_CAUSE_FATAL, UVMP_CANCEL_ALL, false);
		return UVMP_ERR_UNKNOWN;
	}
	if (r->access == UVMP_ACCESS_WRITE)
		access = range->right == UVMP_RIGHT_READ_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_ATOMIC_STRONG;
	if (needed[access] > (uint8_t)range->right) {
		refuse(n, UVMP_CPU, r->space, r->base, UVMP_CAUSE_FATAL, UVMP_CANCEL_WRITE_AND_ATOMIC, true);
		return UVMP_ERR_CONFLICT;
	}
	b = make_block(n, range, r->base);
	page = (uint32_t)((r->base - b->start) / n->page_bytes);
	if (b->page[page].right[0] >= needed[access] && is_let_pass(n, r))
		return UVMP_OK;
	return serve_cpu(n, b, page, access);
}

/* A block service for a request, repeated after each eviction. */
static enum uvmp_status request_step(struct naive_service *n, const struct step *wanted)
{
	struct step *s = malloc(sizeof(*s));
	enum uvmp_status status = UVMP_ERR_RETRY;

	for (uint32_t k = 0; k < WALKS && status == UVMP_ERR_RETRY; k++) {
		*s = *wanted;
		s->is_retry = k > 0;
		status = step(n, s);
	}
	free(s);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}

static bool is_covered(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1;
	struct range *range = find_range(n, r->space, r->base);

	while (range != NULL && range->end < end)
		range = find_range(n, r->space, range->end + 1);
	return range != NULL;
}

static uvmp_addr page_address(const struct naive_service *n, const struct block *b, uint32_t i)
{
	return b->start + (uint64_t)i * n->page_bytes;
}

static enum uvmp_status migrate(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	uint32_t dst = in(n->processors.no_memory, r->processor) ? UVMP_CPU : r->processor;
	enum uvmp_status status = UVMP_OK;
	struct step *s;

	if (!is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	s = malloc(sizeof(*s));
	while (next <= end && status == UVMP_OK) {
		struct block *b = make_block(n, find_range(n, r->space, next), next);

		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = dst;
		s->cause = UVMP_CAUSE_MIGRATE;
		s->migrate_cause = UVMP_MIGRATE_API_MIGRATE;
		s->withdraws = r->kind == WITHDRAW;
		for (uint32_t i = 0; i < b->pages; i++)
			if (page_address(n, b, i) >= r->base && page_address(n, b, i) <= end) {
				s->want[dst][i] = true;
				s->access[i] = UVMP_ACCESS_PREFETCH;
				s->duplicate[i] = b->range->duplication == UVMP_DUPLICATION_ENABLED;
			}
		status = request_step(n, s);
		unpin_all(n);
		next = page_address(n, b, b->pages);
	}
	free(s);
	return status;
}

/* -- advice ---------------------------------------------------------------------------------- */

static bool has_effect(const struct range *range, const struct request *r)
{
	if (r->kind == FREE_PART)
		return true;
	switch (r->advice) {
	case UVMP_ADVISE_PREFERRED:
		return range->preferred != r->processor;
	case UVMP_ADVISE_ACCESSED_BY:
		return !in(range->accessed_by, r->processor);
	case UVMP_ADVISE_NOT_ACCESSED_BY:
		return in(range->accessed_by, r->processor);
	case UVMP_ADVISE_READ_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_ENABLED;
	case UVMP_ADVISE_NO_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_DISABLED;
	case UVMP_ADVISE_UNSET_DUPLICATE:
		return range->duplication != UVMP_DUPLICATION_UNSET;
	default:
		return false;
	}
}

/* Before it is cut a block that has memory on GPUs goes to the CPU, and the detector forgets it. */
static enum uvmp_status vacate(struct naive_service *n, struct block *b)
{
	struct step *s = calloc(1, sizeof(*s));
	enum uvmp_status status = UVMP_OK;

	s->block = b;
	s->requester = UVMP_CPU;
	s->cause = UVMP_CAUSE_HINT;
	s->migrate_cause = UVMP_MIGRATE_API_HINT;
	s->is_unmapped = true;
	for (uint32_t i = 0; i < b->pages; i++)
		if ((b->page[i].resident & ~(uint64_t)1) != 0) {
			s->want[UVMP_CPU][i] = true;
			s->access[i] = UVMP_ACCESS_PREFETCH;
		}
	if (any(s->want[UVMP_CPU]))
		status = request_step(n, s);
	free(s);
	if (status != UVMP_OK)
		return status;
	give_memory(n, b);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool pages[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			pages[i] = !b->page[i].is_duplicated && !b->page[i].is_discarded;
		if (in(b->range->accessed_by, p))
			map_remote(n, UVMP_CAUSE_HINT, b, p, pages, 0);
	}
	b->is_suspect = false;
	naive_thrash_end(&space_of(n, b)->thrash, b->number);
	return perform(n);
}

/* The upper part of a block that has no memory becomes one of its own. */
static void cut_block(struct naive_service *n, struct block *b, uint32_t at)
{
	struct block *upper;
	uint32_t i = 0;

	while (n->block[i]->exists)
		i++;
	upper = n->block[i];
	memset(upper, 0, sizeof(*upper));
	upper->exists = true;
	upper->number = i;
	upper->stamp = ++n->stamps;
	upper->space = b->space;
	upper->range = b->range;
	upper->start = page_address(n, b, at);
	upper->pages = b->pages - at;
	upper->prefetch.last_proc = NONE;
	for (uint32_t k = 0; k < b->places; k++)
		add_place(upper, b->place[k]);
	for (uint32_t k = 0; k < upper->pages; k++)
		upper->page[k] = b->page[at + k];
	b->pages = at;
	memset(&b->prefetch, 0, sizeof(b->prefetch));
	b->prefetch.last_proc = NONE;
	naive_thrash_end(&space_of(n, b)->thrash, b->number);
}

/* Blocks go over to the new range one by one, newest first: the order turns round. */
static void hand_over(struct naive_service *n, const struct range *from, struct range *to)
{
	struct block *b = block_before(n, from, UINT64_MAX);

	while (b != NULL) {
		struct block *next = block_before(n, from, b->stamp);

		if (b->start >= to->base) {
			b->range = to;
			b->stamp = ++n->stamps;
		}
		b = next;
	}
}

static bool has_memory(const struct naive_service *n, const struct block *b)
{
	for (uint32_t p = 1; p < n->procs; p++)
		for (uint32_t i = 0; i < b->pages; i++)
			if (b->owned[p][i].exists || b->is_known[p])
				return true;
	return false;
}

/* Pages that will be freed are forgotten before the rest of their block moves. */
static enum uvmp_status leave_part(struct naive_service *n, struct block *b, const struct request *r)
{
	bool pages[PAGES] = {false};

	for (uint32_t i = 0; i < b->pages; i++)
		pages[i] =
		        page_address(n, b, i) >= r->base && page_address(n, b, i) <= r->base + r->bytes - 1;
	for (uint32_t k = 0; k < b->places; k++) {
		unmap(n, UVMP_CAUSE_FREE, b, b->place[k], pages, 0);
		leave(n, b, b->place[k], pages, true);
	}
	for (uint32_t i = 0; i < b->pages; i++)
		if (pages[i])
			b->page[i].is_duplicated = b->page[i].is_discarded = false;
	return perform(n);
}

/* A range that the advice changes, or the part ends, begins here. UVMP_ERR_RETRY: look again. */
static enum uvmp_status cut(struct naive_service *n, const struct request *r, uvmp_addr address)
{
	struct range *range = find_range(n, r->space, address), *upper = NULL;
	struct block *b = find_block(n, r->space, address);
	uint32_t ranges = 0;

	if (range == NULL || range->base == address || !has_effect(range, r))
		return UVMP_OK;
	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		ranges += n->range[i].exists;
		if (!n->range[i].exists && upper == NULL)
			upper = &n->range[i];
	}
	if (ranges >= n->max_ranges)
		return UVMP_ERR_SPACE;
	if (b != NULL && b->start < address) {
		if (b->is_suspect || has_memory(n, b)) {
			enum uvmp_status status = r->kind == FREE_PART ? leave_part(n, b, r) : UVMP_OK;

			if (status == UVMP_OK)
				status = vacate(n, b);
			return status == UVMP_OK ? UVMP_ERR_RETRY : status;
		}
		cut_block(n, b, (uint32_t)((address - b->start) / n->page_bytes));
	}
	*upper = *range;
	upper->base = address;
	range->end = address - 1;
	hand_over(n, range, upper);
	return UVMP_OK;
}

static uint64_t kept_at_home(const struct naive_service *n, uint32_t preferred)
{
	return preferred == NONE ? 0 : bit(preferred) & ~n->processors.no_memory;
}

/* Processors of the set lose what they map and do not hold. */
static void unmap_remote(struct naive_service *n, struct block *b, uint64_t procs)
{
	for (uint32_t k = 0; k < b->places; k++) {
		bool remote[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages && in(procs, b->place[k]); i++)
			remote[i] = !in(b->page[i].resident, b->place[k]);
		unmap(n, UVMP_CAUSE_HINT, b, b->place[k], remote, 0);
	}
}

/* Of several copies one remains. */
static void collapse(struct naive_service *n, struct block *b)
{
	uint32_t keeper[PAGES];

	for (uint32_t i = 0; i < b->pages; i++) {
		keeper[i] = b->range->preferred;
		if (!in(b->page[i].resident, keeper[i]))
			for (keeper[i] = 0; keeper[i] < n->procs && !in(b->page[i].resident, keeper[i]);)
				keeper[i]++;
	}
	for (uint32_t k = 0; k < b->places; k++) {
		bool lost[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			lost[i] = b->page[i].is_duplicated && keeper[i] != b->place[k];
		unmap(n, UVMP_CAUSE_HINT, b, b->place[k], lost, 0);
		leave(n, b, b->place[k], lost, false);
	}
	for (uint32_t i = 0; i < b->pages; i++)
		b->page[i].is_duplicated = false;
}

static void discard(struct naive_service *n, const struct request *r, struct block *b)
{
	for (uint32_t k = 0; k < b->places; k++) {
		bool pages[PAGES] = {false}, all[PAGES], is_lost = true;

		for (uint32_t i = 0; i < b->pages; i++) {
			pages[i] = in(b->page[i].resident, b->place[k]) && page_address(n, b, i) >= r->base &&
			           page_address(n, b, i) < r->base + r->bytes;
			if (pages[i])
				b->page[i].is_discarded = true;
			if (in(b->page[i].resident, b->place[k]) && !b->page[i].is_discarded)
				is_lost = false;
		}
		if (!any(pages))
			continue;
		emit_pages(n, UVMP_ACTION_DISCARD, UVMP_CAUSE_HINT, b, pages)->from = (uint8_t)b->place[k];
		memset(all, 1, sizeof(all));
		if (is_lost)
			mark(n, b, b->place[k], all, UVMP_MARK_DISCARDED);
	}
}

/* Effects of new advice in a block: pages that move, then processors that are mapped. */
static void advise_block(struct naive_service *n, const struct request *r, const struct range *old,
                         struct block *b)
{
	bool is_enabled = b->range->duplication == UVMP_DUPLICATION_ENABLED;
	uint64_t gain = 0;

	if (r->advice == UVMP_ADVISE_DISCARD) {
		discard(n, r, b);
	} else if (r->advice == UVMP_ADVISE_PREFERRED && !is_enabled) {
		unmap_remote(n, b, kept_at_home(n, b->range->preferred));
		if (old->preferred != NONE)
			gain = bit(old->preferred) & b->range->accessed_by;
	} else if (r->advice == UVMP_ADVISE_ACCESSED_BY && !is_enabled) {
		gain = bit(r->processor);
	} else if (r->advice == UVMP_ADVISE_READ_DUPLICATE) {
		unmap_remote(n, b, ~(uint64_t)0);
		naive_thrash_reset(&space_of(n, b)->thrash, b->number, (struct uvmp_region){0, b->pages});
	} else if ((r->advice == UVMP_ADVISE_NO_DUPLICATE || r->advice == UVMP_ADVISE_UNSET_DUPLICATE) &&
	           old->duplication == UVMP_DUPLICATION_ENABLED) {
		collapse(n, b);
		gain = b->range->accessed_by;
	}
	(void)perform(n);
	for (uint32_t p = 0; p < n->procs; p++) {
		bool pages[PAGES] = {false};

		for (uint32_t i = 0; i < b->pages; i++)
			pages[i] = !b->page[i].is_duplicated && !b->page[i].is_discarded;
		if (in(gain, p))
			map_remote(n, UVMP_CAUSE_HINT, b, p, pages, 0);
		(void)perform(n);
	}
}

static void advise_range(struct naive_service *n, const struct request *r, struct range *range)
{
	struct range old = *range;

	if (r->advice != UVMP_ADVISE_DISCARD && !has_effect(range, r))
		return;
	if (r->advice == UVMP_ADVISE_PREFERRED)
		range->preferred = r->processor;
	if (r->advice == UVMP_ADVISE_ACCESSED_BY)
		range->accessed_by |= bit(r->processor);
	if (r->advice == UVMP_ADVISE_NOT_ACCESSED_BY)
		range->accessed_by &= ~bit(r->processor);
	if (r->advice == UVMP_ADVISE_READ_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_ENABLED;
	if (r->advice == UVMP_ADVISE_NO_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_DISABLED;
	if (r->advice == UVMP_ADVISE_UNSET_DUPLICATE)
		range->duplication = UVMP_DUPLICATION_UNSET;
	/* what the CPU has from the beginning is there without a block too */
	for (uvmp_addr at = r->base;
	     range->home == UVMP_CPU && at - r->base < r->bytes &&
	     (r->advice == UVMP_ADVISE_ACCESSED_BY || r->advice == UVMP_ADVISE_DISCARD);
	     at += n->page_bytes)
		if (at >= range->base && at <= range->end)
			(void)make_block(n, range, at);
	for (struct block *b = block_before(n, range, UINT64_MAX); b != NULL;
	     b = block_before(n, range, b->stamp))
		advise_block(n, r, &old, b);
}

static enum uvmp_status advise(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	enum uvmp_status status = UVMP_OK;

	if (!is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	do {
		status = cut(n, r, r->base);
		if (status == UVMP_OK)
			status = cut(n, r, end + 1);
	} while (status == UVMP_ERR_RETRY);
	if (status != UVMP_OK)
		return status;
	while (next <= end) {
		struct range *range = find_range(n, r->space, next);

		next = range->end + 1;
		advise_range(n, r, range);
	}
	return UVMP_OK;
}

/* -- freeing a part -------------------------------------------------------------------------- */

static uint32_t ranges_across(struct naive_service *n, uint64_t space, uvmp_addr address)
{
	struct range *range = find_range(n, space, address);

	return range != NULL && range->base != address;
}

/* The lowest piece is gone: the others go by where the next one begins. */
static void rename_pieces(struct naive_service *n, uint64_t space, uvmp_addr origin)
{
	struct range *heir = lowest_piece(n, space, origin, 0), *piece;

	while (heir != NULL && (piece = lowest_piece(n, space, origin, 0)) != NULL)
		piece->origin = heir->base;
}

static enum uvmp_status free_part(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	enum uvmp_status status;
	uint32_t ranges = 0;

	if (!is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		ranges += n->range[i].exists;
	if (ranges + ranges_across(n, r->space, r->base) + ranges_across(n, r->space, end + 1) >
	    n->max_ranges)
		return UVMP_ERR_SPACE;
	do {
		status = cut(n, r, r->base);
		if (status == UVMP_OK)
			status = cut(n, r, end + 1);
	} while (status == UVMP_ERR_RETRY);
	while (status == UVMP_OK && next <= end) {
		struct range *range = find_range(n, r->space, next);

		next = range->end + 1;
		free_piece(n, range);
		if (range->base == range->origin)
			rename_pieces(n, r->space, range->origin);
	}
	return status;
}

static void serve_request(struct naive_service *n)
{
	static const enum uvmp_cause cause[] = {UVMP_CAUSE_FREE, UVMP_CAUSE_FREE, UVMP_CAUSE_HINT,
	                                        UVMP_CAUSE_MIGRATE, UVMP_CAUSE_MIGRATE, UVMP_CAUSE_DEMAND};
	struct request r = n->request[0];
	uint32_t batch = n->batch;
	struct uvmp_action *action;
	enum uvmp_status status = UVMP_OK;

	memmove(&n->request[0], &n->request[1], (n->requests - 1) * sizeof(r));
	n->requests--;
	n->batch = 0;
	look_ahead(n);
	switch (r.kind) {
	case FREE_RANGE:
		status = free_range(n, &r);
		break;
	case FREE_PART:
		status = free_part(n, &r);
		break;
	case ADVISE:
		status = advise(n, &r);
		break;
	case MIGRATE:
	case WITHDRAW:
		status = migrate(n, &r);
		break;
	case CPU_FAULT:
		status = cpu_fault(n, &r);
		break;
	}
	unpin_all(n);
	action = emit(n, UVMP_ACTION_DONE, cause[r.kind]);
	action->ticket = r.ticket;
	action->status = (int8_t)status;
	(void)perform(n);
	n->batch = batch;
}

/* -- unpinning ------------------------------------------------------------------------------- */

uint64_t naive_service_due_ns(const struct naive_service *n)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < NAIVE_SPACES; i++) {
		const struct naive_thrash *t = &n->space[i].thrash;

		if (n->space[i].exists && t->waiting > 0 && t->fifo[0].deadline < first)
			first = t->fifo[0].deadline;
	}
	return first;
}

/* At most 64 pages a group. */
static void unpin_pages(struct naive_service *n)
{
	uint32_t number, page, pages = 0;

	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		while (n->space[i].exists && pages < 64 &&
		       naive_thrash_unpin(&n->space[i].thrash, n->now, &number, &page)) {
			struct block *b = n->block[number];
			bool flag[PAGES] = {false};

			flag[page] = true;
			pages++;
			for (uint32_t k = 0; k < b->places; k++)
				if (!in(b->range->accessed_by, b->place[k]) &&
				    !in(b->page[page].resident, b->place[k]))
					unmap(n, UVMP_CAUSE_PIN, b, b->place[k], flag, 0);
			emit_pages(n, UVMP_ACTION_UNPIN, UVMP_CAUSE_PIN, b, flag);
		}
	(void)perform(n);
}

/* -- the bottom half ------------------------------------------------------------------------- */

static bool is_pending(const struct gpu *g)
{
	return g->get != g->put;
}

static uint32_t flush(struct gpu *g, bool update_put)
{
	uint32_t gone = 0;

	if (update_put)
		g->cached_put = g->put;
	while (g->get != g->cached_put) {
		g->get = (g->get + 1) % g->capacity;
		gone++;
	}
	return gone;
}

static void emit_flush(struct naive_service *n, bool update_put)
{
	struct uvmp_action *action = emit(n, UVMP_ACTION_FLUSH, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->is_update = update_put;
	action->count = flush(&n->gpu[n->in_gpu], update_put);
}

static void emit_for_gpu(struct naive_service *n, enum uvmp_action_kind kind, bool is_update)
{
	struct uvmp_action *action = emit(n, kind, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->is_update = is_update;
}

static void emit_cancel(struct naive_service *n, const struct uvmp_fault *f, enum uvmp_cause cause,
                        uint8_t mode)
{
	refuse(n, n->in_gpu, f->va_space, f->address, cause, mode, true);
	n->gpu[n->in_gpu].counts.cancelled++;
}

static void fetch(struct naive_service *n, enum uvmp_fetch_mode mode)
{
	struct gpu *g = &n->gpu[n->in_gpu];
	struct uvmp_fault_buffer buffer = {g->entry, g->capacity, g->get, g->cached_put};
	struct uvmp_fetch_params params = {n->policy.replay.max_batch, n->page_bytes, n->policy.coalesce,
	                                   n->policy.quirks};

	n->orders = n->position = 0;
	naive_fault_fetch(&params, mode, g->put, &buffer, g->capacity, UINT32_MAX, n->fetch);
	g->get = n->fetch->get;
	g->cached_put = n->fetch->cached_put;
	if (n->fetch->cached > 0) {
		g->counts.batches++;
		g->counts.faults += n->fetch->cached;
		g->counts.coalesced += n->fetch->coalesced;
	}
}

static struct channel *find_channel(struct naive_service *n, const struct uvmp_fault *f)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == n->in_gpu && c->aperture == f->aperture &&
		    c->instance == f->instance && c->subcontext == f->subcontext)
			return c;
	}
	return NULL;
}

static bool has_sibling(struct naive_service *n, const struct uvmp_fault *f)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == n->in_gpu && c->aperture == f->aperture &&
		    c->instance == f->instance)
			return true;
	}
	return false;
}

/* Order and channels; false: one is dead, all is flushed. */
static bool preprocess(struct naive_service *n)
{
	struct naive_fetch *f = n->fetch;
	struct uvmp_action *action = emit(n, UVMP_ACTION_BATCH, UVMP_CAUSE_NONE);

	action->to = (uint8_t)n->in_gpu;
	action->count = f->cached;
	action->detail = f->coalesced;
	n->orders = 0;
	for (uint32_t i = 0; i < f->cached; i++)
		if (!f->entry[i].is_filtered)
			n->order[n->orders++] = i;
	if (!f->is_single_instance)
		naive_fault_order_by_instance(f->entry, n->order, n->orders);
	for (uint32_t i = 0; i < n->orders; i++) {
		struct uvmp_fault *e = &f->entry[n->order[i]];
		struct channel *c = find_channel(n, e);

		if (c == NULL) {
			if (has_sibling(n, e)) {
				action = emit(n, UVMP_ACTION_CANCEL, UVMP_CAUSE_FATAL);
				action->to = (uint8_t)n->in_gpu;
				action->cancel_mode = UVMP_CANCEL_ALL;
				n->gpu[n->in_gpu].counts.cancelled++;
			}
			n->orders = 0;
			emit_flush(n, true);
			emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
			return false;
		}
		e->va_space = c->space;
		e->gpu = n->in_gpu;
	}
	naive_fault_order(f->entry, n->order, n->orders);
	n->position = 0;
	n->has_fatal = false;
	memset(n->is_fatal, 0, sizeof(n->is_fatal));
	return true;
}

static void mark_fatal(struct naive_service *n, uint32_t position, enum uvmp_cancel_mode mode)
{
	const struct uvmp_fault *f = &n->fetch->entry[n->order[position]];

	if (!n->has_fatal)
		n->fatal_space = f->va_space;
	n->has_fatal = true;
	n->is_fatal[position] = true;
	n->cancel_mode[position] = (uint8_t)mode;
}

/* One walk over the faults of a block; returns how many they are. */
static uint32_t walk(struct naive_service *n, struct step *s, struct uvmp_replay_event *event)
{
	struct block *b = s->block;
	struct uvmp_fault *entry = n->fetch->entry;
	const struct uvmp_fault *previous = NULL;
	struct uvmp_fault_verdict verdict, before;
	uvmp_addr end = b->start + (uint64_t)b->pages * n->page_bytes - 1;
	uint32_t k = n->position;

	memset(&before, 0, sizeof(before));
	for (; k < n->orders; k++) {
		struct uvmp_fault *f = &entry[n->order[k]];
		uint32_t i = (uint32_t)((f->address - b->start) / n->page_bytes);
		struct uvmp_fault_facts facts = {.right = b->range->right, .is_retry = s->is_retry};
		uint64_t until_ns;

		if (f->va_space != b->space || f->address > end)
			break;
		facts.mapped = (enum uvmp_right)b->page[i].right[n->in_gpu];
		naive_fault_classify(f, &facts, previous, previous == NULL ? NULL : &before, &verdict);
		if (!s->is_retry) {
			event->duplicates += f->num_instances - (verdict.is_duplicate ? 0 : 1);
			event->invalid_prefetches += verdict.invalid_prefetches;
		}
		if (verdict.is_fatal)
			mark_fatal(n, k, verdict.cancel_mode);
		if (verdict.service_access != UVMP_ACCESS_NONE &&
		    choose(n, s, i, verdict.service_access, verdict.service_mask, UVMP_OPERATION_FAULT,
		           &until_ns) &&
		    !s->is_retry) {
			throttle(n, b, n->in_gpu, i, until_ns);
			verdict.is_throttled = true;
			event->has_throttled = true;
		}
		previous = f;
		before = verdict;
	}
	return k - n->position;
}

static void dispatch_block(struct naive_service *n, struct range *range, struct uvmp_replay_event *event)
{
	struct block *b = make_block(n, range, n->fetch->entry[n->order[n->position]].address);
	struct step *s = malloc(sizeof(*s));

	event->status = UVMP_ERR_RETRY;
	for (uint32_t k = 0; k < WALKS && event->status == UVMP_ERR_RETRY; k++) {
		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = n->in_gpu;
		s->cause = UVMP_CAUSE_DEMAND;
		s->migrate_cause = UVMP_MIGRATE_FAULT;
		s->is_prefetching = true;
		s->is_retry = k > 0;
		n->walked = walk(n, s, event);
		look_ahead(n);
		event->status = perform(n); /* what is throttled */
		if (event->status == UVMP_OK)
			event->status = step(n, s);
	}
	if (event->status == UVMP_ERR_RETRY)
		event->status = UVMP_ERR_NO_MEMORY;
	free(s);
	unpin_all(n);
	n->position += n->walked;
	n->walked = 0;
}

/* The next block of the batch. */
static void dispatch(struct naive_service *n, struct uvmp_replay_event *event)
{
	struct uvmp_fault *f = NULL;
	struct range *range;

	for (; n->position < n->orders; n->position++) {
		f = &n->fetch->entry[n->order[n->position]];
		if (!f->is_fatal)
			break;
		mark_fatal(n, n->position, UVMP_CANCEL_ALL);
	}
	if (n->position == n->orders) {
		event->is_none = true;
	} else {
		range = find_range(n, f->va_space, f->address);
		if (range != NULL) {
			dispatch_block(n, range, event);
		} else {
			if (n->position == 0 ||
			    !uvmp_fault_is_same_page(&n->fetch->entry[n->order[n->position - 1]], f))
				event->duplicates--;
			event->duplicates += f->num_instances;
			if (f->access == UVMP_ACCESS_PREFETCH)
				event->invalid_prefetches += f->num_instances;
			else
				mark_fatal(n, n->position, UVMP_CANCEL_ALL);
			n->position++;
		}
	}
	event->is_last = n->position == n->orders;
	event->has_fatal = n->has_fatal;
}

static void cancel_batch(struct naive_service *n)
{
	uint32_t cancelled = 0;

	for (uint32_t i = 0; i < n->orders; i++) {
		if (++cancelled % 1024 == 0)
			(void)perform(n);
		emit_cancel(n, &n->fetch->entry[n->order[i]], UVMP_CAUSE_ERROR, UVMP_CANCEL_ALL);
	}
	n->position = n->orders;
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	(void)perform(n);
}

static enum uvmp_status cancel_precise(struct naive_service *n)
{
	uint64_t space = n->fatal_space;
	struct uvmp_replay_event event;

	emit_for_gpu(n, UVMP_ACTION_WAIT, false);
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	emit_for_gpu(n, UVMP_ACTION_WAIT, false);
	(void)perform(n);
	fetch(n, UVMP_FETCH_ALL);
	if (n->fetch->cached > 0) {
		bool is_alive = preprocess(n);

		(void)perform(n);
		if (!is_alive)
			return UVMP_OK;
		while (n->position < n->orders) {
			const struct uvmp_fault *f = &n->fetch->entry[n->order[n->position]];

			memset(&event, 0, sizeof(event));
			if (f->is_fatal)
				mark_fatal(n, n->position++, UVMP_CANCEL_ALL);
			else if (f->va_space != space)
				n->position++;
			else
				dispatch(n, &event); /* what it could not bring ends nothing */
		}
		for (uint32_t i = 0; i < n->orders; i++)
			if (n->is_fatal[i])
				emit_cancel(n, &n->fetch->entry[n->order[i]], UVMP_CAUSE_FATAL,
				            n->cancel_mode[i]);
		(void)perform(n);
	}
	emit_flush(n, true);
	emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
	return perform(n);
}

static void report_toggle(struct naive_service *n)
{
	struct naive_replay *replay = &n->gpu[n->in_gpu].replay;

	if (replay->is_prefetch_enabled == n->was_prefetch_enabled)
		return;
	n->was_prefetch_enabled = replay->is_prefetch_enabled;
	emit_for_gpu(n, UVMP_ACTION_TOGGLE, replay->is_prefetch_enabled);
	(void)perform(n);
}

static struct uvmp_replay_event perform_replay(void *host, enum uvmp_replay_action_kind kind, bool update_put)
{
	struct naive_service *n = host;
	struct uvmp_replay_event event;

	memset(&event, 0, sizeof(event));
	n->batch = n->gpu[n->in_gpu].replay.batch_id;
	report_toggle(n);
	while (n->requests > 0)
		serve_request(n);
	switch (kind) {
	case UVMP_REPLAY_FETCH:
		fetch(n, UVMP_FETCH_BATCH_READY);
		event.cached = n->fetch->cached;
		break;
	case UVMP_REPLAY_PREPROCESS:
		event.is_stale = !preprocess(n);
		event.status = perform(n);
		switch_prefetcher(n);
		if (!event.is_stale && n->policy.free_buffer != 0)
			trim(n);
		break;
	case UVMP_REPLAY_SERVICE:
		dispatch(n, &event);
		n->gpu[n->in_gpu].counts.duplicates += event.duplicates;
		n->gpu[n->in_gpu].counts.invalid_prefetches += event.invalid_prefetches;
		break;
	case UVMP_REPLAY_PUSH:
		emit_for_gpu(n, UVMP_ACTION_REPLAY, false);
		event.status = perform(n);
		break;
	case UVMP_REPLAY_FLUSH:
		emit_flush(n, update_put);
		event.status = perform(n);
		break;
	case UVMP_REPLAY_WAIT_REPLAY:
	case UVMP_REPLAY_WAIT_WORK:
		emit_for_gpu(n, UVMP_ACTION_WAIT, kind == UVMP_REPLAY_WAIT_WORK);
		event.status = perform(n);
		break;
	case UVMP_REPLAY_CANCEL_PRECISE:
		event.status = cancel_precise(n);
		break;
	case UVMP_REPLAY_CANCEL_BATCH:
		cancel_batch(n);
		break;
	case UVMP_REPLAY_STOP:
		break;
	}
	if (event.status != UVMP_OK)
		n->replay_error = event.status;
	event.now_ns = n->now;
	return event;
}

static void bottom_half(struct naive_service *n, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct uvmp_replay_params params = n->policy.replay;
	struct uvmp_action *action;
	enum uvmp_status status;

	if (params.max_batch < 1)
		params.max_batch = 1;
	if (params.max_batch > g->capacity)
		params.max_batch = g->capacity;
	n->in_gpu = gpu;
	n->orders = n->position = 0;
	n->was_prefetch_enabled = g->replay.is_prefetch_enabled;
	g->counts.bottom_halves++;
	status = naive_replay_run(&g->replay, &params, perform_replay, n);
	n->batch = g->replay.batch_id;
	report_toggle(n);
	while (n->requests > 0)
		serve_request(n);
	n->batch = 0;
	action = emit(n, UVMP_ACTION_DONE, UVMP_CAUSE_NONE);
	action->to = (uint8_t)gpu;
	action->status = (int8_t)status;
	(void)perform(n);
	n->in_gpu = 0;
}

/* -- access counters [driver: counter-service]
 * --------------------------------------------------------------------- */

struct note {
	struct uvmp_note is;
	bool has_space;
	uint64_t space;
};

static bool has_notes(const struct gpu *g)
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
	struct uvmp_action *action = emit(n, UVMP_ACTION_CLEAR, UVMP_CAUSE_COUNTER);

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

		resident_on(b, p, flag);
		pack(flag, &resident[p]);
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
	struct step *s = malloc(sizeof(*s));
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
			    choose(n, s, i, UVMP_ACCESS_PREFETCH, 1, UVMP_OPERATION_ACCESS_COUNTER,
			           &until_ns) &&
			    walk == 0)
				throttle(n, b, gpu, i, until_ns);
		for (uint32_t p = 0; p < n->procs; p++)
			for (uint32_t i = 0; i < b->pages; i++)
				s->want[p][i] = s->want[p][i] && !in(b->page[i].resident, p);
		(void)perform(n);
		status = step(n, s);
	}
	free(s);
	unpin_all(n);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}

/* One batch of notifications. */
static void counters(struct naive_service *n, uint32_t gpu)
{
	struct gpu *g = &n->gpu[gpu];
	struct note *note = calloc(g->notes + 1, sizeof(*note));
	uint32_t count = fetch_notes(n, g, note), group = 1;
	struct uvmp_action *action;
	enum uvmp_status status = UVMP_OK;

	n->batch = ++g->note_batches;
	action = emit(n, UVMP_ACTION_BATCH, UVMP_CAUSE_COUNTER);
	action->to = (uint8_t)gpu;
	action->count = action->detail = count;
	order_notes(n, gpu, note, count);
	(void)perform(n);
	if (!n->has_counters ||
	    (n->page_bytes == 4096 && n->policy.quirks && n->policy.counters != UVMP_COUNTERS_ON)) /* [driver: notifications-drained] */
		count = 0;
	for (uint32_t i = 0; i < count && status == UVMP_OK; i += group) {
		const struct note *first = &note[i];
		struct block *b = NULL;

		group = 1;
		if (!first->has_space || find_space(n, first->space) == NULL)
			continue;
		b = find_block(n, first->space, first->is.address);
		if (b != NULL) {
			while (i + group < count && note[i + group].space == first->space &&
			       note[i + group].is.address < page_address(n, b, b->pages))
				group++;
			status = count_block(n, b, gpu, first, group);
			for (uint32_t k = 0; k < group && status == UVMP_OK; k++)
				emit_clear(n, gpu, &first[k]);
		} else {
			emit_clear(n, gpu, n->policy.quirks ? &note[0] : first); /* [driver: clears-first-notification] */
		}
		if (status != UVMP_OK) {
			action = emit(n, UVMP_ACTION_DONE, UVMP_CAUSE_COUNTER);
			action->to = (uint8_t)gpu;
			action->status = (int8_t)status;
		}
		(void)perform(n);
	}
	n->batch = 0;
	free(note);
}

/* GPUs in turn; 0: none. */
static uint32_t next_gpu(const struct naive_service *n)
{
	for (uint32_t i = 1; i < n->procs; i++) {
		uint32_t gpu = 1 + (n->last_gpu + i - 1) % (n->procs - 1);

		if (is_pending(&n->gpu[gpu]))
			return gpu;
	}
	return 0;
}

void naive_service_run(struct naive_service *n)
{
	for (;;) {
		uint32_t gpu = next_gpu(n);

		if (n->requests > 0) {
			serve_request(n);
		} else if (naive_service_due_ns(n) <= n->now + 20000u) {
			unpin_pages(n);
		} else if (gpu != 0) {
			n->last_gpu = gpu;
			bottom_half(n, gpu);
		} else {
			for (gpu = 1; gpu < n->procs && !has_notes(&n->gpu[gpu]);)
				gpu++;
			if (gpu == n->procs)
				return;
			counters(n, gpu);
		}
	}
}

/* -- events ---------------------------------------------------------------------------------- */

struct naive_service *naive_service_new(const struct uvmp_service_params *params, naive_service_group *group,
                                        void *host)
{
	struct naive_service *n = calloc(1, sizeof(*n));

	n->policy = *params->policy;
	n->processors = *params->processors;
	n->procs = n->processors.count;
	n->page_bytes = params->page_bytes;
	n->max_spaces = params->spaces;
	n->max_ranges = params->ranges;
	n->max_instances = params->instances;
	n->max_requests = params->requests;
	n->has_counters = n->policy.counters == UVMP_COUNTERS_ON ||
	                  (n->policy.counters == UVMP_COUNTERS_DRIVER && params->has_ats);
	n->maps_evicted = n->has_counters && n->policy.map_on_eviction;
	n->host_group = group;
	n->host = host;
	n->group = calloc(8192, sizeof(*n->group));
	n->status = calloc(8192, sizeof(*n->status));
	n->moved = calloc(8192, sizeof(*n->moved));
	n->fetch = calloc(1, sizeof(*n->fetch));
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		n->block[i] = calloc(1, sizeof(*n->block[i]));
	for (uint32_t p = 1; p < n->procs; p++) {
		const struct uvmp_service_gpu *from = &params->gpu[p - 1];
		struct gpu *g = &n->gpu[p];
		struct uvmp_pmm_params pmm = {(uint32_t)(from->memory_bytes / UVMP_ROOT_CHUNK_BYTES),
		                              from->splits, n->policy.pma_order, true, n->policy.quirks,
		                              n->page_bytes == 16384 ? 16384 : 4096};

		g->pmm = calloc(1, sizeof(*g->pmm));
		naive_pmm_init(g->pmm, &pmm);
		if (n->policy.evict != UVMP_EVICT_LRU)
			g->order_pages = uvmp_policy_unit_pages(&n->policy);
		g->unit_pages = g->order_pages * 4096 / n->page_bytes;
		g->counts_units = from->counts_units && g->unit_pages != 0;
		g->memory_pages = (g->order_pages == 0 ? (uint64_t)pmm.roots * UVMP_ROOT_CHUNK_BYTES : from->memory_bytes) /
		                  n->page_bytes;
		g->capacity = from->fault_entries;
		g->entry = calloc(g->capacity, sizeof(*g->entry));
		g->notes = from->notes;
		g->note = calloc(g->notes + 1, sizeof(*g->note));
		g->replay.is_prefetch_enabled = true;
	}
	return n;
}

void naive_service_free(struct naive_service *n)
{
	for (uint32_t i = 0; i < NAIVE_SPACES; i++)
		if (n->space[i].exists)
			naive_thrash_free(&n->space[i].thrash);
	for (uint32_t p = 1; p < n->procs; p++) {
		free(n->gpu[p].pmm);
		free(n->gpu[p].entry);
		free(n->gpu[p].note);
	}
	for (uint32_t i = 0; i < NAIVE_BLOCKS; i++)
		free(n->block[i]);
	free(n->fetch);
	free(n->status);
	free(n->moved);
	free(n->group);
	free(n);
}

void naive_service_set_time(struct naive_service *n, uint64_t now_ns)
{
	n->now = now_ns;
}

enum uvmp_status naive_service_bind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
                                    uint64_t instance, uint32_t subcontext, uint64_t space)
{
	struct channel *unused = NULL;
	uint32_t channels = 0;

	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		channels += c->exists;
		if (!c->exists && unused == NULL)
			unused = c;
		if (c->exists && c->gpu == gpu && c->aperture == aperture && c->instance == instance &&
		    c->subcontext == subcontext)
			return UVMP_ERR_CONFLICT;
	}
	if (channels >= n->max_instances || make_space(n, space) == NULL)
		return UVMP_ERR_SPACE;
	*unused = (struct channel){true, gpu, aperture, subcontext, instance, space};
	return UVMP_OK;
}

enum uvmp_status naive_service_unbind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
                                      uint64_t instance, uint32_t subcontext)
{
	for (uint32_t i = 0; i < NAIVE_CHANNELS; i++) {
		struct channel *c = &n->channel[i];

		if (c->exists && c->gpu == gpu && c->aperture == aperture && c->instance == instance &&
		    c->subcontext == subcontext) {
			c->exists = false;
			drop_space(n, c->space);
			return UVMP_OK;
		}
	}
	return UVMP_ERR_STATE;
}

enum uvmp_status naive_service_add_range(struct naive_service *n, uint64_t space, uvmp_addr base,
                                         uint64_t bytes, enum uvmp_right right, uint32_t home)
{
	struct range *unused = NULL;
	uint32_t ranges = 0;

	for (uint32_t i = 0; i < NAIVE_RANGES; i++) {
		struct range *r = &n->range[i];

		ranges += r->exists;
		if (!r->exists && unused == NULL)
			unused = r;
		if (r->exists && r->space == space && r->base <= base + bytes - 1 && base <= r->end)
			return UVMP_ERR_CONFLICT;
	}
	if (ranges >= n->max_ranges || make_space(n, space) == NULL)
		return UVMP_ERR_SPACE;
	*unused = (struct range){.exists = true,
	                         .space = space,
	                         .base = base,
	                         .end = base + bytes - 1,
	                         .origin = base,
	                         .right = right,
	                         .home = home,
	                         .preferred = NONE};
	return UVMP_OK;
}

static enum uvmp_status enqueue(struct naive_service *n, struct request r)
{
	if (n->requests >= n->max_requests)
		return UVMP_ERR_SPACE;
	r.ticket = ++n->tickets;
	n->request[n->requests++] = r;
	return UVMP_OK;
}

enum uvmp_status naive_service_free_range(struct naive_service *n, uint64_t space, uvmp_addr base)
{
	return enqueue(n, (struct request){.kind = FREE_RANGE, .space = space, .base = base});
}

enum uvmp_status naive_service_free_part(struct naive_service *n, uint64_t space, uvmp_addr base,
                                         uint64_t bytes)
{
	return enqueue(n, (struct request){.kind = FREE_PART, .space = space, .base = base, .bytes = bytes});
}

enum uvmp_status naive_service_advise(struct naive_service *n, uint64_t space, uvmp_addr base, uint64_t bytes,
                                      enum uvmp_advice advice, uint32_t processor)
{
	return enqueue(n, (struct request){.kind = ADVISE,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .advice = advice,
	                                   .processor = processor});
}

enum uvmp_status naive_service_migrate(struct naive_service *n, uint64_t space, uvmp_addr base,
                                       uint64_t bytes, uint32_t processor)
{
	return enqueue(n, (struct request){.kind = MIGRATE,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .processor = processor});
}

enum uvmp_status naive_service_withdraw(struct naive_service *n, uint64_t space, uvmp_addr base,
                                        uint64_t bytes, uint32_t processor)
{
	bool has_victims = processor != UVMP_CPU && n->gpu[processor].unit_pages != 0 &&
	                   n->policy.evict != UVMP_EVICT_LFU_2M && !in(n->processors.no_memory, processor);

	if (!has_victims)
		return UVMP_ERR_RANGE;
	return enqueue(n, (struct request){.kind = WITHDRAW,
	                                   .space = space,
	                                   .base = base,
	                                   .bytes = bytes,
	                                   .processor = processor});
}

enum uvmp_status naive_service_cpu_fault(struct naive_service *n, uint64_t space, uvmp_addr address,
                                         enum uvmp_access access, uint64_t thread)
{
	return enqueue(n, (struct request){.kind = CPU_FAULT,
	                                   .space = space,
	                                   .base = address / n->page_bytes * n->page_bytes,
	                                   .access = access,
	                                   .thread = thread});
}

enum uvmp_status naive_service_fault(struct naive_service *n, uint32_t gpu, const struct uvmp_fault *fault)
{
	struct gpu *g = &n->gpu[gpu];

	if ((g->put + 1) % g->capacity == g->get)
		return UVMP_ERR_SPACE;
	g->entry[g->put] = *fault;
	g->entry[g->put].is_valid = true;
	g->put = (g->put + 1) % g->capacity;
	return UVMP_OK;
}

enum uvmp_status naive_service_note(struct naive_service *n, uint32_t gpu, const struct uvmp_note *note)
{
	struct gpu *g = &n->gpu[gpu];

	if (g->notes == 0)
		return UVMP_ERR_RANGE;
	if ((g->note_put + 1) % g->notes == g->note_get)
		return UVMP_ERR_SPACE;
	g->note[g->note_put] = *note;
	g->note_put = (g->note_put + 1) % g->notes;
	return UVMP_OK;
}

void naive_service_touch(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address)
{
	struct block *b = find_block(n, space, address);
	uint32_t i;

	if (b == NULL || processor == UVMP_CPU)
		return;
	i = (uint32_t)((address - b->start) / n->page_bytes);
	if (in(b->page[i].resident, processor) && n->gpu[processor].unit_pages != 0) {
		bool pages[PAGES] = {false};

		pages[i] = true;
		touch_units(n, b, processor, pages);
	} else if (in(b->page[i].resident, processor))
		naive_pmm_touch(n->gpu[processor].pmm,
		                b->owned[processor][chunk_around(n, b, i).first].chunk);
}

void naive_service_hold(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address,
                        uint64_t until_ns)
{
	struct block *b = find_block(n, space, address);
	uint32_t page;

	if (b == NULL || n->gpu[processor].order_pages < 16 || !b->is_known[processor])
		return;
	page = (uint32_t)((address - b->start) / n->page_bytes);
	naive_hold(&n->holds, processor, b->number, page / n->gpu[processor].unit_pages, until_ns);
}

/* -- looking --------------------------------------------------------------------------------- */

enum uvmp_status naive_service_page(const struct naive_service *n, uint64_t space, uvmp_addr address,
                                    struct uvmp_page_state *state)
{
	const struct range *range = find_range((struct naive_service *)(uintptr_t)n, space, address);
	const struct block *b = find_block(n, space, address);
	uint32_t i;

	memset(state, 0, sizeof(*state));
	if (range == NULL)
		return UVMP_ERR_UNKNOWN;
	if (b == NULL) {
		if (range->home == UVMP_CPU) {
			state->resident = state->read = 1;
			state->write = range->right >= UVMP_RIGHT_READ_WRITE;
			state->atomic = range->right >= UVMP_RIGHT_READ_WRITE_ATOMIC;
		}
		return UVMP_OK;
	}
	i = (uint32_t)((address - b->start) / n->page_bytes);
	state->resident = b->page[i].resident;
	state->read = mapped_at(n, &b->page[i], UVMP_RIGHT_READ);
	state->write = mapped_at(n, &b->page[i], UVMP_RIGHT_READ_WRITE);
	state->atomic = mapped_at(n, &b->page[i], UVMP_RIGHT_READ_WRITE_ATOMIC);
	state->is_duplicated = b->page[i].is_duplicated;
	state->is_discarded = b->page[i].is_discarded;
	for (uint32_t k = 0; k < NAIVE_SPACES; k++)
		if (n->space[k].exists && n->space[k].id == space) {
			const struct naive_thrash_page *page = &n->space[k].thrash.block[b->number].page[i];

			state->is_pinned = page->pinned;
			state->is_thrashing = page->thrashing;
		}
	return UVMP_OK;
}

void naive_service_count(const struct naive_service *n, uint32_t gpu, struct uvmp_service_counts *counts)
{
	*counts = n->gpu[gpu].counts;
}

void naive_service_used(const struct naive_service *n, uint32_t gpu, uint64_t *owned, uint64_t *resident)
{
	*owned = *resident = 0;
	for (uint32_t k = 0; k < NAIVE_BLOCKS; k++)
		for (uint32_t i = 0; n->block[k]->exists && i < n->block[k]->pages; i++) {
			const struct owned *o = &n->block[k]->owned[gpu][i];

			*owned += o->exists ? o->end - o->first : 0;
			*owned += n->gpu[gpu].unit_pages != 0 && page_counts(n, n->block[k], gpu, i, NULL);
			*resident += in(n->block[k]->page[i].resident, gpu);
		}
}

uint32_t naive_service_waiting(const struct naive_service *n, uint32_t gpu)
{
	const struct gpu *g = &n->gpu[gpu];

	return (g->put + g->capacity - g->get) % g->capacity;
}
