/* The files that show runs; outputs.h. */
#include "outputs.h"

#include "cli.h"

int outputs_open(struct outputs *o, FILE **log)
{
	FILE *file;

	if (o->report_path && !(o->report_output = output_claim("--report", o->report_path)))
		return CLI_BAD_INPUT;
	if (o->log_path && !(o->log_output = output_open("--log", o->log_path, &o->log_file)))
		return CLI_BAD_INPUT;
	*log = o->log_file;
	if (!o->timeline_path)
		return CLI_DONE;
	o->timeline_output = output_open("--timeline", o->timeline_path, &file);
	if (!o->timeline_output)
		return CLI_BAD_INPUT;
	o->timeline = timeline_open(file);
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

bool outputs_write_page(struct output *output, const struct html_page *page)
{
	FILE *file = output_begin(output) ? output_stream(output) : NULL;

	if (file && !html_write(page, file)) {
		say_error("--report: out of memory");
		return false;
	}
	return file != NULL;
}

void outputs_write(struct outputs *o, const struct report *report, size_t count)
{
	struct html_page page = {.command = o->command, .report = report, .reports = count};

	o->has_results = count > 0;
	if (o->timeline && count > 0)
		describe_timeline(o->timeline, report);
	if (!o->report_output || count == 0)
		return;
	page.not_drawn = not_drawn(report, count);
	o->has_failed = !outputs_write_page(o->report_output, &page);
}

/* What becomes of the files. */
static enum output_result result_of(const struct outputs *o, int status)
{
	if (status == CLI_DONE)
		return OUTPUT_COMPLETE;
	if (!o->has_results)
		return OUTPUT_DISCARD;
	return status == CLI_BAD_INPUT ? OUTPUT_PARTIAL : OUTPUT_COMPLETE; /* an interrupt keeps the results */
}

int outputs_close(struct outputs *o, int status)
{
	enum output_result result = result_of(o, status);
	/* A run that failed because the log could not be written has said so. */
	bool is_log_lost = status != CLI_DONE && o->log_file && ferror(o->log_file), is_good = true;

	if (o->timeline)
		timeline_close(o->timeline);
	is_good = output_close(o->timeline_output, result);
	is_good = output_close(o->report_output, o->has_failed ? OUTPUT_DISCARD : result) && !o->has_failed && is_good;
	is_good = output_close(o->log_output, is_log_lost ? OUTPUT_DISCARD : result) && is_good;
	return is_good ? status : CLI_BAD_INPUT;
}
