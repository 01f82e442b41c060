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

#include "../workloads/coalesce.h"
#include "gpu_fault.h"
#include "gpu_key.h"
#include "gpu_load.h"
#include "gpu_mshr.h"
#include "gpu_remote.h"

#define WORD_BITS 64u
#define ISSUE_NS  2u /* between two translations that an SM requests */

/* -- where a page lies -- */

static struct sim_block *search_block(struct gpu *gpu, uint64_t address)
{
	uint64_t number = address >> GPU_BLOCK_SHIFT;
	uint32_t unused;
	struct sim_block *block = space_find(gpu->space, address, &unused);

	if (!block)
		gpu_lose(gpu, address);
	else
		gpu->found[number % GPU_FOUND] = (struct found){number, block};
	return block;
}

static inline struct sim_block *find_block(struct gpu *gpu, uint64_t address)
{
	const struct found *found = &gpu->found[(address >> GPU_BLOCK_SHIFT) % GPU_FOUND];

	if (found->number == address >> GPU_BLOCK_SHIFT && found->block &&
	    address >= found->block->shape.start && address <= found->block->shape.last)
		return found->block;
	return search_block(gpu, address);
}

/* -- TLBs -- */

/* Does the TLB hold the key? */
static inline bool look_up(const struct gpu *gpu, struct utlb *utlb, uint64_t key)
{
	if (utlb->emptied != gpu->emptied) {
		tlb_empty(&utlb->tlb);
		utlb->emptied = gpu->emptied;
	}
	return tlb_holds(&utlb->tlb, key);
}

/* A uTLB lacks the key: how long it takes from elsewhere. */
static uint32_t translate(struct gpu *gpu, uint64_t key)
{
	if (look_up(gpu, &gpu->l2, key)) {
		gpu->counts.l2_tlb_hits++;
		return gpu->model->l2_tlb_ns;
	}
	gpu->counts.l2_tlb_misses++;
	tlb_add(&gpu->l2.tlb, key);
	return gpu->model->walk_ns;
}

/* -- use -- */

/* A step that asks for pages: all at once, or (a span) one. */
struct step {
	struct gpu *gpu;
	struct sm *sm;
	struct warp *w;
	struct asker who;
	uint64_t now_ns;   /* of the SM */
	uint64_t ready_ns; /* the pages that were used have been translated, and have crossed the link */
	bool is_locked;	   /* the uTLB gives the step no new translation */
};

/* Pages of one block that the step asks for, one after another. */
struct run {
	struct sim_block *block;
	uint64_t page;
	uint32_t index, count; /* index: of `page`, in the block */
};

static uint64_t low_bits(uint32_t count)
{
	return count >= WORD_BITS ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1u;
}

static inline void note_page(struct gpu *gpu, struct sim_block *block, uint32_t page, bool is_write)
{
	if (is_write)
		uvmp_mask_set(&block->written, page);
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		gpu->counts.pages_touched++;
	}
	uvmp_mask_clear(&block->unused, page);
}

/* note_page for each page of the run, 64 at most. */
static void note_pages(struct gpu *gpu, const struct run *run, bool is_write)
{
	struct sim_block *block = run->block;
	struct uvmp_region pages = {run->index, run->index + run->count};
	uint64_t all = low_bits(run->count), fresh = all & ~gpu_pages_from(&block->touched, run->index);

	if (is_write)
		uvmp_mask_region_set(&block->written, pages);
	if (fresh != 0) {
		uvmp_mask_region_set(&block->touched, pages);
		gpu->counts.pages_touched += (uint64_t)__builtin_popcountll(fresh);
	}
	if ((all & gpu_pages_from(&block->unused, run->index)) != 0)
		uvmp_mask_region_clear(&block->unused, pages);
}

/* How many accesses of the step the page has. With `coalesces` a page is asked for once, with the accesses of all its lanes. */
static uint32_t accesses_on(const struct step *s, uint64_t page)
{
	const struct warp *w = s->w;
	uint64_t from = page << s->gpu->page_shift, end = (page + 1u) << s->gpu->page_shift;
	uint32_t accesses = 0;

	if (s->gpu->model->coalesces == 0)
		return 1;
	if (w->slot.lanes == 0)
		return coalesce_run(from < w->at ? w->at : from, end > w->slot.end ? w->slot.end : end);
	for (uint32_t i = s->who.number; i < w->slot.lanes; i++)
		if (w->slot.lane[i] >> s->gpu->page_shift == page)
			accesses += w->slot.accesses[i];
	return accesses;
}

/* Reports the page, which is used, or (misses) asked about. Accesses that were reported when they missed count once. */
static void tell(const struct step *s, const struct run *run, uint32_t accesses, bool misses)
{
	const struct gpu_listener *listener = &s->gpu->listener;
	uint64_t bit = (uint64_t)1 << s->who.number;

	if (!listener->touch)
		return;
	if (s->gpu->model->coalesces != 0) {
		if ((s->w->counted & bit) != 0)
			accesses = 0;
		s->w->counted = misses ? s->w->counted | bit : s->w->counted & ~bit;
	}
	listener->touch(listener->context, run->block, run->index, s->w->needs > UVMP_RIGHT_READ, accesses, s->now_ns);
}

/* The run's pages are used. */
static inline __attribute__((always_inline)) void note_use(const struct step *s, const struct run *run)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;

	gpu->counts.accesses += run->count;
	if (run->count == 1u)
		note_page(gpu, run->block, run->index, is_write);
	else
		note_pages(gpu, run, is_write);
	for (uint32_t i = 0; gpu->listener.touch && i < run->count; i++) {
		struct run one = {run->block, run->page + i, run->index + i, 1};
		struct step at = *s;

		at.who.number += i;
		tell(&at, &one, accesses_on(&at, one.page), false);
	}
}

/* A page on the CPU is used, from now_ns on; when that has ended. All SMs share the link, which serves
 * their requests within a quantum in any order. */
static uint64_t cross_link(const struct step *s, struct run run, uint64_t now_ns)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	enum model_direction direction = is_write ? MODEL_TO_CPU : MODEL_TO_GPU;
	struct link_load load = gpu_load(gpu, s->w, run.page, s->who.number);

	gpu->counts.remote_accesses++;
	gpu->counts.remote_bytes[direction] += load.bytes;
	if (gpu->listener.remote)
		gpu->listener.remote(gpu->listener.context, run.block, run.index, is_write, (uint32_t)load.requests, now_ns);
	return link_remote(gpu->link, direction, gpu->now_ns, now_ns, load) + gpu->model->remote_latency_ns;
}

static inline void raise_ready(struct step *s, uint64_t now_ns)
{
	if (s->ready_ns < now_ns)
		s->ready_ns = now_ns;
}

/* The SM issues requests for `count` pages more. */
static inline void issue(struct step *s, uint32_t count)
{
	s->now_ns += (uint64_t)count * ISSUE_NS;
}

/* The page tables allow the access to the page: requests the TLB's entry that has it. False: the step is stalled. Else
 * *at_ns is when the page has been translated. */
static inline __attribute__((always_inline)) bool use_entry(struct step *s, uint64_t key, uint64_t *at_ns)
{
	struct gpu *gpu = s->gpu;
	struct utlb *utlb = s->sm->utlb;

	issue(s, 1);
	*at_ns = s->now_ns;
	if (s->is_locked && gpu->model->lock_holds != 0)
		return false;
	if (look_up(gpu, utlb, key)) {
		gpu->counts.tlb_hits++;
		return true;
	}
	if (s->is_locked)
		return false;
	gpu->counts.tlb_misses++;
	tlb_add(&utlb->tlb, key);
	*at_ns += translate(gpu, key);
	return true;
}

static enum gpu_outcome use_remote(struct step *s, struct run run, uint64_t key);

/* Do the TLBs hold pages on the CPU as they hold others, and misses decide about these pages? */
static inline bool is_asked(const struct step *s, const struct sim_block *block, uint32_t index)
{
	return s->gpu->model->remote_miss_ns != 0 && uvmp_mask_test(&block->remote, index);
}

/* The page tables allow the access to all pages of the run: uses those that are behind the TLB's entry of the first
 * page, and makes the run as short. Of these pages only the first can miss the TLB, and a page across the link has an
 * entry of its own. */
static inline __attribute__((always_inline)) enum gpu_outcome use_run(struct step *s, struct run *run)
{
	uint32_t alike;
	uint64_t key = gpu_key_of(s->gpu, run->block, run->page, run->index, &alike), now_ns;

	if (is_asked(s, run->block, run->index)) {
		run->count = 1;
		return use_remote(s, *run, key);
	}
	if (!use_entry(s, key, &now_ns))
		return GPU_STALLED;
	if (run->count > alike)
		run->count = alike;
	s->gpu->counts.tlb_hits += run->count - 1u;
	note_use(s, run);
	if (alike == 1u && uvmp_mask_test(&run->block->remote, run->index))
		now_ns = cross_link(s, *run, now_ns);
	raise_ready(s, now_ns);
	issue(s, run->count - 1u);
	raise_ready(s, s->now_ns);
	return GPU_USED;
}

/* use_run of one page. */
static inline __attribute__((always_inline)) enum gpu_outcome use_page(struct step *s, struct sim_block *block,
									uint64_t page, uint32_t index)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	uint32_t alike;
	uint64_t key = gpu_key_of(gpu, block, page, index, &alike), now_ns;

	if (is_asked(s, block, index))
		return use_remote(s, (struct run){block, page, index, 1}, key);
	if (!use_entry(s, key, &now_ns))
		return GPU_STALLED;
	gpu->counts.accesses++;
	note_page(gpu, block, index, is_write);
	if (gpu->listener.touch)
		tell(s, &(struct run){block, page, index, 1}, accesses_on(s, page), false);
	if (alike == 1u && uvmp_mask_test(&block->remote, index))
		now_ns = cross_link(s, (struct run){block, page, index, 1}, now_ns);
	raise_ready(s, now_ns);
	return GPU_USED;
}

/* -- faults -- */

/* When the warp's thread block was switched in; 0: at its beginning. */
static uint64_t in_since(const struct step *s)
{
	return s->sm->group[s->w->group].in_ns;
}

/* The lock holds for thread blocks that were switched in by then. One that is switched in later passes until its own
 * fault. A fault of the step itself locks the uTLB for later steps only. A warp that tries again passes once. */
static bool is_locked(const struct step *s, uint64_t issued_ns)
{
	uint64_t lock_ns = s->sm->utlb->lock_ns;
	bool passes = s->w->is_retried;

	s->w->is_retried = false;
	return !passes && issued_ns >= lock_ns && lock_ns >= in_since(s);
}

/* The uTLB gets no new translation once the walk for a fault that is asked for from now on has failed. */
static inline void lock(const struct step *s)
{
	struct utlb *utlb = s->sm->utlb;

	if (utlb->lock_ns == GPU_NEVER || utlb->lock_ns < in_since(s))
		utlb->lock_ns = s->now_ns + ISSUE_NS + s->gpu->model->walk_ns;
}

/* The warp lacks the pages of the run, and the uTLB is not locked for it: a fault for each. */
static inline __attribute__((always_inline)) void lock_and_fault(struct step *s, const struct run *run)
{
	uint64_t now_ns = s->now_ns;

	lock(s);
	issue(s, run->count);
	for (uint32_t i = 0; i < run->count && !gpu_fault_is_dropped(s->gpu, s->sm); i++)
		gpu_fault_raise(s->gpu, now_ns + (uint64_t)(i + 1u) * ISSUE_NS, &s->who, run->page + i,
				right_on(run->block, UVMP_CPU + 1u, run->index + i));
}

/* The warp lacks the page, and waits with an entry of the far-fault MSHRs. In UVM Smart (queues_copies) pages that are coming
 * have one, and no fault. */
static enum gpu_outcome wait_in_mshr(struct step *s, struct run run)
{
	bool is_new;
	enum gpu_outcome outcome;

	issue(s, 1);
	outcome = gpu_mshr_miss(s->gpu, &s->who, run.page, &is_new);
	if (is_new && !(s->gpu->model->queues_copies != 0 && gpu_mshr_is_coming(run.block, run.index)))
		gpu_fault_raise(s->gpu, s->now_ns, &s->who, run.page,
				right_on(run.block, UVMP_CPU + 1u, run.index));
	return outcome;
}

/* A page on the CPU [uvmsmart: remote-page-in-list]: a hit in the uTLB is free; after a miss the page is asked about when the
 * walk ends (gpu_remote.h). */
static enum gpu_outcome use_remote(struct step *s, struct run run, uint64_t key)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	uint32_t accesses = accesses_on(s, run.page);

	gpu_remote_fill(gpu, s->now_ns);
	issue(s, 1);
	if (!look_up(gpu, s->sm->utlb, key)) {
		if (s->is_locked)
			return GPU_STALLED;
		gpu->counts.tlb_misses++;
		gpu->counts.l2_tlb_misses++;
		tell(s, &run, accesses, true);
		gpu_remote_ask(gpu, &(struct asking){.time_ns = s->now_ns + gpu->model->walk_ns,
						     .key = key,
						     .who = s->who,
						     .block = run.block,
						     .page = run.index,
						     .accesses = accesses,
						     .is_write = is_write});
		return GPU_FAULTED;
	}
	gpu->counts.tlb_hits++;
	note_use(s, &run);
	raise_ready(s, s->now_ns);
	return GPU_USED;
}

/* Is the first page of the run one on the CPU that the uTLB holds? Rights are not looked at then: a store uses the page, too. */
static bool holds_remote(const struct step *s, const struct run *run, uint64_t *key)
{
	uint32_t unused;

	if (!is_asked(s, run->block, run->index))
		return false;
	gpu_remote_fill(s->gpu, s->now_ns);
	*key = gpu_key_of(s->gpu, run->block, run->page, run->index, &unused);
	return look_up(s->gpu, s->sm->utlb, *key);
}

/* The page tables do not allow the access to any page of the run. With MSHRs the run becomes one page. */
static inline __attribute__((always_inline)) enum gpu_outcome miss_run(struct step *s, struct run *run)
{
	bool has_mshr = gpu_mshr_is_there(s->gpu);
	uint64_t key;

	if (holds_remote(s, run, &key)) {
		run->count = 1;
		return use_remote(s, *run, key);
	}
	if (s->is_locked) {
		issue(s, 1);
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
static inline __attribute__((always_inline)) enum gpu_outcome ask_page(struct step *s, struct run *run)
{
	bool is_usable = right_on(run->block, UVMP_CPU + 1u, run->index) >= s->w->needs;

	run->count = 1;
	return is_usable ? use_page(s, run->block, run->page, run->index) : miss_run(s, run);
}

/* Asks for the pages of the run, all in one block, until an answer differs; makes the run as short as what was asked
 * for. */
static enum gpu_outcome ask_run(struct step *s, struct run *run)
{
	uint64_t usable = usable_from(run->block, run->index, s->w->needs);
	uint64_t other = ((usable & 1u) != 0 ? ~usable : usable) & low_bits(run->count);

	if (other != 0)
		run->count = (uint32_t)__builtin_ctzll(other);
	return (usable & 1u) != 0 ? use_run(s, run) : miss_run(s, run);
}

/* Finds the block of run->page, and ends the run with the block. False: the page lies outside every range. */
static inline __attribute__((always_inline)) bool find_run(struct gpu *gpu, struct run *run)
{
	struct sim_block *block = find_block(gpu, run->page << gpu->page_shift);

	if (!block)
		return false;
	run->block = block;
	run->index = (uint32_t)(run->page - (block->shape.start >> gpu->page_shift));
	if (run->count > block->shape.pages - run->index)
		run->count = block->shape.pages - run->index;
	return true;
}

/* A request for an address outside every range ends the run. */
static enum gpu_outcome lose(struct step *s)
{
	issue(s, 1);
	return GPU_STALLED;
}

static inline struct step step_of(struct gpu *gpu, struct sm *sm, struct warp *w)
{
	return (struct step){.gpu = gpu,
			     .sm = sm,
			     .w = w,
			     .who = {.sm = (uint32_t)(sm - gpu->sm), .warp = (uint32_t)(w - sm->warp)},
			     .now_ns = sm->now_ns,
			     .ready_ns = sm->now_ns};
}

/* The wanted pages from the first of `left` on that follow each other. A run means the same as its pages one by one
 * (tests/properties/prop_gpu_runs.c). */
static inline struct run next_run(const struct gpu *gpu, const struct warp *w, uint64_t left, uint32_t number)
{
	uint64_t others = gpu->asks_singly ? ~(uint64_t)1 : ~(left >> number);

	return (struct run){.page = (w->at >> gpu->page_shift) + number,
			    .count = others == 0 ? WORD_BITS : (uint32_t)__builtin_ctzll(others)};
}

/* All pages of `left`. If one page is stalled, so are the others. */
static void ask_span(struct step *s, uint64_t left)
{
	enum gpu_outcome outcome = GPU_USED;
	uint64_t asked;

	while (left != 0 && outcome != GPU_STALLED) {
		struct run run;

		s->who.number = (uint32_t)__builtin_ctzll(left);
		run = next_run(s->gpu, s->w, left, s->who.number);
		outcome = find_run(s->gpu, &run) ? ask_run(s, &run) : lose(s);
		asked = low_bits(run.count) << s->who.number;
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
static enum gpu_outcome ask_missing(struct step *s, uint64_t lanes)
{
	uint32_t count = s->is_locked ? 1u : (uint32_t)__builtin_popcountll(lanes);
	uint64_t now_ns = s->now_ns;

	if (!s->is_locked)
		lock(s);
	issue(s, count);
	if (s->is_locked)
		return GPU_STALLED;
	s->gpu->counts.tlb_misses += count;
	s->gpu->counts.l2_tlb_misses += count;
	for (; lanes != 0 && !gpu_fault_is_dropped(s->gpu, s->sm); lanes &= lanes - 1u) {
		struct run run = {.page = s->w->slot.lane[__builtin_ctzll(lanes)] >> s->gpu->page_shift,
				  .count = 1};

		now_ns += ISSUE_NS;
		if (find_run(s->gpu, &run))
			gpu_fault_raise(s->gpu, now_ns, &s->who, run.page,
					right_on(run.block, UVMP_CPU + 1u, run.index));
	}
	return GPU_FAULTED;
}

/* The lane s->who.number misses, and is entered into gpu->lanes. */
static __attribute__((noinline)) enum gpu_outcome miss_lane(struct step *s, struct run run)
{
	struct gpu *gpu = s->gpu;

	if (!gpu_mshr_is_there(gpu) && !gpu->asks_singly && lanes_add(&gpu->lanes, run.page, &s->who))
		s->w->missing |= (uint64_t)1 << s->who.number;
	return miss_run(s, &run);
}

/* The lane s->who.number asks for its page. */
static enum gpu_outcome ask_lane(struct step *s)
{
	struct gpu *gpu = s->gpu;
	uint64_t page = s->w->slot.lane[s->who.number] >> gpu->page_shift;
	struct sim_block *block = find_block(gpu, page << gpu->page_shift);
	uint32_t index;

	if (!block)
		return lose(s);
	index = (uint32_t)(page - (block->shape.start >> gpu->page_shift));
	if (right_on(block, UVMP_CPU + 1u, index) >= s->w->needs)
		return use_page(s, block, page, index);
	return miss_lane(s, (struct run){block, page, index, 1});
}

static void ask_lanes(struct step *s, uint64_t left)
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
	struct step s = step_of(gpu, sm, w);
	struct run run = {.page = page, .count = 1};
	enum gpu_outcome outcome;

	s.is_locked = is_locked(&s, s.now_ns + ISSUE_NS);
	outcome = find_run(gpu, &run) ? ask_page(&s, &run) : lose(&s);
	sm->now_ns = s.now_ns;
	*ready_ns = s.ready_ns;
	return outcome == GPU_USED;
}

bool gpu_ask_all(struct gpu *gpu, struct sm *sm, struct warp *w, uint64_t *ready_ns)
{
	struct step s = step_of(gpu, sm, w);
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
