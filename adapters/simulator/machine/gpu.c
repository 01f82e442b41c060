/* A GPU with time; gpu.h says what it does for others.
 *
 * Time goes in quanta. In each, every SM runs its ready warps in turn; SMs only meet at the end of a quantum,
 * where the faults of all are put in the order of their times and handed to the GMMU, and thread blocks are
 * dealt to SMs with room. While every warp waits, quanta are skipped.
 *
 * A step of a warp asks for one page after another (a span) or for all its pages at once. A page that is in
 * the page tables with the right that is needed is used, at once if the SM's uTLB has its translation, else
 * when the second level or a walk has brought it: the SM is busy for as long as its share of the memory
 * bandwidth takes, and the warp goes on when latency and arithmetic are over. A page on the CPU is used
 * across the link. Otherwise the GMMU finds nothing after its walk, and a fault is on its way.
 *
 * TLBs never hold what the page tables do not: a change there drops entries, by giving those pages a new
 * version under which nothing is found, or empties all TLBs. Changes and replays are events in a heap.
 *
 * From a fault on a uTLB takes no new translation until the next replay (Pascal and Volta, NVIDIA blog 2017);
 * translations that were on their way by then, all those of one step among them, still fault, up to a number.
 * Several warps that want one page within that time, and SMs that want the same, are where duplicates come
 * from. A replay lets everybody try again.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#include "tlb.h"

#define QUANTUM_NS    1000u
#define SORT_KEYS     4096u /* times in a quantum, and uTLBs, that are told apart */
#define ISSUE_NS      2u    /* between two translations that an SM asks for */
#define BLOCK_SHIFT   21u
#define BIG_SHIFT     16u /* a big page */
#define VERSION_SHIFT 48u
#define SECTOR        32u  /* bytes that the link carries at least for a lane */
#define REQUEST       128u /* and for neighbouring threads */
#define WANTS         64u  /* pages that a step can ask for at once; more are asked for in turns */
#define FOUND         256u

enum warp_state { WARP_FREE, WARP_READY, WARP_WAITING };

struct warp {
	uint64_t ready_ns;
	uint64_t at;    /* the next address of a span */
	uint64_t want;  /* pages of a step at once that are still missing, by number */
	uint32_t group; /* thread block on the SM */
	uint8_t state;
	uint8_t needs; /* enum uvmp_prot that the step asks for */
	bool has_step;
	struct workload_slot slot; /* last: what is used most lies together */
};

/* Where the block of an address was found. */
struct found {
	uint64_t number; /* of the address, in 2 MiB */
	struct sim_block *block;
};

struct group {
	uint32_t left; /* warps that are not done; 0: free */
};

struct sm {
	uint64_t now_ns;
	uint64_t memory_ns, flop_ns;     /* its share of the memory, and its arithmetic, have time again */
	uint64_t memory_debt, flop_debt; /* what rounding has left undone */
	struct utlb *utlb;
	uint32_t *ring; /* ready warps */
	uint32_t first, count;
};

struct utlb {
	struct tlb tlb;
	uint64_t emptied; /* gpu->emptied, when this one was */
	uint64_t lock_ns; /* from here on no new translation; UINT64_MAX: none is out */
	uint32_t faults;  /* since the last replay */
};

enum event_kind { EVENT_MAP, EVENT_REPLAY };

struct event {
	uint64_t time_ns, number; /* in the order of queueing */
	struct sim_block *block;
	uvmp_mask pages;
	uint8_t kind, right;
	bool is_remote;
};

struct gpu {
	const struct model *model;
	struct space *space;
	void (*touch)(void *context, struct sim_block *block, uint32_t page);
	void *context;
	void (*remote)(void *context, struct sim_block *block, uint32_t page, bool is_write, uint64_t now_ns);
	uint64_t end_ns; /* of the last warp that ended */
	struct workload *workload;
	struct workload_kernel kernel; /* that runs: a program that queues more of them sets up the next */
	uint64_t now_ns;
	uint64_t next_block;
	uint32_t warps_per_sm, groups_per_sm; /* of this kernel */
	uint32_t utlbs, page_shift;
	uint64_t lost; /* address outside every range */
	bool is_lost;

	struct sm *sm;
	struct utlb *utlb;
	struct utlb l2;      /* the second level; it has no lock */
	uint64_t emptied;    /* so many times all TLBs were emptied; each does it when it is used next */
	struct warp *warp;   /* [sms][warps_per_sm of the model] */
	struct group *group; /* [sms][blocks_per_sm of the model] */
	uint64_t alive;      /* warps that are not free */
	uint64_t share;      /* bytes per microsecond of one SM */
	uint64_t link_ns[MODEL_DIRECTIONS];   /* remote accesses: the link has time again */
	uint64_t link_debt[MODEL_DIRECTIONS]; /* what rounding has left undone */

	struct gpu_fault *raised, *sorted; /* in this quantum */
	size_t raised_count, raised_room;
	struct gpu_fault *written; /* a ring */
	size_t written_first, written_count, written_room;
	uint64_t write_ns; /* the GMMU has time again */
	bool is_blocked;   /* the buffer is full */

	struct event *event; /* a heap, the next one at its top */
	size_t event_count, event_room;
	uint64_t event_number;

	struct found found[FOUND]; /* by the last bits of the number */
	struct gpu_counts counts;
};

/* -- rings that grow -- */

static bool grow(void **ring, size_t size, size_t *first, size_t count, size_t *room)
{
	size_t larger = *room ? *room * 2u : 1024u;
	char *fresh;

	if (count < *room)
		return true;
	fresh = malloc(larger * size);
	if (!fresh)
		return false;
	for (size_t i = 0; i < count; i++)
		memcpy(fresh + i * size, (char *)*ring + (*first + i) % *room * size, size);
	free(*ring);
	*ring = fresh;
	*first = 0;
	*room = larger;
	return true;
}

/* -- opening -- */

struct gpu *gpu_open(const struct model *model, struct space *space,
                     void (*touch)(void *context, struct sim_block *block, uint32_t page),
                     void (*remote)(void *context, struct sim_block *block, uint32_t page, bool is_write,
                                    uint64_t now_ns),
                     void *context)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	size_t warps = (size_t)model->sms * model->warps_per_sm;

	if (!gpu)
		return NULL;
	gpu->model = model;
	gpu->space = space;
	gpu->touch = touch;
	gpu->remote = remote;
	gpu->context = context;
	gpu->utlbs = (model->sms + model->sms_per_utlb - 1u) / model->sms_per_utlb;
	gpu->share = model->memory_mb_s / model->sms;
	gpu->page_shift = (uint32_t)__builtin_ctz(model->page_bytes);
	gpu->sm = calloc(model->sms, sizeof(*gpu->sm));
	gpu->utlb = calloc(gpu->utlbs, sizeof(*gpu->utlb));
	gpu->warp = calloc(warps, sizeof(*gpu->warp));
	gpu->group = calloc((size_t)model->sms * model->blocks_per_sm, sizeof(*gpu->group));
	for (uint32_t i = 0; gpu->sm && i < model->sms; i++)
		gpu->sm[i].ring = calloc(model->warps_per_sm, sizeof(uint32_t));
	if (!gpu->sm || !gpu->utlb || !gpu->warp || !gpu->group) {
		gpu_close(gpu);
		return NULL;
	}
	for (uint32_t i = 0; i < model->sms; i++) {
		if (!gpu->sm[i].ring) {
			gpu_close(gpu);
			return NULL;
		}
		gpu->sm[i].utlb = &gpu->utlb[i / model->sms_per_utlb];
	}
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		gpu->utlb[i].lock_ns = UINT64_MAX;
		if (!tlb_open(&gpu->utlb[i].tlb, model->utlb_entries)) {
			gpu_close(gpu);
			return NULL;
		}
	}
	if (!tlb_open(&gpu->l2.tlb, model->l2_tlb_entries)) {
		gpu_close(gpu);
		return NULL;
	}
	return gpu;
}

void gpu_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	for (uint32_t i = 0; gpu->sm && i < gpu->model->sms; i++)
		free(gpu->sm[i].ring);
	for (uint32_t i = 0; gpu->utlb && i < gpu->utlbs; i++)
		tlb_close(&gpu->utlb[i].tlb);
	tlb_close(&gpu->l2.tlb);
	free(gpu->sm);
	free(gpu->utlb);
	free(gpu->warp);
	free(gpu->group);
	free(gpu->raised);
	free(gpu->sorted);
	free(gpu->written);
	free(gpu->event);
	free(gpu);
}

/* -- warps and thread blocks -- */

static void make_ready(struct gpu *gpu, uint32_t sm_index, uint32_t warp, uint64_t ready_ns)
{
	struct sm *sm = &gpu->sm[sm_index];
	struct warp *w = &gpu->warp[(size_t)sm_index * gpu->model->warps_per_sm + warp];
	uint32_t place;

	w->state = WARP_READY;
	w->ready_ns = ready_ns;
	place = sm->first + sm->count++;
	sm->ring[place < gpu->model->warps_per_sm ? place : place - gpu->model->warps_per_sm] = warp;
}

/* Gives the SM's free places thread blocks; false: no block or no place is left. */
static bool deal_block(struct gpu *gpu, uint32_t sm_index)
{
	struct group *group = &gpu->group[(size_t)sm_index * gpu->model->blocks_per_sm];
	struct warp *warp = &gpu->warp[(size_t)sm_index * gpu->model->warps_per_sm];
	uint32_t place = 0, number = 0;

	while (place < gpu->groups_per_sm && group[place].left != 0)
		place++;
	if (place == gpu->groups_per_sm || gpu->next_block == gpu->kernel.blocks)
		return false;
	group[place].left = gpu->kernel.warps;
	for (uint32_t i = 0; i < gpu->warps_per_sm && number < gpu->kernel.warps; i++) {
		if (warp[i].state != WARP_FREE)
			continue;
		workload_start_warp(gpu->workload, &warp[i].slot, gpu->next_block, number++);
		warp[i].group = place;
		warp[i].has_step = false;
		make_ready(gpu, sm_index, i, gpu->now_ns);
	}
	gpu->alive += gpu->kernel.warps;
	gpu->next_block++;
	return true;
}

/* Blocks go to the SMs in turn, as long as any has room. */
static void deal_blocks(struct gpu *gpu)
{
	bool any = gpu->workload && gpu->next_block < gpu->kernel.blocks;

	while (any) {
		any = false;
		for (uint32_t i = 0; i < gpu->model->sms; i++)
			any |= deal_block(gpu, i);
	}
}

bool gpu_launch(struct gpu *gpu, struct workload *workload, uint64_t at_ns)
{
	const struct model *m = gpu->model;
	uint32_t groups = m->warps_per_sm / workload->warps;
	struct workload_kernel kernel = workload_keep_kernel(workload);

	if (at_ns > gpu->now_ns)
		gpu_advance(gpu, at_ns);
	gpu->workload = workload;
	gpu->kernel = kernel;
	gpu->next_block = 0;
	gpu->groups_per_sm = groups < m->blocks_per_sm ? groups : m->blocks_per_sm;
	gpu->warps_per_sm = gpu->groups_per_sm * kernel.warps;
	for (uint32_t i = 0; i < m->sms; i++)
		gpu->sm[i].now_ns = gpu->now_ns;
	deal_blocks(gpu);
	return gpu->groups_per_sm != 0;
}

bool gpu_is_done(const struct gpu *gpu)
{
	return gpu->is_lost || (gpu->alive == 0 && (!gpu->workload || gpu->next_block == gpu->kernel.blocks));
}

uint64_t gpu_end_ns(const struct gpu *gpu)
{
	return gpu->end_ns;
}

void gpu_progress(const struct gpu *gpu, uint64_t *done, uint64_t *total)
{
	*total = gpu->kernel.blocks * gpu->kernel.warps;
	*done = gpu->next_block * gpu->kernel.warps - gpu->alive;
}

bool gpu_is_lost(const struct gpu *gpu, uint64_t *address)
{
	*address = gpu->lost;
	return gpu->is_lost;
}

uint64_t gpu_now_ns(const struct gpu *gpu)
{
	return gpu->now_ns;
}

/* -- translation -- */

static uint32_t right_of(const struct sim_block *block, uint32_t page)
{
	return (uint32_t)uvmp_mask_test(&block->low[1], page) |
	       (uint32_t)uvmp_mask_test(&block->high[1], page) << 1;
}

enum outcome { USED, FAULTED, STALLED };

/* Is a big page one entry: are its 4 KiB pages alike, and on the GPU? */
static bool is_big(const struct gpu *gpu, const struct sim_block *block, uint32_t index)
{
	uint32_t big = 1u << (BIG_SHIFT - gpu->page_shift), first = index & ~(big - 1u);
	uint64_t pages = (((uint64_t)1 << big) - 1u) << first % 64u;
	uint64_t low = block->low[1].word[first / 64u] & pages,
	         high = block->high[1].word[first / 64u] & pages;

	return big > 1u && gpu->model->tlb_entry_bytes >= 1u << BIG_SHIFT && (low == pages || low == 0) &&
	       (high == pages || high == 0) && (low | high) == pages &&
	       (block->remote.word[first / 64u] & pages) == 0;
}

/* What a TLB's entry translates: the block, if all of it is mapped alike, or the 64 KiB, or the page. The key
 * is the address, what of the three it is, and a version that changes when such entries are dropped: those
 * that are still there will not be found again, and leave when they are the oldest. */
static uint64_t key_of(const struct gpu *gpu, const struct sim_block *block, uint64_t page, uint32_t index)
{
	uint64_t address = page << gpu->page_shift, version;

	if (block->mapped == block->shape.pages && !block->is_split &&
	    gpu->model->tlb_entry_bytes >= 1u << BLOCK_SHIFT)
		return (address >> BLOCK_SHIFT << 2 | 1u) ^ (uint64_t)block->version << VERSION_SHIFT;
	version = (uint64_t)block->big_version[index >> (BIG_SHIFT - gpu->page_shift)] << VERSION_SHIFT;
	if (is_big(gpu, block, index))
		return (address >> BIG_SHIFT << 2 | 2u) ^ version;
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

static void raise(struct gpu *gpu, uint64_t now_ns, uint32_t utlb, uint64_t page, uint32_t right,
                  enum uvmp_access access)
{
	if (gpu->raised_count == gpu->raised_room) {
		size_t room = gpu->raised_room ? 2u * gpu->raised_room : 4096u;
		struct gpu_fault *fresh = realloc(gpu->raised, room * sizeof(*fresh));

		if (fresh)
			gpu->raised = fresh;
		free(gpu->sorted);
		gpu->sorted = malloc(room * sizeof(*fresh));
		if (!fresh || !gpu->sorted) { /* as if the buffer were full: the replay brings it again */
			gpu->raised_count = gpu->raised_room = 0;
			return;
		}
		gpu->raised_room = room;
	}
	gpu->raised[gpu->raised_count++] =
	        (struct gpu_fault){.time_ns = now_ns + gpu->model->walk_ns,
	                           .address = page << gpu->page_shift,
	                           .utlb = utlb,
	                           .type = right == UVMP_PROT_NONE   ? UVMP_FAULT_INVALID_PTE
	                                   : right == UVMP_PROT_READ ? UVMP_FAULT_WRITE
	                                                             : UVMP_FAULT_ATOMIC,
	                           .access = (uint8_t)access};
}

static struct sim_block *search_block(struct gpu *gpu, uint64_t address)
{
	uint32_t unused;
	struct sim_block *block = space_find(gpu->space, address, &unused);

	if (!block && !gpu->is_lost) {
		gpu->is_lost = true;
		gpu->lost = address;
	}
	if (block)
		gpu->found[(address >> BLOCK_SHIFT) % FOUND] = (struct found){address >> BLOCK_SHIFT, block};
	return block;
}

static struct sim_block *find_block(struct gpu *gpu, uint64_t address)
{
	const struct found *found = &gpu->found[(address >> BLOCK_SHIFT) % FOUND];

	if (found->number == address >> BLOCK_SHIFT && found->block && address >= found->block->shape.start &&
	    address <= found->block->shape.end)
		return found->block;
	return search_block(gpu, address);
}

static void use(struct gpu *gpu, struct sim_block *block, uint32_t page)
{
	gpu->counts.accesses++;
	if (!uvmp_mask_test(&block->touched, page)) {
		uvmp_mask_set(&block->touched, page);
		gpu->counts.pages_touched++;
	}
	uvmp_mask_clear(&block->unused, page);
	if (gpu->touch)
		gpu->touch(gpu->context, block, page);
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
			bytes += w->slot.lane_bytes < SECTOR ? SECTOR : w->slot.lane_bytes;
	}
	return bytes;
}

/* A page on the CPU is used, from now_ns on; when that has ended. All SMs share the link, which works off
 * what they ask for within a quantum in whatever order. */
static uint64_t cross_link(struct gpu *gpu, const struct warp *w, struct sim_block *block, uint64_t page,
                           uint32_t index, uint64_t now_ns)
{
	bool is_write = w->needs > UVMP_PROT_READ;
	enum model_direction direction = is_write ? MODEL_TO_CPU : MODEL_TO_GPU;
	const struct model_link *link = &gpu->model->link;
	uint64_t mb_s = link->point[direction][link->points[direction] - 1u].mb_s;
	uint64_t owed = gpu->link_debt[direction] + remote_bytes(gpu, w, page) * 1000u, *link_ns;

	link_ns = &gpu->link_ns[direction];
	if (*link_ns < gpu->now_ns)
		*link_ns = gpu->now_ns;
	*link_ns += owed / mb_s;
	gpu->link_debt[direction] = owed % mb_s;
	gpu->counts.remote_accesses++;
	if (gpu->remote)
		gpu->remote(gpu->context, block, index, is_write, now_ns);
	now_ns += owed / mb_s;
	return (now_ns > *link_ns ? now_ns : *link_ns) + gpu->model->remote_latency_ns;
}

/* The page is there, translated at now_ns. */
static enum outcome use_page(struct gpu *gpu, const struct warp *w, struct sim_block *block, uint64_t page,
                             uint32_t index, uint64_t now_ns, uint64_t *ready_ns)
{
	use(gpu, block, index);
	if (uvmp_mask_test(&block->remote, index))
		now_ns = cross_link(gpu, w, block, page, index, now_ns);
	if (*ready_ns < now_ns)
		*ready_ns = now_ns;
	return USED;
}

/* The warp asks for a page at now_ns, in a step whose first request was at issued_ns. */
static enum outcome ask(struct gpu *gpu, uint32_t sm, struct warp *w, uint64_t issued_ns, uint64_t now_ns,
                        uint64_t page, uint64_t *ready_ns)
{
	struct utlb *utlb = gpu->sm[sm].utlb;
	struct sim_block *block = find_block(gpu, page << gpu->page_shift);
	uint32_t index, right;
	uint64_t key;

	if (!block)
		return STALLED;
	index = (uint32_t)(page - (block->shape.start >> gpu->page_shift));
	key = key_of(gpu, block, page, index);
	right = right_of(block, index);
	if (right >= w->needs && look_up(gpu, utlb, key)) {
		gpu->counts.tlb_hits++;
		return use_page(gpu, w, block, page, index, now_ns, ready_ns);
	}
	if (issued_ns >= utlb->lock_ns)
		return STALLED;
	gpu->counts.tlb_misses++;
	if (right >= w->needs) {
		tlb_add(&utlb->tlb, key);
		now_ns += translate(gpu, key);
		return use_page(gpu, w, block, page, index, now_ns, ready_ns);
	}
	gpu->counts.l2_tlb_misses++;
	if (utlb->lock_ns == UINT64_MAX) /* until the walk has failed, translations go on */
		utlb->lock_ns = now_ns + gpu->model->walk_ns;
	raise(gpu, now_ns, (uint32_t)(utlb - gpu->utlb), page, right, w->slot.access);
	return FAULTED;
}

/* -- steps -- */

/* The warp has asked for `bytes`, translated at ready_ns; when it can go on. Memory and arithmetic of an SM
 * work at the same time, each for one warp after another. */
static uint64_t work_ns(struct gpu *gpu, struct sm *sm, uint64_t ready_ns, uint64_t bytes, uint64_t flops)
{
	uint64_t owed = sm->memory_debt + bytes * 1000u, end_ns;

	if (sm->memory_ns < sm->now_ns)
		sm->memory_ns = sm->now_ns;
	sm->memory_ns += owed / gpu->share;
	sm->memory_debt = owed % gpu->share;
	end_ns = (ready_ns > sm->memory_ns ? ready_ns : sm->memory_ns) + gpu->model->memory_latency_ns;
	if (flops == 0)
		return end_ns;
	owed = sm->flop_debt + flops * gpu->model->sms;
	if (sm->flop_ns < end_ns)
		sm->flop_ns = end_ns;
	sm->flop_ns += owed / gpu->model->gflops;
	sm->flop_debt = owed % gpu->model->gflops;
	return sm->flop_ns;
}

/* A span: pages one after another. False: the warp waits for a page. */
static bool walk_span(struct gpu *gpu, uint32_t sm_index, struct warp *w)
{
	struct sm *sm = &gpu->sm[sm_index];
	uint64_t page = w->at >> gpu->page_shift, end = (page + 1u) << gpu->page_shift, ready_ns = sm->now_ns;

	sm->now_ns += ISSUE_NS;
	if (ask(gpu, sm_index, w, sm->now_ns, sm->now_ns, page, &ready_ns) != USED)
		return false;
	if (end > w->slot.end)
		end = w->slot.end;
	w->ready_ns = work_ns(gpu, sm, ready_ns, end - w->at, end == w->slot.end ? w->slot.flops : 0);
	w->at = end;
	w->has_step = end != w->slot.end;
	return true;
}

static uint64_t wanted_page(const struct gpu *gpu, const struct warp *w, uint32_t number)
{
	return w->slot.lanes != 0 ? w->slot.lane[number] >> gpu->page_shift
	                          : (w->at >> gpu->page_shift) + number;
}

/* The pages that the step asks for now, one bit each; lanes on a page that an earlier lane asks for are left
 * out. */
static void list_wants(const struct gpu *gpu, struct warp *w)
{
	uint64_t pages;

	w->want = 0;
	if (w->slot.lanes == 0) {
		pages = ((w->slot.end - 1u) >> gpu->page_shift) - (w->at >> gpu->page_shift) + 1u;
		w->want = pages >= WANTS ? ~(uint64_t)0 : ((uint64_t)1 << pages) - 1u;
		return;
	}
	for (uint32_t i = 0; i < w->slot.lanes; i++) {
		uint64_t page = w->slot.lane[i] >> gpu->page_shift;
		uint32_t k = i > 4u ? i - 4u : 0; /* neighbours are mostly neighbours */

		while (k < i && w->slot.lane[k] >> gpu->page_shift != page)
			k++;
		if (k == i)
			w->want |= (uint64_t)1 << i;
	}
}

/* Bytes of the step that are moved when all its pages are there, and on to the next part of a long one. */
static uint64_t finish_wants(const struct gpu *gpu, struct warp *w)
{
	uint64_t end, bytes;

	if (w->slot.lanes != 0) {
		w->has_step = false;
		return (uint64_t)w->slot.lanes * (w->slot.lane_bytes < 32u ? 32u : w->slot.lane_bytes);
	}
	end = ((w->at >> gpu->page_shift) + WANTS) << gpu->page_shift;
	if (end > w->slot.end)
		end = w->slot.end;
	bytes = end - w->at;
	w->at = end;
	w->has_step = end != w->slot.end;
	if (w->has_step)
		list_wants(gpu, w);
	return bytes;
}

static bool ask_all(struct gpu *gpu, uint32_t sm_index, struct warp *w)
{
	struct sm *sm = &gpu->sm[sm_index];
	uint64_t left = w->want, issued_ns = sm->now_ns, ready_ns = sm->now_ns, bytes;

	while (left != 0) {
		uint32_t number = (uint32_t)__builtin_ctzll(left);
		enum outcome outcome;

		left &= left - 1u;
		sm->now_ns += ISSUE_NS;
		outcome =
		        ask(gpu, sm_index, w, issued_ns, sm->now_ns, wanted_page(gpu, w, number), &ready_ns);
		if (outcome == STALLED) /* so would be the others */
			break;
		if (outcome == USED)
			w->want &= ~((uint64_t)1 << number);
	}
	if (w->want != 0)
		return false;
	bytes = finish_wants(gpu, w);
	w->ready_ns = work_ns(gpu, sm, ready_ns, bytes, w->has_step ? 0 : w->slot.flops);
	return true;
}

/* The next step; false: the warp has ended. */
static bool begin_step(struct gpu *gpu, struct warp *w)
{
	if (!workload_step(gpu->workload, &w->slot))
		return false;
	w->has_step = true;
	w->at = w->slot.at;
	w->needs = (uint8_t)uvmp_access_prot(w->slot.access);
	if (w->slot.at_once)
		list_wants(gpu, w);
	return true;
}

static void end_warp(struct gpu *gpu, uint32_t sm_index, struct warp *w)
{
	if (gpu->end_ns < gpu->sm[sm_index].now_ns)
		gpu->end_ns = gpu->sm[sm_index].now_ns;
	w->state = WARP_FREE;
	gpu->group[(size_t)sm_index * gpu->model->blocks_per_sm + w->group].left--;
	gpu->alive--;
}

/* -- a quantum -- */

static void run_sm(struct gpu *gpu, uint32_t sm_index, uint64_t until_ns)
{
	struct sm *sm = &gpu->sm[sm_index];
	struct warp *warp = &gpu->warp[(size_t)sm_index * gpu->model->warps_per_sm];

	if (sm->now_ns < gpu->now_ns)
		sm->now_ns = gpu->now_ns;
	while (sm->count != 0 && sm->now_ns < until_ns && !gpu->is_lost) {
		uint32_t index = sm->ring[sm->first];
		struct warp *w = &warp[index];
		bool goes_on;

		if (w->ready_ns >= until_ns)
			break;
		if (w->ready_ns > sm->now_ns)
			sm->now_ns = w->ready_ns;
		sm->first = sm->first + 1u == gpu->model->warps_per_sm ? 0 : sm->first + 1u;
		sm->count--;
		if (!w->has_step && !begin_step(gpu, w)) {
			end_warp(gpu, sm_index, w);
			continue;
		}
		goes_on = w->slot.at_once ? ask_all(gpu, sm_index, w) : walk_span(gpu, sm_index, w);
		if (goes_on)
			make_ready(gpu, sm_index, index, w->ready_ns);
		else
			w->state = WARP_WAITING;
	}
	if (sm->now_ns < until_ns)
		sm->now_ns = until_ns;
}

/* What faults are ordered by. Times of a quantum differ by little more than it lasts; what is later counts as
 * last. */
enum sort_key { BY_TIME, BY_UTLB, BY_BURST };

static uint32_t fault_key(const struct gpu *gpu, enum sort_key key, uint64_t base_ns, size_t index)
{
	const struct gpu_fault *fault = &gpu->raised[index];
	uint64_t ns = fault->time_ns - base_ns;

	if (key == BY_UTLB)
		return fault->utlb;
	if (key == BY_BURST)
		ns /= gpu->model->fault_burst_ns;
	return ns < SORT_KEYS ? (uint32_t)ns : SORT_KEYS - 1u;
}

/* Orders what was raised, and leaves in order what has the same key. */
static void sort_raised(struct gpu *gpu, enum sort_key key, uint64_t base_ns)
{
	uint32_t first[SORT_KEYS + 1] = {0};
	struct gpu_fault *sorted = gpu->sorted;

	for (size_t i = 0; i < gpu->raised_count; i++)
		first[fault_key(gpu, key, base_ns, i) + 1u]++;
	for (uint32_t i = 0; i < SORT_KEYS; i++)
		first[i + 1u] += first[i];
	for (size_t i = 0; i < gpu->raised_count; i++)
		sorted[first[fault_key(gpu, key, base_ns, i)]++] = gpu->raised[i];
	gpu->sorted = gpu->raised;
	gpu->raised = sorted;
}

/* Those that a uTLB can have outstanding, in the order of their times; the warps of the others wait all the
 * same. */
static void admit_raised(struct gpu *gpu)
{
	size_t kept = 0;

	for (size_t i = 0; i < gpu->raised_count; i++) {
		struct utlb *utlb = &gpu->utlb[gpu->raised[i].utlb];

		if (utlb->faults == gpu->model->utlb_faults)
			continue;
		utlb->faults++;
		gpu->raised[kept++] = gpu->raised[i];
	}
	gpu->raised_count = kept;
}

/* In the order in which the GMMU gets them: uTLBs take turns, each with what it has within a burst. */
static void order_raised(struct gpu *gpu)
{
	uint64_t base_ns = UINT64_MAX;

	for (size_t i = 0; i < gpu->raised_count; i++)
		base_ns = gpu->raised[i].time_ns < base_ns ? gpu->raised[i].time_ns : base_ns;
	sort_raised(gpu, BY_TIME, base_ns);
	admit_raised(gpu);
	sort_raised(gpu, BY_UTLB, base_ns);
	sort_raised(gpu, BY_BURST, base_ns);
}

/* The GMMU writes what was raised, one fault after another. */
static void write_faults(struct gpu *gpu)
{
	if (gpu->raised_count == 0)
		return;
	order_raised(gpu);
	for (size_t i = 0; i < gpu->raised_count; i++) {
		struct gpu_fault *fault = &gpu->raised[i];

		if (!grow((void **)&gpu->written, sizeof(*fault), &gpu->written_first, gpu->written_count,
		          &gpu->written_room))
			break;
		if (gpu->write_ns < fault->time_ns)
			gpu->write_ns = fault->time_ns;
		gpu->write_ns += gpu->model->fault_write_ns;
		fault->time_ns = gpu->write_ns;
		gpu->written[(gpu->written_first + gpu->written_count) % gpu->written_room] = *fault;
		gpu->written_count++;
		gpu->counts.faults++;
	}
	gpu->raised_count = 0;
}

/* When the next warp is ready; UINT64_MAX: all wait. */
static uint64_t next_ready_ns(const struct gpu *gpu)
{
	uint64_t soonest = UINT64_MAX;

	for (uint32_t i = 0; i < gpu->model->sms; i++) {
		const struct sm *sm = &gpu->sm[i];
		const struct warp *w;

		if (sm->count == 0)
			continue;
		w = &gpu->warp[(size_t)i * gpu->model->warps_per_sm + sm->ring[sm->first]];
		if (w->ready_ns < soonest)
			soonest = w->ready_ns;
	}
	return soonest;
}

static void run_quantum(struct gpu *gpu, uint64_t until_ns)
{
	workload_restore_kernel(gpu->workload, &gpu->kernel);
	for (uint32_t i = 0; i < gpu->model->sms; i++)
		run_sm(gpu, i, until_ns);
	gpu->counts.busy_ns += until_ns - gpu->now_ns;
	gpu->now_ns = until_ns;
	write_faults(gpu);
	deal_blocks(gpu);
}

/* -- what the driver does -- */

/* Drops the TLBs' entries of pages that were mapped and no longer are, or otherwise. */
static void shoot_down(struct gpu *gpu, struct sim_block *block, const uvmp_mask *changed)
{
	uint32_t shift = BIG_SHIFT - gpu->page_shift,
	         bigs = (block->shape.pages + (1u << shift) - 1u) >> shift;
	uint64_t pages = ((uint64_t)1 << (1u << shift)) - 1u;
	bool any = false;

	for (uint32_t i = 0; i < bigs; i++) {
		uint32_t first = i << shift;
		bool is_changed = (changed->word[first / 64u] >> first % 64u & pages) != 0;

		block->big_version[i] = (uint16_t)(block->big_version[i] + is_changed);
		any |= is_changed;
	}
	block->version = (uint16_t)(block->version + any);
}

static void set_plane(uvmp_mask *plane, const uvmp_mask *pages, bool is_set)
{
	if (is_set)
		uvmp_mask_or(plane, plane, pages);
	else
		uvmp_mask_andnot(plane, plane, pages);
}

/* Are some of the pages in the plane, and some not? */
static bool is_some(const uvmp_mask *plane, const uvmp_mask *pages)
{
	uint64_t in = 0, out = 0;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		in |= pages->word[i] & plane->word[i];
		out |= pages->word[i] & ~plane->word[i];
	}
	return in != 0 && out != 0;
}

/* The new entries of a block's page table. */
static void change_map(struct gpu *gpu, const struct event *event)
{
	struct sim_block *block = event->block;
	uvmp_mask *low = &block->low[1], *high = &block->high[1], *remote = &block->remote;
	uvmp_mask changed, mapped;

	for (uint32_t i = 0; i < UVMP_MASK_WORDS; i++) {
		uint64_t other = low->word[i] ^ ((event->right & 1u) != 0 ? ~(uint64_t)0 : 0);

		other |= high->word[i] ^ ((event->right & 2u) != 0 ? ~(uint64_t)0 : 0);
		other |= remote->word[i] ^ (event->is_remote ? ~(uint64_t)0 : 0);
		changed.word[i] = event->pages.word[i] & other & (low->word[i] | high->word[i]);
	}
	set_plane(low, &event->pages, (event->right & 1u) != 0);
	set_plane(high, &event->pages, (event->right & 2u) != 0);
	set_plane(remote, &event->pages, event->is_remote && event->right != 0);
	uvmp_mask_or(&mapped, low, high);
	block->mapped = (uint16_t)uvmp_mask_weight(&mapped);
	block->is_split = is_some(low, &mapped) || is_some(high, &mapped) || !uvmp_mask_is_empty(remote);
	if (gpu->model->tlb_shootdown == MODEL_SHOOTDOWN_WHOLE)
		gpu->emptied++;
	else
		shoot_down(gpu, block, &changed);
}

/* Everybody tries again; faults that were not written yet are forgotten. */
static void replay_now(struct gpu *gpu)
{
	const struct model *m = gpu->model;

	while (gpu->written_count != 0) {
		size_t last = (gpu->written_first + gpu->written_count - 1u) % gpu->written_room;

		if (!gpu->is_blocked && gpu->written[last].time_ns <= gpu->now_ns)
			break;
		gpu->written_count--;
		gpu->counts.faults--;
	}
	gpu->is_blocked = false;
	if (gpu->write_ns > gpu->now_ns)
		gpu->write_ns = gpu->now_ns;
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		gpu->utlb[i].lock_ns = UINT64_MAX;
		gpu->utlb[i].faults = 0;
	}
	for (uint32_t i = 0; i < m->sms; i++) {
		for (uint32_t k = 0; k < m->warps_per_sm; k++) {
			if (gpu->warp[(size_t)i * m->warps_per_sm + k].state == WARP_WAITING)
				make_ready(gpu, i, k, gpu->now_ns + m->replay_ns);
		}
	}
}

static bool is_before(const struct event *a, const struct event *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

/* Takes the top off the heap. */
static void take_event(struct gpu *gpu)
{
	struct event *heap = gpu->event, last = heap[--gpu->event_count];
	size_t at = 0, child;

	while ((child = 2u * at + 1u) < gpu->event_count) {
		if (child + 1u < gpu->event_count && is_before(&heap[child + 1u], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
}

static void happen(struct gpu *gpu)
{
	const struct event event = gpu->event[0];

	take_event(gpu);
	if (event.kind == EVENT_MAP)
		change_map(gpu, &event);
	else
		replay_now(gpu);
}

static void queue(struct gpu *gpu, struct event *event)
{
	size_t first = 0, at = gpu->event_count, parent;

	if (!grow((void **)&gpu->event, sizeof(*event), &first, gpu->event_count, &gpu->event_room)) {
		gpu->is_lost = true;
		gpu->lost = GPU_OUT_OF_MEMORY;
		return;
	}
	event->number = gpu->event_number++;
	gpu->event_count++;
	for (; at != 0 && is_before(event, &gpu->event[parent = (at - 1u) / 2u]); at = parent)
		gpu->event[at] = gpu->event[parent];
	gpu->event[at] = *event;
}

void gpu_map(struct gpu *gpu, uint64_t at_ns, struct sim_block *block, const uvmp_mask *pages, uint32_t right,
             bool is_remote)
{
	struct event event = {.time_ns = at_ns > block->event_ns ? at_ns : block->event_ns,
	                      .block = block,
	                      .pages = *pages,
	                      .kind = EVENT_MAP,
	                      .right = (uint8_t)right,
	                      .is_remote = is_remote};

	block->event_ns = event.time_ns;
	queue(gpu, &event);
}

void gpu_replay(struct gpu *gpu, uint64_t at_ns)
{
	struct event event = {.time_ns = at_ns, .kind = EVENT_REPLAY};

	queue(gpu, &event);
}

/* -- time -- */

static uint64_t next_event_ns(const struct gpu *gpu)
{
	return gpu->event_count != 0 ? gpu->event[0].time_ns : UINT64_MAX;
}

bool gpu_is_stuck(const struct gpu *gpu)
{
	return gpu->event_count == 0 && next_ready_ns(gpu) == UINT64_MAX;
}

static void pass_time(struct gpu *gpu, uint64_t until_ns, bool stops_when_done)
{
	while (gpu->now_ns < until_ns && !(stops_when_done && gpu_is_done(gpu))) {
		uint64_t event_ns = next_event_ns(gpu), end_ns = event_ns < until_ns ? event_ns : until_ns;
		uint64_t ready_ns;

		if (event_ns <= gpu->now_ns) {
			happen(gpu);
			continue;
		}
		ready_ns = next_ready_ns(gpu);
		if (ready_ns >= end_ns || gpu->is_lost) { /* nobody runs until then */
			gpu->now_ns = end_ns;
			continue;
		}
		if (ready_ns > gpu->now_ns)
			gpu->now_ns = ready_ns;
		run_quantum(gpu, end_ns - gpu->now_ns > QUANTUM_NS ? gpu->now_ns + QUANTUM_NS : end_ns);
	}
	while (next_event_ns(gpu) <= gpu->now_ns)
		happen(gpu);
}

void gpu_advance(struct gpu *gpu, uint64_t until_ns)
{
	pass_time(gpu, until_ns, false);
}

void gpu_run(struct gpu *gpu, uint64_t until_ns)
{
	pass_time(gpu, until_ns, true);
}

uint64_t gpu_wait(struct gpu *gpu, uint64_t limit_ns)
{
	while (gpu->written_count == 0 && !gpu_is_done(gpu)) {
		uint64_t next_ns = next_ready_ns(gpu), event_ns = next_event_ns(gpu);

		if (next_ns > event_ns)
			next_ns = event_ns;
		if (next_ns == UINT64_MAX && limit_ns == UINT64_MAX)
			return UINT64_MAX;
		if (next_ns < gpu->now_ns)
			next_ns = gpu->now_ns;
		if (next_ns >= limit_ns || limit_ns - next_ns <= QUANTUM_NS) {
			gpu_advance(gpu, limit_ns);
			break;
		}
		gpu_advance(gpu, next_ns + QUANTUM_NS);
	}
	if (gpu->written_count != 0 && gpu->written[gpu->written_first].time_ns <= limit_ns)
		return gpu->written[gpu->written_first].time_ns;
	if (gpu->now_ns < limit_ns && !gpu_is_done(gpu)) /* a fault is being written, but takes longer */
		gpu_advance(gpu, limit_ns);
	return gpu->now_ns < limit_ns ? gpu->now_ns : limit_ns;
}

const struct gpu_fault *gpu_first_fault(const struct gpu *gpu, uint64_t until_ns)
{
	const struct gpu_fault *fault;

	if (gpu->written_count == 0)
		return NULL;
	fault = &gpu->written[gpu->written_first];
	return fault->time_ns <= until_ns ? fault : NULL;
}

void gpu_take_fault(struct gpu *gpu)
{
	gpu->written_first = (gpu->written_first + 1u) % gpu->written_room;
	gpu->written_count--;
	gpu->is_blocked = false;
}

void gpu_block_faults(struct gpu *gpu)
{
	gpu->is_blocked = true;
}

void gpu_count(const struct gpu *gpu, struct gpu_counts *counts)
{
	*counts = gpu->counts;
}
