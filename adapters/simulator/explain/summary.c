/* The summary: how often the pages of all blocks moved, and why. */
#include "explain_internal.h"

#include <stdlib.h>

#define BLOCKS_SHOWN 10u

static void count_bounces(struct block *block, const struct uvmp_action *action)
{
	uint32_t page = uvmp_mask_next_set(&action->pages, 0);

	for (; page < UVMP_MASK_BITS; page = uvmp_mask_next_set(&action->pages, page + 1)) {
		if (!is_eviction(action) && block->left[page] == action->to && action->to != UVMP_PROC_NONE)
			block->tally.bounces++;
		block->left[page] = action->from;
	}
}

bool explain_count_action(struct explanation *explanation, const struct uvmp_action *action)
{
	uint32_t weight = uvmp_mask_weight(&action->pages);
	struct block *block;

	explanation->kinds[action->kind]++;
	if (is_finding(action))
		explain_tell_action(explanation, action, &action->pages, NULL, 0);
	if (weight == 0)
		return true;
	block = explain_find_block(explanation, action->space, action->address);
	if (block == NULL)
		return false;
	explain_count_pages(&block->tally, &block->pinned, action, &action->pages);
	if (action->kind == UVMP_ACTION_POPULATE)
		explanation->cause[action->cause].zeroed += weight;
	if (action->kind == UVMP_ACTION_COPY) {
		count_bounces(block, action);
		explanation->cause[action->cause].copies += uvmp_action_transfers(action);
		explanation->cause[action->cause].pages += weight;
		explanation->cause[action->cause].bytes += (uint64_t)weight * page_bytes(action);
	}
	return true;
}

static uint64_t moves(const struct tally *tally)
{
	return explain_arrived(tally) + tally->left;
}

/* Most moved first; among equals by space and address. */
static int compare_blocks(const void *left, const void *right)
{
	const struct block *a = left, *b = right;
	uint64_t moves_a = moves(&a->tally), moves_b = moves(&b->tally);

	if (moves_a != moves_b)
		return moves_a > moves_b ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The columns of the summary: causes of their own, the others together. */
static const enum uvmp_cause columns[] = {UVMP_CAUSE_DEMAND, UVMP_CAUSE_PREFETCH, UVMP_CAUSE_COUNTER,
					  UVMP_CAUSE_PIN,    UVMP_CAUSE_HINT,	  UVMP_CAUSE_MIGRATE};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void print_tally(const struct tally *tally, FILE *out)
{
	uint64_t rest = explain_arrived(tally);

	for (size_t i = 0; i < COLUMNS; i++) {
		fprintf(out, "%10" PRIu64, tally->came[columns[i]]);
		rest -= tally->came[columns[i]];
	}
	fprintf(out, "%10" PRIu64 "%10" PRIu64 "%10" PRIu64 "%11" PRIu64 "%10" PRIu64 "\n", rest, tally->left,
		tally->bounces, tally->throttles, tally->pins);
}

static void add_tally(struct tally *sum, const struct tally *tally)
{
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		sum->came[cause] += tally->came[cause];
	sum->left += tally->left;
	sum->bounces += tally->bounces;
	sum->throttles += tally->throttles;
	sum->pins += tally->pins;
}

static void print_blocks(struct explanation *explanation)
{
	FILE *out = explanation->out;

	fprintf(out, "%-20s%8s", "pages of block", "space");
	for (size_t i = 0; i < COLUMNS; i++)
		fprintf(out, "%10s", uvmp_cause_name(columns[i]));
	fprintf(out, "%10s%10s%10s%11s%10s\n", "other", "evicted", "bounced", "throttled", "pinned");
	qsort(explanation->block, explanation->blocks, sizeof(*explanation->block), compare_blocks);
	for (size_t i = 0; i < explanation->blocks; i++) {
		const struct block *block = &explanation->block[i];

		add_tally(&explanation->tally, &block->tally);
		if (i >= BLOCKS_SHOWN)
			continue;
		fprintf(out, "0x%-18" PRIx64 "%8" PRIu64, block->address, block->space);
		print_tally(&block->tally, out);
	}
	fprintf(out, "all %-16zu%8s", explanation->blocks, "");
	print_tally(&explanation->tally, out);
}

void explain_print_summary(struct explanation *explanation)
{
	FILE *out = explanation->out;
	const char *before = ": ";
	uint64_t actions = 0;

	if (explanation->blocks > 0)
		print_blocks(explanation);
	fprintf(out, "%s%-12s%12s%12s%16s%14s\n", explanation->blocks > 0 ? "\n" : "", "cause", "copies",
		"pages", "bytes", "pages zeroed");
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
		if (explanation->cause[cause].copies > 0 || explanation->cause[cause].zeroed > 0)
			fprintf(out, "%-12s%12" PRIu64 "%12" PRIu64 "%16" PRIu64 "%14" PRIu64 "\n",
				uvmp_cause_name((enum uvmp_cause)cause), explanation->cause[cause].copies,
				explanation->cause[cause].pages, explanation->cause[cause].bytes,
				explanation->cause[cause].zeroed);
	for (uint32_t kind = 0; kind < UVMP_ACTION_COUNT; kind++)
		actions += explanation->kinds[kind];
	fprintf(out, "\n%" PRIu64 " action%s", actions, explain_plural(actions));
	for (uint32_t kind = 0; kind < UVMP_ACTION_COUNT; kind++) {
		if (explanation->kinds[kind] == 0)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, explanation->kinds[kind],
			uvmp_action_name((enum uvmp_action_kind)kind));
		before = ", ";
	}
	fputc('\n', out);
}
