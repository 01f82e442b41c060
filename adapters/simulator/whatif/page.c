/* The page of `uvmsim whatif`: what moved, why, what other policies would have moved, the optimum, and what is not known. */
#include "whatif/whatif.h"

#include <inttypes.h>
#include <string.h>

#include "cli.h"

#define ROWS_SHOWN 12u
#define MIB	   1048576.0
#define MS	   1e6

static const char *const cause_names[IMPORT_CAUSES] = {"unknown cause", "calls",    "faults",
						       "prefetching",	"eviction", "access counters"};

static void print_range(FILE *out, const char *format, const struct whatif_spread *spread, double unit)
{
	char text[64];

	if (spread->least == spread->most)
		snprintf(text, sizeof(text), "%.1f", (double)spread->median / unit);
	else
		snprintf(text, sizeof(text), "%.1f (%.1f..%.1f)", (double)spread->median / unit,
			 (double)spread->least / unit, (double)spread->most / unit);
	fprintf(out, format, text);
}

/* -- what moved -- */

static void print_way(const struct import_told *told, size_t way, FILE *out)
{
	uint64_t bytes = 0, copies = 0;
	const char *before = ": ";

	for (size_t i = 0; i < IMPORT_CAUSES; i++) {
		bytes += told->moved[way][i].bytes;
		copies += told->moved[way][i].copies;
	}
	fprintf(out, "  to the %s  %.1f MiB in %" PRIu64 " cop%s", way == IMPORT_TO_GPU ? "GPU" : "CPU",
		(double)bytes / MIB, copies, copies == 1 ? "y" : "ies");
	for (size_t i = 0; i < IMPORT_CAUSES; i++) {
		if (told->moved[way][i].copies == 0)
			continue;
		fprintf(out, "%s%s %.1f", before, cause_names[i], (double)told->moved[way][i].bytes / MIB);
		before = ", ";
	}
	fputc('\n', out);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void print_recorded(const struct whatif_input *input, FILE *out)
{
	const struct import_told *told = &input->told;

	fprintf(out,
		"\nWhat moved, as recorded\n  faults      GPU %" PRIu64 " of %" PRIu64
		" page%s, CPU %" PRIu64,
		told->gpu_faults_counted, told->gpu_faults, plural(told->gpu_faults), told->cpu_faults);
	fprintf(out, "; %" PRIu64 " kernel%s; %.3f ms\n", told->kernels, plural(told->kernels),
		(double)(told->last_ns - told->first_ns) / MS);
	if (told->migrations == 0)
		fputs("  copies      none are in the profile\n", out);
	for (size_t way = 0; way < IMPORT_WAYS && told->migrations > 0; way++)
		print_way(told, way, out);
	for (size_t i = 0; i < told->hots && i < 3; i++)
		fprintf(out, "  %-12s0x%" PRIx64 "  %.1f MiB moved, %" PRIu64 " faults\n",
			i == 0 ? "hottest" : "", told->hot[i].base, (double)told->hot[i].bytes / MIB,
			told->hot[i].faults);
}

static void print_simulated(const struct whatif_runs *runs, FILE *out)
{
	const struct sim_result *result = &whatif_run_of(runs, 0, 0, 0)->result;

	fprintf(out,
		"\nWhat moves under %s\n  accesses    %" PRIu64 " to %" PRIu64
		" pages\n  to the GPU  %.1f MiB in %" PRIu64 " copies for %" PRIu64
		" far faults\n  to the CPU  %.1f MiB in %" PRIu64 " copies\n",
		runs->request->policies.policy[0].given, result->accesses, result->pages_touched,
		(double)result->h2d_bytes / MIB, result->h2d_copies, result->far_faults,
		(double)result->d2h_bytes / MIB, result->d2h_copies);
}

/* -- why -- */

static void print_sentence(FILE *out, const char *text)
{
	fputs("  ", out);
	cli_print_words(2, text, out);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole != 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_recorded_why(const struct import_told *told, FILE *out)
{
	uint64_t in = 0, out_bytes = told->moved[IMPORT_TO_CPU][IMPORT_CAUSE_EVICTION].bytes;
	char text[320];

	for (size_t i = 0; i < IMPORT_CAUSES; i++)
		in += told->moved[IMPORT_TO_GPU][i].bytes;
	if (in == 0)
		return;
	if (told->moved[IMPORT_TO_GPU][IMPORT_CAUSE_UNKNOWN].bytes == in)
		snprintf(text, sizeof(text), "The profile does not state causes.");
	else
		snprintf(text, sizeof(text),
			 "Of the bytes moved to the GPU, %.0f %% served faults, %.0f %% were prefetched by the "
			 "driver, %.0f %% were moved by calls.",
			 percent(told->moved[IMPORT_TO_GPU][IMPORT_CAUSE_COHERENCE].bytes, in),
			 percent(told->moved[IMPORT_TO_GPU][IMPORT_CAUSE_PREFETCH].bytes, in),
			 percent(told->moved[IMPORT_TO_GPU][IMPORT_CAUSE_USER].bytes, in));
	print_sentence(out, text);
	if (out_bytes == 0)
		return;
	snprintf(text, sizeof(text),
		 "%.1f MiB were evicted; of the same blocks up to %.1f MiB, %.0f %% of the evicted bytes, were migrated "
		 "to the GPU again later.",
		 (double)out_bytes / MIB, (double)told->returned_bytes / MIB, percent(told->returned_bytes, out_bytes));
	print_sentence(out, text);
}

static void print_why(const struct whatif_runs *runs, const char *explained, FILE *out)
{
	const struct sim_result *result = &whatif_run_of(runs, runs->input->readings - 1u, 0, 0)->result;
	char text[320];

	fputs("\nWhy\n", out);
	print_recorded_why(&runs->input->told, out);
	snprintf(text, sizeof(text),
		 "Under %.80s%s, %" PRIu64 " pages are prefetched (pages of zeros, too), and %.0f %% of these are never "
		 "touched; %" PRIu64 " pages are evicted, and %" PRIu64 " are migrated again.",
		 runs->request->policies.policy[0].given,
		 runs->input->reading[runs->input->readings - 1u].is_most ? ", if all that migrated was touched" : "",
		 result->pages_prefetched,
		 percent(result->pages_prefetched_unused, result->pages_prefetched), result->pages_evicted,
		 result->pages_thrashed);
	print_sentence(out, text);
	for (const char *line = explained; line && *line != '\0';) {
		size_t length = strcspn(line, "\n");

		fprintf(out, "  %.*s\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
}

/* -- policies -- */

static void print_verdict(const struct whatif_runs *runs, const struct whatif_verdict *verdict, size_t rank,
			  FILE *out)
{
	const struct cli_policy *policy = &runs->request->policies.policy[verdict->policy];
	bool has_model = runs->request->has_model;

	fprintf(out, "  %3zu %-20.20s ", rank, policy->preset ? policy->preset : policy->given);
	if (verdict->error) {
		fprintf(out, "cannot run: %.60s\n", verdict->error);
		return;
	}
	print_range(out, "%24s ", &verdict->cost, has_model ? MS : MIB);
	print_range(out, "%22s ", &verdict->permille, 1000.0 / 100.0);
	if (has_model)
		fprintf(out, "%9.1f ", (double)(verdict->to_gpu.median + verdict->to_cpu.median) / MIB);
	fprintf(out, "%9" PRIu64 "  %s\n", verdict->far_faults.median,
		verdict->policy == 0 ? "baseline" : whatif_judgement(verdict));
}

/* The first rows, the baseline and auto. */
static bool is_shown(const struct whatif_runs *runs, const struct whatif_verdict *verdict, size_t rank)
{
	const char *preset = runs->request->policies.policy[verdict->policy].preset;

	return rank < ROWS_SHOWN || verdict->policy == 0 || (preset && strcmp(preset, "auto") == 0);
}

static void print_policies(const struct whatif_runs *runs, const struct whatif_verdict *verdict, FILE *out)
{
	size_t count = runs->request->policies.count, hidden = 0;
	bool has_model = runs->request->has_model;

	fprintf(out, "\nPolicies, the best first: %s, and percent of %s's\n",
		has_model ? "time in ms" : "MiB moved", runs->request->policies.policy[0].given);
	fprintf(out, "  (median, least..most of %zu reading%s and ", runs->input->readings,
		plural(runs->input->readings));
	if (runs->request->draws != 0)
		fprintf(out, "the model with %" PRIu32 " draw%s of its constants)\n", runs->request->draws,
			plural(runs->request->draws));
	else
		fprintf(out, "%zu seed%s)\n", runs->repeats, plural(runs->repeats));
	fprintf(out, "      %-20s %24s %22s %s%9s\n", "policy", has_model ? "ms" : "MiB", "% of the baseline",
		has_model ? "      MiB " : "", "faults");
	for (size_t i = 0; i < count; i++) {
		if (is_shown(runs, &verdict[i], i))
			print_verdict(runs, &verdict[i], i + 1u, out);
		else
			hidden++;
	}
	if (hidden > 0)
		fprintf(out, "  %zu more are in --format csv and json\n", hidden);
	fprintf(out, "  better, worse: in every run; not certain: that depends on the reading or the %s\n",
		runs->request->draws != 0 ? "constants" : "seed");
}

/* -- the optimum -- */

static void print_optimum(const struct whatif_runs *runs, FILE *out)
{
	fputs("\nBelady's optimum, pages of 4 KiB, if each page that is used must move to the GPU\n", out);
	for (size_t i = 0; i < runs->input->readings; i++) {
		const struct bound_level *level = &whatif_bound_of(runs, i)->bound.level[0];
		const struct sim_result *base = &whatif_run_of(runs, i, 0, 0)->result;

		fprintf(out, "  %-28s%.1f MiB; once each page %.1f MiB; %s %.1f MiB\n",
			runs->input->readings == 1	  ? "all accesses"
			: runs->input->reading[i].is_most ? "all that migrated"
							  : "pages that faulted",
			(double)level->h2d_bytes / MIB, (double)level->touched_bytes / MIB,
			runs->request->policies.policy[0].given, (double)base->h2d_bytes / MIB);
	}
}

static void print_check(const struct whatif_runs *runs, FILE *out)
{
	const struct import_told *told = &runs->input->told;
	uint64_t in = 0, least = UINT64_MAX, most = 0;
	char text[320];

	for (size_t i = 0; i < IMPORT_CAUSES; i++)
		in += told->moved[IMPORT_TO_GPU][i].bytes;
	for (size_t i = 0; i < runs->input->readings; i++) {
		uint64_t bytes = whatif_run_of(runs, i, 0, 0)->result.h2d_bytes;

		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
	}
	if (in == 0)
		return;
	snprintf(text, sizeof(text),
		 "The profile has %.1f MiB to the GPU, and %.80s moves %.1f..%.1f MiB here. If these figures are "
		 "close, the runs resemble the recorded one, and the ranking can be relied on.",
		 (double)in / MIB, runs->request->policies.policy[0].given, (double)least / MIB,
		 (double)most / MIB);
	print_sentence(out, text);
}

void whatif_print_page(const struct whatif_runs *runs, const struct whatif_verdict *verdict,
		       const char *explained, FILE *out)
{
	const struct sim_result *base = &whatif_run_of(runs, 0, 0, 0)->result;
	const char *limit;

	fprintf(out, "%s, %s%s%s: GPU memory %.1f MiB, managed footprint %.1f MiB\n", runs->input->path,
		runs->input->format, runs->request->has_model ? ", " : "",
		runs->request->has_model ? runs->request->model.name : "", (double)base->memory_bytes / MIB,
		(double)base->footprint_bytes / MIB);
	if (runs->input->told.is_profile)
		print_recorded(runs->input, out);
	else
		print_simulated(runs, out);
	print_why(runs, explained, out);
	print_policies(runs, verdict, out);
	print_optimum(runs, out);
	fputs("\nNot told\n", out);
	if (runs->input->told.is_profile)
		print_check(runs, out);
	for (size_t i = 0; (limit = whatif_limit(runs, i)) != NULL; i++)
		print_sentence(out, limit);
}
