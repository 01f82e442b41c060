/* The verdicts of `uvmsim whatif` as JSON and CSV. Keys are only ever added. */
#include "whatif/whatif.h"

#include <inttypes.h>

#include "quote.h"

#ifndef UVMSIM_VERSION
#define UVMSIM_VERSION UVMP_VERSION_STRING
#endif

static const char *const causes[IMPORT_CAUSES] = {"unknown",  "user",	  "coherence",
						  "prefetch", "eviction", "access_counters"};

static void put_key_text(const char *key, const char *text, FILE *out)
{
	fprintf(out, "\"%s\": ", key);
	if (text)
		quote_json(text, out);
	else
		fputs("null", out);
	fputs(", ", out);
}

static void put_spread(const char *key, const struct whatif_spread *spread, FILE *out)
{
	fprintf(out, ", \"%s_least\": %" PRIu64 ", \"%s_median\": %" PRIu64 ", \"%s_most\": %" PRIu64, key,
		spread->least, key, spread->median, key, spread->most);
}

static void put_told(const struct import_told *told, FILE *out)
{
	fprintf(out,
		"\"recorded\": {\"gpu_faults\": %" PRIu64 ", \"gpu_faults_counted\": %" PRIu64
		", \"cpu_faults\": %" PRIu64 ", \"kernels\": %" PRIu64 ", \"duration_ns\": %" PRIu64
		", \"migrations\": %" PRIu64 ", \"returned_bytes\": %" PRIu64,
		told->gpu_faults, told->gpu_faults_counted, told->cpu_faults, told->kernels,
		told->last_ns - told->first_ns, told->migrations, told->returned_bytes);
	for (size_t way = 0; way < IMPORT_WAYS; way++)
		for (size_t i = 0; i < IMPORT_CAUSES; i++)
			fprintf(out, ", \"%s_%s_bytes\": %" PRIu64, way == IMPORT_TO_GPU ? "h2d" : "d2h",
				causes[i], told->moved[way][i].bytes);
	fputs(", \"hottest\": [", out);
	for (size_t i = 0; i < told->hots; i++)
		fprintf(out,
			"%s{\"block\": \"0x%" PRIx64 "\", \"bytes\": %" PRIu64 ", \"faults\": %" PRIu64 "}",
			i > 0 ? ", " : "", told->hot[i].base, told->hot[i].bytes, told->hot[i].faults);
	fputs("]}, ", out);
}

static const char *name_of(const struct whatif_runs *runs, const struct whatif_verdict *verdict)
{
	return runs->request->policies.policy[verdict->policy].given;
}

static void put_verdict(const struct whatif_runs *runs, const struct whatif_verdict *verdict, size_t rank,
			FILE *out)
{
	fputs(rank > 1 ? ", {" : "{", out);
	put_key_text("policy", name_of(runs, verdict), out);
	put_key_text("error", verdict->error, out);
	fprintf(out, "\"rank\": %zu, \"verdict\": ", rank);
	quote_json(verdict->error	  ? "failed"
		   : verdict->policy == 0 ? "baseline"
					  : whatif_judgement(verdict),
		   out);
	fprintf(out, ", \"runs\": %zu, \"better\": %zu, \"worse\": %zu", verdict->pairs, verdict->better,
		verdict->worse);
	put_spread(runs->request->has_model ? "time_ns" : "moved_bytes", &verdict->cost, out);
	put_spread("permille", &verdict->permille, out);
	put_spread("h2d_bytes", &verdict->to_gpu, out);
	put_spread("d2h_bytes", &verdict->to_cpu, out);
	put_spread("far_faults", &verdict->far_faults, out);
	put_spread("above_optimum_permille", &verdict->above, out);
	fputc('}', out);
}

static void put_readings(const struct whatif_runs *runs, FILE *out)
{
	fputs("\"readings\": [", out);
	for (size_t i = 0; i < runs->input->readings; i++) {
		const struct bound_result *bound = &whatif_bound_of(runs, i)->bound;

		fprintf(out,
			"%s{\"touched\": \"%s\", \"accesses\": %" PRIu64 ", \"touched_bytes\": %" PRIu64
			", \"optimum_h2d_bytes\": %" PRIu64 ", \"optimum_d2h_bytes\": %" PRIu64 "}",
			i > 0 ? ", " : "",
			runs->input->reading[i].is_most		    ? "migrated"
			: whatif_bound_of(runs, i)->has_faults_only ? "faults"
								    : "accesses",
			bound->accesses, bound->level[0].touched_bytes, bound->level[0].h2d_bytes,
			bound->level[0].d2h_bytes);
	}
	fputs("], ", out);
}

void whatif_print_json(const struct whatif_runs *runs, const struct whatif_verdict *verdict, FILE *out)
{
	const struct sim_result *base = &whatif_run_of(runs, 0, 0, 0)->result;
	const char *limit;

	fputc('{', out);
	put_key_text("input", runs->input->path, out);
	put_key_text("format", runs->input->format, out);
	put_key_text("gpu", runs->request->has_model ? runs->request->model.name : NULL, out);
	put_key_text("version", UVMSIM_VERSION, out);
	fprintf(out,
		"\"faults_only\": %s, \"memory_bytes\": %" PRIu64 ", \"footprint_bytes\": %" PRIu64
		", \"seed\": %" PRIu64 ", \"seeds\": %" PRIu32 ", \"draws\": %" PRIu32 ", ",
		runs->run[0].has_faults_only ? "true" : "false", base->memory_bytes, base->footprint_bytes,
		runs->request->seed, runs->request->draws != 0 ? 1u : runs->request->seeds,
		runs->request->draws);
	if (runs->input->told.is_profile)
		put_told(&runs->input->told, out);
	else
		fputs("\"recorded\": null, ", out);
	put_readings(runs, out);
	fputs("\"policies\": [", out);
	for (size_t i = 0; i < runs->request->policies.count; i++)
		put_verdict(runs, &verdict[i], i + 1u, out);
	fputs("], \"not_told\": [", out);
	for (size_t i = 0; (limit = whatif_limit(runs, i)) != NULL; i++) {
		fputs(i > 0 ? ", " : "", out);
		quote_json(limit, out);
	}
	fputs("]}\n", out);
}

static void csv_head(const char *key, FILE *out)
{
	fprintf(out, ",%s_least,%s_median,%s_most", key, key, key);
}

static void csv_spread(const struct whatif_spread *spread, FILE *out)
{
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, spread->least, spread->median, spread->most);
}

/* The cost is a time or bytes; the columns of the other are empty. */
static void csv_cost(bool is_cost, const struct whatif_verdict *verdict, FILE *out)
{
	if (is_cost)
		csv_spread(&verdict->cost, out);
	else
		fputs(",,,", out);
}

void whatif_print_csv(const struct whatif_runs *runs, const struct whatif_verdict *verdict, FILE *out)
{
	fputs("version,input,format,gpu,memory_bytes,rank,policy,verdict,error,runs,better,worse", out);
	csv_head("time_ns", out);
	csv_head("permille", out);
	csv_head("h2d_bytes", out);
	csv_head("d2h_bytes", out);
	csv_head("far_faults", out);
	csv_head("above_optimum_permille", out);
	csv_head("moved_bytes", out);
	fputc('\n', out);
	for (size_t i = 0; i < runs->request->policies.count; i++) {
		const struct whatif_verdict *v = &verdict[i];

		fprintf(out, "%s,", UVMSIM_VERSION);
		quote_csv(runs->input->path, out);
		fprintf(out, ",%s,%s,%" PRIu64 ",%zu,", runs->input->format,
			runs->request->has_model ? runs->request->model.name : "",
			whatif_run_of(runs, 0, 0, 0)->result.memory_bytes, i + 1u);
		quote_csv(name_of(runs, v), out);
		fprintf(out, ",%s,", v->error ? "failed" : v->policy == 0 ? "baseline" : whatif_judgement(v));
		quote_csv(v->error ? v->error : "", out);
		fprintf(out, ",%zu,%zu,%zu", v->pairs, v->better, v->worse);
		csv_cost(runs->request->has_model, v, out);
		csv_spread(&v->permille, out);
		csv_spread(&v->to_gpu, out);
		csv_spread(&v->to_cpu, out);
		csv_spread(&v->far_faults, out);
		csv_spread(&v->above, out);
		csv_cost(!runs->request->has_model, v, out);
		fputc('\n', out);
	}
}
