/* parallel.h: tasks in processes of their own, several at a time. A task that crashes takes no other
 * with it. */
#ifndef UVMSIM_PARALLEL_H
#define UVMSIM_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

struct parallel {
	size_t count;	     /* tasks, started in order */
	unsigned jobs;	     /* at a time, at least 1 */
	size_t answer_bytes; /* plain data, nothing that points */
	void *context;
	/* In the task's process: fills *answer, which starts as zeros. */
	void (*run)(void *context, size_t index, void *answer);
	/* In the caller's process, when the task has ended, in any order. crash: NULL, or what became of the
	 * process. False: the later tasks are not needed; those that run are killed. */
	bool (*take)(void *context, size_t index, const void *answer, const char *crash);
};

/* Processors that this process may use. */
unsigned parallel_processors(void);
/* Until every task that matters has ended. After interrupt_catch a signal is passed on to the tasks, and no
 * other is started. False: no process could be started (errno); what has run was taken all the same. */
bool parallel_run(const struct parallel *work);

#endif
