/* Faults; gpu_fault.h.
 *
 * What the SMs raise within a quantum is sorted three times, each sort leaving in order what it does not tell
 * apart: by time, which says whose faults a uTLB can still have outstanding; then by uTLB and by burst, so
 * that uTLBs take turns, each with what it has raised within a burst. So ordered they are written, one after
 * another, into a ring of written faults, each with the time at which it is there. */
#include "gpu_fault.h"

#include <stdlib.h>

#include "array.h"
#include "gpu_lock.h"
#include "gpu_mshr.h"

#define RIGHT_BITS 2u /* of enum uvmp_right */
#define RIGHT_MASK 3u
#define SORT_KEYS  4096u /* times in a quantum, and uTLBs, that are told apart */

/* The sort keys of faults. Times of a quantum differ by little more than it lasts; what is later counts as
 * last. */
enum sort_key { BY_TIME, BY_UTLB, BY_BURST };

/* Makes room for one more raised fault, and for sorting it. False: out of memory, and all are lost. */
static bool grow_raised(struct gpu *gpu)
{
	size_t room = gpu->raised_room ? 2u * gpu->raised_room : SORT_KEYS;
	struct gpu_fault *fresh;

	if (gpu->raised_count < gpu->raised_room)
		return true;
	fresh = array_again(gpu->raised, room, sizeof(*fresh));
	if (fresh)
		gpu->raised = fresh;
	free(gpu->sorted);
	gpu->sorted = malloc(room * sizeof(*fresh));
	gpu->raised_room = fresh && gpu->sorted ? room : 0;
	if (gpu->raised_room == 0)
		gpu->raised_count = 0;
	return gpu->raised_room != 0;
}

void gpu_fault_raise(struct gpu *gpu, uint64_t now_ns, const struct asker *who, uint64_t page, uint32_t right)
{
	struct sm *sm = &gpu->sm[who->sm];

	sm->raised++;
	if (!grow_raised(gpu)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	gpu->raised[gpu->raised_count++] =
		(struct gpu_fault){.time_ns = now_ns + gpu->model->walk_ns,
				   .address = page << gpu->page_shift,
				   .utlb = (uint32_t)(sm->utlb - gpu->utlb),
				   .sm = who->sm,
				   .warp = who->warp,
				   .type = right == UVMP_RIGHT_NONE   ? UVMP_FAULT_INVALID_PTE
					   : right == UVMP_RIGHT_READ ? UVMP_FAULT_WRITE
								      : UVMP_FAULT_ATOMIC,
				   .access = (uint8_t)sm->warp[who->warp].slot.access};
}

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

/* Orders the raised faults; faults of the same key stay in their order. */
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

/* With utlb_merges: has the uTLB a fault outstanding for the page, of an access that needs as much? */
static bool is_merged(const struct utlb *utlb, uint64_t page_and_right)
{
	for (uint32_t i = 0; i < utlb->faults; i++)
		if (utlb->asked[i] >> RIGHT_BITS == page_and_right >> RIGHT_BITS &&
		    (utlb->asked[i] & RIGHT_MASK) >= (page_and_right & RIGHT_MASK))
			return true;
	return false;
}

enum admission {
	OVER_LIMIT, /* the warp has no fault, and none to wait for */
	MERGED,	    /* it waits for the fault of another warp */
	ADMITTED,   /* it has a fault of its own */
};

/* O(utlb_faults) with utlb_merges, else O(1). */
static enum admission admit(const struct gpu *gpu, struct utlb *utlb, const struct gpu_fault *fault)
{
	uint64_t page = fault->address >> gpu->page_shift;
	uint64_t asked = page << RIGHT_BITS | (uint64_t)uvmp_access_right((enum uvmp_access)fault->access);

	if (utlb->asked != NULL && is_merged(utlb, asked))
		return MERGED;
	if (utlb->faults == gpu->model->utlb_faults)
		return OVER_LIMIT;
	if (utlb->asked != NULL)
		utlb->asked[utlb->faults] = asked;
	utlb->faults++;
	return ADMITTED;
}

/* Keeps the faults that a uTLB can have outstanding, in the order of their times. All warps wait, but a lock that holds lets those
 * whose faults are outstanding or merged retry (gpu_lock.h). */
static void admit_raised(struct gpu *gpu)
{
	size_t kept = 0;

	for (size_t i = 0; i < gpu->raised_count; i++) {
		enum admission admission = admit(gpu, &gpu->utlb[gpu->raised[i].utlb], &gpu->raised[i]);

		if (admission != OVER_LIMIT)
			gpu_lock_note(gpu, &gpu->raised[i]);
		if (admission == ADMITTED)
			gpu->raised[kept++] = gpu->raised[i];
	}
	gpu->raised_count = kept;
}

/* In the order in which the GMMU gets them. */
static void order_raised(struct gpu *gpu)
{
	uint64_t base_ns = GPU_NEVER;

	for (size_t i = 0; i < gpu->raised_count; i++)
		base_ns = gpu->raised[i].time_ns < base_ns ? gpu->raised[i].time_ns : base_ns;
	sort_raised(gpu, BY_TIME, base_ns);
	if (!gpu_mshr_is_there(gpu)) /* which are the limit themselves */
		admit_raised(gpu);
	sort_raised(gpu, BY_UTLB, base_ns);
	sort_raised(gpu, BY_BURST, base_ns);
}

/* Room for one more in the ring. */
static bool grow_written(struct gpu *gpu)
{
	size_t room = gpu->written_room ? gpu->written_room * 2u : 1024u;
	struct gpu_fault *fresh;

	if (gpu->written_count < gpu->written_room)
		return true;
	fresh = malloc(room * sizeof(*fresh));
	if (!fresh)
		return false;
	for (size_t i = 0; i < gpu->written_count; i++)
		fresh[i] = gpu->written[(gpu->written_first + i) % gpu->written_room];
	free(gpu->written);
	gpu->written = fresh;
	gpu->written_first = 0;
	gpu->written_room = room;
	return true;
}

static void write_one(struct gpu *gpu, const struct gpu_fault *raised)
{
	struct gpu_fault *fault;

	if (!grow_written(gpu)) {
		gpu_lose(gpu, GPU_OUT_OF_MEMORY);
		return;
	}
	if (gpu->write_ns < raised->time_ns)
		gpu->write_ns = raised->time_ns;
	gpu->write_ns += gpu->model->fault_write_ns;
	fault = &gpu->written[(gpu->written_first + gpu->written_count++) % gpu->written_room];
	*fault = *raised;
	fault->time_ns = gpu->write_ns;
	if (gpu_mshr_is_there(gpu))
		gpu_mshr_write(gpu, raised->address >> gpu->page_shift, gpu->written_number++);
}

void gpu_fault_write(struct gpu *gpu)
{
	if (gpu->raised_count == 0)
		return;
	order_raised(gpu);
	for (size_t i = 0; i < gpu->raised_count; i++)
		write_one(gpu, &gpu->raised[i]);
	gpu->raised_count = 0;
	for (uint32_t i = 0; i < gpu->model->sms; i++)
		gpu->sm[i].raised = 0;
}

void gpu_fault_forget(struct gpu *gpu)
{
	while (gpu->written_count != 0) {
		size_t last = (gpu->written_first + gpu->written_count - 1u) % gpu->written_room;

		if (!gpu->is_blocked && gpu->written[last].time_ns <= gpu->now_ns)
			break;
		gpu->written_count--;
	}
	gpu->is_blocked = false;
	if (gpu->write_ns > gpu->now_ns)
		gpu->write_ns = gpu->now_ns;
	for (uint32_t i = 0; i < gpu->utlbs; i++) {
		if (gpu->model->lock_holds == 0)
			gpu->utlb[i].lock_ns = GPU_NEVER;
		gpu->utlb[i].faults = 0;
	}
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
	gpu->taken++;
	gpu->is_blocked = false;
}

void gpu_fetch_faults(struct gpu *gpu, uint64_t left)
{
	gpu->fetched = gpu->taken - left;
}

void gpu_block_faults(struct gpu *gpu)
{
	gpu->is_blocked = true;
}
