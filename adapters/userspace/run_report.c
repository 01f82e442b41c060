/* The report of a run, from what its processes left in shared memory. */
#include "run_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "quote.h"
#include "run_figures.h"

#define LISTED_MOST  16u /* processes in the table */
#define THRASH_TIMES 20u /* pages moved in, relative to managed memory: above this the pages circle */

/* -- over all processes -- */

static bool has_managed(const struct run_slot *slot)
{
	return slot->stats.peak_managed_bytes != 0;
}

static bool has_used(const struct run_slot *slot)
{
	return run_has_used(&slot->stats);
}

/* Processes that used managed memory, and the sums. The program has ended. */
static uint32_t sum_up(const struct run_shared *shared, struct uvmp_pager_stats *sum)
{
	struct uvmp_pager_stats stats[RUN_PROCESSES];

	return run_sum(stats, run_read(shared, stats, true), sum);
}

/* -- unmanaged memory -- */

struct reason {
	const char *key, *text;
};

static const struct reason reasons[RUN_REASONS] = {
	[RUN_SMALL] = {"below_threshold", "below the threshold (of a page and more)"},
	[RUN_BEYOND] = {"beyond_managed", "beyond --managed"},
	[RUN_REFUSED] = {"refused", "no address space, or too many allocations"},
	[RUN_PAGERLESS] = {"no_pager", "the process has no pager"},
	[RUN_FIXED] = {"fixed", "mapped at an address that the program names"},
	[RUN_RESERVED] = {"reserved", "reserved without access (PROT_NONE)"},
	[RUN_PROTECTED] = {"protected", "mapped not for both reading and writing"},
	[RUN_FILE] = {"file", "mapping of a file"},
	[RUN_COMMON] = {"shared", "shared memory"},
	[RUN_HUGE] = {"huge_pages", "huge pages"},
	[RUN_SPECIAL] = {"special", "mapped as a stack, locked, or below 2 GiB"},
	[RUN_ALLOCATOR] = {"allocator", "small allocations of the program's allocator"},
	[RUN_LIBC] = {"c_library", "buffers of the C library"},
	[RUN_ALIGNED] = {"aligned", "aligned to more than 2 MiB"},
	[RUN_STACK] = {"stack", "allocated on a managed stack"},
	[RUN_OWN] = {"own_malloc", "the program defines malloc itself"},
};

/* Of sizes from the threshold on. */
static bool has_unmanaged(const struct run_shared *shared)
{
	for (uint32_t i = RUN_SMALL + 1u; i < RUN_REASONS; i++) {
		if (shared->unmanaged[i].count != 0)
			return true;
	}
	return false;
}

static void write_unmanaged(FILE *out, const struct run_shared *shared)
{
	bool is_first = true;

	for (uint32_t i = 0; i < RUN_REASONS; i++) {
		const struct run_unmanaged *u = &shared->unmanaged[i];

		if (u->count == 0)
			continue;
		if (is_first)
			fprintf(out,
				"  not managed, by reason: bytes asked for (freed or not), allocations and "
				"mappings\n");
		is_first = false;
		fprintf(out, "  %12s %9" PRIu64 "  %s\n", run_size(u->bytes).text, u->count, reasons[i].text);
	}
}

static void write_unmanaged_json(FILE *out, const struct run_shared *shared)
{
	fputs("  \"unmanaged\": {", out);
	for (uint32_t i = 0; i < RUN_REASONS; i++)
		fprintf(out, "%s\n    \"%s\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
			i == 0 ? "" : ",", reasons[i].key, shared->unmanaged[i].count,
			shared->unmanaged[i].bytes);
	fputs("\n  },\n", out);
}

/* -- the table -- */

static void write_processes(FILE *out, const struct run_report *report)
{
	uint32_t listed = 0, left = 0;

	fprintf(out, "  %8s %-15s %11s %9s %11s %11s %9s\n", "process", "", "managed", "faults", "in", "out",
		"stalled");
	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		const struct run_slot *slot = &report->shared->slot[i];
		const struct uvmp_pager_stats *s = &slot->stats;

		if (!has_used(slot))
			continue;
		if (listed == LISTED_MOST) {
			left++;
			continue;
		}
		listed++;
		fprintf(out, "  %8" PRId32 " %-15.15s %11s %9" PRIu64 " %11s %11s %7.2f s\n", slot->pid,
			slot->name, run_size(s->peak_managed_bytes).text, s->faults,
			run_size(s->bytes_in).text, run_size(s->bytes_out).text, (double)s->stall_ns / 1e9);
	}
	if (left != 0)
		fprintf(out, "  and %" PRIu32 " more; --format csv has all\n", left);
}

/* Log and trace are of one process. Says which, if there are others. */
static void write_recorded(FILE *out, const struct run_report *report)
{
	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		const struct run_slot *slot = &report->shared->slot[i];

		if (slot->is_recorded)
			fprintf(out, "  %-10s process %" PRId32 " (%.15s), the first: --log and --record have no other\n",
				"recorded", slot->pid, slot->name);
	}
}

static void write_verbose(FILE *out, const struct run_report *report)
{
	const char *at = report->features;

	fprintf(out, "  %-10s %s\n", "policy", report->policy);
	for (const char *head = "kernel"; *at; head = "") {
		size_t length = strcspn(at, "\n");

		fprintf(out, "  %-10s %.*s\n", head, (int)length, at);
		at += length + (at[length] == '\n');
	}
}

/* By process: the one that moved most, relative to its managed memory. */
static uint64_t moved_times(const struct run_shared *shared)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < run_slots(shared); i++) {
		const struct uvmp_pager_stats *s = &shared->slot[i].stats;
		uint64_t times = has_managed(&shared->slot[i]) ? s->bytes_in / s->peak_managed_bytes : 0;

		most = times > most ? times : most;
	}
	return most;
}

static void write_table(FILE *out, const struct run_report *report)
{
	struct uvmp_pager_stats sum;
	uint32_t managed = sum_up(report->shared, &sum);
	bool is_ram = strncmp(report->store, "file:", 5) != 0;
	const char *at_most = managed == 1 ? "" : " in one process";

	if (managed == 0)
		return;
	fprintf(out, "uvmp-run: %.2f s, %" PRIu32 " process%s with managed memory\n",
		(double)report->time_ns / 1e9, managed, managed == 1 ? "" : "es");
	fprintf(out, "  %-10s %s at most%s; budget %s\n", "managed", run_size(sum.peak_managed_bytes).text, at_most,
		run_size(report->budget_bytes).text);
	fprintf(out,
		"  %-10s %" PRIu64 " in %" PRIu64 " batches, %" PRIu64 " duplicates; %" PRIu64
		" first writes to clean pages\n",
		"faults", sum.faults, sum.batches, sum.duplicates, sum.write_faults);
	fprintf(out, "  %-10s %s in %" PRIu64 " copies, and %s of zeros\n", "in", run_size(sum.bytes_in).text,
		sum.copies_in, run_size(sum.bytes_zeroed).text);
	fprintf(out, "  %-10s %s in %" PRIu64 " writes; %s left unchanged\n", "out",
		run_size(sum.bytes_out).text, sum.copies_out, run_size(sum.bytes_dropped).text);
	fprintf(out, "  %-10s %" PRIu64 "\n", "evictions", sum.evictions);
	fprintf(out, "  %-10s %s%s at the end, %s at most%s (%s)\n", "store", run_size(sum.store_bytes).text,
		is_ram ? " of RAM" : "", run_size(sum.peak_store_bytes).text, at_most, report->store);
	fprintf(out, "  %-10s %s of managed memory at most%s; %s of all memory of the largest process\n", "resident",
		run_size(sum.peak_resident_bytes).text, at_most, run_size(report->peak_rss_bytes).text);
	fprintf(out, "  %-10s %.2f s, over all threads; the pager worked %.2f s\n", "stalled",
		(double)sum.stall_ns / 1e9, (double)sum.service_ns / 1e9);
	if (sum.thrash_ns != 0)
		fprintf(out,
			"  %-10s %.2f s: threads waited in %" PRIu64
			" %% of that time, and %s came again after eviction\n",
			"thrashing", (double)sum.thrash_ns / 1e9, sum.thrash_waited_ns * 100u / sum.thrash_ns,
			run_size(sum.thrash_bytes).text);
	write_unmanaged(out, report->shared);
	if (report->is_verbose)
		write_verbose(out, report);
	if (managed > 1) {
		write_processes(out, report);
		write_recorded(out, report);
	}
	if (run_slots_beyond(report->shared) != 0)
		fprintf(out, "  %" PRIu32 " more processes are not in these figures\n",
			run_slots_beyond(report->shared));
	if (moved_times(report->shared) > THRASH_TIMES)
		fprintf(out,
			"  moved %" PRIu64 " times what it managed: another --policy or --budget may suit it "
			"better\n",
			moved_times(report->shared));
}

/* -- JSON and CSV -- */

static void write_counts(FILE *out, const struct uvmp_pager_stats *stats, const char *indent)
{
	for (size_t c = 0; c < run_columns_count; c++)
		fprintf(out, "%s\"%s\": %" PRIu64 ",\n", indent, run_columns[c].key,
			run_figure(&run_columns[c], stats));
}

static void write_texts(FILE *out, const char *lines)
{
	char line[256];

	fputc('[', out);
	for (const char *between = ""; *lines; between = ", ") {
		size_t length = strcspn(lines, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, lines);
		fputs(between, out);
		quote_json(line, out);
		lines += length + (lines[length] == '\n');
	}
	fputc(']', out);
}

static void write_status(FILE *out, const struct run_report *report)
{
	if (WIFSIGNALED(report->status))
		fprintf(out, "  \"exit_status\": null,\n  \"signal\": %d,\n", WTERMSIG(report->status));
	else
		fprintf(out, "  \"exit_status\": %d,\n  \"signal\": null,\n", WEXITSTATUS(report->status));
	fprintf(out, "  \"core_dumped\": %s,\n",
		WIFSIGNALED(report->status) && WCOREDUMP(report->status) ? "true" : "false");
}

static void write_process(FILE *out, const struct run_slot *slot)
{
	fprintf(out, "    {\n      \"pid\": %" PRId32 ",\n      \"name\": ", slot->pid);
	quote_json(slot->name, out);
	fputs(",\n      \"error\": ", out);
	if (slot->error != 0)
		quote_json(slot->text, out);
	else
		fputs("null", out);
	fputs(",\n", out);
	write_counts(out, &slot->stats, "      ");
	fprintf(out, "      \"store_error\": %d\n    }", -slot->stats.store_error);
}

static void write_json(FILE *out, const struct run_report *report)
{
	struct uvmp_pager_stats sum;
	uint32_t managed = sum_up(report->shared, &sum);

	fputs("{\n  \"program\": [", out);
	for (char **argument = report->program; *argument; argument++) {
		fputs(argument == report->program ? "" : ", ", out);
		quote_json(*argument, out);
	}
	fputs("],\n  \"policy\": ", out);
	quote_json(report->policy, out);
	fputs(",\n  \"store\": ", out);
	quote_json(report->store, out);
	fprintf(out, ",\n  \"budget_bytes\": %" PRIu64 ",\n  \"threshold_bytes\": %" PRIu64 ",\n",
		report->budget_bytes, report->threshold_bytes);
	write_status(out, report);
	fprintf(out, "  \"time_ns\": %" PRIu64 ",\n  \"loaded\": %" PRIu32 ",\n  \"managed\": %" PRIu32 ",\n",
		report->time_ns, report->shared->loaded, managed);
	fprintf(out, "  \"unlisted\": %" PRIu32 ",\n", run_slots_beyond(report->shared));
	write_counts(out, &sum, "  ");
	fprintf(out, "  \"peak_rss_bytes\": %" PRIu64 ",\n", report->peak_rss_bytes);
	write_unmanaged_json(out, report->shared);
	fprintf(out, "  \"store_error\": %d,\n  \"features\": ", -sum.store_error);
	write_texts(out, report->features);
	fputs(",\n  \"processes\": [", out);
	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		fputs(i == 0 ? "\n" : ",\n", out);
		write_process(out, &report->shared->slot[i]);
	}
	fprintf(out, "%s]\n}\n", run_slots(report->shared) == 0 ? "" : "\n  ");
}

static void write_csv(FILE *out, const struct run_report *report)
{
	fputs("pid,name,error,policy,store,budget_bytes", out);
	for (size_t c = 0; c < run_columns_count; c++)
		fprintf(out, ",%s", run_columns[c].key);
	fputs(",store_error\n", out);
	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		const struct run_slot *slot = &report->shared->slot[i];

		fprintf(out, "%" PRId32 ",", slot->pid);
		quote_csv(slot->name, out);
		fputc(',', out);
		if (slot->error != 0)
			quote_csv(slot->text, out);
		fputc(',', out);
		quote_csv(report->policy, out);
		fputc(',', out);
		quote_csv(report->store, out);
		fprintf(out, ",%" PRIu64, report->budget_bytes);
		for (size_t c = 0; c < run_columns_count; c++)
			fprintf(out, ",%" PRIu64, run_figure(&run_columns[c], &slot->stats));
		fprintf(out, ",%d\n", -slot->stats.store_error);
	}
}

void run_report_write(FILE *out, const struct run_report *report)
{
	if (report->format == RUN_JSON)
		write_json(out, report);
	else if (report->format == RUN_CSV)
		write_csv(out, report);
	else
		write_table(out, report);
}

/* -- trouble -- */

static void say_nothing_managed(const struct run_report *report)
{
	const struct run_size_text threshold = run_size(report->threshold_bytes);
	struct uvmp_pager_stats sum;

	(void)sum_up(report->shared, &sum);
	if (sum.peak_managed_bytes != 0) {
		fprintf(stderr, "uvmp-run: the program did not touch its managed memory, %s at most\n",
			run_size(sum.peak_managed_bytes).text);
		write_unmanaged(stderr, report->shared);
	} else if (report->shared->loaded != 0 && has_unmanaged(report->shared)) {
		fprintf(stderr,
			"uvmp-run: no memory was managed, although allocations reached the threshold of %s\n",
			threshold.text);
		write_unmanaged(stderr, report->shared);
	} else if (report->shared->loaded != 0)
		fprintf(stderr,
			"uvmp-run: no memory was managed: no allocation reached the threshold of %s\n",
			threshold.text);
	else if (report->objection)
		fprintf(stderr, "uvmp-run: no memory was managed: %s %s\n", report->program[0],
			report->objection);
	else
		fprintf(stderr,
			"uvmp-run: no memory was managed: %s did not load libuvmp-preload.so (is it "
			"statically "
			"linked, or setuid?)\n",
			report->program[0]);
}

/* True: a plugin has ended a process, and is named; the program is not to blame. */
static bool say_plugins(const struct run_report *report)
{
	bool is_blamed = false;

	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		const struct run_slot *slot = &report->shared->slot[i];

		if (slot->plugin[0] == '\0')
			continue;
		fprintf(stderr, "uvmp-run: %s, in %s (process %" PRId32 ")\n", slot->plugin, slot->name, slot->pid);
		is_blamed = true;
	}
	return is_blamed;
}

static void say_failures(const struct run_report *report, const struct run_slot *slot, bool is_listed)
{
	if (slot->error != 0 && is_listed)
		fprintf(stderr, "uvmp-run: %s (process %" PRId32 ") ran without a pager: %s\n", slot->name,
			slot->pid, slot->text);
	if (slot->stats.store_error != 0)
		fprintf(stderr, "uvmp-run: %s (process %" PRId32 "): the store failed: %s: %s\n", slot->name,
			slot->pid, report->store, strerror(-slot->stats.store_error));
}

/* True: log and trace of the process are complete. */
static bool say_incomplete(const struct run_slot *slot)
{
	if (slot->log_error != 0)
		fprintf(stderr, "uvmp-run: the log is not complete: %s\n", strerror(slot->log_error));
	if (slot->stats.trace_error != 0)
		fprintf(stderr, "uvmp-run: the trace ends early: %s\n", strerror(-slot->stats.trace_error));
	return slot->log_error == 0 && slot->stats.trace_error == 0;
}

static void say_signal(const struct run_report *report)
{
	if (WIFSIGNALED(report->status) && (!report->is_quiet || WCOREDUMP(report->status)))
		fprintf(stderr, "uvmp-run: %s was ended by signal %d (%s)%s\n", report->program[0],
			WTERMSIG(report->status), strsignal(WTERMSIG(report->status)),
			WCOREDUMP(report->status) ? ", core dumped" : "");
}

/* Facts that JSON or CSV rows on the same standard error already contain are not repeated. */
bool run_report_trouble(const struct run_report *report)
{
	bool is_told = report->format != RUN_TABLE && !report->is_aside && !report->is_quiet;
	uint32_t managed = 0, failed = 0;
	bool is_blamed = say_plugins(report), is_complete = !is_blamed;

	for (uint32_t i = 0; i < run_slots(report->shared); i++) {
		const struct run_slot *slot = &report->shared->slot[i];

		managed += has_used(slot);
		failed += slot->error != 0;
		if (!is_told)
			say_failures(report, slot, failed <= LISTED_MOST);
		is_complete = say_incomplete(slot) && is_complete;
	}
	if (is_told || is_blamed)
		return is_complete;
	if (managed == 0 && (failed == 0 || has_unmanaged(report->shared)) && !report->is_alone &&
	    !report->is_quiet)
		say_nothing_managed(report);
	say_signal(report);
	return is_complete;
}
