/* One action in words: a line of the story. */
#include "explain_internal.h"

#include <string.h>

/* `the CPU`, `GPU 3`. The text is good for one call of printf. */
struct processor_name {
	char text[16];
};

static struct processor_name name_of(uint32_t processor)
{
	struct processor_name name;

	if (processor == UVMP_CPU)
		strcpy(name.text, "the CPU");
	else if (processor < UVMP_PROC_NONE)
		snprintf(name.text, sizeof(name.text), "GPU %u", (unsigned)processor);
	else
		strcpy(name.text, "somewhere");
	return name;
}
#define NAME(processor) (name_of(processor).text)

static void tell_time(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%03" PRIu64 " ms", ns / 1000000, ns / 1000 % 1000);
}

static void tell_bytes(FILE *out, uint64_t bytes)
{
	if (bytes >= 1048576 && bytes % 1048576 == 0)
		fprintf(out, "%" PRIu64 " MiB", bytes / 1048576);
	else if (bytes >= 1024 && bytes % 1024 == 0)
		fprintf(out, "%" PRIu64 " KiB", bytes / 1024);
	else
		fprintf(out, "%" PRIu64 " bytes", bytes);
}

/* `page 5 of block 0x7f0000000000`. */
static void tell_pages(FILE *out, const uvmp_mask *pages, uint64_t address)
{
	struct uvmp_region bounds = uvmp_mask_bounds(pages);
	uint32_t weight = uvmp_mask_weight(pages), last = bounds.end - 1;

	if (weight == 1)
		fprintf(out, "page %u", (unsigned)last);
	else if (weight == uvmp_region_pages(bounds))
		fprintf(out, "pages %u-%u", (unsigned)bounds.first, (unsigned)last);
	else
		fprintf(out, "%u pages of %u-%u", (unsigned)weight, (unsigned)bounds.first, (unsigned)last);
	fprintf(out, " of block 0x%" PRIx64, address);
}

/* ` with 15 pages around it`: the other pages of the action. */
static void tell_company(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	uint32_t weight = uvmp_mask_weight(pages), company = uvmp_mask_weight(&action->pages) - weight;

	if (company > 0)
		fprintf(out, " with %u page%s around %s", (unsigned)company, explain_plural(company),
			weight == 1 ? "it" : "them");
}

static void tell_room(FILE *out, const struct uvmp_action *action)
{
	fputs("to make room", out);
	if (action->for_address != 0)
		fprintf(out, " for block 0x%" PRIx64, action->for_address);
}

static void tell_node(FILE *out, const struct node *node, const char *of)
{
	fprintf(out, " %u of the %u %s (", (unsigned)node->set, (unsigned)node->big_pages, of);
	tell_bytes(out, node->bytes);
	fprintf(out, " at 0x%" PRIx64 ")", node->address);
}

static void tell_subtrees(FILE *out, const struct subtree *subtree, uint32_t weight)
{
	uint32_t set = subtree->node[0].set + subtree->node[1].set;

	fputs(" because", out);
	tell_node(out, &subtree->node[0],
		  weight == 1 ? "big pages of its subtree" : "big pages of their subtree");
	if (subtree->nodes > 1) {
		fputs(" and", out);
		tell_node(out, &subtree->node[1], "big pages of the next one");
	}
	fprintf(out, " had faulted or %s resident", set == 1 ? "was" : "were");
}

/* Why `weight` pages arrived that did not fault. */
static void tell_prefetch(FILE *out, const struct uvmp_action *action, const struct subtree *subtree,
			  uint32_t weight)
{
	uint64_t known = (uint64_t)action->faulted + action->present;

	fputs(", prefetched", out);
	if (subtree != NULL && subtree->own > 0) {
		fprintf(out, " with the 64 KiB big page%s that faulted", explain_plural(subtree->own));
	} else if (subtree != NULL) {
		tell_subtrees(out, subtree, weight);
	} else if (known > 0) {
		fprintf(out,
			" because %" PRIu64 " page%s of the block had faulted or %s resident"
			" (faulted=%" PRIu32 ", present=%" PRIu32 ")",
			known, explain_plural(known), known == 1 ? "was" : "were", action->faulted,
			action->present);
	}
}

/* MAP of pages that lie on another processor. */
static bool is_remote(const struct uvmp_action *action)
{
	return action->kind == UVMP_ACTION_MAP && action->from != action->to && action->from != UVMP_PROC_NONE;
}

/* The end of a sentence: why. */
static void tell_reason(FILE *out, const struct uvmp_action *action)
{
	switch ((enum uvmp_cause)action->cause) {
	case UVMP_CAUSE_NONE:
	case UVMP_CAUSE_COUNT:
		return;
	case UVMP_CAUSE_DEMAND:
		fputs(", on demand", out);
		return;
	case UVMP_CAUSE_PREFETCH:
		tell_prefetch(out, action, NULL, 0);
		return;
	case UVMP_CAUSE_EVICTION:
		fputs(", ", out);
		tell_room(out, action);
		return;
	case UVMP_CAUSE_COUNTER:
		fputs(is_remote(action) ? ", until enough accesses from there are counted"
					: ", because access counters report remote accesses",
		      out);
		return;
	case UVMP_CAUSE_PIN:
		fprintf(out, ", pinned after %" PRIu32 " throttling%s", action->throttles,
			explain_plural(action->throttles));
		return;
	case UVMP_CAUSE_HINT:
		fputs(", because of a preferred location, accessed-by or read duplication", out);
		return;
	case UVMP_CAUSE_MIGRATE:
		fputs(", because the program requested it", out);
		return;
	case UVMP_CAUSE_REVOKE:
		fputs(", because another processor writes", out);
		return;
	case UVMP_CAUSE_THRASHING:
		fputs(", because other processors use it too", out);
		return;
	case UVMP_CAUSE_FATAL:
		fputs(", because there is no range or no permission", out);
		return;
	case UVMP_CAUSE_FREE:
		fputs(", because the range was freed", out);
		return;
	case UVMP_CAUSE_ADAPT:
		fputs(", as a controller of the policy decided", out);
		return;
	case UVMP_CAUSE_ERROR:
		fprintf(out, ", because of a failure (%s)",
			uvmp_status_text((enum uvmp_status)action->status));
		return;
	}
}

/* Which rule of preset=auto decided. */
static void tell_rule(FILE *out, const struct uvmp_action *action)
{
	static const char *const rule[] = {
		"",
		"nothing has been evicted yet, so that faults bring whole blocks",
		"whole blocks are the cheapest for this allocation",
		"subtrees in use are the cheapest for this allocation",
		"single pages or big pages are the cheapest for this allocation",
		"a probe: what do subtrees in use cost here?",
		"a probe: what do single pages or big pages cost here?",
		"parts of the block have cost as much as all of it",
		"faults go through the allocation block after block or begin with its first one, and this block is next",
		"the accesses have cost the limit, and memory has never been full",
		"the accesses have cost the limit, and the block was drawn",
		"the pages take the place of an idle allocation",
		"the allocation is expected to be used for more than a round",
		"the accesses have cost less than the limit",
		"the accesses have cost the limit, but the block was not drawn",
		"this is the first fault in the block, and memory has been full",
		"this is the first fault in the block, and memory will be full"};

	_Static_assert(sizeof(rule) / sizeof(rule[0]) == UVMP_RULE_COUNT, "each rule has a sentence");
	if (action->rule != UVMP_RULE_NONE)
		fprintf(out, "; %s", rule[action->rule]);
}

/* The end of a sentence about pages that arrived: the other pages, and why. */
static void tell_arrival(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
			 const struct subtree *subtree)
{
	tell_company(out, action, pages);
	if (action->cause == UVMP_CAUSE_PREFETCH)
		tell_prefetch(out, action, subtree, uvmp_mask_weight(pages));
	else
		tell_reason(out, action);
	tell_rule(out, action);
}

static void tell_copy(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
		      const struct subtree *subtree)
{
	bool is_one = uvmp_mask_weight(pages) == 1;

	fprintf(out, "%s: ", uvmp_cause_name((enum uvmp_cause)action->cause));
	tell_pages(out, pages, action->address);
	if (action->cause == UVMP_CAUSE_DEMAND) {
		fprintf(out, " %s not resident on %s; migrated from %s", is_one ? "was" : "were",
			NAME(action->to), NAME(action->from));
		tell_company(out, action, pages);
		tell_rule(out, action);
		return;
	}
	if (is_eviction(action))
		fprintf(out, " migrated from %s to %s", NAME(action->from), NAME(action->to));
	else
		fprintf(out, " migrated to %s from %s", NAME(action->to), NAME(action->from));
	tell_arrival(out, action, pages, subtree);
}

static void tell_new(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages,
		     const struct subtree *subtree)
{
	fputs("new: ", out);
	tell_pages(out, pages, action->address);
	fprintf(out, " %s as zeros on %s", uvmp_mask_weight(pages) == 1 ? "arrives" : "arrive",
		NAME(action->to));
	tell_arrival(out, action, pages, subtree);
}

static void tell_eviction(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	static const char *const victim[] = {
		"as a free root that was not yet returned",
		"as the oldest of UNUSED",
		"as the oldest of DISCARDED",
		"as the oldest of USED",
		"as the next of the eviction order",
		"as the longest without a fault",
		"as the newest of the old ones, because data return in a cycle,",
		"as the longest without a fault, to compare with the newest of the old ones,"};

	_Static_assert(sizeof(victim) / sizeof(victim[0]) == UVMP_VICTIM_COUNT, "each kind of victim has a sentence");
	fprintf(out, "evicted %s ", victim[action->victim]);
	tell_room(out, action);
	fputs(": ", out);
	tell_pages(out, pages, action->address);
	fprintf(out, " from %s", NAME(action->from));
}

static void tell_mapping(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	static const char *const right[] = {"nothing", "read", "read-write", "read-write-atomic"};

	if (action->kind == UVMP_ACTION_REVOKE) {
		fprintf(out, "revoked: %s keeps %s%s on ", NAME(action->to),
			action->right != 0 ? "only " : "", right[action->right]);
		tell_pages(out, pages, action->address);
	} else if (action->kind == UVMP_ACTION_UNMAP) {
		fputs("unmapped: ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " from %s", NAME(action->to));
	} else {
		fprintf(out, "mapped%s (%s)", is_remote(action) ? " remotely" : "", right[action->right]);
		if (is_remote(action))
			fprintf(out, ", resident on %s", NAME(action->from));
		fputs(": ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " for %s", NAME(action->to));
	}
	tell_reason(out, action);
	if (action->kind == UVMP_ACTION_MAP)
		tell_rule(out, action);
}

static void tell_cancel(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	bool has_pages = !uvmp_mask_is_empty(pages);

	if (action->cause == UVMP_CAUSE_FATAL)
		fputs(has_pages ? "cancelled: no permission, " : "cancelled: no range, ", out);
	else
		fputs("cancelled: ", out);
	fprintf(out, "%s of %s to ",
		action->cancel_mode == UVMP_CANCEL_WRITE_AND_ATOMIC ? "writes and atomics" : "accesses",
		NAME(action->to));
	if (has_pages)
		tell_pages(out, pages, action->address);
	else
		fprintf(out, "0x%" PRIx64, action->address);
	fputs(" cannot be serviced", out);
	if (action->cause != UVMP_CAUSE_FATAL)
		tell_reason(out, action);
}

static void tell_finding(FILE *out, const struct uvmp_action *action)
{
	static const char *const pattern[] = {"undecided",	    "linear", "linear, with reuse", "random",
					      "random, with reuse", "mixed",  "mixed, with reuse"};
	static const char *const verdict[] = {"units of 2 MiB are evicted", "victims are chosen by trees",
					      "victims are chosen by trees, and pages are accessed remotely"};

	fputs("pattern: ", out);
	if (action->is_changed)
		fprintf(out, "from now on %s",
			action->verdict < sizeof(verdict) / sizeof(verdict[0]) ? verdict[action->verdict]
									       : "?");
	else
		fprintf(out, "the allocation at 0x%" PRIx64 " is %s", action->address,
			action->pattern < sizeof(pattern) / sizeof(pattern[0]) ? pattern[action->pattern]
									       : "?");
}

/* Kinds that say the same of all their pages: `word: PAGES ... `. */
static void tell_other(FILE *out, const struct uvmp_action *action, const uvmp_mask *pages)
{
	bool is_one = uvmp_mask_weight(pages) == 1;

	switch ((enum uvmp_action_kind)action->kind) {
	case UVMP_ACTION_ALLOCATE:
	case UVMP_ACTION_FREE:
		fputs(action->kind == UVMP_ACTION_FREE ? "freed: " : "allocated: ", out);
		tell_bytes(out, action->detail);
		fprintf(out, " at 0x%" PRIx64 " of %s, ", action->offset,
			NAME(action->kind == UVMP_ACTION_FREE ? action->from : action->to));
		fputs(action->kind == UVMP_ACTION_FREE ? "where " : "for ", out);
		tell_pages(out, pages, action->address);
		if (action->kind == UVMP_ACTION_FREE)
			fputs(is_one ? " was" : " were", out);
		break;
	case UVMP_ACTION_DISCARD:
		fputs("discarded: ", out);
		tell_pages(out, pages, action->address);
		fprintf(out, " on %s %s no valid contents and %s not copied", NAME(action->from),
			is_one ? "has" : "have", is_one ? "is" : "are");
		break;
	case UVMP_ACTION_THROTTLE:
		fputs("throttled until ", out);
		tell_time(out, action->until_ns);
		fprintf(out, ": %s is not serviced for ", NAME(action->to));
		tell_pages(out, pages, action->address);
		break;
	case UVMP_ACTION_UNPIN:
		fputs("unpinned: ", out);
		tell_pages(out, pages, action->address);
		fputs(" may migrate again", out);
		return;
	case UVMP_ACTION_CLEAR:
		fprintf(out, "not moved to %s: ", NAME(action->to));
		tell_pages(out, pages, action->address);
		tell_rule(out, action);
		return;
	default:
		fprintf(out, "%s: ", uvmp_action_name((enum uvmp_action_kind)action->kind));
		tell_pages(out, pages, action->address);
		break;
	}
	tell_reason(out, action);
}

/* How long it took, if the log has its completion and the host models time. */
static void tell_duration(FILE *out, const struct uvmp_action *action, uint64_t end_ns)
{
	if (end_ns > action->time_ns)
		fprintf(out, "; complete after %" PRIu64 ".%03" PRIu64 " us",
			(end_ns - action->time_ns) / 1000, (end_ns - action->time_ns) % 1000);
}

void explain_tell_action(struct explanation *explanation, const struct uvmp_action *action,
			 const uvmp_mask *pages, const struct subtree *subtree, uint64_t end_ns)
{
	FILE *out = explanation->out;

	if (!explanation->has_told && !is_finding(action)) {
		explanation->space = action->space;
		explanation->has_told = true;
	}
	fputs("t=", out);
	tell_time(out, action->time_ns);
	fputs("  ", out);
	if (action->batch != 0)
		fprintf(out, "batch %" PRIu32 "  ", action->batch);
	if (action->ticket != 0)
		fprintf(out, "request %" PRIu64 "  ", action->ticket);
	if (explanation->has_told && action->space != explanation->space && !is_conclusion(action))
		fprintf(out, "space %" PRIu64 "  ", action->space);
	if (action->kind == UVMP_ACTION_COPY)
		tell_copy(out, action, pages, subtree);
	else if (action->kind == UVMP_ACTION_POPULATE)
		tell_new(out, action, pages, subtree);
	else if (action->kind == UVMP_ACTION_EVICT)
		tell_eviction(out, action, pages);
	else if (action->kind == UVMP_ACTION_MAP || action->kind == UVMP_ACTION_UNMAP ||
		 action->kind == UVMP_ACTION_REVOKE)
		tell_mapping(out, action, pages);
	else if (action->kind == UVMP_ACTION_CANCEL)
		tell_cancel(out, action, pages);
	else if (is_finding(action))
		tell_finding(out, action);
	else
		tell_other(out, action, pages);
	tell_duration(out, action, end_ns);
	fputc('\n', out);
	explain_count_pages(&explanation->tally, &explanation->pinned, action, pages);
}
