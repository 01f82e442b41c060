/* Rows as a workload; recorded.h describes their use.
 *
 * Rows are recorded in one order, and warps read theirs in another. So rows are read ahead, never beyond the
 * end of the kernel, into a list for each warp; all lists share one window of fixed size. A warp that has no
 * row in a full window idles until others have taken some. Since all warps of a kernel run at the same time,
 * the others continue, so no warp waits without end. */
#include "recorded.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define NOTHING UINT32_MAX

/* An access of the window, or a free place. */
struct entry {
	uint64_t address;
	uint32_t next;
	uint16_t bytes; /* 0: not known */
	uint8_t access; /* enum uvmp_access */
};

struct list {
	uint32_t first, last; /* NOTHING: empty */
};

struct recorded {
	struct workload workload; /* first: the two are the same pointer to callers */
	struct source *source;
	const char *(*add_range)(void *context, const struct source_range *range);
	void *context;

	struct source_row row; /* read, and not taken yet; END: the source is over, well or badly */
	char name[64];	       /* of the kernel that runs; empty: none, or one without a name */

	struct entry *entry;
	uint32_t used, capacity, window; /* entries ever used; allocated; allowed */
	uint32_t spare;			 /* first free place below `used` */
	struct list *list;		 /* [warps] */
	uint32_t blocks, warps; /* thread blocks of more than one warp that run at a time, and all warps */
	uint32_t running;	/* warps of this kernel; `warps` while it is not known */
	uint32_t highest;	/* warp with a row in this kernel */
};

/* -- rows -- */

static void fail(struct recorded *r, const char *text)
{
	snprintf(r->workload.source.error, SOURCE_ERROR_MAX, "%s", text);
	r->row.kind = SOURCE_END;
}

/* Reads the next row that is no range. Batches are made by what runs here. */
static void next_row(struct recorded *r)
{
	const char *wrong;

	for (;;) {
		r->source->next(r->source, &r->row);
		if (r->row.kind == SOURCE_BAD) {
			fail(r, r->source->error);
			return;
		}
		if (r->row.kind == SOURCE_BATCH)
			continue;
		if (r->row.kind != SOURCE_RANGE)
			return;
		wrong = r->add_range(r->context, &r->row.range);
		if (wrong) {
			fail(r, wrong);
			return;
		}
	}
}

static bool is_of_gpu(const struct source_row *row)
{
	return row->kind == SOURCE_ACCESS && !row->is_cpu;
}

/* -- the window -- */

static bool grow(struct recorded *r)
{
	uint32_t capacity = r->capacity ? 2u * r->capacity : 1024u;
	struct entry *entry;

	if (capacity > r->window)
		capacity = r->window;
	entry = array_again(r->entry, capacity, sizeof(*entry));
	if (!entry) {
		fail(r, "out of memory");
		return false;
	}
	r->entry = entry;
	r->capacity = capacity;
	return true;
}

static bool is_full(const struct recorded *r)
{
	return r->spare == NOTHING && r->used == r->window;
}

/* The row in hand, an access of the GPU, goes to its warp. False: out of memory. */
static bool keep_row(struct recorded *r, uint32_t warp)
{
	struct list *list = &r->list[warp];
	uint32_t place = r->spare;

	if (place != NOTHING) {
		r->spare = r->entry[place].next;
	} else {
		if (r->used == r->capacity && !grow(r))
			return false;
		place = r->used++;
	}
	r->entry[place] = (struct entry){.address = r->row.address,
					 .next = NOTHING,
					 .bytes = r->row.access_bytes,
					 .access = (uint8_t)r->row.access};
	if (list->first == NOTHING)
		list->first = place;
	else
		r->entry[list->last].next = place;
	list->last = place;
	return true;
}

/* Reads ahead until the warp (NOTHING: none) has a row, the window is full, or the kernel has ended. */
static void read_ahead(struct recorded *r, uint32_t wanted)
{
	while (is_of_gpu(&r->row) && !is_full(r)) {
		uint32_t warp = r->row.agent % r->warps % r->running;

		if (!keep_row(r, warp))
			return;
		if (warp > r->highest)
			r->highest = warp;
		next_row(r);
		if (warp == wanted)
			return;
	}
}

static struct entry take_entry(struct recorded *r, struct list *list)
{
	uint32_t place = list->first;
	struct entry entry = r->entry[place];

	list->first = entry.next;
	r->entry[place].next = r->spare;
	r->spare = place;
	return entry;
}

/* -- warps -- */

/* A step for one row. Known bytes are one lane from a sector on, so that memory and link move no other sectors. The lane begins
 * lower in the page if it would end behind the page. */
static void set_access(struct workload_slot *slot, const struct entry *entry)
{
	enum uvmp_access access = (enum uvmp_access)entry->access;
	uint64_t at = entry->address, page_end = (at / WORKLOAD_PAGE + 1u) * WORKLOAD_PAGE,
		 rest = page_end - at;
	uint64_t sector = at / WORKLOAD_SECTOR * WORKLOAD_SECTOR;

	if (entry->bytes == 0) {
		workload_set_span(slot, at, rest < RECORDED_BYTES ? rest : RECORDED_BYTES, access);
		return;
	}
	slot->lane[0] = entry->bytes <= page_end - sector ? sector : page_end - entry->bytes;
	workload_set_lanes(slot, 1, entry->bytes, access);
}

/* The first warps of all blocks come before the second ones, so that few agents spread over all SMs. */
static bool span(struct workload *workload, struct workload_slot *slot)
{
	struct recorded *r = (struct recorded *)workload;
	uint32_t warp = slot->warp * r->blocks + (uint32_t)slot->block;
	struct list *list = &r->list[warp];
	struct entry entry;

	if (list->first == NOTHING)
		read_ahead(r, warp);
	if (r->workload.source.error[0] != '\0')
		return false;
	if (list->first == NOTHING) {
		if (!is_of_gpu(&r->row))
			return false;
		workload_set_idle(slot, RECORDED_IDLE);
		return true;
	}
	entry = take_entry(r, list);
	set_access(slot, &entry);
	return true;
}

/* A kernel with the accesses that follow: it has as many warps as the agents that are in sight need. */
static void launch_kernel(struct recorded *r)
{
	r->highest = 0;
	r->running = r->warps;
	read_ahead(r, NOTHING);
	r->workload.kernel = r->name;
	r->workload.blocks = r->highest < r->blocks ? r->highest + 1u : r->blocks;
	r->workload.warps = r->highest < r->blocks ? 1u : r->warps / r->blocks;
	r->running = (uint32_t)r->workload.blocks * r->workload.warps;
}

/* -- the CPU's thread -- */

/* Accesses of one page after the other are one operation. */
static void launch_cpu(struct recorded *r)
{
	uint64_t at = r->row.address, last = at;
	enum uvmp_access access = r->row.access <= UVMP_ACCESS_READ ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE;
	enum uvmp_access recorded = r->row.access;

	next_row(r);
	while (r->row.kind == SOURCE_ACCESS && r->row.is_cpu && r->row.access == recorded &&
	       r->row.address > last && r->row.address == (last / WORKLOAD_PAGE + 1u) * WORKLOAD_PAGE) {
		last = r->row.address;
		next_row(r);
	}
	workload_set_cpu(&r->workload, at, last - at + 1u, access);
}

static void launch_call(struct recorded *r)
{
	uint64_t bytes = (r->row.bytes + WORKLOAD_PAGE - 1u) / WORKLOAD_PAGE * WORKLOAD_PAGE;

	if (r->row.kind == SOURCE_PREFETCH)
		workload_set_prefetch(&r->workload, r->row.address, bytes, r->row.to_gpu, 0);
	else if (r->row.kind == SOURCE_FREE) /* it is no longer needed, which is what counts */
		workload_set_advise(&r->workload, r->row.address, bytes, UVMP_ADVISE_DISCARD, false);
	else
		workload_set_advise(&r->workload, r->row.address, bytes, r->row.advice, r->row.to_gpu);
	r->workload.op.to_none = r->row.kind == SOURCE_ADVISE && r->row.to_none;
	next_row(r);
}

static bool launch(struct workload *workload)
{
	struct recorded *r = (struct recorded *)workload;

	while (r->workload.source.error[0] == '\0') {
		switch (r->row.kind) {
		case SOURCE_KERNEL:
			memcpy(r->name, r->row.name, sizeof(r->name));
			next_row(r);
			launch_kernel(r);
			break;
		case SOURCE_SYNC:
			r->name[0] = '\0';
			next_row(r);
			continue;
		case SOURCE_ACCESS:
			if (r->row.is_cpu)
				launch_cpu(r);
			else
				launch_kernel(r);
			break;
		case SOURCE_PREFETCH:
		case SOURCE_ADVISE:
		case SOURCE_FREE:
			launch_call(r);
			break;
		default:
			return false;
		}
		return r->workload.source.error[0] == '\0';
	}
	return false;
}

/* -- opening -- */

static const struct workload_type type = {.name = "trace", .launch = launch, .span = span};

static void no_rows(struct source *source, struct source_row *row)
{
	(void)source;
	row->kind = SOURCE_END;
}

static void recorded_close(struct source *source)
{
	struct recorded *r = (struct recorded *)source;

	free(r->entry);
	free(r->list);
	free(r);
}

/* As many warps as run at a time, in blocks of as many as it takes to fill an SM. */
static bool make_lists(struct recorded *r, const struct recorded_gpu *gpu)
{
	uint32_t warps = (gpu->warps_per_sm + gpu->blocks_per_sm - 1u) / gpu->blocks_per_sm;

	r->blocks = gpu->warps_per_sm / warps;
	if (r->blocks > gpu->blocks_per_sm)
		r->blocks = gpu->blocks_per_sm;
	r->blocks *= gpu->sms;
	r->warps = r->blocks * warps;
	r->list = malloc(r->warps * sizeof(*r->list));
	for (uint32_t i = 0; r->list && i < r->warps; i++)
		r->list[i].first = NOTHING;
	return r->list != NULL;
}

struct workload *recorded_open(struct source *source, const struct recorded_gpu *gpu, uint32_t window,
			       const char *(*add_range)(void *context, const struct source_range *range),
			       void *context, char error[SOURCE_ERROR_MAX])
{
	struct recorded *r = calloc(1, sizeof(*r));

	if (!r || !make_lists(r, gpu)) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		free(r);
		return NULL;
	}
	r->workload.type = &type;
	r->workload.source.name = source->name;
	r->workload.source.next = no_rows;
	r->workload.source.close = recorded_close;
	r->source = source;
	r->add_range = add_range;
	r->context = context;
	r->window = window;
	r->spare = NOTHING;
	next_row(r);
	if (r->workload.source.error[0] == '\0')
		return &r->workload;
	memcpy(error, r->workload.source.error, SOURCE_ERROR_MAX);
	recorded_close(&r->workload.source);
	return NULL;
}
