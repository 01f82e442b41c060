/* Is the engine's state consistent?
 *
 * A bucket's chain holds only blocks that belong there, and so does the list of a range: a block is met twice
 * by a walk only if the list is closed. So walks stop after as many blocks as exist; and if all chains
 * together, and all lists together, have as many as exist, each lists every block once. Objects are counted
 * likewise as they are reached, and compared with the slabs' counters: none is lost, none belongs to two. A
 * handle is followed only if an object of its kind fits there.
 */
#include "memory_internal.h"
#include "runtime_logs_internal.h"
#include "servicing_internal.h"
#include "space_internal.h"

struct tally {
	uint32_t live[SLAB_ARRAY + 1u];	 /* arrays of all sizes together */
	uint32_t hot;			 /* blocks with hot pages */
	uint32_t remote[UVMP_EVICT_TENANTS]; /* blocks that count as remote, on all GPUs */
	uint64_t backed[UVMP_PROCS_MAX]; /* pages that blocks own on each GPU; with chunks: of 4 KiB */
};

/* -- arena -- */

static bool check_segments(const struct uvmp_service *s)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < s->segments; i++) {
		const struct segment *segment = &s->segment[i];

		if (segment->first != end || segment->unused < segment->first ||
		    segment->unused > segment->end)
			return false;
		end = segment->end;
	}
	return true;
}

/* Does an object of the slab fit at this handle? */
static bool fits(const struct uvmp_service *s, enum slab slab, handle h)
{
	for (uint32_t i = 0; h != 0 && i < s->segments; i++) {
		const struct segment *segment = &s->segment[i];

		if (h < segment->end)
			return h < segment->unused && s->slab_bytes[slab] / UNIT_BYTES <= segment->unused - h;
	}
	return false;
}

static bool check_free_list(const struct uvmp_service *s, enum slab slab)
{
	uint32_t left = s->segment[s->segments - 1u].end;

	for (handle h = s->free[slab]; h != 0; h = *(const handle *)uvmpi_arena_at(s, h))
		if (left-- == 0 || !fits(s, slab, h))
			return false;
	return true;
}

/* Objects that exist of a kind: a slab, or all arrays. */
static uint32_t live(const struct uvmp_service *s, uint32_t kind)
{
	uint32_t count = 0;

	if (kind != SLAB_ARRAY)
		return s->live[kind];
	for (uint32_t i = 0; i < ARRAY_CLASSES; i++)
		count += s->live[SLAB_ARRAY + i];
	return count;
}

/* An object that hangs somewhere. */
static bool count_object(const struct uvmp_service *s, struct tally *tally, enum slab slab, handle h)
{
	tally->live[slab < SLAB_ARRAY ? slab : SLAB_ARRAY]++;
	return fits(s, slab, h);
}

/* -- spaces, channels, ranges -- */

static bool is_space(const struct uvmp_service *s, uint32_t slot)
{
	return slot < s->spaces && s->space[slot].users != 0;
}

static bool check_instances(const struct uvmp_service *s)
{
	if (s->instances > s->instance_slots || s->spaces_used > s->spaces)
		return false;
	for (uint32_t i = 0; i < s->instances; i++) {
		const struct instance *at = &s->instance[i];

		if (at->gpu - 1u >= s->processors.count - 1u || !is_space(s, at->space) ||
		    (i > 0 && !uvmpi_instance_is_before(at - 1, at)))
			return false;
	}
	return true;
}

/* Ranges in order: each of whole pages, in a space that exists, behind the one before. */
static bool check_order(const struct uvmp_service *s)
{
	const struct range *before = NULL;

	if (s->ranges > s->range_slots)
		return false;
	for (uint32_t i = 0; i < s->ranges; i++) {
		const struct range *r;

		if (s->range_order[i] >= s->range_slots)
			return false;
		r = &s->range[s->range_order[i]];
		if (!is_space(s, r->space) || uvmp_geometry_block_count(&s->geometry, r->start, r->last) == 0)
			return false;
		if (before != NULL &&
		    (before->space > r->space || (before->space == r->space && before->last >= r->start)))
			return false;
		before = r;
	}
	return true;
}

/* The slots that no range has are in the list of free ones. */
static bool check_free_ranges(const struct uvmp_service *s)
{
	uint32_t left = s->range_slots - s->ranges;

	for (uint32_t slot = s->free_range; slot != NO_INDEX; slot = s->range[slot].next_free)
		if (left-- == 0 || slot >= s->range_slots)
			return false;
	return left == 0;
}

static bool check_spaces(const struct uvmp_service *s)
{
	uint64_t users = 0;

	for (uint32_t i = 0; i < s->spaces; i++) {
		users += s->space[i].users;
		if (s->space[i].users != 0 && !uvmp_thrash_space_is_valid(&s->space[i].thrash))
			return false;
	}
	return users == (uint64_t)s->ranges + s->instances;
}

/* What ranges have: bytes that are managed and used, and arrays for what was scheduled. The order is sound. */
static bool check_ranges(const struct uvmp_service *s, struct tally *tally)
{
	uint64_t bytes = 0, used = 0;

	for (uint32_t i = 0; i < s->ranges; i++) {
		const struct range *r = &s->range[s->range_order[i]];

		bytes += r->last - r->start + 1u;
		used += r->is_used ? r->last - r->start + 1u : 0;
		if (r->log != 0 && !count_object(s, tally, uvmpi_runtime_slab(s, r->allocation), r->log))
			return false;
	}
	return bytes == s->adapt.managed_bytes && used == s->used_bytes;
}

/* Does a range have this slot? The order is sound. */
static bool is_range(const struct uvmp_service *s, uint32_t slot)
{
	uint32_t index;

	if (slot >= s->range_slots)
		return false;
	index = uvmpi_range_from(s, s->range[slot].space, s->range[slot].start);
	return index < s->ranges && s->range_order[index] == slot;
}

/* -- memory -- */

/* What is resident on a GPU lies in memory that the block owns there. */
static bool check_memory(const struct uvmp_service *s, handle h, const struct residency *p,
			 struct tally *tally)
{
	if (p->proc == UVMP_CPU)
		return !p->has_memory;
	if (!p->has_memory)
		return uvmp_mask_is_empty(&p->resident);
	if (uvmpi_memory_has_map(s, block_at(s, h), p) && !count_object(s, tally, SLAB_CHUNK_MAP, p->memory))
		return false;
	return uvmpi_memory_check(s, h, p, !uvmpi_servicing_is_active(s), &tally->backed[p->proc]);
}

/* -- blocks -- */

/* Accesses are counted for all basic blocks, and hot pages are the block's and a GPU's to have. */
static bool check_counters(const struct uvmp_service *s, const struct block *b, struct tally *tally)
{
	const struct counters *c;

	if (cold_at(s, b->cold)->counters == 0)
		return true;
	if (!count_object(s, tally, SLAB_COUNTERS, cold_at(s, b->cold)->counters))
		return false;
	c = counters_of(s, b);
	tally->hot += !uvmp_mask_is_empty(&c->hot);
	return uvmp_counter_tree_is_valid(&c->tree) && c->tree.blocks == uvmpi_counters_leaves(s, b) &&
	       uvmp_mask_next_set(&c->hot, b->pages) == UVMP_MASK_BITS &&
	       (uvmp_mask_is_empty(&c->hot) || c->gpu - 1u < s->processors.count - 1u);
}

static bool check_history(const struct uvmp_service *s, const struct block *b, struct tally *tally)
{
	handle h = cold_at(s, b->cold)->history;
	const struct history *history;

	if (h == 0)
		return true;
	if (!count_object(s, tally, SLAB_HISTORY, h))
		return false;
	history = (const struct history *)uvmpi_arena_at(s, h);
	return history->gpu < s->processors.count &&
	       uvmp_mask_next_set(&history->evicted, b->pages) == UVMP_MASK_BITS &&
	       uvmp_mask_next_set(&history->touched, b->pages) == UVMP_MASK_BITS;
}

static bool check_extra(const struct uvmp_service *s, const struct block *b, const uvmp_mask *twice,
			struct tally *tally)
{
	const struct cold *cold;

	if (b->cold == 0)
		return uvmp_mask_is_empty(twice);
	if (!count_object(s, tally, SLAB_COLD, b->cold))
		return false;
	cold = cold_at(s, b->cold);
	if (!uvmp_mask_is_subset(twice, &cold->duplicated) ||
	    uvmp_mask_next_set(&cold->duplicated, b->pages) != UVMP_MASK_BITS ||
	    uvmp_mask_next_set(&cold->discarded, b->pages) != UVMP_MASK_BITS)
		return false;
	if (!check_counters(s, b, tally) || !check_history(s, b, tally))
		return false;
	if (cold->tree == 0)
		return true;
	return count_object(s, tally, SLAB_TREE, cold->tree) &&
	       uvmp_tree_is_valid((const struct uvmp_tree *)uvmpi_arena_at(s, cold->tree));
}

static bool check_thrash(const struct uvmp_service *s, handle h, struct tally *tally)
{
	const struct block *b = block_at(s, h);
	const struct thrash *t;

	if (b->thrash == 0)
		return true;
	if (!count_object(s, tally, SLAB_THRASH, b->thrash))
		return false;
	t = thrash_at(s, b->thrash);
	return uvmp_thrash_block_is_valid(&t->block) && t->block.id == h && t->block.pages == b->pages &&
	       (const void *)t->block.memory == (const void *)(t + 1);
}

static bool count_remote(const struct residency *p, struct tally *tally)
{
	if (p->remote == 0)
		return true;
	if (p->proc == UVMP_CPU || p->remote > UVMP_EVICT_TENANTS)
		return false;
	tally->remote[p->remote - 1u]++;
	return true;
}

/* The block on all processors: one home for each page unless it is read-duplicated, no mapping without. */
static bool check_places(const struct uvmp_service *s, handle h, struct tally *tally)
{
	const struct block *b = block_at(s, h);
	uvmp_mask resident, twice, both;
	uint64_t seen = 0;

	uvmp_mask_zero(&resident);
	uvmp_mask_zero(&twice);
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		const struct residency *p;

		if (!count_object(s, tally, SLAB_RESIDENCY, at))
			return false;
		p = residency_at(s, at);
		if (p->proc >= s->processors.count || (seen >> p->proc & 1u) != 0 ||
		    !check_memory(s, h, p, tally) || !count_remote(p, tally))
			return false;
		seen |= (uint64_t)1 << p->proc;
		uvmp_mask_and(&both, &resident, &p->resident);
		uvmp_mask_or(&twice, &twice, &both);
		uvmp_mask_or(&resident, &resident, &p->resident);
	}
	for (handle at = b->residency; at != 0; at = residency_at(s, at)->next) {
		residency_mapped(residency_at(s, at), &both);
		if (!uvmp_mask_is_subset(&both, &resident) ||
		    (!residency_at(s, at)->is_mapped && !uvmp_mask_is_empty(&both)))
			return false;
	}
	return uvmp_mask_next_set(&resident, b->pages) == UVMP_MASK_BITS && check_extra(s, b, &twice, tally);
}

/* Does the block cover what a block of its range has to, where it lies? */
static bool check_shape(const struct uvmp_service *s, const struct block *b)
{
	const struct range *r;
	struct uvmp_block shape;

	if (!is_range(s, b->range))
		return false;
	r = range_of(s, b);
	return uvmp_geometry_block(&s->geometry, r->start, r->last,
				   uvmp_geometry_block_index(&s->geometry, r->start, b->start),
				   &shape) == UVMP_OK &&
	       shape.start == b->start && shape.pages == b->pages;
}

static bool check_chain(const struct uvmp_service *s, uint32_t bucket, struct tally *tally)
{
	for (handle h = s->bucket[bucket]; h != 0; h = block_at(s, h)->chain) {
		const struct block *b;

		if (tally->live[SLAB_BLOCK] == s->live[SLAB_BLOCK] || !count_object(s, tally, SLAB_BLOCK, h))
			return false;
		b = block_at(s, h);
		if (!check_shape(s, b) ||
		    uvmpi_block_bucket(s, s->range[b->range].space, b->start) != bucket ||
		    !check_places(s, h, tally) || !check_thrash(s, h, tally))
			return false;
	}
	return true;
}

/* The lists of the ranges hold each block that the table holds. */
static bool check_lists(const struct uvmp_service *s)
{
	uint32_t left = s->live[SLAB_BLOCK];

	for (uint32_t i = 0; i < s->ranges; i++) {
		uint32_t slot = s->range_order[i];

		for (handle h = s->range[slot].block; h != 0; h = block_at(s, h)->range_next)
			if (left-- == 0 || !fits(s, SLAB_BLOCK, h) || block_at(s, h)->range != slot)
				return false;
	}
	return left == 0;
}

/* Is this one of the blocks in the table, which is sound? */
static bool is_block(const struct uvmp_service *s, handle h)
{
	return fits(s, SLAB_BLOCK, h) && is_range(s, block_at(s, h)->range) &&
	       uvmpi_block_find(s, range_of(s, block_at(s, h))->space, block_at(s, h)->start) == h;
}

/* The list of blocks with hot pages has each of them once. */
static bool check_hot(const struct uvmp_service *s, const struct tally *tally)
{
	uint32_t left = tally->hot;
	handle before = 0, next;

	for (handle h = s->hot_first; h != 0; h = next) {
		const struct counters *c = is_block(s, h) ? counters_of(s, block_at(s, h)) : NULL;

		if (left-- == 0 || c == NULL || uvmp_mask_is_empty(&c->hot) || c->before != before)
			return false;
		before = h;
		next = c->next;
	}
	return left == 0 && s->hot_last == before;
}

/* The array of buckets, if it has grown. */
static bool check_buckets(const struct uvmp_service *s, struct tally *tally)
{
	return s->bucket_array == 0 ||
	       count_object(s, tally, uvmpi_arena_array((uint64_t)s->buckets * sizeof(handle)), s->bucket_array);
}

/* The tenants have as many remote blocks as count. */
static bool check_idle(const struct uvmp_service *s, const struct tally *tally)
{
	for (uint32_t i = 0; i < UVMP_EVICT_TENANTS; i++) {
		uint32_t remote = 0;

		for (uint32_t gpu = 1; gpu < s->processors.count; gpu++)
			remote += s->gpu[gpu].idle.tenant[i].remote;
		if (remote != tally->remote[i])
			return false;
	}
	return true;
}

/* -- everything -- */

/* Outside its bottom half, no batch of a GPU waits for a replay. */
static bool check_replay(const struct uvmp_service *s, uint32_t gpu)
{
	bool is_running = s->fault.phase != FAULT_IDLE && s->fault.gpu == gpu;

	return is_running || !(s->gpu[gpu].is_chained || s->gpu[gpu].owes_replay);
}

/* Sound in themselves: chunks and queues, capacity, replays. */
static bool check_gpus(const struct uvmp_service *s)
{
	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++) {
		const struct gpu *g = &s->gpu[gpu];

		if (g->used_pages > g->capacity_pages + g->uncounted_pages || !uvmpi_memory_check_gpu(s, gpu) ||
		    !check_replay(s, gpu))
			return false;
	}
	return true;
}

bool uvmp_service_check(const struct uvmp_service *service)
{
	struct tally tally = {{0}, 0, {0}, {0}};
	bool ok;

	if (!uvmp_service_is_valid(service) || !check_segments(service))
		return false;
	for (uint32_t slab = 0; slab < SLAB_COUNT; slab++)
		if (!check_free_list(service, (enum slab)slab))
			return false;
	ok = check_instances(service) && check_order(service) && check_free_ranges(service) &&
	     check_spaces(service) && check_gpus(service) && check_ranges(service, &tally) &&
	     check_buckets(service, &tally);
	for (uint32_t i = 0; ok && i < service->buckets; i++)
		ok = check_chain(service, i, &tally);
	for (uint32_t kind = 0; kind <= SLAB_ARRAY; kind++)
		ok = ok && tally.live[kind] == live(service, kind);
	for (uint32_t gpu = 1; ok && gpu < service->processors.count; gpu++)
		ok = tally.backed[gpu] == uvmpi_memory_owned(service, gpu);
	return ok && check_lists(service) && check_hot(service, &tally) && check_idle(service, &tally);
}
