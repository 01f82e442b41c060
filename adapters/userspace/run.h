/* run.h: data that uvmp-run and the processes it starts exchange, by environment and a shared page. */
#ifndef UVMP_RUN_H
#define UVMP_RUN_H

#include "pager.h"

#define RUN_BUDGET	"UVMP_RUN_BUDGET"    /* bytes */
#define RUN_THRESHOLD	"UVMP_RUN_THRESHOLD" /* bytes */
#define RUN_MANAGED	"UVMP_RUN_MANAGED"   /* bytes; unset: the pager's default */
#define RUN_THREADS	"UVMP_RUN_THREADS"   /* threads that copy; unset: the pager's default */
#define RUN_STORE	"UVMP_RUN_STORE"
#define RUN_POLICY	"UVMP_RUN_POLICY"
#define RUN_PLUGINS	"UVMP_RUN_PLUGINS" /* absolute paths, a line each; unset: none */
#define RUN_USER_MODE	"UVMP_RUN_USER_MODE"   /* 1: as for a user who may not handle faults of the kernel */
#define RUN_LOG		"UVMP_RUN_LOG"	       /* absolute paths; only the first process writes the files */
#define RUN_COMPLETIONS "UVMP_RUN_COMPLETIONS" /* 1: the log has completions */
#define RUN_TRACE	"UVMP_RUN_TRACE"
#define RUN_SAMPLE	"UVMP_RUN_SAMPLE"
#define RUN_REQUIRE	"UVMP_RUN_REQUIRE" /* 1: a process without a pager ends with RUN_NO_PAGER */
#define RUN_SHARED	"UVMP_RUN_SHARED"  /* path of the file with struct run_shared */

#define RUN_NO_PAGER 2 /* exit status of a process that must have a pager and cannot */

#define RUN_PROCESSES 256u /* that are reported separately; others are only counted */

/* A process that made a pager, or tried to, which alone writes it. */
struct run_slot {
	int32_t pid;
	int32_t error;	   /* of creating the pager, negative errno, with the reason in `text` */
	int32_t log_error; /* of writing the log, errno */
	bool is_recorded;  /* the log or the trace is of this process */
	char name[16];
	char text[236];
	char plugin[256]; /* which plugin ended the process, and how; else empty */
	struct uvmp_pager_stats stats; /* always up to date: uvmp_pager_show_stats */
};

/* Why an allocation or a mapping is not managed. All but the first concern sizes from the threshold
 * on. */
enum run_reason {
	RUN_SMALL,     /* below the threshold; a page and more */
	RUN_BEYOND,    /* more than --managed at a time */
	RUN_REFUSED,   /* the pager refuses it: no address space, or too many allocations */
	RUN_PAGERLESS, /* the process has no pager */
	RUN_FIXED,     /* mapped at an address given by the program */
	RUN_RESERVED,  /* mapped without access (PROT_NONE) */
	RUN_PROTECTED, /* mapped with another access than reading and writing */
	RUN_FILE,      /* mapping of a file */
	RUN_COMMON,    /* shared memory */
	RUN_HUGE,      /* of huge pages */
	RUN_SPECIAL,   /* stack, locked, or in the low 2 GiB */
	RUN_ALLOCATOR, /* mapped by an allocator for small allocations */
	RUN_LIBC,      /* buffer of the C library, which the kernel must reach */
	RUN_ALIGNED,   /* aligned to more than 2 MiB */
	RUN_STACK,     /* made on a stack that is managed itself */
	RUN_OWN,       /* the program defines malloc itself */
	RUN_REASONS
};

/* Sums over all processes and all requests, freed or not. */
struct run_unmanaged {
	uint64_t count, bytes;
};

struct run_shared {
	uint32_t first;	 /* 1: a process has the log, the trace, and the store's file by its name */
	uint32_t loaded; /* processes that the library was loaded into */
	uint32_t slots;	 /* requested; may exceed RUN_PROCESSES */
	struct run_unmanaged unmanaged[RUN_REASONS];
	struct run_slot slot[RUN_PROCESSES];
};

/* The pager configuration of the environment; the caller sets log, trace, plugins and thread_began. */
void run_config(struct uvmp_pager_config *config);
/* RUN_THRESHOLD; SIZE_MAX: not set. */
size_t run_threshold(void);

#endif
