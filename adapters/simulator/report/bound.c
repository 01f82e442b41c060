/* The bounds of a source, in all formats. */
#include "report_internal.h"

#include "quote.h"

#define LEVEL_FIELD(name, text, unit)                                                                        \
	{                                                                                                    \
#name, text, offsetof(struct bound_level, name), unit                                        \
	}

static const struct field level_fields[] = {
	LEVEL_FIELD(unit_bytes, "unit", AS_BYTES),
	LEVEL_FIELD(places, "units that fit into memory", AS_COUNT),
	LEVEL_FIELD(touched, "units touched", AS_COUNT),
	LEVEL_FIELD(touched_bytes, "moved to the GPU if once each", AS_BYTES),
	LEVEL_FIELD(misses, "optimum: misses", AS_COUNT),
	LEVEL_FIELD(h2d_bytes, "moved to the GPU", AS_BYTES),
	LEVEL_FIELD(left, "units evicted", AS_COUNT),
	LEVEL_FIELD(d2h_bytes, "moved to the CPU, all evicted", AS_BYTES),
	LEVEL_FIELD(written_back, "units evicted that were written", AS_COUNT),
	LEVEL_FIELD(written_back_bytes, "moved to the CPU, only written", AS_BYTES),
};

static uint64_t level_value(const struct bound_level *level, size_t field)
{
	uint64_t value;

	memcpy(&value, (const char *)level + level_fields[field].offset, sizeof(value));
	return value;
}

static void bound_json(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;

	fprintf(out, "{\"workload\": ");
	quote_json(report->workload, out);
	fprintf(out,
		", \"seed\": %llu, \"complete\": %s, \"memory_bytes\": %llu, \"footprint_bytes\": %llu, "
		"\"accesses\": %llu, \"units\": [",
		(unsigned long long)report->seed, report->is_complete ? "true" : "false",
		(unsigned long long)result->memory_bytes, (unsigned long long)result->footprint_bytes,
		(unsigned long long)result->accesses);
	for (uint32_t i = 0; i < result->levels; i++) {
		fputs(i > 0 ? ", {" : "{", out);
		for (size_t k = 0; k < COUNT(level_fields); k++)
			fprintf(out, "%s\"%s\": %llu", k > 0 ? ", " : "", level_fields[k].key,
				(unsigned long long)level_value(&result->level[i], k));
		fputc('}', out);
	}
	fputc(']', out);
	report_json_memory(&report->memory, out);
	fputs(", \"version\": \"" UVMSIM_VERSION "\"}\n", out);
}

static void bound_csv(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;

	fprintf(out, "workload,seed,complete,memory_bytes,footprint_bytes,accesses");
	for (size_t k = 0; k < COUNT(level_fields); k++)
		fprintf(out, ",%s", level_fields[k].key);
	fputs(",oversub_percent,memory_asked,version\n", out);
	for (uint32_t i = 0; i < result->levels; i++) {
		quote_csv(report->workload, out);
		fprintf(out, ",%llu,%d,%llu,%llu,%llu", (unsigned long long)report->seed, report->is_complete,
			(unsigned long long)result->memory_bytes, (unsigned long long)result->footprint_bytes,
			(unsigned long long)result->accesses);
		for (size_t k = 0; k < COUNT(level_fields); k++)
			fprintf(out, ",%llu", (unsigned long long)level_value(&result->level[i], k));
		report_csv_memory(&report->memory, out);
		fprintf(out, ",%s\n", UVMSIM_VERSION);
	}
}

static void bound_table(const struct bound_report *report, FILE *out)
{
	const struct bound_result *result = &report->result;
	char text[32];

	fprintf(out, "%-32s %s\n", "workload", report->workload);
	fprintf(out, "%-32s %llu\n", "seed", (unsigned long long)report->seed);
	report_print_mib(text, result->memory_bytes);
	fprintf(out, "%-32s %16s MiB\n", "GPU memory", text);
	report_print_mib(text, result->footprint_bytes);
	fprintf(out, "%-32s %16s MiB\n", "managed footprint", text);
	fprintf(out, "%-32s %16llu\n", "page accesses", (unsigned long long)result->accesses);
	fprintf(out, "\n%-32s", level_fields[0].text);
	for (uint32_t i = 0; i < result->levels; i++) {
		uint64_t kib = result->level[i].unit_bytes / 1024u;

		fprintf(out, " %12llu %ciB", (unsigned long long)(kib < 1024u ? kib : kib / 1024u),
			kib < 1024u ? 'K' : 'M');
	}
	fputc('\n', out);
	for (size_t k = 1; k < COUNT(level_fields); k++) {
		fprintf(out, "%-32s", level_fields[k].text);
		for (uint32_t i = 0; i < result->levels; i++) {
			uint64_t value = level_value(&result->level[i], k);

			report_print_mib(text, value);
			if (level_fields[k].unit == AS_BYTES)
				fprintf(out, " %12s MiB", text);
			else
				fprintf(out, " %12llu%s", (unsigned long long)value,
					i + 1 < result->levels ? "    " : "");
		}
		fputc('\n', out);
	}
	if (!report->is_complete)
		fprintf(out, "%-32s %16s\n", "complete", "no: the accesses up to the error");
}

void report_bound(const struct bound_report *report, enum report_format format, FILE *out)
{
	if (format == REPORT_JSON)
		bound_json(report, out);
	else if (format == REPORT_CSV)
		bound_csv(report, out);
	else
		bound_table(report, out);
}
