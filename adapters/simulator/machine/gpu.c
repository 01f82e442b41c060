/* A GPU with time; gpu.h says what it does for others.
 *
 * Time goes in quanta. In each, every SM runs its ready warps in turn; SMs only meet at the end of a quantum,
 * where the faults of all are put in the order of their times and handed to the GMMU, and thread blocks are
 * dealt to SMs with room. While every warp waits, quanta are skipped.
 *
 * A step of a warp asks for one page after another (a span) or for all its pages at once. A page that is in
 * the SM's uTLB, or in the page tables with the right that is needed, is used: the SM is busy for as long as
 * its share of the memory bandwidth takes, and the warp goes on when latency and arithmetic are over.
 * Otherwise the GMMU finds nothing after its walk, and a fault is on its way.
 *
 * From a fault on a uTLB takes no new translation until the next replay (Pascal and Volta, NVIDIA blog 2017);
 * translations that were on their way by then, all those of one step among them, still fault, up to a number.
 * Several warps that want one page within that time, and SMs that want the same, are where duplicates come
 * from. A replay lets everybody try again.
 */
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define QUANTUM_NS  1000u
#define SORT_NS     2048u /* times in a quantum that are told apart */
#define LOCK_NS     4u    /* from a fault to the uTLB's lock, an estimate */
#define ISSUE_NS    2u    /* between two translations that an SM asks for */
#define BLOCK_SHIFT 21u
#define BIG_SHIFT   16u /* a big page */
#define WANTS       64u /* pages that a step can ask for at once; more are asked for in turns */

enum warp_state { WARP_FREE, WARP_READY, WARP_WAITING };

struct warp {
	struct workload_slot slot;
	struct sim_block *block; /* of the page that was used last */
	uint64_t block_number;
	uint64_t ready_ns;
	uint64_t at;    /* the next address of a span */
	uint64_t want;  /* pages of a step at once that are still missing, by number */
	uint32_t group; /* thread block on the SM */
	uint8_t state;
	bool has_step;
};

struct group {
	uint32_t left; /* warps that are not done; 0: free */
};

struct sm {
	uint64_t now_ns;
	uint64_t memory_ns, flop_ns;     /* its share of the memory, and its arithmetic, have time again */
	uint64_t memory_debt, flop_debt; /* what rounding has left undone */
	uint32_t *ring;                  /* ready warps */
	uint32_t first, count;
};

struct utlb {
	uint64_t *tag;    /* [model->utlb_entries] */
	uint64_t lock_ns; /* from here on no new translation; UINT64_MAX: none is out */
	uint32_t faults;  /* since the last replay */
};

enum event_kind { EVENT_MAP, EVENT_REPLAY };

struct event {
	uint64_t time_ns;
	struct sim_block *block;
	uvmp_mask pages;
	uint8_t kind, right;
};

struct gpu {
	const struct model *model;
	struct space *space;
	void (*touch)(void *context, struct sim_block *block, uint32_t page);
	void *context;
	struct workload *workload;
	uint64_t now_ns, start_ns;
	uint64_t next_block;
	uint32_t warps_per_sm, groups_per_sm; /* of this kernel */
	uint32_t utlbs, page_shift;
	uint64_t lost; /* address outside every range */
	bool is_lost;

	struct sm *sm;
	struct utlb *utlb;
	struct warp *warp;   /* [sms][warps_per_sm of the model] */
	struct group *group; /* [sms][blocks_per_sm of the model] */
	uint64_t alive;      /* warps that are not free */
	uint64_t share;      /* bytes per microsecond of one SM */

	struct gpu_fault *raised, *sorted; /* in this quantum */
	size_t raised_count, raised_room;
	struct gpu_fault *written; /* a ring */
	size_t written_first, written_count, written_room;
	uint64_t write_ns; /* the GMMU has time again */
	bool is_blocked;   /* the buffer is full */

	struct event *event; /* a ring */
	size_t event_first, event_count, event_room;
	uint64_t event_ns; /* of the last one queued */

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
                     void (*touch)(void *context, struct sim_block *block, uint32_t page), void *context)
{
	struct gpu *gpu = calloc(1, sizeof(*gpu));
	size_t warps = (size_t)model->sms * model->warps_per_sm;

	if (!gpu)
		return NULL;
	gpu->model = model;
	gpu->space = space;
	gpu->touch = touch;
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
	}
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		gpu->utlb[i].lock_ns = UINT64_MAX;
		gpu->utlb[i].tag = malloc(model->utlb_entries * sizeof(uint64_t));
		if (!gpu->utlb[i].tag) {
			gpu_close(gpu);
			return NULL;
		}
		memset(gpu->utlb[i].tag, 0xff, model->utlb_entries * sizeof(uint64_t));
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
		free(gpu->utlb[i].tag);
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

	w->state = WARP_READY;
	w->ready_ns = ready_ns;
	sm->ring[(sm->first + sm->count) % gpu->model->warps_per_sm] = warp;
	sm->count++;
}

/* Gives the SM's free places thread blocks; false: no block or no place is left. */
static bool deal_block(struct gpu *gpu, uint32_t sm_index)
{
	struct group *group = &gpu->group[(size_t)sm_index * gpu->model->blocks_per_sm];
	struct warp *warp = &gpu->warp[(size_t)sm_index * gpu->model->warps_per_sm];
	uint32_t place = 0, number = 0;

	while (place < gpu->groups_per_sm && group[place].left != 0)
		place++;
	if (place == gpu->groups_per_sm || gpu->next_block == gpu->workload->blocks)
		return false;
	group[place].left = gpu->workload->warps;
	for (uint32_t i = 0; i < gpu->warps_per_sm && number < gpu->workload->warps; i++) {
		if (warp[i].state != WARP_FREE)
			continue;
		workload_start_warp(gpu->workload, &warp[i].slot, gpu->next_block, number++);
		warp[i].group = place;
		warp[i].has_step = false;
		make_ready(gpu, sm_index, i, gpu->now_ns);
	}
	gpu->alive += gpu->workload->warps;
	gpu->next_block++;
	return true;
}

/* Blocks go to the SMs in turn, as long as any has room. */
static void deal_blocks(struct gpu *gpu)
{
	bool any = gpu->workload && gpu->next_block < gpu->workload->blocks;

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

	if (at_ns > gpu->now_ns)
		gpu_advance(gpu, at_ns);
	gpu->workload = workload;
	gpu->next_block = 0;
	gpu->groups_per_sm = groups < m->blocks_per_sm ? groups : m->blocks_per_sm;
	gpu->warps_per_sm = gpu->groups_per_sm * workload->warps;
	for (uint32_t i = 0; i < m->sms; i++)
		gpu->sm[i].now_ns = gpu->now_ns;
	deal_blocks(gpu);
	return gpu->groups_per_sm != 0;
}

bool gpu_is_done(const struct gpu *gpu)
{
	return gpu->is_lost ||
	       (gpu->alive == 0 && (!gpu->workload || gpu->next_block == gpu->workload->blocks));
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

/* What an entry of the uTLB translates: the block, if all of it is mapped, or the 64 KiB, or the page. The
 * lower bits of the tag keep the three apart. */
static uint64_t tag_of(const struct gpu *gpu, const struct sim_block *block, uint64_t page, uint32_t index)
{
	uint64_t address = page << gpu->page_shift, word;
	uint32_t big = 1u << (BIG_SHIFT - gpu->page_shift), first = index & ~(big - 1u);

	if (block->mapped == block->shape.pages && gpu->model->tlb_entry_bytes >= 1u << BLOCK_SHIFT)
		return address >> BLOCK_SHIFT << 2 | 1u;
	word = block->low[1].word[first / 64u] | block->high[1].word[first / 64u];
	if (big > 1u && (word >> first % 64u & 0xffffu) == 0xffffu)
		return address >> BIG_SHIFT << 2 | 2u;
	return page << 2 | 3u;
}

static uint64_t *entry_of(struct gpu *gpu, struct utlb *utlb, uint64_t tag)
{
	return &utlb->tag[(tag >> 2 ^ tag >> 10) % gpu->model->utlb_entries];
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

static struct sim_block *find_block(struct gpu *gpu, struct warp *w, uint64_t page)
{
	uint64_t number = page >> (BLOCK_SHIFT - gpu->page_shift);
	uint32_t unused;

	if (w->block && w->block_number == number && page << gpu->page_shift >= w->block->shape.start &&
	    page << gpu->page_shift <= w->block->shape.end)
		return w->block;
	w->block = space_find(gpu->space, page << gpu->page_shift, &unused);
	w->block_number = number;
	if (!w->block && !gpu->is_lost) {
		gpu->is_lost = true;
		gpu->lost = page << gpu->page_shift;
	}
	return w->block;
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

/* The warp asks for a page at now_ns, in a step whose first request was at issued_ns. */
static enum outcome ask(struct gpu *gpu, uint32_t sm, struct warp *w, uint64_t issued_ns, uint64_t now_ns,
                        uint64_t page, uint64_t *ready_ns)
{
	uint32_t utlb_index = sm / gpu->model->sms_per_utlb;
	struct utlb *utlb = &gpu->utlb[utlb_index];
	struct sim_block *block = find_block(gpu, w, page);
	uint32_t index, right;
	uint64_t *entry, tag;

	if (!block)
		return STALLED;
	index = (uint32_t)(page - (block->shape.start >> gpu->page_shift));
	tag = tag_of(gpu, block, page, index);
	entry = entry_of(gpu, utlb, tag);
	right = right_of(block, index);
	if (right >= (uint32_t)uvmp_access_prot(w->slot.access) && *entry == tag) {
		gpu->counts.tlb_hits++;
		use(gpu, block, index);
		return USED;
	}
	if (issued_ns >= utlb->lock_ns)
		return STALLED;
	gpu->counts.tlb_misses++;
	*ready_ns = now_ns + gpu->model->walk_ns;
	if (right >= (uint32_t)uvmp_access_prot(w->slot.access)) {
		*entry = tag;
		use(gpu, block, index);
		return USED;
	}
	if (utlb->faults == 0)
		utlb->lock_ns = now_ns + LOCK_NS;
	if (utlb->faults == gpu->model->utlb_faults)
		return STALLED;
	utlb->faults++;
	raise(gpu, now_ns, utlb_index, page, right, w->slot.access);
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
	if (w->slot.at_once)
		list_wants(gpu, w);
	return true;
}

static void end_warp(struct gpu *gpu, uint32_t sm_index, struct warp *w)
{
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

/* Times of a quantum differ by little more than it lasts; what is later counts as last. */
static uint32_t slot_of(const struct gpu *gpu, uint64_t base, size_t index)
{
	uint64_t ns = gpu->raised[index].time_ns - base;

	return ns < SORT_NS ? (uint32_t)ns : SORT_NS - 1u;
}

/* Orders what was raised by time, SMs in turn where times are the same. A quantum has few different times. */
static void sort_raised(struct gpu *gpu)
{
	uint32_t first[SORT_NS + 1] = {0};
	struct gpu_fault *sorted = gpu->sorted;
	uint64_t base = UINT64_MAX;

	for (size_t i = 0; i < gpu->raised_count; i++)
		base = gpu->raised[i].time_ns < base ? gpu->raised[i].time_ns : base;
	for (size_t i = 0; i < gpu->raised_count; i++)
		first[slot_of(gpu, base, i) + 1u]++;
	for (uint32_t i = 0; i < SORT_NS; i++)
		first[i + 1u] += first[i];
	for (size_t i = 0; i < gpu->raised_count; i++)
		sorted[first[slot_of(gpu, base, i)]++] = gpu->raised[i];
	gpu->sorted = gpu->raised;
	gpu->raised = sorted;
}

/* The GMMU writes what was raised, one fault after another. */
static void write_faults(struct gpu *gpu)
{
	if (gpu->raised_count == 0)
		return;
	sort_raised(gpu);
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
	for (uint32_t i = 0; i < gpu->model->sms; i++)
		run_sm(gpu, i, until_ns);
	gpu->counts.busy_ns += until_ns - gpu->now_ns;
	gpu->now_ns = until_ns;
	write_faults(gpu);
	deal_blocks(gpu);
}

/* -- what the driver does -- */

static void set_right(struct sim_block *block, const uvmp_mask *pages, uint32_t right)
{
	uvmp_mask mapped;

	uvmp_mask_andnot(&block->low[1], &block->low[1], pages);
	uvmp_mask_andnot(&block->high[1], &block->high[1], pages);
	if ((right & 1u) != 0)
		uvmp_mask_or(&block->low[1], &block->low[1], pages);
	if ((right & 2u) != 0)
		uvmp_mask_or(&block->high[1], &block->high[1], pages);
	uvmp_mask_or(&mapped, &block->low[1], &block->high[1]);
	block->mapped = (uint16_t)uvmp_mask_weight(&mapped);
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

static void happen(struct gpu *gpu)
{
	const struct event *event = &gpu->event[gpu->event_first];

	if (event->kind == EVENT_MAP)
		set_right(event->block, &event->pages, event->right);
	else
		replay_now(gpu);
	gpu->event_first = (gpu->event_first + 1u) % gpu->event_room;
	gpu->event_count--;
}

static void queue(struct gpu *gpu, const struct event *event)
{
	if (!grow((void **)&gpu->event, sizeof(*event), &gpu->event_first, gpu->event_count,
	          &gpu->event_room)) {
		gpu->is_lost = true;
		gpu->lost = GPU_OUT_OF_MEMORY;
		return;
	}
	if (gpu->event_ns < event->time_ns)
		gpu->event_ns = event->time_ns;
	gpu->event[(gpu->event_first + gpu->event_count) % gpu->event_room] = *event;
	gpu->event[(gpu->event_first + gpu->event_count) % gpu->event_room].time_ns = gpu->event_ns;
	gpu->event_count++;
}

void gpu_map(struct gpu *gpu, uint64_t at_ns, struct sim_block *block, const uvmp_mask *pages, uint32_t right)
{
	struct event event = {.time_ns = at_ns,
	                      .block = block,
	                      .pages = *pages,
	                      .kind = EVENT_MAP,
	                      .right = (uint8_t)right};

	queue(gpu, &event);
}

void gpu_replay(struct gpu *gpu, uint64_t at_ns)
{
	struct event event = {.time_ns = at_ns, .kind = EVENT_REPLAY};

	queue(gpu, &event);
}

/* -- time -- */

void gpu_advance(struct gpu *gpu, uint64_t until_ns)
{
	while (gpu->now_ns < until_ns) {
		uint64_t ready_ns = next_ready_ns(gpu), end_ns = until_ns;

		if (gpu->event_count != 0 && gpu->event[gpu->event_first].time_ns <= gpu->now_ns) {
			happen(gpu);
			continue;
		}
		if (gpu->event_count != 0 && gpu->event[gpu->event_first].time_ns < end_ns)
			end_ns = gpu->event[gpu->event_first].time_ns;
		if (ready_ns >= end_ns || gpu->is_lost) { /* nobody runs until then */
			gpu->now_ns = end_ns;
			continue;
		}
		if (ready_ns > gpu->now_ns)
			gpu->now_ns = ready_ns;
		run_quantum(gpu, end_ns - gpu->now_ns > QUANTUM_NS ? gpu->now_ns + QUANTUM_NS : end_ns);
	}
	while (gpu->event_count != 0 && gpu->event[gpu->event_first].time_ns <= gpu->now_ns)
		happen(gpu);
}

uint64_t gpu_wait(struct gpu *gpu)
{
	while (gpu->written_count == 0 && !gpu_is_done(gpu)) {
		uint64_t ready_ns = next_ready_ns(gpu), event_ns = UINT64_MAX;

		if (gpu->event_count != 0)
			event_ns = gpu->event[gpu->event_first].time_ns;
		if (ready_ns == UINT64_MAX && event_ns == UINT64_MAX)
			return UINT64_MAX;
		if (ready_ns > event_ns)
			ready_ns = event_ns;
		gpu_advance(gpu, (ready_ns > gpu->now_ns ? ready_ns : gpu->now_ns) + QUANTUM_NS);
	}
	return gpu->written_count != 0 ? gpu->written[gpu->written_first].time_ns : gpu->now_ns;
}

const struct gpu_fault *gpu_first_fault(const struct gpu *gpu, uint64_t until_ns)
{
	const struct gpu_fault *fault = &gpu->written[gpu->written_first];

	return gpu->written_count != 0 && fault->time_ns <= until_ns ? fault : NULL;
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
