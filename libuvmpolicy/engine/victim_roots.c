/* Root chunks as victims of an eviction. */
#include "../decisions/pmm_internal.h"
#include "memory_backend_internal.h"
#include "victim_internal.h"

static bool holds(const struct uvmp_service *s, handle block, uint32_t gpu, uint32_t root)
{
	uvmp_mask pages;

	if (block == 0)
		return false;
	uvmpi_chunks_in_root(s, block_at(s, block), uvmpi_residency_find(s, block_at(s, block), gpu), root,
			     &pages);
	return !uvmp_mask_is_empty(&pages);
}

/* Ahead, the roots to which the present job brings its pages may not leave either. */
bool uvmpi_victim_choose_root(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_ahead)
{
	struct uvmp_pmm *pmm = s->gpu[gpu].pmm;
	struct root_victim victim = uvmpi_chunks_victim(pmm);

	if (victim.root == UVMP_ROOT_NONE || holds(s, uvmpi_victim_kept(e), gpu, victim.root) ||
	    holds(s, is_ahead ? uvmpi_victim_serviced(e) : 0, gpu, victim.root))
		return false;
	e->victim = (uint8_t)victim.list;
	e->root = victim.root;
	pmm_root_remove(pmm, e->root);
	pmm_evict_start(pmm, e->root);
	return true;
}

/* The next block that loses memory in the root; 0: the root is empty. */
static handle next_owner(const struct uvmp_pmm *pmm, uint32_t root)
{
	handle block = 0;

	(void)uvmpi_pmm_evict_peek(pmm, root, &block);
	return block;
}

bool uvmpi_victim_next_root(struct uvmp_service *s, struct eviction *e)
{
	const struct block *b;

	e->block = next_owner(s->gpu[e->gpu].pmm, e->root);
	if (e->block == 0)
		return false;
	b = block_at(s, e->block);
	uvmpi_chunks_in_root(s, b, uvmpi_residency_find(s, b, e->gpu), e->root, &e->held);
	return true;
}

void uvmpi_victim_take_root(struct uvmp_service *s, struct eviction *e)
{
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	const struct block *b = block_at(s, e->block);
	struct uvmp_pmm_eviction eviction;
	bool found;

	(void)uvmpi_pmm_evict_next(pmm, e->root, &eviction, &found);
	uvmpi_chunks_forget(s, b, uvmpi_residency_find(s, b, e->gpu), &e->held);
}

void uvmpi_victim_keep_root(struct uvmp_service *s, struct eviction *e)
{
	uvmpi_pmm_evict_abort(s->gpu[e->gpu].pmm, e->root);
}

/* The allocation that asked gets its chunk from the root; it waits for the repeated walk [driver: eviction-retry]. */
static void park(struct uvmp_service *s, const struct eviction *e, struct uvmp_chunk chunk)
{
	uint32_t i = 0;

	while (i + 1u < PARKED_MAX && s->parked[i].is_set)
		i++;
	if (s->parked[i].is_set)
		uvmpi_pmm_free(s->gpu[s->parked[i].gpu].pmm, s->parked[i].chunk);
	s->has_parked = true;
	s->parked[i] = (struct parked){
		.chunk = chunk, .block = uvmpi_victim_serviced(e), .gpu = (uint8_t)e->gpu, .is_set = true};
}

void uvmpi_victim_finish_root(struct uvmp_service *s, struct eviction *e)
{
	struct uvmp_pmm *pmm = s->gpu[e->gpu].pmm;
	struct uvmp_chunk chunk;

	if (e->is_ahead) {
		uvmpi_pmm_evict_release(pmm, e->root);
		return;
	}
	e->status = uvmpi_pmm_evict_end(pmm, e->root, UVMP_CHUNK_USER, e->size, uvmpi_victim_serviced(e), &chunk);
	if (e->status == UVMP_OK) {
		park(s, e, chunk);
		return;
	}
	e->status = UVMP_ERR_NO_MEMORY; /* no further root may be split */
	uvmpi_pmm_evict_release(pmm, e->root);
}
