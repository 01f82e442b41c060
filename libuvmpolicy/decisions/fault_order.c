/* The order in which faults are serviced, and the bins of this order [driver: batch-order, batch-walk].
 *
 * Both orders are total: the index, which is the order of arrival, distinguishes entries that are equal by
 * every rule of the driver. So the result does not depend on the algorithm.
 *
 * The definition of an order is its comparison of two entries; a binary heap in place sorts any list by it. Faults
 * of one address space and GPU, on pages, are sorted by packed keys instead: page, access and index in one word,
 * which compare as the entries do. A list that is already in order, such as the faults of one warp that scans
 * memory, is done after one visit per entry. Other keys are spread over buckets by their first bits, and each bucket
 * keeps a sorted list; if the pages lie so close together that lists grow long, the keys are sorted by their lower
 * bits before. */
#include "../base/bits_internal.h"
#include "uvmpolicy/fault.h"

/* Must entry a stand before entry b? */
typedef bool before_fn(const struct uvmp_fault *entry, uint32_t a, uint32_t b);

static bool is_before_by_instance(const struct uvmp_fault *entry, uint32_t a, uint32_t b)
{
	const struct uvmp_fault *x = &entry[a], *y = &entry[b];

	if (x->aperture != y->aperture)
		return x->aperture < y->aperture;
	if (x->instance != y->instance)
		return x->instance < y->instance;
	if (x->subcontext != y->subcontext)
		return x->subcontext < y->subcontext;
	return a < b;
}

static bool is_before_by_page(const struct uvmp_fault *entry, uint32_t a, uint32_t b)
{
	const struct uvmp_fault *x = &entry[a], *y = &entry[b];

	if (x->va_space != y->va_space)
		return x->va_space < y->va_space;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu;
	if (x->address != y->address)
		return x->address < y->address;
	if (x->access != y->access)
		return x->access > y->access;
	return a < b;
}

static bool is_sorted(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                      before_fn *is_before)
{
	for (uint32_t i = 1; i < count; i++)
		if (is_before(entry, order[i], order[i - 1u]))
			return false;
	return true;
}

/* order[root+1..count) is a heap with its last element on top: lets order[root] sink to its place in it. */
static void sink(const struct uvmp_fault *entry, uint32_t *order, uint32_t root, uint32_t count,
                 before_fn *is_before)
{
	uint32_t value = order[root];

	while (root < count / 2u) {
		uint32_t child = 2u * root + 1u;

		if (child + 1u < count && is_before(entry, order[child], order[child + 1u]))
			child++;
		if (!is_before(entry, value, order[child]))
			break;
		order[root] = order[child];
		root = child;
	}
	order[root] = value;
}

static void sort(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, before_fn *is_before)
{
	if (is_sorted(entry, order, count, is_before))
		return;
	for (uint32_t root = count / 2u; root-- > 0;)
		sink(entry, order, root, count, is_before);
	for (uint32_t last = count - 1u; last > 0; last--) {
		uint32_t top = order[0];

		order[0] = order[last];
		order[last] = top;
		sink(entry, order, 0, last, is_before);
	}
}

/* -- order by packed keys --
 *
 *   bits 63..19   page number: address bits 56..12
 *   bits 18..16   7 - access
 *   bits 15..0    index */

#define KEYS_MAX     0xffffu
#define INDEX_BITS   16u
#define INDEX_MAX    0xffffu
#define ACCESS_MAX   7u
#define PAGE_UP	     7u /* address bit 12 is key bit 19 */
#define NO_PAGE_BITS (~(uint64_t)0 << (64u - PAGE_UP) | 0xfffu)
#define BUCKET_BITS  6u
#define BUCKETS	     (1u << BUCKET_BITS)
#define STEPS_MAX    4u /* along sorted lists, per key, before the lower bits are sorted */
#define DIGIT_BITS   8u

struct keys {
	uint64_t *key;	/* [count + 1] */
	uint64_t *room; /* [count + 1] */
	uint32_t count;
	uint64_t least, most;
	bool is_sorted;
};

/* False: the entries have no packed keys, as they differ in address space or GPU, or a field is too large. */
UVMPI_NOINLINE static bool pack(struct keys *keys, const struct uvmp_fault *entry, const uint32_t *order)
{
	const struct uvmp_fault *first = &entry[order[0]];
	const uint32_t *end = order + keys->count;
	uint64_t least = UINT64_MAX, most = 0, addresses = 0, *key = keys->key;
	uint32_t accesses = 0, indices = 0;

	for (; order != end; order++) {
		const struct uvmp_fault *e = &entry[*order];
		uint64_t k = (e->address << PAGE_UP) - ((uint32_t)e->access << INDEX_BITS);

		if (e->va_space != first->va_space || e->gpu != first->gpu)
			return false;
		addresses |= e->address;
		accesses |= e->access;
		indices |= *order;
		k += (ACCESS_MAX << INDEX_BITS) + *order;
		*key++ = k;
		if (k >= most)
			most = k;
		else if (k < least)
			least = k;
	}
	keys->is_sorted = least == UINT64_MAX; /* no key was less than one before it */
	keys->least = keys->key[0] < least ? keys->key[0] : least;
	keys->most = most;
	return (addresses & NO_PAGE_BITS) == 0 && accesses <= ACCESS_MAX && indices <= INDEX_MAX;
}

/* Sorts by one digit, from `key` into `room`; keys with equal digits keep their order. Then the two change places. */
UVMPI_NOINLINE static void sort_digit(struct keys *keys, uint32_t shift)
{
	uint16_t end[1u << DIGIT_BITS] = {0};
	uint64_t *from = keys->key;
	uint32_t before = 0;

	for (uint32_t i = 0; i < keys->count; i++)
		end[(from[i] - keys->least) >> shift & ((1u << DIGIT_BITS) - 1u)]++;
	for (uint32_t d = 0; d < 1u << DIGIT_BITS; d++) {
		uint32_t count = end[d];

		end[d] = (uint16_t)before;
		before += count;
	}
	for (uint32_t i = 0; i < keys->count; i++)
		keys->room[end[(from[i] - keys->least) >> shift & ((1u << DIGIT_BITS) - 1u)]++] = from[i];
	keys->key = keys->room;
	keys->room = from;
}

/* Spreads the keys over the buckets, last key first. A bucket is a sorted list; `count` ends the lists, with the
 * greatest key. False: more than `limit` steps along the lists. */
UVMPI_NOINLINE static bool spread(const struct keys *keys, uint32_t shift, uint32_t limit, uint64_t head[BUCKETS])
{
	uint64_t *key = keys->key, *next = keys->room, least = keys->least;
	uint32_t steps = 0;

	key[keys->count] = UINT64_MAX;
	for (uint32_t d = 0; d < BUCKETS; d++)
		head[d] = keys->count;
	for (uint32_t i = keys->count; i-- > 0;) {
		uint64_t *link = &head[(key[i] - least) >> shift];

		if (key[*link] < key[i]) {
			do {
				link = &next[*link];
				steps++;
			} while (key[*link] < key[i]);
			if (steps > limit)
				return false;
		}
		next[i] = *link;
		*link = i;
	}
	return true;
}

static void write_lists(const struct keys *keys, const uint64_t head[BUCKETS], uint32_t *order)
{
	const uint64_t *next = keys->room;

	for (uint32_t d = 0; d < BUCKETS; d++)
		for (uint64_t i = head[d]; i != keys->count; i = next[i])
			*order++ = (uint32_t)keys->key[i] & INDEX_MAX;
}

/* Bits above which all keys agree. */
static uint32_t width_of(const struct keys *keys)
{
	uint32_t width = INDEX_BITS;

	while (width < 64u && (keys->most - keys->least) >> width != 0)
		width++;
	return width;
}

/* Are the indices in order of arrival? */
static bool rises(const uint32_t *order, uint32_t count)
{
	uint32_t i = 1;

	while (i < count && order[i - 1u] < order[i])
		i++;
	return i == count;
}

static void sort_keys(struct keys *keys, uint32_t *order)
{
	uint32_t shift = width_of(keys) - BUCKET_BITS;
	uint64_t head[BUCKETS];

	if (!spread(keys, shift, STEPS_MAX * keys->count, head)) {
		for (uint32_t digit = rises(order, keys->count) ? INDEX_BITS : 0; digit < shift; digit += DIGIT_BITS)
			sort_digit(keys, digit);
		(void)spread(keys, shift, UINT32_MAX, head);
	}
	write_lists(keys, head, order);
}

void uvmp_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	if (entry != NULL && order != NULL)
		sort(entry, order, count, is_before_by_instance);
}

void uvmp_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, uint64_t *scratch)
{
	struct keys keys = {.key = scratch, .count = count};

	if (entry == NULL || order == NULL || count == 0)
		return;
	if (scratch != NULL)
		keys.room = scratch + count + 1u;
	if (scratch == NULL || count > KEYS_MAX || !pack(&keys, entry, order))
		sort(entry, order, count, is_before_by_page);
	else if (!keys.is_sorted)
		sort_keys(&keys, order);
}

bool uvmp_fault_is_same_page(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a != NULL && b != NULL && a->va_space == b->va_space && a->address == b->address;
}

enum uvmp_status uvmp_fault_bin_next(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                                     uint32_t first, uvmp_addr block_last, struct uvmp_fault_bin *bin)
{
	const struct uvmp_fault *head, *previous;
	uint32_t end, duplicates;

	if (entry == NULL || order == NULL || bin == NULL)
		return UVMP_ERR_ARGUMENT;
	if (first >= count || entry[order[first]].address > block_last)
		return UVMP_ERR_RANGE;

	head = previous = &entry[order[first]];
	duplicates = head->num_instances - 1u;
	for (end = first + 1u; end < count; end++) {
		const struct uvmp_fault *e = &entry[order[end]];

		if (e->va_space != head->va_space || e->gpu != head->gpu || e->address > block_last)
			break;
		duplicates += e->num_instances - (uvmp_fault_is_same_page(previous, e) ? 0u : 1u);
		previous = e;
	}
	bin->va_space = head->va_space;
	bin->gpu = head->gpu;
	bin->first = first;
	bin->count = end - first;
	bin->duplicates = duplicates;
	return UVMP_OK;
}
