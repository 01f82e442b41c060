/* untimed.h: one run of a source under a policy, without time.
 *
 * The engine of libuvmpolicy (service.h) decides; here its actions are performed and counted. Agents stall on
 * a fault until a replay finds their page; after every replay the agents that still lack their page fault again,
 * which causes duplicates.
 */
#ifndef UVMSIM_UNTIMED_H
#define UVMSIM_UNTIMED_H

#include "observe/observe.h"
#include "source.h"
#include "uvmpolicy/policy.h"

/* How much memory the GPU has. */
struct sim_memory {
	uint64_t bytes;		  /* 0: from oversub_percent */
	uint32_t oversub_percent; /* footprint in percent of memory, 1..10000 */
};

struct sim_result {
	uint64_t memory_bytes, footprint_bytes;
	uint64_t accesses; /* rows of the source */
	uint64_t faults_raw, faults_coalesced, duplicates, batches, replays;
	uint64_t far_faults, refaults;
	uint64_t h2d_bytes, h2d_copies, d2h_bytes, d2h_copies;
	uint64_t h2d_least_bytes, h2d_most_bytes, d2h_least_bytes, d2h_most_bytes; /* of one copy; 0: none */
	uint64_t cpu_faults;							   /* of the CPU, served */
	uint64_t pages_migrated, pages_prefetched, pages_prefetched_unused;
	uint64_t evictions, pages_evicted;
	uint64_t pages_touched;	  /* distinct pages: the compulsory traffic */
	uint64_t pages_thrashed;  /* that arrived again after an eviction, for any cause */
	uint64_t remote_accesses; /* of the GPU, to pages that are mapped on the CPU */
};

/* The decision log: one action a line (uvmpolicy/service.h), and with `has_completions` a line for its end behind each.
 * Actions end at once without time, else on the simulated clock. */
struct sim_log {
	FILE *file;	  /* NULL: no log */
	const char *name; /* for messages: of the file; NULL: none */
	bool has_completions;
};

/* The settings of a run. */
struct sim_run {
	const struct uvmp_policy *policy;
	struct sim_memory memory;
	uint64_t seed;
	struct sim_log log;
	uint64_t until_ns; /* with time: the run ends when the program's time passes this; 0: at its end */
	const struct observers *observers; /* NULL: none */
};

/* Runs the source to its end. False with `error` filled on bad input, too little memory for the policy, or a
 * policy that never services a fault; *result then holds what was counted so far. */
bool untimed_run(struct source *source, const struct sim_run *run, struct sim_result *result,
		 char error[SOURCE_ERROR_MAX]);

#endif
