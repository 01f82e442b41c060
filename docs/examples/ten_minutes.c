/* A GPU simulator in ten minutes: 64 warps read 8 MiB twice, page after page, on a GPU with 6 MiB. The simulator knows its
 * warps and its link; the host kit is the unified-memory driver. docs/ten-minutes.md explains each step. */
#include <inttypes.h>
#include <stdio.h>

#include <uvmpolicy/host.h>

#define WARPS 64u
#define PAGE  4096u
#define BASE  UINT64_C(0x7f0000000000)
#define PAGES 2048u /* 8 MiB */

struct simulator {
	uint64_t now_ns;
	uint32_t done[WARPS]; /* pages that the warp has read */
	bool is_stalled[WARPS];
};

/* 12 GB/s, and 2 us for each transfer. */
static uint64_t copy_time(void *user, const struct uvmp_host_copy *copy)
{
	(void)user;
	return (copy->part == 0 ? 2000u : 0u) + copy->bytes / 12u;
}

static void wake(void *user, const struct uvmp_host_waiter *waiter)
{
	struct simulator *simulator = user;

	simulator->is_stalled[waiter->warp] = false;
}

/* Each warp reads the next page of its own, or faults. Returns whether a warp could run. */
static bool step(struct simulator *simulator, struct uvmp_host *host)
{
	bool has_run = false;

	for (uint32_t warp = 0; warp < WARPS; warp++) {
		uint32_t done = simulator->done[warp];
		uint64_t address = BASE + (uint64_t)(done * WARPS % PAGES + warp) * PAGE;

		if (simulator->is_stalled[warp] || done == 2u * PAGES / WARPS)
			continue;
		has_run = true;
		if (uvmp_host_is_mapped(host, 1, address, UVMP_ACCESS_READ))
			simulator->done[warp]++;
		else if (uvmp_host_fault(host, warp, address, UVMP_ACCESS_READ, simulator->now_ns) == UVMP_OK)
			simulator->is_stalled[warp] = true;
	}
	return has_run;
}

int main(int argc, char **argv)
{
	struct simulator simulator = {0};
	struct uvmp_host_options options = {.size = sizeof(options),
	                                    .memory_bytes = 6u << 20,
	                                    .policy = argc > 1 ? argv[1] : "",
	                                    .is_on_cpu = true,
	                                    .batch_ns = 20000,
	                                    .user = &simulator,
	                                    .copy_ns = copy_time,
	                                    .replay = wake};
	struct uvmp_host_counts counts = {.size = sizeof(counts)};
	char error[UVMP_HOST_ERROR_MAX];
	struct uvmp_host *host = uvmp_host_open(&options, error);
	uint64_t next_ns = 0;

	if (host == NULL || uvmp_host_add_range(host, BASE, PAGES * PAGE) != UVMP_OK) {
		fprintf(stderr, "%s\n", host == NULL ? error : uvmp_host_error(host));
		return 1;
	}
	while (next_ns != UINT64_MAX && uvmp_host_status(host) == UVMP_OK) {
		simulator.now_ns = next_ns;
		next_ns = uvmp_host_run(host, simulator.now_ns); /* may wake warps */
		if (step(&simulator, host))
			next_ns = simulator.now_ns + 100u;
	}
	uvmp_host_count(host, &counts);
	printf("%" PRIu64 " us, %" PRIu64 " faults, %" PRIu64 " batches, %" PRIu64 " KiB in, %" PRIu64 " KiB out\n",
	       simulator.now_ns / 1000u, counts.faults, counts.batches, counts.bytes_in >> 10, counts.bytes_out >> 10);
	uvmp_host_close(host);
	return 0;
}
