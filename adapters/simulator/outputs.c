/* The files that show runs; outputs.h. */
#include "outputs.h"

#include <errno.h>
#include <string.h>

#include "cli.h"

int outputs_open(struct outputs *o)
{
	if (!o->timeline_path)
		return CLI_DONE;
	o->timeline_file = fopen(o->timeline_path, "w");
	if (!o->timeline_file)
		return say_error("--timeline %s: %s", o->timeline_path, strerror(errno));
	o->timeline = timeline_open(o->timeline_file);
	return o->timeline ? CLI_DONE : say_error("out of memory");
}

void outputs_observe(const struct outputs *o, struct observers *observers)
{
	if (o->timeline)
		observe_add(observers, timeline_observer(o->timeline));
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

void outputs_write(struct outputs *o, const struct report *report, size_t count)
{
	if (o->timeline && count > 0)
		describe_timeline(o->timeline, report);
}

int outputs_close(struct outputs *o, int status)
{
	bool is_bad;

	if (!o->timeline)
		return status;
	timeline_close(o->timeline);
	is_bad = ferror(o->timeline_file) != 0;
	errno = is_bad ? EIO : 0;
	if ((fclose(o->timeline_file) != 0 || is_bad) && status == CLI_DONE)
		return say_error("--timeline %s: %s", o->timeline_path, strerror(errno));
	return status;
}
