/* Statistics of pagers as OpenMetrics text: one row per metric. Metrics of a time are in seconds, those of memory in bytes. */
#include "metrics.h"

#include <inttypes.h>
#include <string.h>

enum kind { COUNT, BYTES, TIME, LEVEL };

struct metric {
	const char *name;
	enum kind kind; /* LEVEL: bytes that rise and fall; others only rise */
	size_t offset;
	const char *help;
};

#define AT(field) offsetof(struct uvmp_pager_stats, field)
static const struct metric metrics[] = {
	{"faults", COUNT, AT(faults), "Missing pages reported by the kernel"},
	{"duplicate_faults", COUNT, AT(duplicates), "Faults merged with another one for the same page"},
	{"write_faults", COUNT, AT(write_faults), "First writes to clean pages"},
	{"touches", COUNT, AT(touches), "Touches of resident pages found by sampling"},
	{"batches", COUNT, AT(batches), "Batches of faults"},
	{"replays", COUNT, AT(replays), "Replays"},
	{"wakeups", COUNT, AT(wakeups), "Threads that retried at replays"},
	{"copies_in", COUNT, AT(copies_in), "Copies from the store"},
	{"copies_out", COUNT, AT(copies_out), "Writes to the store"},
	{"evictions", COUNT, AT(evictions), "Evictions"},
	{"in_bytes", BYTES, AT(bytes_in), "Bytes that came from the store"},
	{"zeroed_bytes", BYTES, AT(bytes_zeroed), "Bytes that arrived as zeros"},
	{"out_bytes", BYTES, AT(bytes_out), "Bytes written to the store"},
	{"dropped_bytes", BYTES, AT(bytes_dropped), "Bytes evicted without a write"},
	{"thrash_bytes", BYTES, AT(thrash_bytes),
	 "Bytes brought again after eviction while the process thrashed"},
	{"stall_seconds", TIME, AT(stall_ns),
	 "Time from the message of a fault until its thread was woken, over all faults"},
	{"service_seconds", TIME, AT(service_ns), "Time that the servicing thread worked"},
	{"waited_seconds", TIME, AT(waited_ns), "Time in which one thread or more waited"},
	{"thrash_seconds", TIME, AT(thrash_ns), "Time in which the process thrashed"},
	{"thrash_waited_seconds", TIME, AT(thrash_waited_ns),
	 "Time in which threads waited while the process thrashed"},
	{"budget_bytes", LEVEL, AT(budget_bytes), "Managed memory that may be resident"},
	{"managed_bytes", LEVEL, AT(managed_bytes), "Managed memory"},
	{"resident_bytes", LEVEL, AT(resident_bytes), "Resident managed memory"},
	{"store_bytes", LEVEL, AT(store_bytes), "Memory or file space of the store"},
	{"peak_managed_bytes", LEVEL, AT(peak_managed_bytes), "Managed memory at most"},
	{"peak_resident_bytes", LEVEL, AT(peak_resident_bytes), "Resident managed memory at most"},
	{"peak_store_bytes", LEVEL, AT(peak_store_bytes), "Memory or file space of the store at most"},
};

void metrics_family(FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
	fprintf(out, "# HELP %s %s\n", name, help);
}

void metrics_label(char labels[METRICS_LABELS_MOST], const char *key, const char *value)
{
	size_t used = strlen(labels);

	if (used + strlen(key) + 8u >= METRICS_LABELS_MOST)
		return;
	used += (size_t)snprintf(labels + used, METRICS_LABELS_MOST - used, "%s%s=\"", used ? "," : "", key);
	for (; *value && used + 4u < METRICS_LABELS_MOST; value++) {
		if (*value == '"' || *value == '\\')
			labels[used++] = '\\';
		labels[used++] = *value >= ' ' && *value <= '~' ? *value : '?';
	}
	memcpy(labels + used, "\"", 2);
}

static void write_sample(FILE *out, const struct metric *metric, const struct metrics_pager *pager)
{
	uint64_t value;

	memcpy(&value, (const uint8_t *)&pager->stats + metric->offset, sizeof(value));
	fprintf(out, "uvmp_pager_%s%s", metric->name, metric->kind == LEVEL ? "" : "_total");
	if (pager->labels[0])
		fprintf(out, "{%s}", pager->labels);
	if (metric->kind == TIME)
		fprintf(out, " %" PRIu64 ".%09" PRIu64 "\n", value / 1000000000u, value % 1000000000u);
	else
		fprintf(out, " %" PRIu64 "\n", value);
}

void metrics_pagers(FILE *out, const struct metrics_pager *pagers, size_t count)
{
	static const char *const unit[] = {
		[COUNT] = NULL, [BYTES] = "bytes", [TIME] = "seconds", [LEVEL] = "bytes"};

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		char name[64];

		snprintf(name, sizeof(name), "uvmp_pager_%s", metrics[i].name);
		metrics_family(out, name, metrics[i].kind == LEVEL ? "gauge" : "counter",
			       unit[metrics[i].kind], metrics[i].help);
		for (size_t p = 0; p < count; p++)
			write_sample(out, &metrics[i], &pagers[p]);
	}
}

void metrics_end(FILE *out)
{
	fputs("# EOF\n", out);
}
