/* State of the thrashing detector: parameters, blocks and their arrays, pins and the queue of pinned pages,
 * and the events [driver: thrashing-parameters, thrashing-state, thrashing-events, pin-and-reset].
 *
 * An event stamps each page of its region. A stamp within the lapse after the stamp before is counted. With
 * enough of them the page thrashes, until an event that is late, a reset, or the end of its pin. The array
 * with the stamps exists only for blocks in which events of two processors were within one lapse. The queue
 * of pinned pages is linked through the pages themselves. */
#include "parameters_internal.h"
#include "thrash_internal.h"

#define UNPIN_EARLY_NS 20000u

static const char *switch_name(uint32_t is_on)
{
	static const char name[][4] = {"off", "on"};

	return is_on <= 1u ? name[is_on] : NULL;
}

const struct parameter uvmpi_thrash_parameters[9] = {
        PARAMETER_CHOICE(struct uvmp_thrash_params, is_enabled, "thrash", 2, 1, switch_name,
                         "detect thrashing pages, pin them and throttle processors"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, threshold, "thrash_threshold", 1, EVENTS_MAX, 3,
                         "events, each within lapse_us of the last, from which a page counts as thrashing"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, pin_threshold, "pin_threshold", 1, THROTTLES_MAX, 10,
                         "throttlings after which a thrashing page is pinned"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, lapse_us, "lapse_us", 1, 1000000000, 500,
                         "longest gap between events that counts as thrashing; only 500 adapts"),
        PARAMETER(struct uvmp_thrash_params, vote_threshold, "lapse_votes", 0, 1000000, 32, 1, LIMIT_QUIRKS,
                  NULL, "votes before the lapse adapts; 0 only with quirks=1, where it means 500"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, nap, "nap", 1, 100, 1,
                         "duration of a throttling, in lapses"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, epoch, "epoch", 1, 1000000, 2000,
                         "time without events after which a block's history is reset, in lapses"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, pin, "pin", 0, 1000000, 300,
                         "time for which a page stays pinned, in lapses; 0: without end"),
        PARAMETER_NUMBER(struct uvmp_thrash_params, max_resets, "max_resets", 0, 1000000, 4,
                         "resets of a block's history, at most"),
};

void uvmp_thrash_params_init(struct uvmp_thrash_params *params)
{
	if (params == NULL)
		return;
	*params = (struct uvmp_thrash_params){.quirks = true};
	uvmpi_parameters_init(uvmpi_thrash_parameters, 9, params);
}

static void correct(uint32_t *value, uint32_t low, uint32_t high, uint32_t otherwise)
{
	if (*value < low || *value > high)
		*value = otherwise;
}

enum uvmp_status uvmp_thrash_space_init(struct uvmp_thrash_space *space,
                                        const struct uvmp_thrash_params *params)
{
	struct uvmp_thrash_params kept, initial;

	if (space == NULL || params == NULL)
		return UVMP_ERR_ARGUMENT;
	kept = *params;
	uvmp_thrash_params_init(&initial);
	correct(&kept.threshold, 1, EVENTS_MAX, initial.threshold);
	correct(&kept.pin_threshold, 1, THROTTLES_MAX, initial.pin_threshold);
	correct(&kept.lapse_us, 1, UINT32_MAX, initial.lapse_us);
	correct(&kept.vote_threshold, 1, UINT32_MAX, kept.quirks ? 500 : initial.vote_threshold); /* [driver: vote-threshold-zero] */
	correct(&kept.nap, 1, 100, initial.nap);
	correct(&kept.epoch, 1, UINT32_MAX, initial.epoch);
	space->params = kept;
	space->lapse_ns = (uint64_t)kept.lapse_us * 1000u;
	space->vote = 0;
	space->first = NULL;
	space->last = NULL;
	return UVMP_OK;
}

bool uvmp_thrash_space_is_valid(const struct uvmp_thrash_space *space)
{
	return space != NULL && space->params.threshold - 1u < EVENTS_MAX && space->lapse_ns != 0 &&
	       (space->first == NULL) == (space->last == NULL);
}

/* -- blocks -- */

static bool is_block_size(uint32_t pages)
{
	return pages != 0 && pages <= UVMP_MASK_BITS;
}

enum uvmp_status uvmp_thrash_block_init(struct uvmp_thrash_block *block, uint64_t id, uint32_t pages)
{
	const struct uvmp_thrash_block fresh = {.id = id, .pages = pages, .last_proc = UVMP_PROC_NONE};

	if (block == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!is_block_size(pages))
		return UVMP_ERR_RANGE;
	*block = fresh;
	return UVMP_OK;
}

bool uvmp_thrash_block_is_valid(const struct uvmp_thrash_block *block)
{
	struct uvmp_region beyond = {0, UVMP_MASK_BITS};

	if (block == NULL || !is_block_size(block->pages) || (block->has_pages && block->memory == NULL))
		return false;
	beyond.first = block->has_pages ? block->pages : 0;
	return block->last_proc <= UVMP_PROC_NONE && !uvmpi_mask_region_any(&block->thrashing, beyond) &&
	       uvmpi_mask_is_subset(&block->pinned, &block->thrashing);
}

size_t uvmp_thrash_array_size(uint32_t pages)
{
	return is_block_size(pages) ? pages * sizeof(struct uvmp_thrash_page) : 0;
}

enum uvmp_status uvmp_thrash_block_give(struct uvmp_thrash_block *block, void *memory, size_t bytes)
{
	if (!uvmp_thrash_block_is_valid(block) || memory == NULL ||
	    (uintptr_t)memory % _Alignof(struct uvmp_thrash_page) != 0)
		return UVMP_ERR_ARGUMENT;
	if (block->memory != NULL)
		return UVMP_ERR_STATE;
	if (bytes < uvmp_thrash_array_size(block->pages))
		return UVMP_ERR_SPACE;
	block->memory = (struct uvmp_thrash_page *)memory;
	return UVMP_OK;
}

enum uvmp_status uvmp_thrash_block_take(struct uvmp_thrash_block *block, void **memory)
{
	if (!uvmp_thrash_block_is_valid(block) || memory == NULL)
		return UVMP_ERR_ARGUMENT;
	if (block->memory == NULL || block->has_pages)
		return UVMP_ERR_STATE;
	*memory = block->memory;
	block->memory = NULL;
	return UVMP_OK;
}

void uvmpi_thrash_block_forget(struct uvmp_thrash_block *block)
{
	block->has_pages = false;
	block->last_proc = UVMP_PROC_NONE;
	block->last_ns = 0;
	block->last_thrashing_ns = 0;
	uvmpi_mask_zero(&block->thrashing);
}

/* Most blocks that are suspected have events of few pages: the entry of a page is written when its first event comes. */
static void begin_pages(struct uvmp_thrash_block *block)
{
	uvmpi_mask_zero(&block->begun);
	block->has_pages = true;
}

UVMPI_NOINLINE static void begin_page(struct uvmp_thrash_block *block, uint32_t page)
{
	const struct uvmp_thrash_page fresh = {
	        .block = block, .pin_proc = UVMP_PROC_NONE, .spared = UVMP_PROC_NONE};

	block->memory[page] = fresh;
	uvmp_mask_set(&block->begun, page);
}

/* -- pins -- */

static void enqueue(struct uvmp_thrash_space *space, struct uvmp_thrash_page *page)
{
	page->is_queued = true;
	page->next = NULL;
	page->previous = space->last;
	if (space->last == NULL)
		space->first = page;
	else
		space->last->next = page;
	space->last = page;
}

static void dequeue(struct uvmp_thrash_space *space, struct uvmp_thrash_page *page)
{
	page->is_queued = false;
	if (page->previous == NULL)
		space->first = page->next;
	else
		page->previous->next = page->next;
	if (page->next == NULL)
		space->last = page->previous;
	else
		page->next->previous = page->previous;
}

void uvmpi_thrash_page_pin(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t index,
                           uint32_t proc, uint64_t now_ns)
{
	struct uvmp_thrash_page *page = &block->memory[index];

	uvmpi_thrash_end_throttling(page);
	page->pin_proc = (uint8_t)proc;
	if (space->params.pin != 0) {
		page->deadline_ns = now_ns + uvmpi_thrash_lapses(space, space->params.pin);
		enqueue(space, page);
	}
	page->throttles = 0;
	uvmp_mask_set(&block->pinned, index);
	if (block->pins != UINT32_MAX)
		block->pins++;
}

void uvmpi_thrash_page_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t index)
{
	struct uvmp_thrash_page *page = &block->memory[index];

	uvmpi_thrash_end_throttling(page);
	if (page->is_queued)
		dequeue(space, page);
	page->pin_proc = UVMP_PROC_NONE;
	page->event_ns = 0;
	page->events = 0;
	page->has_migrated = false;
	page->has_revoked = false;
	page->procs = 0;
	if (!space->params.quirks) { /* [driver: reset-leftovers] */
		page->throttles = 0;
		page->spared = UVMP_PROC_NONE;
	}
	uvmp_mask_clear(&block->pinned, index);
	uvmp_mask_clear(&block->thrashing, index);
}

static void reset_region(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                         struct uvmp_region region)
{
	uint32_t page = uvmpi_mask_next_set(&block->thrashing, region.first);

	while (page < region.end) {
		uvmpi_thrash_page_reset(space, block, page);
		page = uvmpi_mask_next_set(&block->thrashing, page + 1u);
	}
}

enum uvmp_status uvmp_thrash_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                   struct uvmp_region region)
{
	if (!uvmp_thrash_space_is_valid(space) || !uvmp_thrash_block_is_valid(block))
		return UVMP_ERR_ARGUMENT;
	if (!is_region_inside(block, region))
		return UVMP_ERR_RANGE;
	reset_region(space, block, region);
	return UVMP_OK;
}

enum uvmp_status uvmp_thrash_block_end(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block)
{
	struct uvmp_region all = {0, UVMP_MASK_BITS};

	if (!uvmp_thrash_space_is_valid(space) || !uvmp_thrash_block_is_valid(block))
		return UVMP_ERR_ARGUMENT;
	reset_region(space, block, all);
	uvmpi_thrash_block_forget(block);
	block->resets = 0;
	block->pins = 0;
	block->throttlings = 0;
	return UVMP_OK;
}

/* Until the page's deadline, 0 behind it. */
static uint64_t time_left(const struct uvmp_thrash_page *page, uint64_t now_ns)
{
	return page->deadline_ns > now_ns ? page->deadline_ns - now_ns : 0;
}

uint64_t uvmp_thrash_unpin_us(const struct uvmp_thrash_space *space, uint64_t now_ns)
{
	if (!uvmp_thrash_space_is_valid(space) || space->first == NULL)
		return UVMP_THRASH_IDLE;
	return time_left(space->first, now_ns) / 1000u;
}

/* May the head of the queue be unpinned? */
static bool is_due(const struct uvmp_thrash_space *space, uint64_t now_ns)
{
	return space->first != NULL && time_left(space->first, now_ns) <= UNPIN_EARLY_NS;
}

bool uvmp_thrash_unpin_is_due(const struct uvmp_thrash_space *space, uint64_t now_ns)
{
	return uvmp_thrash_space_is_valid(space) && is_due(space, now_ns);
}

enum uvmp_status uvmp_thrash_unpin(struct uvmp_thrash_space *space, uint64_t now_ns,
                                   struct uvmp_thrash_block **block, uint32_t *page, bool *found)
{
	struct uvmp_thrash_page *head;

	if (!uvmp_thrash_space_is_valid(space) || block == NULL || page == NULL || found == NULL)
		return UVMP_ERR_ARGUMENT;
	*found = is_due(space, now_ns);
	if (!*found)
		return UVMP_OK;
	head = space->first;
	*block = head->block;
	*page = (uint32_t)(head - head->block->memory);
	uvmpi_thrash_page_reset(space, *block, *page);
	return UVMP_OK;
}

/* -- events -- */

/* A stamp that came within the lapse. */
static void count_event(const struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                        uint32_t index, bool is_migration, uint64_t now_ns)
{
	struct uvmp_thrash_page *page = &block->memory[index];

	if (page->events < EVENTS_MAX)
		page->events++;
	if (page->events >= space->params.threshold) {
		uvmp_mask_set(&block->thrashing, index);
		block->last_thrashing_ns = now_ns;
	}
	if (is_migration)
		page->has_migrated = true;
	else
		page->has_revoked = true;
}

/* One event of one page; `before` is its former stamp, 0: none. */
static inline void count_or_reset(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block, uint32_t index,
                                  bool is_migration, uint64_t before, uint64_t now_ns)
{
	struct uvmp_thrash_page *page = &block->memory[index];

	if (before == 0)
		return;
	if (now_ns - before <= space->lapse_ns) {
		count_event(space, block, index, is_migration, now_ns);
	} else if (page->events >= space->params.threshold) {
		if (!uvmpi_thrash_in(&block->pinned, index))
			uvmpi_thrash_page_reset(space, block, index);
	} else if (!space->params.quirks) { /* [driver: events-accumulate] */
		page->events = 0;
		page->has_migrated = false;
		page->has_revoked = false;
	}
}

static enum uvmp_status record(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                               struct uvmp_region region, uint32_t proc, bool is_migration, uint64_t now_ns)
{
	uint64_t stamp_ns = stored(space, now_ns);

	if (!block->has_pages &&
	    uvmpi_thrash_is_suspicious(space, block->last_ns, block->last_proc, proc, now_ns)) {
		if (block->memory == NULL)
			return UVMP_ERR_NO_MEMORY;
		begin_pages(block);
	}
	if (block->has_pages)
		for (uint32_t page = region.first; page < region.end; page++) {
			struct uvmp_thrash_page *entry = &block->memory[page];
			uint64_t before;

			if (!uvmpi_thrash_in(&block->begun, page))
				begin_page(block, page);
			before = entry->event_ns;
			entry->procs |= BIT(proc);
			entry->event_ns = stamp_ns;
			count_or_reset(space, block, page, is_migration, before, now_ns);
		}
	block->last_ns = now_ns;
	block->last_proc = proc;
	return UVMP_OK;
}

enum uvmp_thrash_effect uvmp_thrash_effect_of(const struct uvmp_thrash_space *space,
                                              const struct uvmp_thrash_migration *migration)
{
	return uvmpi_thrash_is_ready(space) && migration != NULL ? uvmpi_thrash_effect_of(space, migration)
	                                                         : UVMP_THRASH_IGNORED;
}

enum uvmp_status uvmpi_thrash_migrate(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                      const struct uvmp_thrash_migration *migration)
{
	enum uvmp_thrash_effect effect = uvmpi_thrash_effect_of(space, migration);

	UVMPI_ASSERT(uvmpi_thrash_accepts_event(space, block, migration->region, migration->to) &&
	             migration->final_to < UVMP_PROCS_MAX);
	if (effect == UVMP_THRASH_RESETS)
		reset_region(space, block, migration->region);
	if (effect != UVMP_THRASH_COUNTS)
		return UVMP_OK;
	/* The move only carries out a pin. */
	if (block->pins != 0 && uvmpi_thrash_is_demand(migration->cause) &&
	    uvmpi_mask_region_all(&block->pinned, migration->region))
		return UVMP_OK;
	return record(space, block, migration->region, migration->to, true, migration->now_ns);
}

enum uvmp_status uvmp_thrash_migrate(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                     const struct uvmp_thrash_migration *migration)
{
	if (!uvmpi_thrash_is_ready(space) || block == NULL || migration == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!is_region_inside(block, migration->region) || migration->to >= UVMP_PROCS_MAX ||
	    migration->final_to >= UVMP_PROCS_MAX)
		return UVMP_ERR_RANGE;
	return uvmpi_thrash_migrate(space, block, migration);
}

enum uvmp_status uvmpi_thrash_revoke(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                     struct uvmp_region region, uint32_t proc, uint64_t now_ns)
{
	UVMPI_ASSERT(uvmpi_thrash_accepts_event(space, block, region, proc));
	return space->params.is_enabled ? record(space, block, region, proc, false, now_ns) : UVMP_OK;
}

enum uvmp_status uvmp_thrash_revoke(struct uvmp_thrash_space *space, struct uvmp_thrash_block *block,
                                    struct uvmp_region region, uint32_t proc, uint64_t now_ns)
{
	if (!uvmpi_thrash_is_ready(space) || block == NULL)
		return UVMP_ERR_ARGUMENT;
	if (!is_region_inside(block, region) || proc >= UVMP_PROCS_MAX)
		return UVMP_ERR_RANGE;
	return uvmpi_thrash_revoke(space, block, region, proc, now_ns);
}
