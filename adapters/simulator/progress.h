/* progress.h: one line on the terminal that shows how far a long run is, how fast, and how long it will take.
 *
 * The caller of runs calls progress_start before and progress_end after them; the code that does the work calls
 * progress_show now and then, cheap enough for every few thousand accesses. Nothing is shown when stderr is
 * no terminal, in the first second, or without progress_start. */
#ifndef UVMSIM_PROGRESS_H
#define UVMSIM_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_TEXT_MAX 128
#define PROGRESS_EVERY	  16384u /* accesses between two calls of progress_show, a power of two */

/* How far one run is. */
struct progress_at {
	uint64_t accesses;
	uint64_t done, total; /* of the whole, in any unit; total 0: not known */
	uint64_t kernels;     /* launched so far */
	uint64_t kernel_done,
		kernel_total; /* warps of the last one; before the first: of the workload's data, in any
	                                     * unit; total 0: not known */
};

/* The runs that have ended. */
struct progress_past {
	size_t runs, ended;	 /* how many there are; of them have ended */
	uint64_t ended_accesses; /* of these */
	uint64_t elapsed_ns;	 /* since the start */
	uint64_t kernel_ns;	 /* since the kernel of the only run was shown first */
};

/* `runs` runs follow, one after the other or at the same time. */
void progress_start(size_t runs);
/* Is standard error a terminal that shows progress? */
bool progress_is_on(void);
/* The line, at most a few times a second, for the `count` runs in progress. */
void progress_show(const struct progress_at *running, size_t count);
/* One run has ended, after `accesses` accesses. */
void progress_run_ended(uint64_t accesses);
/* Takes the line away. */
void progress_end(void);
/* In a process that does one of its parent's runs: the progress goes to *slot, for the parent to show. */
void progress_redirect(struct progress_at *slot);

/* The line as text. */
void progress_print(char text[PROGRESS_TEXT_MAX], const struct progress_at *running, size_t count,
		    const struct progress_past *past);

#endif
