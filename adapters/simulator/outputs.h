/* outputs.h: the files that show the runs of one command line, besides what is printed. */
#ifndef UVMSIM_OUTPUTS_H
#define UVMSIM_OUTPUTS_H

#include "html/html.h"
#include "observe/collector.h"
#include "observe/timeline.h"
#include "report.h"

#define OUTPUTS_PICTURES_MOST 12u /* runs of which pictures are collected, with about 4 MiB for each */

struct outputs {
	const char *timeline_path, *report_path; /* NULL: not asked for */
	struct html_command command;
	bool is_plotted; /* pictures are asked for in another way */
	/* private */
	FILE *timeline_file, *report_file;
	struct timeline *timeline;
};

static inline bool outputs_collects(const struct outputs *outputs)
{
	return outputs->report_path != NULL || outputs->is_plotted;
}

/* Opens the files that were asked for. Returns CLI_DONE, or CLI_BAD_INPUT after a report. */
int outputs_open(struct outputs *outputs);
/* Adds the observers that the files need to those of a run. The collector, which is cleared, gets its pictures; NULL:
 * none. */
void outputs_observe(const struct outputs *outputs, struct collector *collector, struct observers *observers);
/* Writes what is known after the runs. */
void outputs_write(struct outputs *outputs, const struct report *report, size_t count);
/* Ends and closes the files. Returns `status`, the exit status so far, or CLI_BAD_INPUT if a file could not be written. */
int outputs_close(struct outputs *outputs, int status);
/* Opens a file for writing, or closes one; `option` is for the report of an error. NULL, or false, after it. */
FILE *outputs_create(const char *option, const char *path);
bool outputs_end(const char *option, const char *path, FILE *file);

#endif
