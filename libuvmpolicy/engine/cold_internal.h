/* Cold state of a block, made at the first need. NULL: the arena is full. */
#ifndef UVMPOLICY_COLD_INTERNAL_H
#define UVMPOLICY_COLD_INTERNAL_H

#include "arena_internal.h"
#include "service_internal.h"

struct cold *uvmpi_cold_make(struct uvmp_service *s, struct block *b);
/* History of the block; NULL: there is none. */
static inline struct history *block_history(const struct uvmp_service *s, const struct block *b)
{
	if (b->cold == 0 || cold_at(s, b->cold)->history == 0)
		return NULL;
	return (struct history *)uvmpi_arena_at(s, cold_at(s, b->cold)->history);
}
struct history *uvmpi_history_make(struct uvmp_service *s, struct block *b);
/* Gives the history back. The block has cold state. */
void uvmpi_history_give(struct uvmp_service *s, struct block *b);
/* What counts accesses; NULL: nothing of the block has been counted. */
static inline struct counters *counters_of(const struct uvmp_service *s, const struct block *b)
{
	handle h = b->cold != 0 ? cold_at(s, b->cold)->counters : 0;

	return h != 0 ? (struct counters *)uvmpi_arena_at(s, h) : NULL;
}
/* Counters are for pieces of 64 KiB, or pages of 2 MiB: how many pages is that, and how many pieces has the block's tree? */
static inline uint32_t counter_pages(const struct uvmp_service *s)
{
	return s->page_bytes < 65536u ? 65536u / s->page_bytes : 1u;
}
uint32_t uvmpi_counters_leaves(const struct uvmp_service *s, const struct block *b);
struct counters *uvmpi_counters_make(struct uvmp_service *s, struct block *b);
/* Gives the counters back, and takes the block off the list of blocks with hot pages. */
void uvmpi_counters_give(struct uvmp_service *s, struct block *b);
/* A page of the block has become hot: its block joins the list as the last. */
void uvmpi_hot_add(struct uvmp_service *s, handle block, struct counters *c, uint32_t gpu, uint32_t page);
/* Takes a block off the list; its pages are not hot any longer. */
void uvmpi_hot_remove(struct uvmp_service *s, struct counters *c);

#endif
