/* The order in which faults are serviced, and the bins of this order [driver: batch-order, batch-walk].
 *
 * Both orders are total: the index, which is the order of arrival, distinguishes entries that are equal by
 * every rule of the driver. So the result does not depend on the algorithm.
 *
 * The definition of an order is its comparison of two entries; a binary heap in place sorts any list by it. With
 * scratch memory, lists are sorted in O(n):
 *   - Pages are sorted by packed keys: page, access and index in one word, which compare as the entries do. A list
 *     that is already in order, such as the faults of one warp that scans memory, is done after one visit per entry.
 *     Other keys are spread over buckets by their first bits, and each bucket keeps a sorted list; if the pages lie
 *     so close together that lists grow long, the keys are sorted by their lower bits before.
 *   - Address spaces with GPUs, and instances, are few. They are classes: a list that is in order within each class
 *     is cut into its classes, which keep this order. */
#include "../base/bits_internal.h"
#include "fault_internal.h"

/* -- the definition -- */

/* Does x precede y (-1), or follow it (1), or neither (0)? */
typedef int compare_fn(const struct uvmp_fault *x, const struct uvmp_fault *y);

static inline int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static inline int compare_spaces(const struct uvmp_fault *x, const struct uvmp_fault *y)
{
	return x->va_space != y->va_space ? compare(x->va_space, y->va_space) : compare(x->gpu, y->gpu);
}

static inline int compare_instances(const struct uvmp_fault *x, const struct uvmp_fault *y)
{
	if (x->aperture != y->aperture)
		return compare(x->aperture, y->aperture);
	return x->instance != y->instance ? compare(x->instance, y->instance)
	                                  : compare(x->subcontext, y->subcontext);
}

static int compare_pages(const struct uvmp_fault *x, const struct uvmp_fault *y)
{
	int spaces = compare_spaces(x, y);

	if (spaces != 0)
		return spaces;
	return x->address != y->address ? compare(x->address, y->address) : compare(y->access, x->access);
}

/* Must entry a stand before entry b? */
static bool is_before(const struct uvmp_fault *entry, uint32_t a, uint32_t b, compare_fn *compare_entries)
{
	int order = compare_entries(&entry[a], &entry[b]);

	return order != 0 ? order < 0 : a < b;
}

static bool is_sorted(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                      compare_fn *compare_entries)
{
	for (uint32_t i = 1; i < count; i++)
		if (is_before(entry, order[i], order[i - 1u], compare_entries))
			return false;
	return true;
}

/* order[root+1..count) is a heap with its last element on top: lets order[root] sink to its place in it. */
static void sink(const struct uvmp_fault *entry, uint32_t *order, uint32_t root, uint32_t count,
                 compare_fn *compare_entries)
{
	uint32_t value = order[root];

	while (root < count / 2u) {
		uint32_t child = 2u * root + 1u;

		if (child + 1u < count && is_before(entry, order[child], order[child + 1u], compare_entries))
			child++;
		if (!is_before(entry, value, order[child], compare_entries))
			break;
		order[root] = order[child];
		root = child;
	}
	order[root] = value;
}

static void sort(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, compare_fn *compare_entries)
{
	if (is_sorted(entry, order, count, compare_entries))
		return;
	for (uint32_t root = count / 2u; root-- > 0;)
		sink(entry, order, root, count, compare_entries);
	for (uint32_t last = count - 1u; last > 0; last--) {
		uint32_t top = order[0];

		order[0] = order[last];
		order[last] = top;
		sink(entry, order, 0, last, compare_entries);
	}
}

/* -- pages by packed keys --
 *
 *   bits 63..19   page number: address bits 56..12
 *   bits 18..16   7 - access
 *   bits 15..0    index */

#define KEYS_MAX	0xffffu
#define INDEX_BITS	16u
#define INDEX_MAX	0xffffu
#define ACCESS_MAX_KEY	(7u << INDEX_BITS)
#define PAGE_UP		7u	 /* address bit 12 is key bit 19 */
#define NO_PAGE_BITS	0x7ffffu /* of a rotated address: the bits above and below its page number */
#define BUCKET_BITS_MAX 8u
#define STEPS_MAX	4u /* along sorted lists, per key, before the lower bits are sorted */
#define DIGIT_BITS	8u

struct keys {
	uint64_t *key;	/* [1..count]; key[0] is greater than no other, and ends lists */
	uint64_t *spare; /* [1..count] */
	uint64_t va_space; /* of the first entry */
	uint32_t gpu;
	uint32_t count;
	bool is_sorted;
	bool rises; /* the keys were packed in order of arrival */
	uint64_t least, most;
};

/* False: a field is too large for a key; or unless they may mix, the entries differ in address space or GPU. */
static inline bool pack(struct keys *keys, const struct uvmp_fault *entry, const uint32_t *order, bool may_mix)
{
	uint64_t least = UINT64_MAX, most = 0, pages = 0, *key = keys->key + 1;
	uint64_t va_space = keys->va_space;
	uint32_t gpu = keys->gpu, count = keys->count, accesses = 0, indices = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = order[i];
		const struct uvmp_fault *e = &entry[index];
		uint64_t page = e->address << PAGE_UP | e->address >> (64u - PAGE_UP), k;
		uint32_t access = (uint32_t)e->access << INDEX_BITS;

		if (!may_mix && (e->va_space != va_space || e->gpu != gpu))
			return false;
		pages |= page;
		accesses |= access;
		indices |= index;
		k = page + (index + ACCESS_MAX_KEY - access);
		key[i] = k;
		if (k >= most)
			most = k;
		else if (k < least)
			least = k;
	}
	keys->is_sorted = least == UINT64_MAX; /* no key was less than one before it */
	keys->least = key[0] < least ? key[0] : least;
	keys->most = most;
	return (pages & NO_PAGE_BITS) == 0 && accesses <= ACCESS_MAX_KEY && indices <= INDEX_MAX;
}

/* Sorts by one digit, from `key` into `spare`; keys with equal digits keep their order. Then the two change places. */
UVMPI_NOINLINE static void sort_digit(struct keys *keys, uint32_t shift)
{
	uint16_t end[1u << DIGIT_BITS] = {0};
	uint64_t *from = keys->key;
	uint32_t before = 1;

	for (uint32_t i = 1; i <= keys->count; i++)
		end[(from[i] - keys->least) >> shift & ((1u << DIGIT_BITS) - 1u)]++;
	for (uint32_t d = 0; d < 1u << DIGIT_BITS; d++) {
		uint32_t count = end[d];

		end[d] = (uint16_t)before;
		before += count;
	}
	for (uint32_t i = 1; i <= keys->count; i++)
		keys->spare[end[(from[i] - keys->least) >> shift & ((1u << DIGIT_BITS) - 1u)]++] = from[i];
	keys->key = keys->spare;
	keys->spare = from;
}

/* Spreads the keys over the buckets, last key first. A bucket is a list of positions, sorted by key, that ends with 0.
 * False: more than `limit` steps along the lists. */
UVMPI_NOINLINE static bool spread(const struct keys *keys, uint32_t shift, uint32_t limit, uint16_t *head)
{
	uint64_t *key = keys->key, *next = keys->spare, least = keys->least;
	uint32_t steps = 0;

	key[0] = UINT64_MAX;
	for (uint32_t i = keys->count; i != 0; i--) {
		uint64_t k = key[i], bucket = (k - least) >> shift, at = head[bucket], before;

		if (key[at] >= k) {
			next[i] = at;
			head[bucket] = (uint16_t)i;
			continue;
		}
		do {
			before = at;
			at = next[at];
			steps++;
		} while (key[at] < k);
		next[before] = i;
		next[i] = at;
		if (steps > limit)
			return false;
	}
	return true;
}

static void write_lists(const struct keys *keys, const uint16_t *head, uint32_t buckets, uint32_t *order)
{
	const uint64_t *key = keys->key, *next = keys->spare;

	for (uint32_t d = 0; d < buckets; d++)
		for (uint64_t i = head[d]; i != 0; i = next[i])
			*order++ = (uint32_t)key[i] & INDEX_MAX;
}

/* The indices of keys that are sorted. */
static void write_keys(const struct keys *keys, uint32_t *order)
{
	for (uint32_t i = 0; i < keys->count; i++)
		order[i] = (uint32_t)keys->key[i + 1u] & INDEX_MAX;
}

/* Are the indices in order of arrival? */
static bool rises(const uint32_t *order, uint32_t count)
{
	uint32_t i = 1;

	while (i < count && order[i - 1u] < order[i])
		i++;
	return i >= count;
}

/* About two keys to a bucket. */
static uint32_t bucket_bits(uint32_t count)
{
	return minimum(highest_bit(count | 4u) - 1u, BUCKET_BITS_MAX);
}

UVMPI_NOINLINE static void sort_keys(struct keys *keys, uint32_t *order)
{
	uint16_t head[1u << BUCKET_BITS_MAX] = {0};
	uint32_t bits = bucket_bits(keys->count), shift = highest_bit((keys->most - keys->least) | INDEX_MAX) + 1u - bits;

	if (!spread(keys, shift, STEPS_MAX * keys->count, head)) {
		for (uint32_t digit = keys->rises || rises(order, keys->count) ? INDEX_BITS : 0; digit < shift; digit += DIGIT_BITS)
			sort_digit(keys, digit);
		__builtin_memset(head, 0, sizeof(head));
		(void)spread(keys, shift, UINT32_MAX, head);
	}
	write_lists(keys, head, 1u << bits, order);
}

/* -- classes -- */

#define CLASSES_MAX 16u

struct classes {
	uint32_t count;
	uint32_t member[CLASSES_MAX]; /* index of one entry of each class */
	uint32_t size[CLASSES_MAX];
};

/* The class of e, which is a new class if no other has its member: its number, CLASSES_MAX if there are too many. */
static inline uint32_t class_of(struct classes *classes, const struct uvmp_fault *entry, uint32_t index,
                                compare_fn *compare_classes)
{
	uint32_t at = 0;

	while (at < classes->count && compare_classes(&entry[classes->member[at]], &entry[index]) != 0)
		at++;
	if (at == classes->count && at < CLASSES_MAX) {
		classes->member[at] = index;
		classes->size[at] = 0;
		classes->count++;
	}
	return at;
}

/* Cuts a list into its classes, in the order of the classes; within a class, the list keeps its order. `scratch` holds two
 * words per entry. False, with the list unchanged: more than CLASSES_MAX classes. */
static inline bool group(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, uint64_t *scratch,
                         compare_fn *compare_classes)
{
	uint64_t *class_at = scratch, *grouped = scratch + count;
	uint32_t start[CLASSES_MAX] = {0}, class = 0;
	struct classes classes = {.count = 1, .member = {order[0]}};

	for (uint32_t i = 0; i < count; i++) {
		if (compare_classes(&entry[classes.member[class]], &entry[order[i]]) != 0)
			class = class_of(&classes, entry, order[i], compare_classes);
		if (class == CLASSES_MAX)
			return false;
		classes.size[class]++;
		class_at[i] = class;
	}
	for (uint32_t a = 0; a < classes.count; a++)
		for (uint32_t b = 0; b < classes.count; b++)
			if (compare_classes(&entry[classes.member[a]], &entry[classes.member[b]]) < 0)
				start[b] += classes.size[a];
	for (uint32_t i = 0; i < count; i++)
		grouped[start[class_at[i]]++] = order[i];
	for (uint32_t i = 0; i < count; i++)
		order[i] = (uint32_t)grouped[i];
	return true;
}

/* -- the orders -- */

void uvmp_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, uint64_t *scratch)
{
	if (entry == NULL || order == NULL || count == 0)
		return;
	if (scratch == NULL || !rises(order, count) || !group(entry, order, count, scratch, compare_instances))
		sort(entry, order, count, compare_instances);
}

UVMPI_NOINLINE static bool pack_alike(struct keys *keys, const struct uvmp_fault *entry, const uint32_t *order)
{
	return pack(keys, entry, order, false);
}

UVMPI_NOINLINE static bool pack_mixed(struct keys *keys, const struct uvmp_fault *entry, const uint32_t *order)
{
	return pack(keys, entry, order, true);
}

/* By packed keys and classes. False, with the entries of the list in any order: they do not fit. */
static bool sort_packed(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, uint64_t *scratch)
{
	const struct uvmp_fault *first = &entry[order[0]];
	struct keys keys = {.key = scratch,
	                    .spare = scratch + count + 1u,
	                    .va_space = first->va_space,
	                    .gpu = first->gpu,
	                    .count = count};
	bool is_alike = pack_alike(&keys, entry, order);

	if (!is_alike && !pack_mixed(&keys, entry, order))
		return false;
	if (!keys.is_sorted)
		sort_keys(&keys, order);
	return is_alike || group(entry, order, count, scratch, compare_spaces);
}

void uvmp_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count, uint64_t *scratch)
{
	if (entry == NULL || order == NULL || count == 0)
		return;
	if (scratch == NULL || count > KEYS_MAX || !sort_packed(entry, order, count, scratch))
		sort(entry, order, count, compare_pages);
}

/* pack for the representatives of a batch, in order of arrival: counts them, too. Their number is at most that which the
 * batch names. False also if there are too many entries for a key. */
UVMPI_NOINLINE static bool pack_batch(struct keys *keys, const struct uvmp_fault_batch *batch)
{
	const struct uvmp_fault *e = batch->entry, *end = e + batch->cached;
	uint64_t least = UINT64_MAX, most = 0, pages = 0, *key = keys->key + 1, *key_end = key + batch->coalesced;
	uint32_t accesses = 0, rest = ACCESS_MAX_KEY, gpu; /* rest: with the index */
	uint64_t va_space;

	for (; e != end && e->is_filtered; e++)
		rest++;
	if (e == end || batch->coalesced == 0 || batch->cached > INDEX_MAX)
		return false;
	va_space = e->va_space;
	gpu = e->gpu;
	for (; e != end && key != key_end; e++, rest++) {
		uint64_t page = e->address << PAGE_UP | e->address >> (64u - PAGE_UP), k;
		uint32_t access = (uint32_t)e->access << INDEX_BITS;

		if (e->is_filtered)
			continue;
		if (e->va_space != va_space || e->gpu != gpu)
			return false;
		pages |= page;
		accesses |= access;
		k = page + (rest - access);
		*key++ = k;
		if (k >= most)
			most = k;
		else if (k < least)
			least = k;
	}
	keys->count = (uint32_t)(key - keys->key) - 1u;
	keys->is_sorted = least == UINT64_MAX;
	keys->least = keys->key[1] < least ? keys->key[1] : least;
	keys->most = most;
	return (pages & NO_PAGE_BITS) == 0 && accesses <= ACCESS_MAX_KEY;
}

uint32_t uvmp_fault_order_batch(const struct uvmp_fault_batch *batch, uint32_t *order, uint64_t *scratch)
{
	struct keys keys = {.key = scratch, .rises = true};
	uint32_t count;

	if (order == NULL || !uvmp_fault_batch_is_valid(batch))
		return 0;
	if (scratch != NULL)
		keys.spare = scratch + batch->coalesced + 1u;
	if (scratch == NULL || !pack_batch(&keys, batch)) {
		count = uvmp_fault_representatives(batch, order);
		uvmp_fault_order(batch->entry, order, count, scratch);
		return count;
	}
	if (keys.is_sorted)
		write_keys(&keys, order);
	else
		sort_keys(&keys, order);
	return keys.count;
}

bool uvmp_fault_is_same_page(const struct uvmp_fault *a, const struct uvmp_fault *b)
{
	return a != NULL && b != NULL && uvmpi_fault_is_same_page(a, b);
}

enum uvmp_status uvmp_fault_bin_next(const struct uvmp_fault *entry, const uint32_t *order, uint32_t count,
                                     uint32_t first, uvmp_addr block_last, struct uvmp_fault_bin *bin)
{
	const struct uvmp_fault *head;
	const uint32_t *at, *end;
	uint32_t duplicates;
	uvmp_addr page;

	if (entry == NULL || order == NULL || bin == NULL)
		return UVMP_ERR_ARGUMENT;
	if (first >= count || entry[order[first]].address > block_last)
		return UVMP_ERR_RANGE;

	at = order + first;
	end = order + count;
	head = &entry[*at];
	page = head->address;
	duplicates = uvmpi_fault_instances(head) - 1u;
	while (++at != end) {
		const struct uvmp_fault *e = &entry[*at];

		if (e->va_space != head->va_space || e->gpu != head->gpu || e->address > block_last)
			break;
		duplicates += uvmpi_fault_instances(e) - (e->address != page ? 1u : 0u);
		page = e->address;
	}
	bin->va_space = head->va_space;
	bin->gpu = head->gpu;
	bin->first = first;
	bin->count = (uint32_t)(at - order) - first;
	bin->duplicates = duplicates;
	return UVMP_OK;
}
