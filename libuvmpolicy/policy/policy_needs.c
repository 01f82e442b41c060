/* The needs of a policy, from the traits of the prefetchers, eviction order and controllers that it names. */
#include "needs_internal.h"
#include "policy_internal.h"

#define SIZES 4u
static const uint32_t page_sizes[SIZES] = {4096, 16384, 65536, 2097152};

/* Page sizes for an order with units of so many pages of 4 KiB: a unit is a whole number of pages. A tree counts the 16 pages
 * of 4 KiB of each basic block. */
static uint32_t page_bytes_of(const struct uvmp_evict_traits *order, uint32_t unit_pages)
{
	uint32_t most = order->has_tree ? UVMP_POLICY_PAGE_BYTES : unit_pages * UVMP_POLICY_PAGE_BYTES, sum = 0;

	for (uint32_t i = 0; i < SIZES; i++)
		sum |= page_sizes[i] <= most ? page_sizes[i] : 0;
	return sum;
}

/* Returns whether the prefetcher keeps a tree of basic blocks. */
static bool add_prefetcher(struct uvmp_needs *needs, const struct uvmp_prefetch_traits *traits)
{
	needs->utlbs |= traits->has_utlbs;
	needs->one_gpu |= traits->has_one_gpu;
	needs->touches |= traits->counts_touches;
	needs->kernels |= traits->has_kernels;
	needs->histories |= traits->has_touches;
	needs->block_bytes += traits->block_bytes;
	return traits->has_tree;
}

/* Returns whether the controller keeps a history of blocks. */
static bool add_controller(struct uvmp_needs *needs, const struct uvmp_policy *policy, uint32_t i)
{
	const struct controller *controller = uvmpi_controller_at(i);

	if (!policy_has_controller(policy, controller))
		return false;
	needs->sms |= (uint32_t)controller->needs_sms << i;
	needs->block_bytes += controller->block_bytes;
	return controller->counts_refaults || controller->block_bytes != 0;
}

static bool counts_accesses(const struct uvmp_policy *policy)
{
	return policy->runtime ||
	       (policy->remote.remote != UVMP_REMOTE_OFF && policy->remote.remote != UVMP_REMOTE_AUTO);
}

static struct uvmp_needs needs_of(const struct uvmp_policy *policy)
{
	bool is_auto = policy->remote.remote == UVMP_REMOTE_AUTO;
	const struct uvmp_evict_traits *order = uvmp_policy_evict_traits(policy);
	struct uvmp_needs needs = {.page_bytes = page_bytes_of(order, uvmp_policy_unit_pages(policy)),
				   .accesses = counts_accesses(policy),
				   .notifications = policy->counters == UVMP_COUNTERS_ON || is_auto,
				   .kernels = policy->runtime,
				   .histories = order->has_touches,
				   .requests = is_auto};
	bool has_tree, has_history;

	has_tree = add_prefetcher(&needs, uvmp_policy_prefetch_traits(policy));
	if (policy->prefetch_full != UVMP_PREFETCH_FULL_SAME)
		has_tree |= add_prefetcher(&needs, uvmpi_policy_full_traits(policy));
	has_history = needs.block_bytes != 0;
	for (uint32_t i = 0; i < UVMP_CONTROLLER_COUNT; i++)
		has_history |= add_controller(&needs, policy, i);
	/* [driver: order-by-service]: with quirks, root chunks ignore touches */
	needs.touches |= order->is_chunked ? !policy->quirks : !order->ignores_accesses;
	needs.touches |= needs.histories;
	/* Each of these includes the cold state, of which a block has one, so that sums are upper bounds. */
	if (needs.accesses)
		needs.block_bytes += NEEDS_COLD_BYTES + NEEDS_COUNTERS_BYTES;
	if (needs.histories || has_history)
		needs.block_bytes += NEEDS_COLD_BYTES + NEEDS_HISTORY_BYTES;
	if (has_tree)
		needs.block_bytes += NEEDS_COLD_BYTES + NEEDS_TREE_BYTES;
	if (policy->runtime)
		needs.block_bytes += NEEDS_LOG_BYTES;
	return needs;
}

enum uvmp_status uvmp_policy_needs(const struct uvmp_policy *policy, struct uvmp_needs *needs)
{
	struct uvmp_policy own;
	struct uvmp_needs found;

	if (needs == NULL || uvmpi_policy_read(&own, policy) != UVMP_OK || !uvmpi_policy_is_valid(&own))
		return UVMP_ERR_ARGUMENT;
	found = needs_of(&own);
	return uvmpi_sized_write(needs, needs->size, &found, sizeof(found), sizeof(found.size));
}

enum uvmp_status uvmp_policy_evictors(uint32_t page_bytes, char *text, size_t capacity)
{
	struct text out = {text, capacity, 0};

	if (text == NULL)
		return UVMP_ERR_ARGUMENT;
	if (capacity != 0)
		text[0] = '\0';
	for (uint32_t i = 0; i < UVMP_EVICT_COUNT; i++) {
		const struct uvmp_evict_traits *order = uvmp_evict_traits_of((enum uvmp_evictor)i);

		if ((page_bytes_of(order, order->unit_pages) & page_bytes) == 0)
			continue;
		put_text(&out, out.length != 0 ? "|" : "");
		put_text(&out, uvmp_evict_name((enum uvmp_evictor)i));
	}
	return out.length < capacity ? UVMP_OK : UVMP_ERR_SPACE;
}
