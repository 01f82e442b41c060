/* processor.h: processors, and how they access each other's memory.
 *
 * The relations between the processors of one address space [driver: processors]. The host fills them, and
 * updates them when a GPU is added or a peer link is enabled. Row A of a relation is a set of processors
 * (base.h). The decisions of thrash.h and residency.h only read the relations.
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
	/* processors whose memory A can map, A itself included */
	uint64_t can_access[UVMP_PROCS_MAX];
	/* NVLink or C2C neighbours of A, never A; symmetric in the driver */
	uint64_t fast_link[UVMP_PROCS_MAX];
	/* processors with hardware atomics on A's memory, A included; in the driver they can all access it */
	uint64_t native_atomics[UVMP_PROCS_MAX];
	/* other parts of the partitioned (SMC) GPU that A is a part of, never A; 0 for the CPU, and all 0
	 * without partitioned GPUs */
	uint64_t smc[UVMP_PROCS_MAX];
	uint64_t no_memory; /* processors without managed memory of their own; never the CPU */
};

/* Sets the relations of the CPU and `gpus` GPUs: the CPU accesses its own memory, each GPU accesses all
 * memory, and the memory of other GPUs over fast links, with atomics. All processors have memory; no GPU is
 * partitioned. UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_RANGE: gpus above 63. O(GPUs). */
UVMP_API enum uvmp_status uvmp_processors_init(struct uvmp_processors *processors, uint32_t gpus);

/* True if count is in range, all sets name existing processors, each row includes or excludes its own
 * processor as documented above, and the CPU has memory and no SMC siblings. Symmetry and subsets are not
 * required. False for NULL. At most 64 steps. */
UVMP_API bool uvmp_processors_is_valid(const struct uvmp_processors *processors);

/* The processors that can map the memory of `processor`, the transpose of can_access. The empty set if
 * processors is NULL or not valid or the processor does not exist (UVMP_PROC_NONE). At most 64 steps
 * beside the check. */
UVMP_API uint64_t uvmp_accessible_from(const struct uvmp_processors *processors, uint32_t processor);

/* The candidate closest to `processor`, in this order: `processor` itself, an SMC sibling, a fast-link
 * neighbour, a processor whose memory it can map, any other processor. Among equals the lowest GPU precedes
 * the CPU; in the last group the CPU comes first. Candidates that do not exist are ignored. UVMP_PROC_NONE if
 * there is no candidate, processors is NULL or not valid, or `processor` does not exist. O(1), plus the
 * check. */
UVMP_API uint32_t uvmp_closest_processor(const struct uvmp_processors *processors, uint32_t processor,
					 uint64_t candidates);

#ifdef __cplusplus
}
#endif
#endif
