/* Victims of evictions. */
#ifndef UVMPOLICY_VICTIM_INTERNAL_H
#define UVMPOLICY_VICTIM_INTERNAL_H

#include "service_internal.h"

/* The block whose memory must stay for the present job; 0: none. */
static inline handle uvmpi_victim_kept(const struct eviction *e)
{
	return e->job != NULL && e->job->is_follow ? e->job->keep : 0;
}
/* The block that is being serviced; 0: none. */
static inline handle uvmpi_victim_serviced(const struct eviction *e)
{
	return e->job != NULL ? e->job->block : 0;
}

/* -- victim.c -- */

/* Chooses e->root (or unit). Ahead, the memory of the job's own block stays. False: nothing may be evicted. */
bool uvmpi_victim_choose(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_ahead);
/* Sets e->block, the next block that loses memory, and e->held, its pages there. False: the victim is empty. */
bool uvmpi_victim_next(struct uvmp_service *s, struct eviction *e);
/* Where the victim lies in the memory of the GPU, bytes; units have frames of their own: 0. */
uint64_t uvmpi_victim_offset(const struct uvmp_service *s, const struct eviction *e);
/* Does the whole of e->block leave? */
bool uvmpi_victim_is_large(const struct uvmp_service *s, const struct eviction *e);
/* All copies have arrived: e->block gives up e->held. `untouched` pages had not been used. */
void uvmpi_victim_take(struct uvmp_service *s, struct eviction *e, uint32_t untouched);
/* The eviction has failed: the remaining pages of the victim stay resident, and the victim becomes the newest unit. */
void uvmpi_victim_keep(struct uvmp_service *s, struct eviction *e);
/* The victim is empty; e->status, or another victim and EVICT_NEXT. */
void uvmpi_victim_finish(struct uvmp_service *s, struct eviction *e);

/* -- victim_roots.c -- */

bool uvmpi_victim_choose_root(struct uvmp_service *s, struct eviction *e, uint32_t gpu, bool is_ahead);
bool uvmpi_victim_next_root(struct uvmp_service *s, struct eviction *e);
void uvmpi_victim_take_root(struct uvmp_service *s, struct eviction *e);
void uvmpi_victim_keep_root(struct uvmp_service *s, struct eviction *e);
void uvmpi_victim_finish_root(struct uvmp_service *s, struct eviction *e);

/* -- victim_units.c -- */

bool uvmpi_victim_choose_unit(struct uvmp_service *s, struct eviction *e, uint32_t gpu);
/* Pages that should be free when the next block is serviced; no meaning for root chunks. */
uint32_t uvmpi_victim_room_ahead(const struct uvmp_service *s, const struct job *job, uint32_t gpu);
bool uvmpi_victim_next_unit(struct uvmp_service *s, struct eviction *e);
void uvmpi_victim_keep_unit(struct uvmp_service *s, struct eviction *e);
void uvmpi_victim_finish_unit(struct uvmp_service *s, struct eviction *e);
bool uvmpi_victim_is_large_unit(const struct uvmp_service *s, const struct eviction *e);

#endif
