/* The files that show runs; outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <string.h>

#include "cli.h"

FILE *outputs_create(const char *option, const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		say_error("%s %s: %s", option, path, strerror(errno));
	return file;
}

bool outputs_end(const char *option, const char *path, FILE *file)
{
	bool is_bad = ferror(file) != 0;
	int error = is_bad ? EIO : 0;

	if (fclose(file) == 0 && !is_bad)
		return true;
	error = is_bad && errno == 0 ? error : errno;
	say_error("%s %s: %s", option, path, strerror(error));
	return false;
}

int outputs_open(struct outputs *o)
{
	if (o->report_path && !(o->report_file = outputs_create("--report", o->report_path)))
		return CLI_BAD_INPUT;
	if (!o->timeline_path)
		return CLI_DONE;
	o->timeline_file = outputs_create("--timeline", o->timeline_path);
	if (!o->timeline_file)
		return CLI_BAD_INPUT;
	o->timeline = timeline_open(o->timeline_file);
	return o->timeline ? CLI_DONE : say_error("out of memory");
}

void outputs_observe(const struct outputs *o, struct collector *collector, struct observers *observers)
{
	if (o->timeline)
		observe_add(observers, timeline_observer(o->timeline));
	if (!collector)
		return;
	collector_init(collector);
	observe_add(observers, collector_observer(collector));
}

static void describe_timeline(struct timeline *timeline, const struct report *report)
{
	timeline_say(timeline, "version", UVMSIM_VERSION);
	timeline_say(timeline, "workload", report->workload);
	timeline_say(timeline, "gpu", report->gpu ? report->gpu : "");
	timeline_say(timeline, "policy", report->policy);
	timeline_say(timeline, "complete", report->is_complete ? "true" : "false");
	timeline_say_number(timeline, "seed", report->seed);
	timeline_say_number(timeline, "time_ns", report->times.time_ns);
	timeline_say_number(timeline, "batches", report->result.batches);
	timeline_say_number(timeline, "evictions", report->result.evictions);
	timeline_say_number(timeline, "replays", report->result.replays);
	timeline_say_number(timeline, "h2d_bytes", report->result.h2d_bytes);
	timeline_say_number(timeline, "d2h_bytes", report->result.d2h_bytes);
}

/* Runs without pictures, the repetitions of others not counted. */
static uint64_t not_drawn(const struct report *report, size_t count)
{
	uint64_t number = 0;

	for (size_t i = 0; i < count; i++)
		number += !report[i].collector && report[i].draw == 0 && report[i].seed == report[0].seed;
	return number;
}

static void write_report(struct outputs *o, const struct report *report, size_t count)
{
	struct html_page page = {.command = o->command, .report = report, .reports = count};

	page.not_drawn = not_drawn(report, count);
	if (!html_write(&page, o->report_file))
		say_error("--report %s: out of memory", o->report_path);
}

void outputs_write(struct outputs *o, const struct report *report, size_t count)
{
	if (o->timeline && count > 0)
		describe_timeline(o->timeline, report);
	if (o->report_file && count > 0)
		write_report(o, report, count);
}

int outputs_close(struct outputs *o, int status)
{
	bool is_good = true;

	if (o->timeline) {
		timeline_close(o->timeline);
		is_good = outputs_end("--timeline", o->timeline_path, o->timeline_file);
	}
	if (o->report_file)
		is_good = outputs_end("--report", o->report_path, o->report_file) && is_good;
	return is_good ? status : CLI_BAD_INPUT;
}
