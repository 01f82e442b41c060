/* measured.h: faults that were measured on a real GPU, and the decisions of the library at the same faults.
 *
 * File format (docs/measured.md has an example): first line `uvmp-measured 1`; `#` starts a comment; words
 * are separated by one blank. All pages are pages of 4 KiB of one aligned block of 2 MiB, 0..511; numbers are
 * decimal.
 *
 *   program NAME                    a new run: nothing of the block is resident anywhere
 *   touch cpu FIRST PAGES F,F,...   the host touches pages FIRST..FIRST+PAGES-1 for the first time, one after
 * the other, and faults exactly at F,F,... (nothing is copied: the next faulting pages show which pages arrived with each)
 *   fault cpu|gpu PAGE              one fault, followed by all that moved because of it:
 *   copy d2h|h2d FIRST PAGES        one copy, in ascending order, towards the processor that faulted
 */
#ifndef UVMSIM_MEASURED_H
#define UVMSIM_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "uvmpolicy/policy.h"

#define MEASURED_GPU	  1u
#define MEASURED_NAME_MAX 48

struct measured_fault {
	size_t program;	  /* index into measured.program */
	uint32_t proc;	  /* the faulting processor: UVMP_CPU or MEASURED_GPU */
	uint32_t page;	  /* the faulting page */
	bool is_touch;	  /* part of a `touch`: next is known, moved is not */
	uint32_t next;	  /* touch: page of the next fault; for the last one the end of the touched pages */
	uint32_t end;	  /* touch: the end of the touched pages */
	uvmp_mask moved;  /* pages that were copied */
	uvmp_mask starts; /* first page of each copy */
};

struct measured {
	struct measured_fault *fault;
	size_t faults, faults_capacity;
	char (*program)[MEASURED_NAME_MAX];
	size_t programs, programs_capacity;
	char error[512];
};

/* Appends the file to *measured (zeroed before the first). False with measured->error `FILE:LINE: cause`. */
bool measured_read(FILE *in, const char *name, struct measured *measured);
void measured_free(struct measured *measured);

/* The block as one program has left it, and the prefetcher's state. */
struct measured_model {
	struct uvmp_prefetch_params params;
	struct uvmp_prefetch_state state;
	/* private states of the prefetcher; nothing is evicted, so the block needs none */
	uint64_t range[UVMP_PREFETCH_STATE_MAX / 8u];
	uint64_t processor[2][UVMP_PREFETCH_STATE_MAX / 8u];
	struct uvmp_tree tree;
	uint64_t random;
	uvmp_mask resident[2]; /* on the CPU, on the GPU */
};

struct measured_verdict {
	uvmp_mask before;     /* resident on the faulting processor, at the fault */
	uvmp_mask decided;    /* the pages that the library would move: faulting and prefetched */
	uvmp_mask starts;     /* first page of each copy that this takes */
	uint32_t next;	      /* touch: where the walk would fault next, end if nowhere */
	bool agrees;	      /* the same pages; touch: the same next fault */
	bool has_same_copies; /* the same copies too; always true for touch, which copies nothing */
};

void measured_start(struct measured_model *model, const struct uvmp_policy *policy);
/* Judges one fault, then sets residency to the measured one, so that one miss does not cause later ones. */
enum uvmp_status measured_judge(struct measured_model *model, const struct measured_fault *fault,
				struct measured_verdict *verdict);

#endif
