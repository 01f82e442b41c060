/* Victims of evictions: one interface to root chunks (victim_roots.c) and units of page-wise orders (victim_units.c). */
#include "memory_backend_internal.h"
#include "victim_internal.h"

bool uvmpi_victim_choose(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_ahead)
{
	return uvmpi_has_chunks(&s->gpu[gpu]) ? uvmpi_victim_choose_root(s, e, gpu, is_ahead)
					      : uvmpi_victim_choose_unit(s, e, gpu);
}

bool uvmpi_victim_next(struct uvmp_service *s, struct eviction *e)
{
	return uvmpi_has_chunks(&s->gpu[e->gpu]) ? uvmpi_victim_next_root(s, e) : uvmpi_victim_next_unit(s, e);
}

uint64_t uvmpi_victim_offset(const struct uvmp_service *s, const struct eviction *e)
{
	return uvmpi_has_chunks(&s->gpu[e->gpu]) ? (uint64_t)e->root * UVMP_ROOT_CHUNK_BYTES : 0;
}

bool uvmpi_victim_is_large(const struct uvmp_service *s, const struct eviction *e)
{
	return uvmpi_has_chunks(&s->gpu[e->gpu]) ? block_is_whole(s, block_at(s, e->block))
						 : uvmpi_victim_is_large_unit(s, e);
}

void uvmpi_victim_take(struct uvmp_service *s, struct eviction *e, uint32_t untouched)
{
	if (uvmpi_has_chunks(&s->gpu[e->gpu]))
		uvmpi_victim_take_root(s, e);
	else
		uvmpi_units_evicted(s, e->gpu, e->block, e->root, uvmp_mask_weight(&e->pages), untouched);
}

void uvmpi_victim_keep(struct uvmp_service *s, struct eviction *e)
{
	if (uvmpi_has_chunks(&s->gpu[e->gpu]))
		uvmpi_victim_keep_root(s, e);
	else
		uvmpi_victim_keep_unit(s, e);
}

void uvmpi_victim_finish(struct uvmp_service *s, struct eviction *e)
{
	if (uvmpi_has_chunks(&s->gpu[e->gpu]))
		uvmpi_victim_finish_root(s, e);
	else
		uvmpi_victim_finish_unit(s, e);
}
