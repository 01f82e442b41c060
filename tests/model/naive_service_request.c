/* Requests of the naive model. */
#include "naive_service_internal.h"

#include <stdlib.h>
#include <string.h>

static void free_block(struct naive_service *n, struct block *b)
{
	bool all[PAGES];

	memset(all, 1, sizeof(all));
	for (uint32_t k = 0; k < b->places; k++)
		naive_unmap(n, UVMP_CAUSE_FREE, b, b->place[k], all, 0);
	naive_give_memory(n, b);
	naive_thrash_end(&naive_space_of(n, b)->thrash, b->number);
	b->exists = false;
	(void)naive_perform_group(n);
}

static void free_piece(struct naive_service *n, struct range *range)
{
	while (naive_block_before(n, range, UINT64_MAX) != NULL)
		free_block(n, naive_block_before(n, range, UINT64_MAX));
	range->exists = false;
	naive_drop_space(n, range->space);
}

static enum uvmp_status free_range(struct naive_service *n, const struct request *r)
{
	struct range *range = naive_find_range(n, r->space, r->base);

	if (range == NULL || range->base != r->base || range->origin != r->base)
		return UVMP_ERR_UNKNOWN;
	while (range != NULL) {
		uvmp_addr next = range->end + 1;

		free_piece(n, range);
		range = naive_lowest_piece(n, r->space, r->base, next);
	}
	return UVMP_OK;
}

/* A fault although the CPU has the right: is it let pass? */
static bool is_let_pass(struct naive_service *n, const struct request *r)
{
	bool is_same = n->latch_thread == r->thread && n->latch_space == r->space && n->latch_page == r->base;

	if (!n->is_latched) {
		n->is_latched = true;
		n->latch_ns = n->now;
		n->latch_thread = r->thread;
		n->latch_space = r->space;
		n->latch_page = r->base;
		return true;
	}
	if (!is_same && n->now - n->latch_ns <= 300000u)
		return true;
	n->is_latched = false;
	return false;
}

static enum uvmp_status serve_cpu(struct naive_service *n, struct block *b, uint32_t page, uint8_t access)
{
	struct block_service *s = malloc(sizeof(*s));
	enum uvmp_status status = UVMP_ERR_RETRY;
	uint64_t until_ns = 0;

	for (uint32_t walk = 0; walk < WALKS && status == UVMP_ERR_RETRY; walk++) {
		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = UVMP_CPU;
		s->cause = UVMP_CAUSE_DEMAND;
		s->migrate_cause = UVMP_MIGRATE_FAULT;
		s->is_prefetching = true;
		s->is_retry = walk > 0;
		if (naive_choose_destination(n, s, page, access, (uint8_t)(1u << access), UVMP_OPERATION_FAULT, &until_ns)) {
			naive_emit_throttle(n, b, UVMP_CPU, page, until_ns);
			free(s);
			return UVMP_ERR_RETRY;
		}
		status = naive_serve_block(n, s);
	}
	free(s);
	return status == UVMP_ERR_RETRY ? UVMP_ERR_NO_MEMORY : status;
}

static enum uvmp_status cpu_fault(struct naive_service *n, const struct request *r)
{
	static const uint8_t needed[] = {1, 1, 2, 2, 3};
	struct range *range = naive_find_range(n, r->space, r->base);
	uint8_t access = UVMP_ACCESS_READ;
	struct block *b;
	uint32_t page;

	if (range == NULL) {
		naive_emit_cancel(n, UVMP_CPU, r->space, r->base, UVMP_CAUSE_FATAL, UVMP_CANCEL_ALL, false);
		return UVMP_ERR_UNKNOWN;
	}
	if (r->access == UVMP_ACCESS_WRITE)
		access = range->right == UVMP_RIGHT_READ_WRITE ? UVMP_ACCESS_WRITE : UVMP_ACCESS_ATOMIC_STRONG;
	if (needed[access] > (uint8_t)range->right) {
		naive_emit_cancel(n, UVMP_CPU, r->space, r->base, UVMP_CAUSE_FATAL, UVMP_CANCEL_WRITE_AND_ATOMIC, true);
		return UVMP_ERR_CONFLICT;
	}
	b = naive_make_block(n, range, r->base);
	page = (uint32_t)((r->base - b->start) / n->page_bytes);
	if (b->page[page].right[0] >= needed[access] && is_let_pass(n, r))
		return UVMP_OK;
	return serve_cpu(n, b, page, access);
}

/* The tree of tbn and sl counts pages that have returned. */
static void count_again(struct block *b, uint32_t gpu, const bool *before)
{
	for (uint32_t i = 0; i < b->pages && b->has_tree; i++)
		if (is_on(b, i, gpu) && !before[i])
			naive_tbn_count(&b->tree, i, true);
}

static enum uvmp_status migrate(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	uint32_t dst = in(n->processors.no_memory, r->processor) ? UVMP_CPU : r->processor;
	enum uvmp_status status = UVMP_OK;
	struct block_service *s;

	if (!naive_is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	s = malloc(sizeof(*s));
	while (next <= end && status == UVMP_OK) {
		struct block *b = naive_make_block(n, naive_find_range(n, r->space, next), next);
		bool before[PAGES];

		memset(s, 0, sizeof(*s));
		s->block = b;
		s->requester = dst;
		s->cause = UVMP_CAUSE_MIGRATE;
		s->migrate_cause = UVMP_MIGRATE_API_MIGRATE;
		s->withdraws = r->kind == WITHDRAW;
		naive_resident_on(b, dst, before);
		for (uint32_t i = 0; i < b->pages; i++)
			if (naive_page_address(n, b, i) >= r->base && naive_page_address(n, b, i) <= end) {
				s->want[dst][i] = true;
				s->access[i] = UVMP_ACCESS_PREFETCH;
				s->duplicate[i] = b->range->duplication == UVMP_DUPLICATION_ENABLED;
			}
		status = naive_serve_request_block(n, s);
		if (r->kind == WITHDRAW)
			count_again(b, dst, before);
		naive_unpin_all(n);
		next = naive_page_address(n, b, b->pages);
	}
	free(s);
	return status;
}

static uint32_t ranges_across(struct naive_service *n, uint64_t space, uvmp_addr address)
{
	struct range *range = naive_find_range(n, space, address);

	return range != NULL && range->base != address;
}

/* The lowest part was freed: the other parts then belong to the start of the next one. */
static void rename_pieces(struct naive_service *n, uint64_t space, uvmp_addr origin)
{
	struct range *heir = naive_lowest_piece(n, space, origin, 0), *piece;

	while (heir != NULL && (piece = naive_lowest_piece(n, space, origin, 0)) != NULL)
		piece->origin = heir->base;
}

static enum uvmp_status free_part(struct naive_service *n, const struct request *r)
{
	uvmp_addr end = r->base + r->bytes - 1, next = r->base;
	enum uvmp_status status;
	uint32_t ranges = 0;

	if (!naive_is_covered(n, r))
		return UVMP_ERR_UNKNOWN;
	for (uint32_t i = 0; i < NAIVE_RANGES; i++)
		ranges += n->range[i].exists;
	if (ranges + ranges_across(n, r->space, r->base) + ranges_across(n, r->space, end + 1) >
	    n->max_ranges)
		return UVMP_ERR_SPACE;
	do {
		status = naive_cut_range(n, r, r->base);
		if (status == UVMP_OK)
			status = naive_cut_range(n, r, end + 1);
	} while (status == UVMP_ERR_RETRY);
	while (status == UVMP_OK && next <= end) {
		struct range *range = naive_find_range(n, r->space, next);

		next = range->end + 1;
		free_piece(n, range);
		if (range->base == range->origin)
			rename_pieces(n, r->space, range->origin);
	}
	return status;
}

void naive_serve_request(struct naive_service *n)
{
	static const enum uvmp_cause cause[] = {UVMP_CAUSE_FREE, UVMP_CAUSE_FREE, UVMP_CAUSE_HINT,
	                                        UVMP_CAUSE_MIGRATE, UVMP_CAUSE_MIGRATE, UVMP_CAUSE_DEMAND};
	struct request r = n->request[0];
	uint32_t batch = n->batch;
	struct uvmp_action *action;
	enum uvmp_status status = UVMP_OK;

	memmove(&n->request[0], &n->request[1], (n->requests - 1) * sizeof(r));
	n->requests--;
	n->batch = 0;
	naive_look_ahead(n);
	switch (r.kind) {
	case FREE_RANGE:
		status = free_range(n, &r);
		break;
	case FREE_PART:
		status = free_part(n, &r);
		break;
	case ADVISE:
		status = naive_advise_part(n, &r);
		break;
	case MIGRATE:
	case WITHDRAW:
		status = migrate(n, &r);
		break;
	case CPU_FAULT:
		status = cpu_fault(n, &r);
		break;
	}
	naive_unpin_all(n);
	action = naive_emit(n, UVMP_ACTION_DONE, cause[r.kind]);
	action->ticket = r.ticket;
	action->status = (int8_t)status;
	(void)naive_perform_group(n);
	n->batch = batch;
}
