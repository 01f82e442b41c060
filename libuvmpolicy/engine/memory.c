/* Memory of the GPUs: one interface to two back ends.
 *
 * evict=lru manages root chunks (memory_chunks.c), every other order the units of its own (memory_units.c). Each function
 * here asks the back end of the GPU. */
#include "../evict/evict_internal.h"
#include "memory_backend_internal.h"
#include "unit_tables_internal.h"

/* -- setting up -- */

static bool is_chunked(const struct uvmp_service_params *params)
{
	return uvmp_policy_evict_traits(params->policy)->is_chunked;
}

uint32_t uvmpi_memory_least(const struct uvmp_policy *policy)
{
	if (uvmp_policy_evict_traits(policy)->is_chunked || policy->runtime)
		return UVMP_ROOT_CHUNK_BYTES;
	return uvmp_policy_unit_pages(policy) * UVMP_POLICY_PAGE_BYTES;
}

size_t uvmpi_memory_size(const struct uvmp_service_params *params, uint32_t gpu)
{
	if (!uvmpi_memory_is_there(params, gpu))
		return 0;
	return is_chunked(params) ? uvmpi_chunks_size(params, gpu) : uvmpi_units_size(params);
}

enum uvmp_status uvmpi_memory_init(struct uvmp_service *s, const struct uvmp_service_params *params,
				   uint32_t gpu, void *memory, size_t bytes)
{
	s->gpu[gpu].free_number = NO_INDEX;
	if (!uvmpi_memory_is_there(params, gpu))
		return UVMP_OK;
	if (bytes == 0)
		return UVMP_ERR_RANGE;
	return is_chunked(params) ? uvmpi_chunks_init(s, params, gpu, memory, bytes)
				  : uvmpi_units_init(s, params, gpu, (uint8_t *)memory);
}

uint64_t uvmpi_memory_units(const struct uvmp_service_params *params, uint32_t gpu)
{
	return is_chunked(params) ? uvmpi_chunks_roots(params, gpu) : uvmpi_units_count(params);
}

/* -- what the back ends do differently -- */

bool uvmpi_memory_repeats(const struct uvmp_service *s, uint32_t gpu)
{
	return uvmpi_has_chunks(&s->gpu[gpu]);
}

bool uvmpi_memory_is_chunked(const struct uvmp_service *s, const struct residency *p)
{
	return p->has_memory && uvmpi_has_chunks(&s->gpu[p->proc]);
}

bool uvmpi_memory_lacks_room(const struct uvmp_service *s, uint32_t gpu, uint32_t pages)
{
	const struct gpu *g = &s->gpu[gpu];

	return uvmpi_has_chunks(g) ? uvmpi_chunks_are_full(g) : !uvmpi_units_have_room(g, pages);
}

uint64_t uvmpi_memory_pages(const struct uvmp_service *s)
{
	uint64_t pages = 0;

	for (uint32_t gpu = UVMP_CPU + 1u; gpu < s->processors.count; gpu++)
		pages += s->gpu[gpu].capacity_pages;
	return pages;
}

bool uvmpi_memory_is_exceeded(const struct uvmp_service *s)
{
	return s->adapt.managed_bytes / s->page_bytes > uvmpi_memory_pages(s);
}

bool uvmpi_memory_fits(const struct uvmp_service *s)
{
	return !s->is_full && !uvmpi_memory_is_exceeded(s);
}

bool uvmpi_memory_is_full(const struct uvmp_service *s, uint32_t gpu)
{
	return uvmpi_memory_lacks_room(s, gpu, s->gpu[gpu].unit_pages);
}

uint32_t uvmpi_memory_frame_pages(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];

	if (uvmpi_has_chunks(g))
		return UVMP_MASK_BITS;
	return g->counts_units ? g->unit_pages : 1u;
}

bool uvmpi_memory_can_withdraw(const struct uvmp_service *s, uint32_t gpu)
{
	return !uvmpi_has_chunks(&s->gpu[gpu]) && !s->order->counts_uses;
}

bool uvmpi_memory_is_short(const struct uvmp_service *s, uint32_t gpu)
{
	return !uvmpi_has_chunks(&s->gpu[gpu]) && uvmpi_units_are_short(s, &s->gpu[gpu]);
}

struct uvmp_region uvmpi_memory_unit(const struct uvmp_service *s, uint32_t gpu, const struct block *b,
				     uint32_t page, uint32_t *unit)
{
	const struct residency *p = uvmpi_residency_find(s, b, gpu);
	const struct gpu *g = &s->gpu[gpu];

	return uvmpi_has_chunks(g) ? uvmpi_chunks_unit(s, b, p, page, unit)
				   : uvmpi_units_unit(g, p, page, unit);
}

/* -- pages arrive and leave -- */

void uvmpi_memory_fit(const struct uvmp_service *s, uint32_t gpu, uvmp_mask *pages, const uvmp_mask *faulted)
{
	const struct gpu *g = &s->gpu[gpu];

	if (g->capacity_pages - 1u < s->block_pages - 1u) /* not 0; root chunks: one block or more */
		uvmpi_units_fit(g, pages, faulted);
}

enum backing uvmpi_memory_back(struct uvmp_service *s, uint32_t gpu, handle block,
			       const struct arriving *arriving, enum uvmp_chunk_size *size)
{
	struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	return uvmpi_has_chunks(&s->gpu[gpu]) ? uvmpi_chunks_back(s, gpu, block, p, arriving, size)
					      : uvmpi_units_back(s, gpu, block, p, arriving, size);
}

bool uvmpi_memory_grow(struct uvmp_service *s, uint32_t gpu)
{
	return uvmpi_unit_tables_grow(s, &s->gpu[gpu]);
}

uint64_t uvmpi_memory_more(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];

	return g->order.state != NULL ? uvmpi_units_more(s, g) : 0; /* no order: root chunks, or no memory */
}

void uvmpi_memory_unback(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_unback(s, gpu, block, uvmpi_residency_find(s, block_at(s, block), gpu), pages);
}

void uvmpi_memory_abandon(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages)
{
	if (!uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_units_abandon(&s->gpu[gpu], uvmpi_residency_find(s, block_at(s, block), gpu), pages);
}

void uvmpi_memory_used(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages,
		       bool is_fault)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_used(s, gpu, b, p, pages);
	else
		uvmpi_units_used(s, gpu, b, p, pages, is_fault);
}

void uvmpi_memory_left(struct uvmp_service *s, uint32_t gpu, handle block, const uvmp_mask *pages,
		       bool keeps_frames)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_left(s, gpu, b, p, pages);
	else
		uvmpi_units_left(s, gpu, b, p, pages, keeps_frames);
}

void uvmpi_memory_begin_batch(struct uvmp_service *s, uint32_t gpu)
{
	if (s->gpu[gpu].order.state != NULL) /* NULL: root chunks, or no memory */
		uvmpi_evict_batch(&s->gpu[gpu].order);
}

void uvmpi_memory_touch(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page)
{
	const struct block *b = block_at(s, block);
	const struct residency *p = uvmpi_residency_find(s, b, gpu);

	if (p == NULL || !uvmp_mask_test(&p->resident, page))
		return;
	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_touch(s, gpu, b, p, page);
	else
		uvmpi_units_touch(s, gpu, b, p, page);
}

void uvmpi_memory_hold(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t page, uint64_t until_ns)
{
	const struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	if (p != NULL && !uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_units_hold(&s->gpu[gpu], p, page, until_ns);
}

void uvmpi_memory_mark(struct uvmp_service *s, uint32_t gpu, handle block, enum uvmp_chunk_mark mark)
{
	const struct block *b = block_at(s, block);

	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_mark(s, gpu, b, uvmpi_residency_find(s, b, gpu), mark);
}

void uvmpi_memory_free(struct uvmp_service *s, uint32_t gpu, handle block)
{
	struct residency *p = uvmpi_residency_find(s, block_at(s, block), gpu);

	if (p == NULL || !p->has_memory)
		return;
	if (uvmpi_has_chunks(&s->gpu[gpu]))
		uvmpi_chunks_free(s, gpu, block, p);
	else
		uvmpi_units_free(s, gpu, block, p);
}

void uvmpi_memory_settle(struct uvmp_service *s)
{
	if (s->order->is_chunked) {
		uvmpi_chunks_settle(s);
		return;
	}
	for (uint32_t gpu = 1; gpu < s->processors.count; gpu++)
		s->gpu[gpu].coming_pages = 0;
}

void uvmpi_memory_cuts(const struct uvmp_service *s, const struct block *b, uint32_t gpu, uvmp_mask *cuts)
{
	if (uvmpi_has_chunks(&s->gpu[gpu]) && !block_is_whole(s, b)) /* one chunk needs no cut */
		uvmpi_chunks_cuts(s, b, uvmpi_residency_find(s, b, gpu), cuts);
}

/* -- consistency -- */

bool uvmpi_memory_has_map(const struct uvmp_service *s, const struct block *b, const struct residency *p)
{
	return uvmpi_has_chunks(&s->gpu[p->proc]) && !block_is_whole(s, b);
}

bool uvmpi_memory_check(const struct uvmp_service *s, handle block, const struct residency *p, bool is_idle,
			uint64_t *pages)
{
	return uvmpi_has_chunks(&s->gpu[p->proc]) ? uvmpi_chunks_check(s, block, p, pages)
						  : uvmpi_units_check(s, block, p, is_idle, pages);
}

bool uvmpi_memory_check_gpu(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];

	return uvmpi_has_chunks(g) ? uvmp_pmm_check(g->pmm) : uvmpi_units_check_gpu(g);
}

uint64_t uvmpi_memory_owned(const struct uvmp_service *s, uint32_t gpu)
{
	const struct gpu *g = &s->gpu[gpu];

	return uvmpi_has_chunks(g) ? uvmpi_chunks_owned(s, gpu) : g->used_pages;
}
