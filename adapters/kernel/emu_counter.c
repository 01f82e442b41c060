/* Reports of accesses that do not fault: counters of remote accesses with their notifications, and
 * touches.
 *
 * A counter covers 2 MiB of an address space. There are SETS * WAYS counters. If a set is full, the
 * counter with the fewest uses is replaced and the others lose a sixteenth, so that unused counters are
 * replaced in the end. Set and way are the tag and the bank that clear a notification. A counter that
 * was reassigned meanwhile is cleared for its new owner, as in hardware. */
#include "emu.h"

#include <linux/hash.h>
#include <linux/slab.h>

#define SET_BITS      8
#define SETS	      (1u << SET_BITS)
#define WAYS	      4u
#define SPAN_BYTES    (2u << 20)
#define PIECE_BYTES   (64u << 10)
#define TOUCH_ENTRIES 1024u

struct counter {
	u64 space, span;  /* space 0: free */
	u32 uses, pieces; /* pages of 64 KiB that were used */
	bool has_notified;
};

struct ring {
	void *entry; /* [entries], each of `bytes`; one is always free */
	size_t bytes;
	u32 entries, get, put;
};

struct emu_counters {
	u32 threshold;
	bool wants_touches;
	struct ring notes, touches; /* of struct uvmp_note, struct emu_touch */
	struct counter counter[SETS][WAYS];
};

/* -- both rings: the newest is lost when they are full -- */

static u32 after(const struct ring *ring, u32 at)
{
	return at + 1u == ring->entries ? 0 : at + 1u;
}

static bool is_empty(const struct ring *ring)
{
	return ring->get == ring->put;
}

static void *slot(const struct ring *ring, u32 at)
{
	return (char *)ring->entry + at * ring->bytes;
}

static bool put(struct ring *ring, const void *entry)
{
	if (ring->entries == 0 || after(ring, ring->put) == ring->get)
		return false;
	memcpy(slot(ring, ring->put), entry, ring->bytes);
	ring->put = after(ring, ring->put);
	return true;
}

static bool take(struct emu_gpu *gpu, struct ring *ring, void *entry)
{
	unsigned long flags;
	bool is_there;

	spin_lock_irqsave(&gpu->lock, flags);
	is_there = !is_empty(ring);
	if (is_there) {
		memcpy(entry, slot(ring, ring->get), ring->bytes);
		ring->get = after(ring, ring->get);
	}
	spin_unlock_irqrestore(&gpu->lock, flags);
	return is_there;
}

bool emu_counter_has_entries(struct emu_gpu *gpu)
{
	const struct emu_counters *c = gpu->counters;

	return !is_empty(&c->notes) || !is_empty(&c->touches);
}

bool emu_counter_fetch(struct emu_gpu *gpu, struct uvmp_note *note)
{
	return take(gpu, &gpu->counters->notes, note);
}

bool emu_counter_touched(struct emu_gpu *gpu, struct emu_touch *touch)
{
	return take(gpu, &gpu->counters->touches, touch);
}

/* -- counters -- */

static u32 set_of(u64 space, u64 span)
{
	return (u32)hash_64(space << 43 ^ span, SET_BITS);
}

/* The way of the counter, or of the counter that is replaced. */
static u32 find_way(struct counter *set, u64 space, u64 span)
{
	u32 least = 0;

	for (u32 way = 0; way < WAYS; way++) {
		if (set[way].space == space && set[way].span == span)
			return way;
		if (set[way].uses < set[least].uses)
			least = way;
	}
	for (u32 way = 0; way < WAYS; way++)
		set[way].uses -= set[way].uses / 16u + (set[way].uses != 0);
	set[least] = (struct counter){.space = space, .span = span};
	return least;
}

static void count(struct emu_counters *c, u64 space, u64 address)
{
	u32 set = set_of(space, address / SPAN_BYTES),
	    way = find_way(c->counter[set], space, address / SPAN_BYTES);
	struct counter *counter = &c->counter[set][way];
	struct uvmp_note note = {.address = address / PIECE_BYTES * PIECE_BYTES,
				 .instance = space,
				 .aperture = UVMP_APERTURE_VID,
				 .bank = way,
				 .tag = set};

	counter->pieces |= 1u << address % SPAN_BYTES / PIECE_BYTES;
	if (counter->uses < U32_MAX)
		counter->uses++;
	if (counter->has_notified || counter->uses < c->threshold)
		return;
	note.sub_granularity = counter->pieces;
	counter->has_notified = put(&c->notes, &note);
}

void emu_counter_use(struct emu_gpu *gpu, u64 space, u64 address, bool is_remote, enum uvmp_access access)
{
	struct emu_counters *c = gpu->counters;

	struct emu_touch touch = {space, address, (u8)access};

	if (c->wants_touches)
		(void)put(&c->touches, &touch);
	if (is_remote && c->threshold != 0)
		count(c, space, address);
}

void emu_counter_clear(struct emu_gpu *gpu, u32 bank, u32 tag, bool is_all)
{
	struct emu_counters *c = gpu->counters;
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	if (is_all)
		memset(c->counter, 0, sizeof(c->counter));
	else if (bank < WAYS && tag < SETS)
		c->counter[tag][bank] = (struct counter){.space = c->counter[tag][bank].space,
							 .span = c->counter[tag][bank].span};
	spin_unlock_irqrestore(&gpu->lock, flags);
}

/* A new engine: reports for the old one are dropped. */
void emu_counter_set(struct emu_gpu *gpu, u32 threshold, bool wants_touches)
{
	struct emu_counters *c = gpu->counters;
	unsigned long flags;

	spin_lock_irqsave(&gpu->lock, flags);
	c->threshold = c->notes.entries != 0 ? threshold : 0;
	c->wants_touches = wants_touches;
	c->notes.get = c->notes.put;
	c->touches.get = c->touches.put;
	memset(c->counter, 0, sizeof(c->counter));
	spin_unlock_irqrestore(&gpu->lock, flags);
}

/* -- life -- */

static bool make_ring(struct ring *ring, u32 entries, size_t bytes)
{
	if (entries != 0)
		ring->entry = kvcalloc(entries, bytes, GFP_KERNEL);
	if (entries != 0 && ring->entry == NULL)
		return false;
	ring->entries = entries;
	ring->bytes = bytes;
	return true;
}

int emu_counter_init(struct emu_gpu *gpu)
{
	struct emu_counters *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	gpu->counters = c;
	if (c == NULL)
		return -ENOMEM;
	if (make_ring(&c->notes, gpu->driver->params.counter_entries, sizeof(struct uvmp_note)) &&
	    make_ring(&c->touches, TOUCH_ENTRIES, sizeof(struct emu_touch)))
		return 0;
	emu_counter_exit(gpu);
	return -ENOMEM;
}

void emu_counter_exit(struct emu_gpu *gpu)
{
	if (gpu->counters == NULL)
		return;
	kvfree(gpu->counters->notes.entry);
	kvfree(gpu->counters->touches.entry);
	kvfree(gpu->counters);
	gpu->counters = NULL;
}
