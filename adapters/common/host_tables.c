/* Page tables and frames of all processors, by windows of 2 MiB: what the engine's actions have made of them. */
#include "host_internal.h"

#include <string.h>

#define BUCKETS_FIRST 1024u

/* -- windows -- */

/* Without memory the table stays as it is, and look-ups get slower. False: there is no table. */
static bool grow(struct uvmp_host *h)
{
	struct hostkit_tables old = h->tables, fresh = {NULL, 0, old.windows};

	if (old.windows < old.buckets)
		return true;
	fresh.buckets = old.buckets == 0 ? BUCKETS_FIRST : 2u * old.buckets;
	fresh.bucket = hostkit_zeros(&h->options, fresh.buckets, sizeof(struct hostkit_window *));
	if (fresh.bucket == NULL)
		return old.buckets != 0;
	for (uint64_t i = 0; i < old.buckets; i++) {
		struct hostkit_window *window = old.bucket[i];

		while (window != NULL) {
			struct hostkit_window *next = window->next, **bucket = hostkit_bucket(&fresh, window->number);

			window->next = *bucket;
			*bucket = window;
			window = next;
		}
	}
	hostkit_release(&h->options, old.bucket);
	h->tables = fresh;
	return true;
}

static struct hostkit_window *add_window(struct uvmp_host *h, uvmp_addr address)
{
	struct hostkit_window *window, **bucket;

	if (!grow(h))
		return NULL;
	window = hostkit_zeros(&h->options, 1, sizeof(*window));
	if (window == NULL)
		return NULL;
	window->number = hostkit_window_number(address);
	bucket = hostkit_bucket(&h->tables, window->number);
	window->next = *bucket;
	*bucket = window;
	h->tables.windows++;
	return window;
}

/* -- sides -- */

static uint64_t first_of(const struct hostkit_window *window)
{
	return window->number * HOSTKIT_WINDOW_BYTES;
}

static uint64_t last_of(const struct hostkit_window *window)
{
	return first_of(window) + (HOSTKIT_WINDOW_BYTES - 1u);
}

/* The CPU holds the pages of [start, last] in the window of its side, with this right. */
static void set_home(const struct uvmp_host *h, struct hostkit_side *side, uint64_t start, uint64_t last,
		     enum uvmp_right right)
{
	uint32_t end = hostkit_page_in(h, hostkit_sooner(last, last_of(side->window)));

	for (uint32_t page = hostkit_page_in(h, hostkit_later(start, first_of(side->window))); page <= end; page++) {
		side->right[page] = (uint8_t)right;
		side->holder[page] = UVMP_CPU;
	}
}

/* The right that the CPU has on pages of a new range. */
static enum uvmp_right home_right(uint32_t home)
{
	return home == UVMP_CPU ? UVMP_RIGHT_READ_WRITE_ATOMIC : UVMP_RIGHT_NONE;
}

static void set_homes(const struct uvmp_host *h, struct hostkit_side *side)
{
	uint64_t start = first_of(side->window), last = last_of(side->window);
	struct hostkit_range part;

	while (hostkit_range_in(h, start, last, &part)) {
		set_home(h, side, part.start, part.last, home_right(part.home));
		if (part.last == last)
			break;
		start = part.last + 1u;
	}
}

/* One allocation: the side, then its arrays, those with larger elements first. */
static struct hostkit_side *new_side(struct uvmp_host *h, uint32_t processor)
{
	bool is_gpu = processor != UVMP_CPU;
	uint32_t pages = h->window_pages;
	size_t each = is_gpu ? sizeof(uint32_t) + sizeof(uint16_t) + 2u : 2u;
	struct hostkit_side *side = hostkit_zeros(&h->options, 1, sizeof(*side) + pages * each);
	uint8_t *array;

	if (side == NULL)
		return NULL;
	array = (uint8_t *)(side + 1);
	side->processor = processor;
	side->tag = HOSTKIT_NONE;
	if (is_gpu) {
		side->frame = (uint32_t *)(void *)array;
		memset(side->frame, 0xff, pages * sizeof(uint32_t)); /* HOSTKIT_NONE */
		array += pages * sizeof(uint32_t);
		side->unit = (uint16_t *)(void *)array;
		array += pages * sizeof(uint16_t);
	}
	side->right = array;
	side->holder = array + pages;
	return side;
}

static bool add_side(struct uvmp_host *h, struct hostkit_window *window, uint32_t processor)
{
	struct hostkit_side *side;

	if (processor != UVMP_CPU && !hostkit_frames_expect(h, processor))
		return false;
	side = new_side(h, processor);
	if (side == NULL)
		return false;
	side->window = window;
	side->next = window->side;
	window->side = side;
	if (processor == UVMP_CPU)
		set_homes(h, side);
	else
		h->gpu[processor].sides++;
	return true;
}

static bool prepare_side(struct uvmp_host *h, uint32_t processor, uvmp_addr address)
{
	struct hostkit_window *window;

	if (processor > h->options.gpus)
		return true;
	window = hostkit_window(h, address);
	if (window == NULL)
		window = add_window(h, address);
	if (window == NULL)
		return false;
	return hostkit_side_in(window, processor) != NULL || add_side(h, window, processor);
}

bool hostkit_prepare(struct uvmp_host *h, const struct uvmp_action *a)
{
	uint64_t known = UINT64_MAX;

	if (a->kind < UVMP_ACTION_ALLOCATE || a->kind > UVMP_ACTION_FREE)
		return true;
	for (uint32_t page = uvmp_mask_next_set(&a->pages, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&a->pages, page + 1u)) {
		uvmp_addr address = hostkit_address(h, a, page);

		if (hostkit_window_number(address) == known)
			continue;
		if (!prepare_side(h, a->from, address) || !prepare_side(h, a->to, address))
			return false;
		known = hostkit_window_number(address);
	}
	return true;
}

/* -- rights -- */

enum uvmp_right hostkit_right(const struct uvmp_host *h, uint32_t processor, uvmp_addr address)
{
	uint32_t page;
	const struct hostkit_side *side = hostkit_side(h, processor, address, &page);
	struct hostkit_range range;

	if (side != NULL)
		return (enum uvmp_right)side->right[page];
	return processor == UVMP_CPU && hostkit_range_in(h, address, address, &range) ? home_right(range.home)
										      : UVMP_RIGHT_NONE;
}

bool hostkit_may(const struct uvmp_host *h, uint32_t processor, uvmp_addr address, enum uvmp_access access)
{
	return hostkit_right(h, processor, address) >= uvmp_access_right(access);
}

/* -- mappings -- */

/* A run of pages for a callback: contiguous, and in contiguous frames. */
struct run {
	struct uvmp_host *host;
	void (*call)(void *user, const struct uvmp_host_mapping *mapping);
	struct uvmp_host_mapping mapping; /* bytes 0: empty */
};

static void end_run(struct run *run)
{
	struct uvmp_host_mapping mapping = run->mapping;

	run->mapping.bytes = 0;
	if (mapping.bytes != 0 && run->call != NULL)
		run->call(run->host->options.user, &mapping);
}

static void add_page(struct run *run, uvmp_addr address, uint32_t holder)
{
	struct uvmp_host_mapping *mapping = &run->mapping;
	uint64_t frame = hostkit_frame(run->host, holder, address);
	bool follows = mapping->bytes != 0 && address == mapping->address + mapping->bytes &&
		       holder == mapping->holder &&
		       frame == (mapping->frame == UVMP_HOST_NO_FRAME ? UVMP_HOST_NO_FRAME
								      : mapping->frame + mapping->bytes);

	if (!follows) {
		end_run(run);
		mapping->address = address;
		mapping->holder = holder;
		mapping->frame = frame;
	}
	mapping->bytes += run->host->options.page_bytes;
}

static struct run begin_run(struct uvmp_host *h, const struct uvmp_action *a, bool is_map, enum uvmp_right right)
{
	return (struct run){.host = h,
			    .call = is_map ? h->options.map : h->options.unmap,
			    .mapping = {.processor = a->to, .right = right, .now_ns = h->clock_ns}};
}

/* The pages keep `right`, if they have more; only those of another holder than `from`, if `others`. */
static void lower(struct uvmp_host *h, const struct uvmp_action *a, enum uvmp_right right, bool others)
{
	struct run run = begin_run(h, a, false, right);

	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		uvmp_addr address = hostkit_address(h, a, i);
		uint32_t page;
		struct hostkit_side *side = hostkit_side(h, a->to, address, &page);

		if (side->right[page] <= (uint8_t)right || (others && side->holder[page] == a->from))
			continue;
		side->right[page] = (uint8_t)right;
		add_page(&run, address, side->holder[page]);
	}
	end_run(&run);
}

void hostkit_unmap(struct uvmp_host *h, const struct uvmp_action *a)
{
	lower(h, a, a->kind == UVMP_ACTION_REVOKE ? (enum uvmp_right)a->right : UVMP_RIGHT_NONE, false);
}

/* A mapping of other memory ends before, so that TLBs drop it. */
void hostkit_map(struct uvmp_host *h, const struct uvmp_action *a)
{
	struct run run = begin_run(h, a, true, (enum uvmp_right)a->right);

	lower(h, a, UVMP_RIGHT_NONE, true);
	for (uint32_t i = uvmp_mask_next_set(&a->pages, 0); i < UVMP_MASK_BITS;
	     i = uvmp_mask_next_set(&a->pages, i + 1u)) {
		uvmp_addr address = hostkit_address(h, a, i);
		uint32_t page;
		struct hostkit_side *side = hostkit_side(h, a->to, address, &page);

		side->right[page] = a->right;
		side->holder[page] = a->from;
		add_page(&run, address, a->from);
	}
	end_run(&run);
}

/* -- ranges -- */

static void drop_side(struct uvmp_host *h, struct hostkit_side *side)
{
	if (side->frame != NULL) {
		hostkit_frames_drop(h, side);
		hostkit_counter_drop(h, side);
		h->gpu[side->processor].sides--;
	}
	hostkit_release(&h->options, side);
}

static void drop_window(struct uvmp_host *h, struct hostkit_window *window)
{
	struct hostkit_window **link = hostkit_bucket(&h->tables, window->number);

	while (*link != window)
		link = &(*link)->next;
	*link = window->next;
	while (window->side != NULL) {
		struct hostkit_side *side = window->side;

		window->side = side->next;
		drop_side(h, side);
	}
	h->tables.windows--;
	hostkit_release(&h->options, window);
}

/* [start, last] is managed from now on, or no longer. The CPU has this right on pages that it uses already. */
struct change {
	uint64_t start, last;
	enum uvmp_right right;
	bool is_added;
};

static void change_window(struct uvmp_host *h, struct hostkit_window *window, const struct change *change)
{
	struct hostkit_side *cpu = hostkit_side_in(window, UVMP_CPU);
	struct hostkit_range part;

	if (last_of(window) < change->start || first_of(window) > change->last)
		return;
	if (!change->is_added && !hostkit_range_in(h, first_of(window), last_of(window), &part))
		drop_window(h, window);
	else if (cpu != NULL)
		set_home(h, cpu, change->start, change->last, change->right);
}

/* Looks at each window of the change, or at all windows if these are fewer. */
static void change_windows(struct uvmp_host *h, const struct change *change)
{
	uint64_t first = hostkit_window_number(change->start), count = hostkit_window_number(change->last) - first + 1u;

	for (uint64_t i = 0; i < count && count <= h->tables.buckets; i++) {
		struct hostkit_window *window = hostkit_window(h, (first + i) * HOSTKIT_WINDOW_BYTES);

		if (window != NULL)
			change_window(h, window, change);
	}
	for (uint64_t i = 0; i < h->tables.buckets && count > h->tables.buckets; i++) {
		struct hostkit_window *window = h->tables.bucket[i];

		while (window != NULL) {
			struct hostkit_window *next = window->next;

			change_window(h, window, change);
			window = next;
		}
	}
}

void hostkit_tables_add(struct uvmp_host *h, uint64_t start, uint64_t last, uint32_t home)
{
	change_windows(h, &(struct change){start, last, home_right(home), true});
}

void hostkit_tables_remove(struct uvmp_host *h, uint64_t start, uint64_t last)
{
	change_windows(h, &(struct change){start, last, UVMP_RIGHT_NONE, false});
}

void hostkit_tables_close(struct uvmp_host *h)
{
	for (uint64_t i = 0; i < h->tables.buckets; i++)
		while (h->tables.bucket[i] != NULL)
			drop_window(h, h->tables.bucket[i]);
	hostkit_release(&h->options, h->tables.bucket);
}
