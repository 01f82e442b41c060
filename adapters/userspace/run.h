/* run.h: what uvmp-run tells the processes that it starts, by environment and a shared page, and what they tell it. */
#ifndef UVMP_RUN_H
#define UVMP_RUN_H

#include "pager.h"

#define RUN_BUDGET    "UVMP_RUN_BUDGET"	   /* bytes */
#define RUN_THRESHOLD "UVMP_RUN_THRESHOLD" /* bytes */
#define RUN_MANAGED   "UVMP_RUN_MANAGED"   /* bytes; unset: the pager's default */
#define RUN_THREADS   "UVMP_RUN_THREADS"   /* that copy; unset: the pager's default */
#define RUN_STORE     "UVMP_RUN_STORE"
#define RUN_POLICY    "UVMP_RUN_POLICY"
#define RUN_USER_MODE "UVMP_RUN_USER_MODE" /* 1: as for a user who may not handle the kernel's faults */
#define RUN_LOG	      "UVMP_RUN_LOG"	/* absolute paths; the first process alone writes them */
#define RUN_TRACE     "UVMP_RUN_TRACE"
#define RUN_SAMPLE    "UVMP_RUN_SAMPLE"
#define RUN_SHARED    "UVMP_RUN_SHARED" /* path of the file with struct run_shared */

#define RUN_PROCESSES 256u /* that are told apart; how many more there were is counted */

/* A process that made a pager, or tried to. It alone writes it. */
struct run_slot {
	int32_t pid;
	int32_t error;	   /* of creating the pager, negative errno; `text` says which */
	int32_t log_error; /* of writing the log, errno */
	char name[16];
	char text[236];
	struct uvmp_pager_stats stats; /* up to date at any moment: uvmp_pager_show_stats */
};

struct run_shared {
	uint32_t first;	 /* 1: some process has the log, the trace, and the store's file by its name */
	uint32_t loaded; /* processes that the library was loaded into */
	uint32_t slots;	 /* that were asked for; may be more than there are */
	struct run_slot slot[RUN_PROCESSES];
};

/* The pager that the environment asks for; log, trace and thread_began are the caller's to set. */
void run_config(struct uvmp_pager_config *config);
/* RUN_THRESHOLD; SIZE_MAX: not set. */
size_t run_threshold(void);

#endif
