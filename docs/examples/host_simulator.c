/* A toy simulator under the host kit: 32 warps of two GPUs walk through an array that is twice as large as the memory of a
 * GPU. The part between the two marks is all that a simulator needs beside its own warps and TLB.
 *
 *   cc -std=c11 docs/examples/host_simulator.c $(pkg-config --cflags --libs libuvmpolicy-host) -o host_simulator */
#include <stdio.h>
#include <stdlib.h>
#include <uvmpolicy/host.h>

#define GPUS  2u
#define WARPS 32u
#define PAGE  4096u
#define ARRAY ((uvmp_addr)0x10000000)
#define BYTES ((uint64_t)16 << 20)
#define TLB   64u
#define CYCLE 1000u /* ns */

/* The simulator's own: a TLB for each GPU, and warps that read one page after the other. */
struct tlb_entry {
	uvmp_addr page;
	uint64_t frame;
};
static struct tlb_entry tlb[GPUS + 1][TLB];
struct warp {
	uvmp_addr next;
	bool is_stalled;
};
static struct warp warp[GPUS + 1][WARPS];
static uint64_t accesses, now_ns;

/* The access of the warp is complete. */
static void retire(uint32_t gpu, uint64_t index)
{
	accesses++;
	warp[gpu][index].is_stalled = false;
	warp[gpu][index].next += PAGE;
}

/* -- glue: begin -- */

static struct uvmp_host *host;

/* The TLB shoot-down. */
static void unmap(void *user, const struct uvmp_host_mapping *m)
{
	(void)user;
	for (uint32_t i = 0; i < TLB && m->processor != UVMP_CPU; i++)
		if (tlb[m->processor][i].page - m->address < m->bytes)
			tlb[m->processor][i].page = 0;
}

/* A link of 16 GB/s with a latency of 1 us. */
static uint64_t copy_ns(void *user, const struct uvmp_host_copy *copy)
{
	(void)user;
	return (copy->part == 0 ? 1000u : 0u) + copy->bytes / 16u;
}

/* The access is made now: if the warp waited for its next turn, the other GPU could take the page away before. */
static void replay(void *user, const struct uvmp_host_waiter *waiter)
{
	(void)user;
	uvmp_host_access(host, waiter->processor, waiter->address, waiter->access);
	retire(waiter->processor, waiter->warp);
}

static void open_host(const char *policy)
{
	struct uvmp_host_options options = {.size = sizeof(options),
	                                    .memory_bytes = BYTES / 2u,
	                                    .policy = policy,
	                                    .gpus = GPUS,
	                                    .is_on_cpu = true,
	                                    .unmap = unmap,
	                                    .copy_ns = copy_ns,
	                                    .replay = replay};
	char error[UVMP_HOST_ERROR_MAX];

	host = uvmp_host_open(&options, error);
	if (!host || uvmp_host_add_range(host, ARRAY, BYTES) != UVMP_OK) {
		fprintf(stderr, "%s\n", host ? uvmp_host_error(host) : error);
		exit(2);
	}
}

/* False: the access stalls. */
static bool translate(uint32_t gpu, uint32_t index, uvmp_addr page)
{
	struct tlb_entry *entry = &tlb[gpu][page / PAGE % TLB];
	struct uvmp_host_page_state state = {.size = sizeof(state)};

	if (entry->page != page) {
		if (!uvmp_host_is_mapped(host, gpu, page, UVMP_ACCESS_READ)) {
			uvmp_host_fault_on(host, gpu, index, page, UVMP_ACCESS_READ, now_ns);
			return false;
		}
		uvmp_host_page(host, gpu, page, &state);
		*entry = (struct tlb_entry){page, state.frame};
	}
	if (uvmp_host_wants_accesses(host))
		uvmp_host_access(host, gpu, page, UVMP_ACCESS_READ);
	return true;
}

static void tick(void)
{
	if (now_ns >= uvmp_host_next_ns(host))
		uvmp_host_run(host, now_ns);
}

/* -- glue: end -- */

/* True: the warp has read its part of the array. */
static bool step(uint32_t gpu, uint32_t index)
{
	struct warp *w = &warp[gpu][index];

	if (w->is_stalled || w->next == ARRAY + BYTES / WARPS * (index + 1u))
		return !w->is_stalled;
	w->is_stalled = !translate(gpu, index, w->next);
	if (!w->is_stalled)
		retire(gpu, index);
	return false;
}

int main(int count, char **argument)
{
	struct uvmp_host_counts counts = {.size = sizeof(counts)};
	bool is_done = false;

	open_host(count > 1 ? argument[1] : NULL);
	for (uint32_t gpu = 1; gpu <= GPUS; gpu++)
		for (uint32_t i = 0; i < WARPS; i++)
			warp[gpu][i].next = ARRAY + BYTES / WARPS * i;
	for (; !is_done; now_ns += CYCLE) {
		is_done = true;
		for (uint32_t gpu = 1; gpu <= GPUS; gpu++)
			for (uint32_t i = 0; i < WARPS; i++)
				is_done &= step(gpu, i);
		tick();
	}
	uvmp_host_count(host, &counts);
	printf("%llu accesses, %llu faults, %llu pages in, %llu between GPUs, %llu evicted\n", (unsigned long long)accesses,
	       (unsigned long long)counts.faults, (unsigned long long)counts.pages_in,
	       (unsigned long long)counts.pages_peer, (unsigned long long)counts.pages_evicted);
	uvmp_host_close(host);
	return 0;
}
