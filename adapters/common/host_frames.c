/* Frames of a GPU: where its resident pages lie.
 *
 * With evict=lru the engine places chunks, and its offsets are frames. A chunk that lost its root keeps a stale entry until the
 * next ALLOCATE of the same pages; no page is resident there meanwhile.
 *
 * The offsets of the other orders are frames as well, unless blocks are smaller than their units, or only resident pages
 * count: then they may lie beyond the memory. So the host kit has a set of free frames. It takes the engine's offset where it
 * can, else other contiguous frames, else single ones. As each page with a frame counts against the memory,
 * there are always enough.
 *
 * The engine gives frames back without an action when the last page of a unit has departed. Sides with pages that may have
 * departed are listed; when a frame is missing, the engine is asked which of their pages are still resident. */
#include "host_internal.h"

#include <string.h>

#define WORD_BITS    64u
#define SEARCH_WORDS 4096u /* of the set of frames: a search for contiguous frames looks at so many */

/* -- the set of frames -- */

static bool is_used(const struct hostkit_frames *f, uint64_t frame)
{
	return (f->used[frame / WORD_BITS] >> frame % WORD_BITS & 1u) != 0;
}

static void use(struct hostkit_frames *f, uint64_t frame)
{
	uint64_t word = frame / WORD_BITS;

	f->used[word] |= (uint64_t)1 << frame % WORD_BITS;
	if (f->used[word] == UINT64_MAX)
		f->full[word / WORD_BITS] |= (uint64_t)1 << word % WORD_BITS;
}

static void give_back(struct hostkit_frames *f, uint64_t frame)
{
	uint64_t word = frame / WORD_BITS;

	f->used[word] &= ~((uint64_t)1 << frame % WORD_BITS);
	f->full[word / WORD_BITS] &= ~((uint64_t)1 << word % WORD_BITS);
	f->next = frame;
}

static bool are_free(const struct hostkit_frames *f, uint64_t first, uint32_t count)
{
	if (first >= f->count || f->count - first < count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (is_used(f, first + i))
			return false;
	return true;
}

/* The first frame of `count` free ones from `from` on, in a search of SEARCH_WORDS; f->count: none was found. Larger runs begin
 * at multiples of their size, so that large pages can map them. */
static uint64_t find_run(const struct hostkit_frames *f, uint64_t from, uint32_t count)
{
	uint64_t end = hostkit_sooner(f->count, from + (uint64_t)SEARCH_WORDS * WORD_BITS), step = 1;

	while (step * 2u <= count)
		step *= 2u;
	for (uint64_t at = (from + step - 1u) / step * step; at < end; at += step) {
		if (at % WORD_BITS == 0 && f->used[at / WORD_BITS] == UINT64_MAX && step < WORD_BITS)
			at += WORD_BITS - step; /* nothing in this word */
		else if (are_free(f, at, count))
			return at;
	}
	return f->count;
}

/* Any free frame; f->count: none. */
static uint64_t find_one(const struct hostkit_frames *f)
{
	uint64_t words = (f->count + WORD_BITS - 1u) / WORD_BITS;

	for (uint64_t i = 0; i * WORD_BITS < words; i++) {
		uint64_t word = i * WORD_BITS, bit = 0;

		if (f->full[i] == UINT64_MAX)
			continue;
		while ((f->full[i] >> bit & 1u) != 0)
			bit++;
		word += bit;
		for (bit = 0; (f->used[word] >> bit & 1u) != 0;)
			bit++;
		return word * WORD_BITS + bit;
	}
	return f->count;
}

/* -- opening -- */

bool hostkit_frames_open(struct uvmp_host *h)
{
	uint64_t count = h->capacity_bytes / h->options.page_bytes, words = (count + WORD_BITS - 1u) / WORD_BITS;
	uint64_t outer = (words + WORD_BITS - 1u) / WORD_BITS;

	h->gpu = hostkit_zeros(&h->options, h->options.gpus + 1u, sizeof(*h->gpu));
	if (h->gpu == NULL)
		return false;
	for (uint32_t gpu = 1; gpu <= h->options.gpus; gpu++) {
		struct hostkit_frames *f = &h->gpu[gpu];

		f->count = count;
		if (h->is_chunked)
			continue;
		f->used = hostkit_zeros(&h->options, words, sizeof(uint64_t));
		f->full = hostkit_zeros(&h->options, outer, sizeof(uint64_t));
		if (f->used == NULL || f->full == NULL)
			return false;
		/* frames and words behind the end are never free */
		if (count % WORD_BITS != 0)
			f->used[words - 1u] = UINT64_MAX << count % WORD_BITS;
		if (words % WORD_BITS != 0)
			f->full[outer - 1u] = UINT64_MAX << words % WORD_BITS;
	}
	return true;
}

void hostkit_frames_close(struct uvmp_host *h)
{
	for (uint32_t gpu = 1; h->gpu != NULL && gpu <= h->options.gpus; gpu++) {
		hostkit_release(&h->options, h->gpu[gpu].used);
		hostkit_release(&h->options, h->gpu[gpu].full);
		hostkit_release(&h->options, h->gpu[gpu].departing);
	}
	hostkit_release(&h->options, h->gpu);
}

/* Each side of the GPU fits into the list. */
bool hostkit_frames_expect(struct uvmp_host *h, uint32_t gpu)
{
	struct hostkit_frames *f = &h->gpu[gpu];
	void *array;

	if (h->is_chunked)
		return true;
	array = hostkit_reserve(h, f->departing, &f->capacity, f->departings, f->sides + 1u,
				sizeof(struct hostkit_side *));
	if (array == NULL)
		return false;
	f->departing = array;
	return true;
}

/* -- frames of a side -- */

uint64_t hostkit_frame(const struct uvmp_host *h, uint32_t processor, uvmp_addr address)
{
	uint32_t page;
	const struct hostkit_side *side = hostkit_side(h, processor, address, &page);

	if (side == NULL || side->frame == NULL || side->frame[page] == HOSTKIT_NONE)
		return UVMP_HOST_NO_FRAME;
	return (uint64_t)side->frame[page] * h->options.page_bytes;
}

static void drop_frame(struct uvmp_host *h, struct hostkit_side *side, uint32_t page)
{
	if (side->frame[page] == HOSTKIT_NONE)
		return;
	if (!h->is_chunked)
		give_back(&h->gpu[side->processor], side->frame[page]);
	side->frame[page] = HOSTKIT_NONE;
	uvmp_mask_clear(&side->arriving, page);
}

/* The page arrives in the present operation. */
static void expect(const struct uvmp_host *h, struct hostkit_side *side, uint32_t page)
{
	if (side->arriving_in != h->operation)
		uvmp_mask_zero(&side->arriving);
	side->arriving_in = h->operation;
	uvmp_mask_set(&side->arriving, page);
	uvmp_mask_clear(&side->landed, page);
}

static void set_frame(struct uvmp_host *h, struct hostkit_side *side, uint32_t page, uint64_t frame)
{
	expect(h, side, page);
	use(&h->gpu[side->processor], frame);
	side->frame[page] = (uint32_t)frame;
}

void hostkit_frames_drop(struct uvmp_host *h, struct hostkit_side *side)
{
	struct hostkit_frames *f = &h->gpu[side->processor];

	for (uint32_t page = 0; page < h->window_pages; page++)
		drop_frame(h, side, page);
	for (uint64_t i = 0; side->is_departing && i < f->departings; i++) {
		if (f->departing[i] != side)
			continue;
		f->departing[i] = f->departing[--f->departings];
		return;
	}
}

/* -- departed pages -- */

static void list(struct uvmp_host *h, struct hostkit_side *side)
{
	struct hostkit_frames *f = &h->gpu[side->processor];

	if (side->is_departing)
		return;
	side->is_departing = true;
	f->departing[f->departings++] = side;
}

static bool is_resident(const struct uvmp_host *h, const struct hostkit_side *side, uint32_t page)
{
	struct uvmp_page_state state = {.size = sizeof(state)};
	uvmp_addr address = side->window->number * HOSTKIT_WINDOW_BYTES + (uint64_t)page * h->options.page_bytes;

	return uvmp_service_page(h->service, UVMP_HOST_SPACE, address, &state) == UVMP_OK &&
	       (state.resident >> side->processor & 1u) != 0;
}

/* Pages of this operation that the engine does not count as resident yet. */
static uvmp_mask arriving_of(const struct uvmp_host *h, const struct hostkit_side *side)
{
	uvmp_mask pages;

	uvmp_mask_zero(&pages);
	if (side->arriving_in == h->operation)
		pages = side->arriving;
	return pages;
}

/* Has the copy to one of the pages ended, in an earlier group? Then the engine knows which pages of the unit are resident. */
static bool has_landed(const struct uvmp_host *h, const struct hostkit_side *side, struct uvmp_region unit)
{
	return side->landed_in < h->group && uvmp_mask_region_any(&side->landed, unit);
}

/* The pages with frames that share the unit of this page, which has a frame. */
static struct uvmp_region unit_at(const struct uvmp_host *h, const struct hostkit_side *side, uint32_t page)
{
	struct uvmp_region unit = {page, page + 1u};

	while (unit.first > 0 && side->frame[unit.first - 1u] != HOSTKIT_NONE &&
	       side->unit[unit.first - 1u] == side->unit[page])
		unit.first--;
	while (unit.end < h->window_pages && side->frame[unit.end] != HOSTKIT_NONE &&
	       side->unit[unit.end] == side->unit[page])
		unit.end++;
	return unit;
}

/* Gives the frames of units back that have no resident page. True: nothing of the side is arriving, so that it need not be
 * looked at again. */
static bool settle(struct uvmp_host *h, struct hostkit_side *side)
{
	uvmp_mask arriving = arriving_of(h, side);
	struct uvmp_region unit;
	bool is_settled = true;

	for (uint32_t page = 0; page < h->window_pages; page = unit.end) {
		bool is_kept = false;

		unit = (struct uvmp_region){page, page + 1u};
		if (side->frame[page] == HOSTKIT_NONE)
			continue;
		unit = unit_at(h, side, page);
		if (uvmp_mask_region_any(&arriving, unit) && !has_landed(h, side, unit)) {
			is_settled = false;
			continue;
		}
		for (uint32_t i = unit.first; i < unit.end && !is_kept; i++)
			is_kept = is_resident(h, side, i);
		for (uint32_t i = unit.first; i < unit.end && !is_kept; i++)
			drop_frame(h, side, i);
	}
	return is_settled;
}

static void settle_listed(struct uvmp_host *h, struct hostkit_frames *f)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < f->departings; i++) {
		struct hostkit_side *side = f->departing[i];

		side->is_departing = !settle(h, side);
		if (side->is_departing)
			f->departing[kept++] = side;
	}
	f->departings = kept;
}

/* A copy of a page may be dropped without an action that names the GPU: the last resort. */
static void settle_all(struct uvmp_host *h, uint32_t gpu)
{
	for (uint64_t i = 0; i < h->tables.buckets; i++)
		for (struct hostkit_window *w = h->tables.bucket[i]; w != NULL; w = w->next)
			for (struct hostkit_side *side = w->side; side != NULL; side = side->next)
				if (side->processor == gpu)
					(void)settle(h, side);
}

void hostkit_frames_depart(struct uvmp_host *h, const struct uvmp_action *a, uint32_t processor)
{
	struct hostkit_side *side, *before = NULL;
	uint32_t page;

	if (h->is_chunked || processor == UVMP_CPU || processor > h->options.gpus)
		return;
	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		side = hostkit_side(h, processor, hostkit_address(h, a, i), &page);
		if (side != before)
			list(h, side);
		before = side;
	}
}

/* -- arriving pages -- */

/* Neighbouring pages of a side, and the frame that suits the first one best. */
struct arrival {
	struct hostkit_side *side;
	uint32_t first, count;
	uint64_t wish;
};

static void place(struct uvmp_host *h, const struct arrival *a, uint64_t frame)
{
	for (uint32_t i = 0; i < a->count; i++)
		set_frame(h, a->side, a->first + i, frame + i);
}

/* False: the pages have no frames yet. */
static bool place_together(struct uvmp_host *h, const struct arrival *a)
{
	struct hostkit_frames *f = &h->gpu[a->side->processor];
	uint64_t frame = a->wish;

	if (!are_free(f, frame, a->count))
		frame = find_run(f, f->next, a->count);
	if (frame == f->count)
		frame = find_run(f, 0, a->count);
	if (frame == f->count)
		return false;
	place(h, a, frame);
	return true;
}

static bool place_one(struct uvmp_host *h, struct hostkit_side *side, uint32_t page)
{
	struct hostkit_frames *f = &h->gpu[side->processor];
	uint64_t frame = find_one(f);

	if (frame == f->count) {
		settle_all(h, side->processor);
		frame = find_one(f);
	}
	if (frame == f->count)
		return false;
	set_frame(h, side, page, frame);
	return true;
}

/* The frames of departed pages are free before other frames than the wished one are taken. */
static bool settle_arrival(struct uvmp_host *h, const struct arrival *a)
{
	struct hostkit_frames *f = &h->gpu[a->side->processor];

	if (are_free(f, a->wish, a->count)) {
		place(h, a, a->wish);
		return true;
	}
	settle_listed(h, f);
	if (place_together(h, a))
		return true;
	for (uint32_t i = 0; i < a->count; i++)
		if (!place_one(h, a->side, a->first + i))
			return false;
	return true;
}

static bool allocate_chunk(struct uvmp_host *h, const struct uvmp_action *a)
{
	uint64_t frame = a->offset / h->options.page_bytes;
	uint32_t page;

	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		struct hostkit_side *side = hostkit_side(h, a->to, hostkit_address(h, a, i), &page);

		side->frame[page] = (uint32_t)frame++;
	}
	return true;
}

/* The pages of the set from `first` on that lie in one window and follow one another, and (units) in one unit. *end: the
 * page behind them, of the block. */
static struct arrival next_arrival(const struct uvmp_host *h, const struct uvmp_action *a, const uvmp_mask *pages,
				   uint32_t first, uint32_t *end)
{
	struct arrival arrival = {.count = 1};
	bool is_by_unit = !h->options.counts_pages;

	arrival.side = hostkit_side(h, a->to, hostkit_address(h, a, first), &arrival.first);
	for (*end = first + 1u; *end < UVMP_MASK_BITS && uvmp_mask_test(pages, *end); (*end)++) {
		if (arrival.first + arrival.count == h->window_pages ||
		    (is_by_unit && *end % h->unit_pages == 0))
			break;
		arrival.count++;
	}
	return arrival;
}

/* The engine has given these units no frame before: frames that are left here are stale. Units that have departed lose
 * theirs first, as the block may have been cut since, and have other units. */
bool hostkit_frames_allocate(struct uvmp_host *h, const struct uvmp_action *a)
{
	uint32_t first = uvmp_mask_next_set(&a->pages, 0), end;

	if (h->is_chunked)
		return allocate_chunk(h, a);
	for (uint32_t i = first; !h->options.counts_pages && i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, end)) {
		struct arrival arrival = next_arrival(h, a, &a->pages, i, &end);

		if (arrival.side->is_departing)
			(void)settle(h, arrival.side);
		for (uint32_t page = arrival.first; page < arrival.first + arrival.count; page++) {
			drop_frame(h, arrival.side, page);
			arrival.side->unit[page] = (uint16_t)arrival.first;
		}
		arrival.wish = a->offset / h->options.page_bytes + (i - first);
		if (!settle_arrival(h, &arrival))
			return false;
	}
	return true;
}

/* The pages of the action that have no frame: most arriving pages if counts_pages. The others keep theirs, whether or not
 * they had departed. */
static uvmp_mask bare_pages(const struct uvmp_host *h, const struct uvmp_action *a)
{
	uvmp_mask bare = a->pages;
	uint32_t page;

	for (uint32_t i = uvmp_mask_next_set(&bare, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&bare, i + 1u)) {
		struct hostkit_side *side = hostkit_side(h, a->to, hostkit_address(h, a, i), &page);

		if (side->frame[page] == HOSTKIT_NONE)
			continue;
		expect(h, side, page);
		uvmp_mask_clear(&bare, i);
	}
	return bare;
}

/* Each page is a unit of its own. Its best frame is the one behind that of the page before. */
bool hostkit_frames_arrive(struct uvmp_host *h, const struct uvmp_action *a)
{
	uvmp_mask bare;
	uint32_t end;

	if (h->is_chunked || a->to == UVMP_CPU)
		return true;
	bare = bare_pages(h, a);
	for (uint32_t i = uvmp_mask_next_set(&bare, 0); i < UVMP_MASK_BITS; i = uvmp_mask_next_set(&bare, end)) {
		struct arrival arrival = next_arrival(h, a, &bare, i, &end);
		const struct hostkit_side *side = arrival.side;

		arrival.wish = h->gpu[a->to].next;
		if (arrival.first != 0 && side->frame[arrival.first - 1u] != HOSTKIT_NONE)
			arrival.wish = (uint64_t)side->frame[arrival.first - 1u] + 1u;
		for (uint32_t page = arrival.first; page < arrival.first + arrival.count; page++)
			side->unit[page] = (uint16_t)page;
		if (!settle_arrival(h, &arrival))
			return false;
	}
	return true;
}

/* Whether or not the copy has failed: the engine knows that, too. What arrives in a unit arrives in one group. */
void hostkit_frames_landed(struct uvmp_host *h, const struct uvmp_action *a)
{
	uint32_t page;

	if (h->is_chunked || a->to == UVMP_CPU)
		return;
	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		struct hostkit_side *side = hostkit_side(h, a->to, hostkit_address(h, a, i), &page);

		if (side->landed_in != h->group) {
			uvmp_mask_andnot(&side->arriving, &side->arriving, &side->landed);
			uvmp_mask_zero(&side->landed);
			side->landed_in = h->group;
		}
		uvmp_mask_region_set(&side->landed, unit_at(h, side, page));
	}
}

void hostkit_frames_free(struct uvmp_host *h, const struct uvmp_action *a)
{
	uint32_t page;

	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		struct hostkit_side *side = hostkit_side(h, a->from, hostkit_address(h, a, i), &page);

		drop_frame(h, side, page);
	}
}
