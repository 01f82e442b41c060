/* From the pages that must arrive on one processor to their transfers.
 *
 * Pages that are already resident are excluded. For each other page, the source is the closest processor that
 * holds it: the holders are a list, closest first, and the first holder with the page is the source. Every
 * run of pages is cut into groups, by the rule of uvmp_prefetch_groups (which would need an array of groups
 * too large for the stack; a property test shows that both rules are equal), and every group into transfers
 * of one source, one chunk and the largest size. The walk is made for the fault groups and then for the
 * prefetch groups. If there may be more transfers than the caller's array holds, one more walk counts them
 * first. */
#include "uvmpolicy/plan.h"

#include "../base/bits_internal.h"
#include "../base/processor_internal.h"

#define BIT(processor) ((uint64_t)1 << (processor))

/* What is to be moved, and from where. */
struct job {
	const struct uvmp_processors *processors;
	const struct uvmp_copy_facts *facts;
	uvmp_mask absent;
	uvmp_mask faulted;
	uint8_t holder[UVMP_PROCS_MAX]; /* of absent pages, closest first */
	uint32_t holders;
};

struct output {
	struct uvmp_copy *copy;
	uint32_t capacity;
	uint32_t count; /* counts on when there is no room */
};

static uint64_t holders_of(const struct job *job)
{
	uint64_t holders = 0;

	for (uint32_t p = 0; p < job->processors->count; p++)
		if (uvmp_mask_intersects(&job->absent, &job->facts->resident[p]))
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

/* The source of the page; UVMP_PROC_NONE: it is resident nowhere. *end becomes the first page behind it for which
 * that may be another. */
static uint8_t source_of(const struct job *job, uint32_t page, uint32_t *end)
{
	*end = UVMP_MASK_BITS;
	for (uint32_t i = 0; i < job->holders; i++) {
		const uvmp_mask *resident = &job->facts->resident[job->holder[i]];

		if (uvmp_mask_test(resident, page)) {
			*end = minimum(*end, uvmp_mask_next_clear(resident, page));
			return job->holder[i];
		}
		*end = minimum(*end, uvmp_mask_next_set(resident, page));
	}
	return UVMP_PROC_NONE;
}

/* Where the group ends that starts the run. */
static uint32_t group_end(const struct job *job, struct uvmp_region run)
{
	if (job->facts->grouping == UVMP_GROUPING_SINGLE)
		return run.first + 1u;
	if (job->facts->grouping == UVMP_GROUPING_RUN_TO_FAULT)
		return minimum(run.end, uvmp_mask_next_set(&job->faulted, run.first) + 1u);
	if (uvmp_mask_test(&job->faulted, run.first))
		return minimum(run.end, uvmp_mask_next_clear(&job->faulted, run.first));
	return minimum(run.end, uvmp_mask_next_set(&job->faulted, run.first));
}

/* Where the piece ends that starts the group and has one source up to `end`. */
static uint32_t piece_end(const struct job *job, struct uvmp_region group, uint32_t end)
{
	uint32_t most = job->facts->most_pages;

	end = minimum(end, group.end);
	if (job->facts->cuts != NULL)
		end = minimum(end, uvmp_mask_next_set(job->facts->cuts, group.first + 1u));
	return most == 0 ? end : group.first + minimum(end - group.first, most);
}

/* Two GPUs of which neither reaches the other's memory meet at the CPU. */
static bool is_over_cpu(const struct uvmp_processors *processors, uint32_t from, uint32_t to)
{
	if (from == UVMP_PROC_NONE || from == UVMP_CPU || to == UVMP_CPU)
		return false;
	return ((processors->can_access[to] >> from | processors->can_access[from] >> to) & 1u) == 0;
}

static void put(struct output *output, struct uvmp_copy copy)
{
	if (output->count < output->capacity)
		output->copy[output->count] = copy;
	output->count++;
}

static void put_piece(const struct job *job, struct uvmp_region pages, uint8_t from,
                      enum uvmp_group_kind kind, struct output *output)
{
	struct uvmp_copy copy = {
	        .pages = pages,
	        .from = from,
	        .to = (uint8_t)job->facts->to,
	        .kind = (uint8_t)kind,
	};

	if (is_over_cpu(job->processors, copy.from, copy.to)) {
		struct uvmp_copy leg = copy;

		leg.to = UVMP_CPU;
		leg.is_staged = true;
		put(output, leg);
		copy.from = UVMP_CPU;
	}
	put(output, copy);
}

static void put_group(const struct job *job, struct uvmp_region group, enum uvmp_group_kind kind,
                      struct output *output)
{
	while (group.first < group.end) {
		uint32_t end;
		uint8_t from = source_of(job, group.first, &end);
		struct uvmp_region piece = {group.first, piece_end(job, group, end)};

		put_piece(job, piece, from, kind, output);
		group.first = piece.end;
	}
}

static void put_groups(const struct job *job, enum uvmp_group_kind wanted, struct output *output)
{
	struct uvmp_region run;

	for (run = uvmp_mask_next_run(&job->absent, 0); run.end != 0;
	     run = uvmp_mask_next_run(&job->absent, run.end)) {
		enum uvmp_group_kind kind;

		run.end = group_end(job, run);
		/* In all groupings a group with a faulted page ends in one. */
		kind = uvmp_mask_test(&job->faulted, run.end - 1u) ? UVMP_GROUP_FAULT : UVMP_GROUP_PREFETCH;
		if (kind == wanted)
			put_group(job, run, kind, output);
	}
}

/* Stores as many transfers as there is room for; returns the number of all. */
static uint32_t plan(const struct job *job, struct uvmp_copy *copy, uint32_t capacity)
{
	struct output output = {copy, capacity, 0};

	if (uvmp_mask_intersects(&job->absent, &job->faulted))
		put_groups(job, UVMP_GROUP_FAULT, &output);
	if (!uvmp_mask_is_subset(&job->absent, &job->faulted))
		put_groups(job, UVMP_GROUP_PREFETCH, &output);
	return output.count;
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
	job.processors = processors;
	job.facts = facts;
	uvmp_mask_andnot(&job.absent, facts->pages, &facts->resident[facts->to]);
	uvmp_mask_zero(&job.faulted);
	if (facts->faulted != NULL)
		uvmp_mask_copy(&job.faulted, facts->faulted);
	order_holders(&job);
	if (capacity < 2u * UVMP_MASK_BITS) { /* a page alone, staged, takes two */
		*count = plan(&job, NULL, 0);
		if (*count > capacity)
			return UVMP_ERR_SPACE;
	}
	*count = plan(&job, copy, capacity);
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
	uint32_t copies;
	uint32_t next; /* copy that is not in the plan yet */
	uint32_t last; /* step of the copy before it; UVMP_PLAN_AT_ONCE: there is none */
};

/* The next copy of one direction, if any is left, becomes step `at`. Returns the number of the next step. */
static uint32_t take(struct direction *direction, bool is_out, struct uvmp_plan_step *step, uint32_t at)
{
	if (direction->next == direction->copies)
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
	if (!is_order(order) || in > UVMP_PLAN_COPIES_MAX || out > UVMP_PLAN_COPIES_MAX)
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
