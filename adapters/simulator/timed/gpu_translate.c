/* Translation; gpu_translate.h.
 *
 * If the page tables have the page with the right that the warp needs, the warp uses the page: at once if the SM's uTLB
 * has its translation, else when the second level or a walk has found it. A page on the CPU is used across the link.
 * If the walk of the GMMU finds no such page, it raises a fault.
 *
 * From a fault on, a uTLB takes no new translation until the next replay (Pascal and Volta, NVIDIA blog 2017).
 * Translations that were in progress by then, and all those of one step, still fault, up to a limit. Duplicates
 * arise where several warps, or several SMs, need one page within that time. With lock_holds the lock may outlast a replay
 * (gpu_lock.h), and stalls translations that the uTLB holds, too. A GPU with far-fault MSHRs locks no uTLB
 * (gpu_mshr.h).
 *
 * After a replay each waiting lane asks again. If its page has got no right since the lane asked last, the answer is the
 * same: w->missing has the lane, gpu->lanes finds it when the page gets a right, and until then the lane asks without a
 * look at the page tables. */
#include "gpu_translate.h"

#include "gpu_fault.h"
#include "gpu_mshr.h"
#include "gpu_use.h"

/* -- faults -- */

/* When the warp's thread block was switched in; 0: at its beginning. */
static uint64_t in_since(const struct gpu_step *s)
{
	return s->sm->group[s->w->group].in_ns;
}

/* The lock holds for thread blocks that were switched in by then. One that is switched in later passes until its own
 * fault. A fault of the step itself locks the uTLB for later steps only. A warp that tries again passes once. */
static bool is_locked(const struct gpu_step *s, uint64_t issued_ns)
{
	uint64_t lock_ns = s->sm->utlb->lock_ns;
	bool passes = s->w->is_retried;

	s->w->is_retried = false;
	return !passes && issued_ns >= lock_ns && lock_ns >= in_since(s);
}

/* The uTLB gets no new translation once the walk for a fault that is asked for from now on has failed. */
static inline void lock(const struct gpu_step *s)
{
	struct utlb *utlb = s->sm->utlb;

	if (utlb->lock_ns == GPU_NEVER || utlb->lock_ns < in_since(s))
		utlb->lock_ns = s->now_ns + GPU_ISSUE_NS + s->gpu->model->walk_ns;
}

/* The warp lacks the pages of the run, and the uTLB is not locked for it: a fault for each. */
static inline __attribute__((always_inline)) void lock_and_fault(struct gpu_step *s, const struct gpu_run *run)
{
	uint64_t now_ns = s->now_ns;

	lock(s);
	gpu_issue(s, run->count);
	for (uint32_t i = 0; i < run->count && !gpu_fault_is_dropped(s->gpu, s->sm); i++)
		gpu_fault_raise(s->gpu, now_ns + (uint64_t)(i + 1u) * GPU_ISSUE_NS, &s->who, run->page + i,
				right_on(run->block, UVMP_CPU + 1u, run->index + i));
}

/* The warp lacks the page, and waits with an entry of the far-fault MSHRs. In UVM Smart (queues_copies) pages that are coming
 * have one, and no fault. */
static enum gpu_outcome wait_in_mshr(struct gpu_step *s, struct gpu_run run)
{
	bool is_new;
	enum gpu_outcome outcome;

	gpu_issue(s, 1);
	outcome = gpu_mshr_miss(s->gpu, &s->who, run.page, &is_new);
	if (is_new && !(s->gpu->model->queues_copies != 0 && gpu_mshr_is_coming(run.block, run.index)))
		gpu_fault_raise(s->gpu, s->now_ns, &s->who, run.page,
				right_on(run.block, UVMP_CPU + 1u, run.index));
	return outcome;
}

/* The page tables do not allow the access to any page of the run. With MSHRs the run becomes one page. */
static inline __attribute__((always_inline)) enum gpu_outcome miss_run(struct gpu_step *s, struct gpu_run *run)
{
	bool has_mshr = gpu_mshr_is_there(s->gpu);
	uint64_t key;

	if (gpu_holds_remote(s, run, &key)) {
		run->count = 1;
		return gpu_use_remote(s, *run, key);
	}
	if (s->is_locked) {
		gpu_issue(s, 1);
		return GPU_STALLED;
	}
	if (has_mshr)
		run->count = 1;
	s->gpu->counts.tlb_misses += run->count;
	s->gpu->counts.l2_tlb_misses += run->count;
	if (has_mshr)
		return wait_in_mshr(s, *run);
	lock_and_fault(s, run);
	return GPU_FAULTED;
}

/* -- requests -- */

/* The pages of the block that the rights allow the step to use: one bit each from `index` on. The definition: right_on is
 * at least w->needs. */
static uint64_t usable_from(const struct sim_block *block, uint32_t index, uint32_t needs)
{
	uint64_t low = gpu_pages_from(&block->low[1], index), high = gpu_pages_from(&block->high[1], index);

	if (needs == UVMP_RIGHT_READ)
		return low | high;
	return needs == UVMP_RIGHT_READ_WRITE ? high : low & high;
}

/* Asks for a run of one page. */
static inline __attribute__((always_inline)) enum gpu_outcome ask_page(struct gpu_step *s, struct gpu_run *run)
{
	bool is_usable = right_on(run->block, UVMP_CPU + 1u, run->index) >= s->w->needs;

	run->count = 1;
	return is_usable ? gpu_use_page(s, run->block, run->page, run->index) : miss_run(s, run);
}

/* Asks for the pages of the run, all in one block, until an answer differs; makes the run as short as what was asked
 * for. */
static enum gpu_outcome ask_run(struct gpu_step *s, struct gpu_run *run)
{
	uint64_t usable = usable_from(run->block, run->index, s->w->needs);
	uint64_t other = ((usable & 1u) != 0 ? ~usable : usable) & gpu_low_bits(run->count);

	if (other != 0)
		run->count = (uint32_t)__builtin_ctzll(other);
	return (usable & 1u) != 0 ? gpu_use_run(s, run) : miss_run(s, run);
}

/* Finds the block of run->page, and ends the run with the block. False: the page lies outside every range. */
static inline __attribute__((always_inline)) bool find_run(struct gpu *gpu, struct gpu_run *run)
{
	struct sim_block *block = gpu_find_block(gpu, run->page << gpu->page_shift);

	if (!block)
		return false;
	run->block = block;
	run->index = (uint32_t)(run->page - (block->shape.start >> gpu->page_shift));
	if (run->count > block->shape.pages - run->index)
		run->count = block->shape.pages - run->index;
	return true;
}

/* A request for an address outside every range ends the run. */
static enum gpu_outcome lose(struct gpu_step *s)
{
	gpu_issue(s, 1);
	return GPU_STALLED;
}

static inline struct gpu_step step_of(struct gpu *gpu, struct sm *sm, struct warp *w)
{
	return (struct gpu_step){.gpu = gpu,
			     .sm = sm,
			     .w = w,
			     .who = {.sm = (uint32_t)(sm - gpu->sm), .warp = (uint32_t)(w - sm->warp)},
			     .now_ns = sm->now_ns,
			     .ready_ns = sm->now_ns};
}

/* The wanted pages from the first of `left` on that follow each other. A run means the same as its pages one by one
 * (tests/properties/prop_gpu_runs.c). */
static inline struct gpu_run next_run(const struct gpu *gpu, const struct warp *w, uint64_t left, uint32_t number)
{
	uint64_t others = gpu->asks_singly ? ~(uint64_t)1 : ~(left >> number);

	return (struct gpu_run){.page = (w->at >> gpu->page_shift) + number,
			    .count = others == 0 ? GPU_WORD_BITS : (uint32_t)__builtin_ctzll(others)};
}

/* All pages of `left`. If one page is stalled, so are the others. */
static void ask_span(struct gpu_step *s, uint64_t left)
{
	enum gpu_outcome outcome = GPU_USED;
	uint64_t asked;

	while (left != 0 && outcome != GPU_STALLED) {
		struct gpu_run run;

		s->who.number = (uint32_t)__builtin_ctzll(left);
		run = next_run(s->gpu, s->w, left, s->who.number);
		outcome = find_run(s->gpu, &run) ? ask_run(s, &run) : lose(s);
		asked = gpu_low_bits(run.count) << s->who.number;
		left &= ~asked;
		if (outcome == GPU_USED)
			s->w->want &= ~asked;
	}
}

/* The lanes of `left` before the first that has to look at the page tables. */
static uint64_t next_missing(const struct warp *w, uint64_t left)
{
	uint64_t others = left & ~w->missing;

	return left & ((others & (0 - others)) - 1u);
}

/* The lanes, all of w->missing, ask again: as miss_run of each one after another, without a look at the page tables
 * (tests/properties/prop_gpu_runs.c). */
static enum gpu_outcome ask_missing(struct gpu_step *s, uint64_t lanes)
{
	uint32_t count = s->is_locked ? 1u : (uint32_t)__builtin_popcountll(lanes);
	uint64_t now_ns = s->now_ns;

	if (!s->is_locked)
		lock(s);
	gpu_issue(s, count);
	if (s->is_locked)
		return GPU_STALLED;
	s->gpu->counts.tlb_misses += count;
	s->gpu->counts.l2_tlb_misses += count;
	for (; lanes != 0 && !gpu_fault_is_dropped(s->gpu, s->sm); lanes &= lanes - 1u) {
		struct gpu_run run = {.page = s->w->slot.lane[__builtin_ctzll(lanes)] >> s->gpu->page_shift,
				  .count = 1};

		now_ns += GPU_ISSUE_NS;
		if (find_run(s->gpu, &run))
			gpu_fault_raise(s->gpu, now_ns, &s->who, run.page,
					right_on(run.block, UVMP_CPU + 1u, run.index));
	}
	return GPU_FAULTED;
}

/* The lane s->who.number misses, and is entered into gpu->lanes. */
static __attribute__((noinline)) enum gpu_outcome miss_lane(struct gpu_step *s, struct gpu_run run)
{
	struct gpu *gpu = s->gpu;

	if (!gpu_mshr_is_there(gpu) && !gpu->asks_singly && lanes_add(&gpu->lanes, run.page, &s->who))
		s->w->missing |= (uint64_t)1 << s->who.number;
	return miss_run(s, &run);
}

/* The lane s->who.number asks for its page. */
static enum gpu_outcome ask_lane(struct gpu_step *s)
{
	struct gpu *gpu = s->gpu;
	uint64_t page = s->w->slot.lane[s->who.number] >> gpu->page_shift;
	struct sim_block *block = gpu_find_block(gpu, page << gpu->page_shift);
	uint32_t index;

	if (!block)
		return lose(s);
	index = (uint32_t)(page - (block->shape.start >> gpu->page_shift));
	if (right_on(block, UVMP_CPU + 1u, index) >= s->w->needs)
		return gpu_use_page(s, block, page, index);
	return miss_lane(s, (struct gpu_run){block, page, index, 1});
}

static void ask_lanes(struct gpu_step *s, uint64_t left)
{
	enum gpu_outcome outcome = GPU_USED;
	uint64_t used = 0;

	while (left != 0 && outcome != GPU_STALLED) {
		uint64_t asked = next_missing(s->w, left);

		if (asked != 0) {
			outcome = ask_missing(s, asked);
		} else {
			asked = left & (0 - left);
			s->who.number = (uint32_t)__builtin_ctzll(left);
			outcome = ask_lane(s);
			used |= outcome == GPU_USED ? asked : 0;
		}
		left &= ~asked;
	}
	s->w->want &= ~used;
}

bool gpu_ask(struct gpu *gpu, struct sm *sm, struct warp *w, uint64_t page, uint64_t *ready_ns)
{
	struct gpu_step s = step_of(gpu, sm, w);
	struct gpu_run run = {.page = page, .count = 1};
	enum gpu_outcome outcome;

	s.is_locked = is_locked(&s, s.now_ns + GPU_ISSUE_NS);
	outcome = find_run(gpu, &run) ? ask_page(&s, &run) : lose(&s);
	sm->now_ns = s.now_ns;
	*ready_ns = s.ready_ns;
	return outcome == GPU_USED;
}

bool gpu_ask_all(struct gpu *gpu, struct sm *sm, struct warp *w, uint64_t *ready_ns)
{
	struct gpu_step s = step_of(gpu, sm, w);
	uint64_t left = w->want & ~w->pending;

	s.is_locked = is_locked(&s, s.now_ns);
	if (w->slot.lanes != 0)
		ask_lanes(&s, left);
	else
		ask_span(&s, left);
	sm->now_ns = s.now_ns;
	*ready_ns = s.ready_ns;
	return w->want == 0;
}
