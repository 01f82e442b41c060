/* gpu_use.h: a warp's step asks for pages, and uses those that the page tables allow it: through the TLBs, and pages on
 * the CPU across the link. What happens where they do not allow it is in gpu_translate.c. */
#ifndef UVMSIM_GPU_USE_H
#define UVMSIM_GPU_USE_H

#include "gpu_internal.h"
#include "gpu_key.h"

#define GPU_WORD_BITS 64u
#define GPU_ISSUE_NS  2u /* between two translations that an SM requests */

/* A step that asks for pages: all at once, or (a span) one. */
struct gpu_step {
	struct gpu *gpu;
	struct sm *sm;
	struct warp *w;
	struct asker who;
	uint64_t now_ns;   /* of the SM */
	uint64_t ready_ns; /* the pages that were used have been translated, and have crossed the link */
	bool is_locked;	   /* the uTLB gives the step no new translation */
};

/* Pages of one block that the step asks for, one after another. */
struct gpu_run {
	struct sim_block *block;
	uint64_t page;
	uint32_t index, count; /* index: of `page`, in the block */
};

static inline uint64_t gpu_low_bits(uint32_t count)
{
	return count >= GPU_WORD_BITS ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1u;
}

static inline void gpu_raise_ready(struct gpu_step *s, uint64_t now_ns)
{
	if (s->ready_ns < now_ns)
		s->ready_ns = now_ns;
}

/* The SM issues requests for `count` pages more. */
static inline void gpu_issue(struct gpu_step *s, uint32_t count)
{
	s->now_ns += (uint64_t)count * GPU_ISSUE_NS;
}

/* gpu_find_block for a block that is not in gpu->found. */
struct sim_block *gpu_search_block(struct gpu *gpu, uint64_t address);
/* The block that holds the address; NULL: none, and the run has failed. */
static inline struct sim_block *gpu_find_block(struct gpu *gpu, uint64_t address)
{
	const struct found *found = &gpu->found[(address >> GPU_BLOCK_SHIFT) % GPU_FOUND];

	if (found->number == address >> GPU_BLOCK_SHIFT && found->block &&
	    address >= found->block->shape.start && address <= found->block->shape.last)
		return found->block;
	return gpu_search_block(gpu, address);
}

/* Does the TLB hold the key? */
static inline bool gpu_tlb_holds(const struct gpu *gpu, struct utlb *utlb, uint64_t key)
{
	if (utlb->emptied != gpu->emptied) {
		tlb_empty(&utlb->tlb);
		utlb->emptied = gpu->emptied;
	}
	return tlb_holds(&utlb->tlb, key);
}

/* After a miss in a uTLB: looks the key up in the L2 TLB, or walks. Returns the time in ns. */
uint32_t gpu_tlb_miss(struct gpu *gpu, uint64_t key);
/* How many accesses of the step the page has. With `coalesces` a page is asked for once, with the accesses of all its lanes. */
uint32_t gpu_accesses_on(const struct gpu_step *s, uint64_t page);
/* Reports the page, which is used, or (misses) asked about. Accesses that were reported when they missed count once. */
void gpu_tell_use(const struct gpu_step *s, const struct gpu_run *run, uint32_t accesses, bool misses);
/* A page on the CPU is used, from now_ns on; when that has ended. All SMs share the link, which serves
 * their requests within a quantum in any order. */
uint64_t gpu_cross_link(const struct gpu_step *s, struct gpu_run run, uint64_t now_ns);
/* A page on the CPU [uvmsmart: remote-page-in-list]: a hit in the uTLB is free; after a miss the page is asked about when the
 * walk ends (gpu_remote.h). */
enum gpu_outcome gpu_use_remote(struct gpu_step *s, struct gpu_run run, uint64_t key);
/* Is the first page of the run one on the CPU that the uTLB holds? Rights are not looked at then: a store uses the page, too. */
bool gpu_holds_remote(const struct gpu_step *s, const struct gpu_run *run, uint64_t *key);

static inline void gpu_note_page(struct gpu *gpu, struct sim_block *block, uint32_t page, bool is_write)
{
	if (is_write)
		uvmp_mask_set(&block->written, page);
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		gpu->counts.pages_touched++;
	}
	uvmp_mask_clear(&block->unused, page);
}

/* The page tables allow the access to the page: requests the TLB's entry that has it. False: the step is stalled. Else
 * *at_ns is when the page has been translated. */
static inline __attribute__((always_inline)) bool gpu_use_entry(struct gpu_step *s, uint64_t key, uint64_t *at_ns)
{
	struct gpu *gpu = s->gpu;
	struct utlb *utlb = s->sm->utlb;

	gpu_issue(s, 1);
	*at_ns = s->now_ns;
	if (s->is_locked && gpu->model->lock_holds != 0)
		return false;
	if (gpu_tlb_holds(gpu, utlb, key)) {
		gpu->counts.tlb_hits++;
		return true;
	}
	if (s->is_locked)
		return false;
	gpu->counts.tlb_misses++;
	tlb_add(&utlb->tlb, key);
	*at_ns += gpu_tlb_miss(gpu, key);
	return true;
}

/* Do the TLBs hold pages on the CPU as they hold others, and misses decide about these pages? */
static inline bool gpu_asks_remote(const struct gpu_step *s, const struct sim_block *block, uint32_t index)
{
	return s->gpu->model->remote_miss_ns != 0 && uvmp_mask_test(&block->remote, index);
}

/* The page tables allow the access to all pages of the run: uses those that are behind the TLB's entry of the first
 * page, and makes the run as short. Of these pages only the first can miss the TLB, and a page across the link has an
 * entry of its own. */
enum gpu_outcome gpu_use_run(struct gpu_step *s, struct gpu_run *run);
/* gpu_use_run of one page. */
static inline __attribute__((always_inline)) enum gpu_outcome gpu_use_page(struct gpu_step *s, struct sim_block *block,
									uint64_t page, uint32_t index)
{
	struct gpu *gpu = s->gpu;
	bool is_write = s->w->needs > UVMP_RIGHT_READ;
	uint32_t alike;
	uint64_t key = gpu_key_of(gpu, block, page, index, &alike), now_ns;

	if (gpu_asks_remote(s, block, index))
		return gpu_use_remote(s, (struct gpu_run){block, page, index, 1}, key);
	if (!gpu_use_entry(s, key, &now_ns))
		return GPU_STALLED;
	gpu->counts.accesses++;
	gpu_note_page(gpu, block, index, is_write);
	if (gpu->listener.touch)
		gpu_tell_use(s, &(struct gpu_run){block, page, index, 1}, gpu_accesses_on(s, page), false);
	if (alike == 1u && uvmp_mask_test(&block->remote, index))
		now_ns = gpu_cross_link(s, (struct gpu_run){block, page, index, 1}, now_ns);
	gpu_raise_ready(s, now_ns);
	return GPU_USED;
}

#endif
