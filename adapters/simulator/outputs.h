/* outputs.h: the files that show the runs of one command line, besides what is printed. */
#ifndef UVMSIM_OUTPUTS_H
#define UVMSIM_OUTPUTS_H

#include "observe/timeline.h"
#include "report.h"

struct outputs {
	const char *timeline_path; /* NULL: not asked for */
	/* private */
	FILE *timeline_file;
	struct timeline *timeline;
};

/* Opens the files that were asked for. Returns CLI_DONE, or CLI_BAD_INPUT after a report. */
int outputs_open(struct outputs *outputs);
/* Adds the observers that the files need to those of a run. */
void outputs_observe(const struct outputs *outputs, struct observers *observers);
/* Writes what is known after the runs. */
void outputs_write(struct outputs *outputs, const struct report *report, size_t count);
/* Ends and closes the files. Returns `status`, the exit status so far, or CLI_BAD_INPUT if a file could not be written. */
int outputs_close(struct outputs *outputs, int status);

#endif
