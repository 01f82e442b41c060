/* The order in which faults are serviced, and the bins of this order [driver: batch-order, batch-walk].
 *
 * Both orders are total: the index, which is the order of arrival, distinguishes entries that are equal by
 * every rule of the driver. So the result does not depend on the algorithm. A list that is already in order,
 * such as the faults of one warp that scans memory, costs one comparison per entry; any other list is sorted
 * as a binary heap in place. */
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
	if (entry == NULL || order == NULL || is_sorted(entry, order, count, is_before))
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

void uvmp_fault_order_by_instance(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	sort(entry, order, count, is_before_by_instance);
}

void uvmp_fault_order(const struct uvmp_fault *entry, uint32_t *order, uint32_t count)
{
	sort(entry, order, count, is_before_by_page);
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
