/* From the pages that must arrive on one processor to their transfers, as sets.
 *
 * Pages that are already resident are excluded. The others are pages of fault groups or of prefetch groups
 * (uvmp_prefetch_groups; a property test shows that the groups are equal). For each kind the holders follow, closest
 * first: a holder is the source of its pages that no closer holder has. Pages without a holder are left at the end.
 * Transfers are the runs of such a set, cut at the chunk boundaries, where a group begins inside a run, and at the
 * largest size. */
#include "plan_internal.h"

#include "../base/processor_internal.h"

/* What is to be moved, and from where. */
struct job {
	const struct uvmp_processors *processors;
	const struct uvmp_copy_facts *facts;
	uvmp_mask absent;
	uvmp_mask kind[2];		/* absent pages of fault groups, and of prefetch groups */
	uvmp_mask cuts;			/* chunk boundaries, and pages that begin a group */
	uint8_t holder[UVMP_PROCS_MAX]; /* of absent pages, closest first */
	uint32_t holders;
};

struct output {
	struct uvmp_copy *copy;
	uint32_t capacity;
	uint32_t count; /* counts on when there is no room */
};

/* -- transfers of a set -- */

struct uvmp_region uvmp_next_transfer(const uvmp_mask *pages, const uvmp_mask *cuts, uint32_t from)
{
	struct uvmp_region transfer = uvmpi_mask_next_run(pages, from);

	if (transfer.end != 0)
		transfer.end = minimum(transfer.end, uvmpi_mask_next_set(cuts, transfer.first + 1u));
	return transfer;
}

/* A transfer begins at each page of the set that is cut, or whose page before is not in the set. */
uint32_t uvmp_count_transfers(const uvmp_mask *pages, const uvmp_mask *cuts)
{
	uvmp_mask first;
	uint64_t before = 0;

	UVMPI_EACH_WORD(i) {
		uint64_t word = pages->word[i];

		first.word[i] = word & (~(word << 1 | before >> 63) | cuts->word[i]);
		before = word;
	}
	return uvmpi_mask_weight(&first);
}

/* -- kinds and groups -- */

/* The pages of each run up to its last faulted page are of fault groups. A group begins behind each faulted page. */
static void group_to_faults(struct job *job, const uvmp_mask *faulted)
{
	uint64_t before = 0;

	uvmpi_mask_zero(&job->kind[UVMP_GROUP_FAULT]);
	for (struct uvmp_region run = uvmpi_mask_next_run(&job->absent, 0); run.end != 0;
	     run = uvmpi_mask_next_run(&job->absent, run.end)) {
		uvmp_mask found;

		uvmpi_mask_region_and(&found, faulted, run);
		uvmpi_mask_region_set(&job->kind[UVMP_GROUP_FAULT],
		                      (struct uvmp_region){run.first, uvmpi_mask_bounds(&found).end});
	}
	UVMPI_EACH_WORD(i) {
		job->cuts.word[i] |= faulted->word[i] << 1 | before >> 63;
		before = faulted->word[i];
	}
}

/* Groups of one cause hold faulted pages only, or none; single pages are groups of their own. */
static void split_kinds(struct job *job)
{
	static const uvmp_mask none = {{0}};
	const uvmp_mask *faulted = job->facts->faulted != NULL ? job->facts->faulted : &none;

	job->cuts = job->facts->cuts != NULL ? *job->facts->cuts : none;
	if (job->facts->grouping == UVMP_GROUPING_RUN_TO_FAULT)
		group_to_faults(job, faulted);
	else
		uvmpi_mask_and(&job->kind[UVMP_GROUP_FAULT], &job->absent, faulted);
	uvmpi_mask_andnot(&job->kind[UVMP_GROUP_PREFETCH], &job->absent, &job->kind[UVMP_GROUP_FAULT]);
	if (job->facts->grouping == UVMP_GROUPING_SINGLE)
		job->cuts = job->absent;
}

/* -- sources -- */

static uint64_t holders_of(const struct job *job)
{
	uint64_t holders = 0;

	for (uint32_t p = 0; p < job->processors->count; p++)
		if (uvmpi_mask_intersects(&job->absent, &job->facts->resident[p]))
			holders |= BIT(p);
	return holders;
}

/* The order of preference depends on the destination only [driver: processors], so it is the same for all
 * pages. */
static void order_holders(struct job *job)
{
	uint64_t holders = holders_of(job);

	job->holders = 0;
	while (holders != 0) {
		uint32_t from = uvmpi_closest_processor(job->processors, job->facts->to, holders);

		holders &= ~BIT(from);
		job->holder[job->holders++] = (uint8_t)from;
	}
}

/* Two GPUs of which neither reaches the other's memory meet at the CPU. */
static bool is_over_cpu(const struct uvmp_processors *processors, uint32_t from, uint32_t to)
{
	if (from == UVMP_PROC_NONE || from == UVMP_CPU || to == UVMP_CPU)
		return false;
	return ((processors->can_access[to] >> from | processors->can_access[from] >> to) & 1u) == 0;
}

/* -- sets -- */

/* Keeps the cuts inside runs of the pages, and adds those of the largest transfer. */
static void cut(const struct job *job, struct uvmp_copy *copy)
{
	uint32_t most = job->facts->most_pages;
	struct uvmp_region transfer;

	uvmpi_cuts_inside(&copy->cuts, &copy->pages, &job->cuts);
	if (most == 0)
		return;
	for (transfer = uvmp_next_transfer(&copy->pages, &copy->cuts, 0); transfer.end != 0;
	     transfer = uvmp_next_transfer(&copy->pages, &copy->cuts, transfer.end)) {
		if (uvmp_region_pages(transfer) <= most)
			continue;
		transfer.end = transfer.first + most;
		uvmp_mask_set(&copy->cuts, transfer.end);
	}
}

static void put(struct output *output, const struct uvmp_copy *copy)
{
	if (output->count < output->capacity)
		output->copy[output->count] = *copy;
	output->count++;
}

static void put_source(const struct job *job, const uvmp_mask *pages, uint8_t from,
                       enum uvmp_group_kind kind, struct output *output)
{
	struct uvmp_copy copy = {
	        .pages = *pages,
	        .from = from,
	        .to = (uint8_t)job->facts->to,
	        .kind = (uint8_t)kind,
	};

	cut(job, &copy);
	if (is_over_cpu(job->processors, from, copy.to)) {
		copy.to = UVMP_CPU;
		copy.is_staged = true;
		put(output, &copy);
		copy.from = UVMP_CPU;
		copy.to = (uint8_t)job->facts->to;
		copy.is_staged = false;
	}
	put(output, &copy);
}

static void put_kind(const struct job *job, enum uvmp_group_kind kind, struct output *output)
{
	uvmp_mask rest = job->kind[kind], pages;

	for (uint32_t i = 0; i < job->holders; i++) {
		const uvmp_mask *resident = &job->facts->resident[job->holder[i]];

		if (!uvmpi_mask_and_any(&pages, &rest, resident))
			continue;
		uvmpi_mask_andnot(&rest, &rest, resident);
		put_source(job, &pages, job->holder[i], kind, output);
	}
	if (!uvmpi_mask_is_empty(&rest))
		put_source(job, &rest, UVMP_PROC_NONE, kind, output);
}

/* Stores as many sets as there is room for; returns the number of all. */
static uint32_t plan(const struct job *job, struct uvmp_copy *copy, uint32_t capacity)
{
	struct output output = {copy, capacity, 0};

	put_kind(job, UVMP_GROUP_FAULT, &output);
	put_kind(job, UVMP_GROUP_PREFETCH, &output);
	return output.count;
}

static void start(struct job *job, const struct uvmp_processors *processors,
                  const struct uvmp_copy_facts *facts)
{
	job->processors = processors;
	job->facts = facts;
	uvmpi_mask_andnot(&job->absent, facts->pages, &facts->resident[facts->to]);
	split_kinds(job);
	order_holders(job);
}

uint32_t uvmpi_plan_copies(const struct uvmp_processors *processors, const struct uvmp_copy_facts *facts,
                           struct uvmp_copy *copy)
{
	struct job job;

	start(&job, processors, facts);
	return plan(&job, copy, UVMP_PLAN_COPIES_MAX);
}

enum uvmp_status uvmp_plan_copies(const struct uvmp_processors *processors,
                                  const struct uvmp_copy_facts *facts, struct uvmp_copy *copy,
                                  uint32_t capacity, uint32_t *count)
{
	struct job job;

	if (facts == NULL || facts->pages == NULL || facts->resident == NULL || count == NULL)
		return UVMP_ERR_ARGUMENT;
	if ((copy == NULL && capacity != 0) || !uvmp_processors_is_valid(processors))
		return UVMP_ERR_ARGUMENT;
	if (facts->to >= processors->count || facts->grouping > UVMP_GROUPING_SINGLE)
		return UVMP_ERR_RANGE;
	start(&job, processors, facts);
	*count = plan(&job, NULL, 0);
	if (*count > capacity)
		return UVMP_ERR_SPACE;
	(void)plan(&job, copy, capacity);
	return UVMP_OK;
}

static bool is_order(enum uvmp_plan_order order)
{
	return (uint32_t)order <= UVMP_PLAN_UNOBTRUSIVE;
}

const char *uvmp_plan_name(enum uvmp_plan_order order)
{
	static const char names[][16] = {[UVMP_PLAN_SERIAL] = "serial",
	                                 [UVMP_PLAN_OVERLAPPED] = "overlapped",
	                                 [UVMP_PLAN_UNOBTRUSIVE] = "unobtrusive"};

	return is_order(order) ? names[order] : NULL;
}

/* One direction of a plan. */
struct direction {
	uint32_t transfers;
	uint32_t next; /* transfer that is not in the plan yet */
	uint32_t last; /* step of the transfer before it; UVMP_PLAN_AT_ONCE: no such step */
};

/* The next transfer of one direction, if any is left, becomes step `at`. Returns the number of the next step. */
static uint32_t take(struct direction *direction, bool is_out, struct uvmp_plan_step *step, uint32_t at)
{
	if (direction->next == direction->transfers)
		return at;
	step[at].index = direction->next++;
	step[at].after = direction->last;
	step[at].is_out = is_out;
	direction->last = at;
	return at + 1u;
}

enum uvmp_status uvmp_plan_merge(enum uvmp_plan_order order, uint32_t in, uint32_t out,
                                 struct uvmp_plan_step *step, uint32_t capacity)
{
	struct direction coming = {in, 0, UVMP_PLAN_AT_ONCE}, leaving = {out, 0, UVMP_PLAN_AT_ONCE};
	uint32_t at = 0;

	if (step == NULL && (in | out) != 0)
		return UVMP_ERR_ARGUMENT;
	if (!is_order(order) || in > UVMP_PLAN_TRANSFERS_MAX || out > UVMP_PLAN_TRANSFERS_MAX)
		return UVMP_ERR_RANGE;
	if (capacity < in + out)
		return UVMP_ERR_SPACE;
	if (order == UVMP_PLAN_SERIAL) {
		while (at < out)
			at = take(&leaving, true, step, at);
		coming.last = leaving.last;
	}
	while (at < in + out) {
		at = take(&coming, false, step, at);
		at = take(&leaving, true, step, at);
	}
	return UVMP_OK;
}
