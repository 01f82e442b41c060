/* processor.h: who reaches whose memory, and how well.
 *
 * The relations between the processors of one address space [driver: processors], as data that
 * the host fills once and changes when a GPU is added or a peer link is enabled. Row A of a relation is a set
 * of processors (base.h). thrash.h and residency.h read it; neither changes it.
 */
#ifndef UVMPOLICY_PROCESSOR_H
#define UVMPOLICY_PROCESSOR_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows 0..count-1 are read. About 2 KiB. */
struct uvmp_processors {
	uint32_t count; /* processors 0..count-1 exist; 1..64 */
	/* whose memory A can map, A itself included */
	uint64_t can_access[UVMP_PROCS_MAX];
	/* NVLink or C2C neighbours of A, never A; symmetric in the driver */
	uint64_t fast_link[UVMP_PROCS_MAX];
	/* who has hardware atomics on A's memory, A included; in the driver only those that can access it */
	uint64_t native_atomics[UVMP_PROCS_MAX];
	/* other parts of the partitioned (SMC) GPU that A is a part of, never A; 0 for the CPU, and all 0
	 * without partitioned GPUs */
	uint64_t smc[UVMP_PROCS_MAX];
	uint64_t no_memory; /* processors without managed memory of their own; never the CPU */
};

/* True if count is in range, no set names a processor that does not exist, each row holds or leaves out its
 * own processor as said above, the CPU has no SMC siblings and has memory. Symmetry and subsets are not
 * asked for: the decisions are defined without them. False for NULL. At most 64 steps. */
UVMP_API bool uvmp_processors_is_valid(const struct uvmp_processors *processors);

/* The processors that can map the memory of `processor`, the transpose of can_access. The empty set if
 * processors is NULL or not valid or the processor does not exist (UVMP_PROC_NONE). At most 64 steps
 * beside the check. */
UVMP_API uint64_t uvmp_accessible_from(const struct uvmp_processors *processors, uint32_t processor);

/* The candidate closest to src: src itself, an SMC sibling of it, one behind a fast link, one whose memory it
 * can map, any other. Among equals the lowest GPU, then the CPU, but the CPU before any GPU in the last case.
 * Candidates that do not exist are ignored. UVMP_PROC_NONE if there is no candidate, processors is NULL or
 * not valid, or src does not exist. O(1) beside the check. */
UVMP_API uint32_t uvmp_closest_processor(const struct uvmp_processors *processors, uint32_t src,
					 uint64_t candidates);

#ifdef __cplusplus
}
#endif
#endif
