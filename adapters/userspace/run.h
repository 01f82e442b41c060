/* run.h: what uvmp-run tells the processes that it starts, by environment and a shared page, and what they tell it. */
#ifndef UVMP_RUN_H
#define UVMP_RUN_H

#include "pager.h"

#define RUN_BUDGET    "UVMP_RUN_BUDGET"	   /* bytes */
#define RUN_THRESHOLD "UVMP_RUN_THRESHOLD" /* bytes */
#define RUN_MANAGED   "UVMP_RUN_MANAGED"   /* bytes; unset: the pager's default */
#define RUN_STORE     "UVMP_RUN_STORE"
#define RUN_POLICY    "UVMP_RUN_POLICY"
#define RUN_THREADS   "UVMP_RUN_THREADS" /* that copy; unset: one */
#define RUN_LOG	      "UVMP_RUN_LOG"	  /* paths; the first process alone writes them */
#define RUN_TRACE     "UVMP_RUN_TRACE"
#define RUN_SHARED    "UVMP_RUN_SHARED"	  /* path of the file with struct run_shared */

#define RUN_PROCESSES 256u

/* One process; pid 0: free. It alone writes it. */
struct run_slot {
	int32_t pid;
	int32_t error; /* of creating the pager, negative errno */
	char text[200];
	struct uvmp_pager_stats stats;
};

struct run_shared {
	uint32_t first; /* 1: some process has the log and the trace */
	struct run_slot slot[RUN_PROCESSES];
};

#endif
