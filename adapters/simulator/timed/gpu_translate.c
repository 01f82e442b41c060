/* Translation; gpu_translate.h.
 *
 * If the page tables have the page with the right that the warp needs, the warp uses the page: at once if the SM's uTLB
 * has its translation, else when the second level or a walk has found it. A page on the CPU is used across the link.
 * If the walk of the GMMU finds no such page, it raises a fault.
 *
 * From a fault on, a uTLB takes no new translation until the next replay (Pascal and Volta, NVIDIA blog 2017).
 * Translations that were in progress by then, and all those of one step, still fault, up to a limit. Duplicates
 * arise where several warps, or several SMs, need one page within that time. A GPU with far-fault MSHRs locks no uTLB
 * (gpu_mshr.h).
 *
 * TLBs never hold what the page tables do not: their keys contain versions, and a change gives pages a new one. */
#include "gpu_translate.h"

#include "gpu_fault.h"
#include "gpu_mshr.h"

#define VERSION_SHIFT 48u
#define REQUEST	      128u /* bytes that the link carries at least for neighbouring threads */

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

static struct sim_block *find_block(struct gpu *gpu, uint64_t address)
{
	const struct found *found = &gpu->found[(address >> GPU_BLOCK_SHIFT) % GPU_FOUND];

	if (found->number == address >> GPU_BLOCK_SHIFT && found->block &&
	    address >= found->block->shape.start && address <= found->block->shape.last)
		return found->block;
	return search_block(gpu, address);
}

/* -- TLBs -- */

/* A set's pages from `first` on, as many as a big page has, in the lowest bits. */
static uint64_t pages_from(const uvmp_mask *mask, uint32_t first)
{
	uint32_t word = first / 64u, shift = first % 64u;
	uint64_t pages = mask->word[word] >> shift;

	if (shift != 0 && word + 1u < UVMP_MASK_WORDS)
		pages |= mask->word[word + 1u] << (64u - shift);
	return pages;
}

/* Is a big page one entry: does it lie in the block, are its 4 KiB pages alike, and on the GPU? */
static bool is_big(const struct gpu *gpu, const struct sim_block *block, uint32_t big)
{
	uint32_t count = 1u << (GPU_BIG_SHIFT - gpu->page_shift), offset = block->shape.offset;
	uint32_t first = big * count - offset;
	uint64_t all = ((uint64_t)1 << count) - 1u, low, high;

	if (count == 1u || gpu->model->tlb_entry_bytes < 1u << GPU_BIG_SHIFT || big * count < offset ||
	    first + count > block->shape.pages)
		return false;
	low = pages_from(&block->low[1], first) & all;
	high = pages_from(&block->high[1], first) & all;
	return (low == all || low == 0) && (high == all || high == 0) && (low | high) == all &&
	       (pages_from(&block->remote, first) & all) == 0;
}

/* What a TLB's entry translates: the block, if all of it is mapped alike, or the 64 KiB, or the page. The key
 * is where that begins, what of the three it is, and a version that changes when such entries are dropped:
 * those that are still there will not be found again, and leave when they are the oldest. */
static uint64_t key_of(const struct gpu *gpu, const struct sim_block *block, uint64_t page, uint32_t index)
{
	uint32_t shift = GPU_BIG_SHIFT - gpu->page_shift, big = (block->shape.offset + index) >> shift;
	uint64_t version;

	if (block->mapped == block->shape.pages && !block->is_split &&
	    gpu->model->tlb_entry_bytes >= 1u << GPU_BLOCK_SHIFT)
		return (block->shape.start >> gpu->page_shift << 2 | 1u) ^ (uint64_t)block->version
										   << VERSION_SHIFT;
	version = (uint64_t)block->big_version[big] << VERSION_SHIFT;
	if (is_big(gpu, block, big))
		return (page >> shift << 2 | 2u) ^ version;
	return (page << 2 | 3u) ^ version;
}

/* Does the TLB hold the key? */
static bool look_up(const struct gpu *gpu, struct utlb *utlb, uint64_t key)
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

static void note_use(struct gpu *gpu, struct sim_block *block, uint32_t page, bool is_write)
{
	gpu->counts.accesses++;
	if (is_write)
		uvmp_mask_set(&block->written, page);
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		gpu->counts.pages_touched++;
	}
	uvmp_mask_clear(&block->unused, page);
	if (gpu->listener.touch)
		gpu->listener.touch(gpu->listener.context, block, page, is_write);
}

/* The bytes that the step in hand wants of a page, as they cross the link. */
static uint64_t remote_bytes(const struct gpu *gpu, const struct warp *w, uint64_t page)
{
	uint64_t from = page << gpu->page_shift, end = (page + 1u) << gpu->page_shift, bytes = 0;

	if (w->slot.lanes == 0) {
		from = from < w->at ? w->at : from;
		end = end > w->slot.end ? w->slot.end : end;
		return (end - 1u) / REQUEST * REQUEST + REQUEST - from / REQUEST * REQUEST;
	}
	for (uint32_t i = 0; i < w->slot.lanes; i++) {
		if (w->slot.lane[i] >> gpu->page_shift == page)
			bytes += w->slot.lane_bytes < GPU_SECTOR ? GPU_SECTOR : w->slot.lane_bytes;
	}
	return bytes;
}

/* A page on the CPU is used, from now_ns on; when that has ended. All SMs share the link, which serves
 * their requests within a quantum in any order. */
static uint64_t cross_link(struct gpu *gpu, const struct warp *w, struct sim_block *block, uint32_t index,
			   uint64_t now_ns)
{
	uint64_t page = (block->shape.start >> gpu->page_shift) + index;
	bool is_write = w->needs > UVMP_RIGHT_READ;
	enum model_direction direction = is_write ? MODEL_TO_CPU : MODEL_TO_GPU;
	uint64_t mb_s = model_link_mb_s(&gpu->model->link, direction);
	uint64_t bytes = remote_bytes(gpu, w, page), owed = gpu->link_debt[direction] + bytes * 1000u,
		 *link_ns;

	link_ns = &gpu->link_ns[direction];
	if (*link_ns < gpu->now_ns)
		*link_ns = gpu->now_ns;
	*link_ns += owed / mb_s;
	gpu->link_debt[direction] = owed % mb_s;
	gpu->counts.remote_accesses++;
	gpu->counts.remote_bytes[direction] += bytes;
	if (gpu->listener.remote)
		gpu->listener.remote(gpu->listener.context, block, index, is_write, now_ns);
	now_ns += owed / mb_s;
	return (now_ns > *link_ns ? now_ns : *link_ns) + gpu->model->remote_latency_ns;
}

/* The page is there, translated at now_ns. */
static enum gpu_outcome use_page(struct gpu *gpu, const struct warp *w, struct sim_block *block,
				 uint32_t index, uint64_t now_ns, uint64_t *ready_ns)
{
	note_use(gpu, block, index, w->needs > UVMP_RIGHT_READ);
	if (uvmp_mask_test(&block->remote, index))
		now_ns = cross_link(gpu, w, block, index, now_ns);
	if (*ready_ns < now_ns)
		*ready_ns = now_ns;
	return GPU_USED;
}

/* When the warp's thread block was switched in; 0: at its beginning. */
static uint64_t in_since(const struct gpu *gpu, const struct asker *who)
{
	const struct sm *sm = &gpu->sm[who->sm];

	return sm->group[sm->warp[who->warp].group].in_ns;
}

/* The lock holds for thread blocks that were switched in by then. One that is switched in later passes until its own
 * fault. */
static bool is_locked(const struct gpu *gpu, const struct asker *who, uint64_t issued_ns)
{
	uint64_t lock_ns = gpu->sm[who->sm].utlb->lock_ns;

	return issued_ns >= lock_ns && lock_ns >= in_since(gpu, who);
}

/* The warp lacks the page, and the uTLB is not locked for it. */
static enum gpu_outcome lock_and_fault(struct gpu *gpu, const struct asker *who, uint64_t now_ns,
				       uint64_t page, uint32_t right)
{
	struct utlb *utlb = gpu->sm[who->sm].utlb;

	if (utlb->lock_ns == GPU_NEVER ||
	    utlb->lock_ns < in_since(gpu, who)) /* until the walk has failed, translations continue */
		utlb->lock_ns = now_ns + gpu->model->walk_ns;
	gpu_fault_raise(gpu, now_ns, who, page, right);
	return GPU_FAULTED;
}

/* The warp lacks the page, and waits with an entry of the far-fault MSHRs. */
static enum gpu_outcome wait_in_mshr(struct gpu *gpu, const struct asker *who, uint64_t now_ns, uint64_t page,
				     uint32_t right)
{
	bool is_new;
	enum gpu_outcome outcome = gpu_mshr_miss(gpu, who, page, &is_new);

	if (is_new)
		gpu_fault_raise(gpu, now_ns, who, page, right);
	return outcome;
}

/* The page tables do not allow the access, which waits: behind the lock of the uTLB, or with a fault. */
static enum gpu_outcome miss(struct gpu *gpu, const struct asker *who, uint64_t issued_ns, uint64_t now_ns,
			     uint64_t page, uint32_t right)
{
	if (is_locked(gpu, who, issued_ns))
		return GPU_STALLED;
	gpu->counts.tlb_misses++;
	gpu->counts.l2_tlb_misses++;
	if (gpu_mshr_is_there(gpu))
		return wait_in_mshr(gpu, who, now_ns, page, right);
	return lock_and_fault(gpu, who, now_ns, page, right);
}

enum gpu_outcome gpu_ask(struct gpu *gpu, const struct asker *who, uint64_t issued_ns, uint64_t now_ns,
			 uint64_t page, uint64_t *ready_ns)
{
	struct sim_block *block = find_block(gpu, page << gpu->page_shift);
	struct utlb *utlb = gpu->sm[who->sm].utlb;
	const struct warp *w = &gpu->sm[who->sm].warp[who->warp];
	uint32_t index, right;
	uint64_t key;

	if (!block)
		return GPU_STALLED;
	index = (uint32_t)(page - (block->shape.start >> gpu->page_shift));
	right = right_on(block, UVMP_CPU + 1u, index);
	if (right < w->needs)
		return miss(gpu, who, issued_ns, now_ns, page, right);
	key = key_of(gpu, block, page, index);
	if (look_up(gpu, utlb, key)) {
		gpu->counts.tlb_hits++;
		return use_page(gpu, w, block, index, now_ns, ready_ns);
	}
	if (is_locked(gpu, who, issued_ns))
		return GPU_STALLED;
	gpu->counts.tlb_misses++;
	tlb_add(&utlb->tlb, key);
	return use_page(gpu, w, block, index, now_ns + translate(gpu, key), ready_ns);
}
