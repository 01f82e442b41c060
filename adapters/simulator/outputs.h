/* outputs.h: the files that show the runs of one command line, besides what is printed. */
#ifndef UVMSIM_OUTPUTS_H
#define UVMSIM_OUTPUTS_H

#include "html/html.h"
#include "observe/collector.h"
#include "observe/timeline.h"
#include "output.h"
#include "report.h"

#define OUTPUTS_PICTURES_MOST 12u /* runs of which pictures are collected, with about 4 MiB for each */

struct outputs {
	const char *timeline_path, *report_path, *log_path; /* NULL: not asked for */
	struct html_command command;
	bool is_plotted; /* pictures are asked for in another way */
	/* private */
	struct output *timeline_output, *report_output, *log_output;
	FILE *log_file;
	struct timeline *timeline;
	bool has_results, has_failed; /* reports were kept; the page could not be written */
};

static inline bool outputs_collects(const struct outputs *outputs)
{
	return outputs->report_path != NULL || outputs->is_plotted;
}

/* Opens the files that were asked for, and *log. Returns CLI_DONE, or CLI_BAD_INPUT after a report; call outputs_close
 * after both. */
int outputs_open(struct outputs *outputs, FILE **log);
/* Adds the observers that the files need to those of a run. The collector, which is cleared, gets its pictures; NULL:
 * none. */
void outputs_observe(const struct outputs *outputs, struct collector *collector, struct observers *observers);
/* Writes what is known after the runs; `count` 0: nothing. */
void outputs_write(struct outputs *outputs, const struct report *report, size_t count);
/* Ends and closes the files: they take their places if the runs are done or were interrupted, and keep what was there if
 * nothing was counted. Returns `status`, the exit status so far, or CLI_BAD_INPUT if a file could not be written. */
int outputs_close(struct outputs *outputs, int status);
/* Writes a page to a file that was claimed. False after a report. */
bool outputs_write_page(struct output *output, const struct html_page *page);

#endif
