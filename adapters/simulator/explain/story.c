/* The story of the pages of a query, one line for each action.
 *
 * The story tells a copy only when all copies of its step are read, since the subtree of a prefetch is known only then. */
#include "explain_internal.h"

#include <stdlib.h>

/* The action's pages that are meant. False if it does not concern them. */
static bool find_pages(const struct explain_query *query, const struct uvmp_action *action, uvmp_mask *pages)
{
	uint64_t first = query->first, last = query->last, bytes = page_bytes(action), base = action->address;
	struct uvmp_region region = {0, UVMP_MASK_BITS};

	uvmp_mask_zero(pages);
	if (uvmp_mask_is_empty(&action->pages)) {
		if (is_finding(action))
			return true;
		/* An access outside every block has an address alone. */
		base -= base % bytes;
		return action->kind == UVMP_ACTION_CANCEL && last >= base &&
		       (first <= base || first - base < bytes);
	}
	if (last < base)
		return false;
	if (first > base) {
		if ((first - base) / bytes >= UVMP_MASK_BITS)
			return false;
		region.first = (uint32_t)((first - base) / bytes);
	}
	if ((last - base) / bytes < UVMP_MASK_BITS)
		region.end = (uint32_t)((last - base) / bytes) + 1;
	uvmp_mask_region_and(pages, &action->pages, region);
	return !uvmp_mask_is_empty(pages);
}

/* Can it concern a block that holds bytes of the story? */
static bool is_near(const struct explain_query *query, const struct uvmp_action *action)
{
	return !uvmp_mask_is_empty(&action->pages) && query->last >= action->address &&
	       query->first <= (action->address | (WINDOW_BYTES - 1));
}

/* Tells the copies that are kept. */
void explain_end_step(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->kept_count; i++) {
		const struct kept *kept = &explanation->kept[i];
		struct subtree subtree;
		bool is_found = explain_find_subtree(explanation, &kept->action, &kept->pages, &subtree);

		explain_tell_action(explanation, &kept->action, &kept->pages, is_found ? &subtree : NULL,
				    kept->end_ns);
	}
	explanation->kept_count = 0;
	explanation->step++;
}

static bool keep(struct explanation *explanation, const struct uvmp_action *action, const uvmp_mask *pages)
{
	if (explanation->kept == NULL)
		explanation->kept = malloc(KEPT_MAX * sizeof(*explanation->kept));
	if (explanation->kept == NULL)
		return false;
	if (explanation->kept_count == KEPT_MAX)
		explain_end_step(explanation);
	explanation->kept[explanation->kept_count++] = (struct kept){*action, *pages, 0};
	return true;
}

/* Keeps the transfers of a copy that hold pages of the story. */
static bool keep_transfers(struct explanation *explanation, const struct uvmp_action *copy)
{
	struct uvmp_action part = *copy;
	struct uvmp_region transfer;
	uvmp_mask pages;

	uvmp_mask_zero(&part.cuts);
	for (transfer = uvmp_action_next_transfer(copy, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(copy, transfer.end)) {
		uvmp_mask_zero(&part.pages);
		uvmp_mask_region_set(&part.pages, transfer);
		part.faulted_pages = uvmp_action_faulted(copy, transfer);
		if (find_pages(explanation->query, &part, &pages) && !keep(explanation, &part, &pages))
			return false;
	}
	return true;
}

/* A step's copies follow one another in one group, whose first action alone waits for none. Those of a victim
 * that leaves meanwhile may be among them. */
bool explain_take_of_story(struct explanation *explanation, const struct uvmp_action *action)
{
	bool is_copy = action->kind == UVMP_ACTION_COPY || action->kind == UVMP_ACTION_POPULATE;
	uvmp_mask pages;

	if (!is_copy || action->after == 0)
		explain_end_step(explanation);
	if (is_near(explanation->query, action) && !explain_mirror(explanation, action))
		return false;
	if (is_copy)
		return keep_transfers(explanation, action);
	if (!find_pages(explanation->query, action, &pages))
		return true;
	explain_tell_action(explanation, action, &pages, NULL, 0);
	return true;
}

/* Of a copy whose step is not told yet: the completion follows its action closely in the logs of our hosts.
 */
void explain_take_completion(struct explanation *explanation, const struct uvmp_action *completion)
{
	for (size_t i = explanation->kept_count; i > 0; i--)
		if (explanation->kept[i - 1].action.id == completion->id)
			explanation->kept[i - 1].end_ns = completion->time_ns;
}

static void tell_times(FILE *out, const char *what, uint64_t times)
{
	fprintf(out, "%s %" PRIu64 " time%s", what, times, explain_plural(times));
}

/* The closing line. */
void explain_tell_tally(const struct explanation *explanation)
{
	const struct explain_query *query = explanation->query;
	const struct tally *tally = &explanation->tally;
	const char *before = ": ";
	FILE *out = explanation->out;

	fprintf(out, "0x%" PRIx64, query->first);
	if (query->last != query->first)
		fprintf(out, "-0x%" PRIx64, query->last);
	if (!explanation->has_told) {
		fputs(": the log has no action of this memory\n", out);
		return;
	}
	tell_times(out, query->last != query->first ? ": its pages arrived" : ": arrived", explain_arrived(tally));
	for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++) {
		if (tally->came[cause] == 0)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, tally->came[cause],
			uvmp_cause_name((enum uvmp_cause)cause));
		before = ", ";
	}
	tell_times(out, "; evicted", tally->left);
	if (tally->throttles > 0)
		tell_times(out, "; throttled", tally->throttles);
	if (tally->pins > 0)
		tell_times(out, "; pinned", tally->pins);
	fputc('\n', out);
}
