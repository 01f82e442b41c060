/* timed.h: one run of a workload on a model of a GPU, with time.
 *
 * The GPU (gpu.h) raises faults; the host here are the CPU threads in which the driver works (thread.h): they are
 * interrupted or called, ask the engine of libuvmpolicy what to do (service.h), and each action takes the CPU and the
 * link (link.h) the time that the model says. The engine does not know that time is simulated.
 */
#ifndef UVMSIM_TIMED_H
#define UVMSIM_TIMED_H

#include "../untimed.h"
#include "../model.h"
#include "../spread.h"

/* In ns. fetch to replay: the driver's work, in both threads, and waits within an action. idle: a kernel was
 * on the GPU, and the bottom half slept. compute: of time_ns, the part in which some SM had a warp that could
 * run. kernel: sum of the kernels' times, from launch to end. cpu: the program's own thread was in a fault,
 * prefetch call or advice, from its beginning until the thread went on; what the driver did in it counts
 * there as well. time_ns ends with the program: a bottom half that works on faults without a waiting warp
 * counts whole in the others, and may end later. */
struct sim_times {
	uint64_t time_ns;
	bool is_cut; /* the program was not done by until_ns */
	uint64_t fetch_ns, order_ns, service_ns, migrate_ns, map_ns, evict_ns, replay_ns, compute_ns, idle_ns;
	uint64_t kernel_ns, cpu_ns;
	uint64_t link_end_ns; /* the last copy has ended: 0 without copies; the program may end before */
	uint64_t tlb_hits, tlb_misses, l2_tlb_hits, l2_tlb_misses; /* of the uTLBs; of the second level */
	uint64_t remote_h2d_bytes, remote_d2h_bytes; /* across the link without a copy: loads, stores */
	uint64_t context_switches, mshr_merged, mshr_stalled; /* gpu.h */
	uint64_t faults_serviced; /* of those after coalescing; the others are skipped (fault_buffer.h) */
	/* Over the batches: time from the fetch to the last copy's end and mapping; of that, until the first copy begins
	 * (the handling, Kim et al. ASPLOS'20); entries fetched; pages moved to the GPU. Batches that move nothing count only
	 * in the third. */
	struct spread batch_ns, handling_ns, batch_faults, batch_pages;
	/* As batch_ns and handling_ns, but from the time at which the oldest fault of the batch was written: the fault group of a
	 * profiler, which may begin while the batch before it is serviced. */
	struct spread group_ns, group_handling_ns;
};

/* As untimed_run, on the model. A trace runs as a program (workloads/recorded.h). */
bool timed_run(struct source *source, const struct model *model, const struct sim_run *settings,
	       struct sim_result *result, struct sim_times *times, char error[SOURCE_ERROR_MAX]);

#endif
