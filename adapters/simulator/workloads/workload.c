/* The table of workloads: how one is opened by its name, and listed. */
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "nearest.h"
#include "workload_internal.h"

/* clang-format off */
static const struct workload_type *const types[] = {
        &workload_regular, &workload_random, &workload_sgemm, &workload_stream, &workload_stencil,
        &workload_bfs,
        &workload_cufft, &workload_tealeaf, &workload_hpgmg, &workload_cusparse,
        &workload_stream_thread, &workload_stream_warp, &workload_tiles,
        &workload_backprop, &workload_rodinia_bfs, &workload_hotspot, &workload_pathfinder, &workload_srad,
        &workload_nw, &workload_sssp, &workload_ra, &workload_fdtd2d, &workload_atax, &workload_conv2d,
        &workload_bc, &workload_bfs_dwc, &workload_bfs_ta, &workload_bfs_tf, &workload_bfs_ttc, &workload_bfs_twc,
        &workload_gc_dtc, &workload_gc_ttc, &workload_kcore, &workload_pr, &workload_sssp_twc,
        &workload_decode, &workload_moe, &workload_paged, &workload_gnn, &workload_ivf,
        &workload_synthetic,
};
/* clang-format on */
#define TYPES (sizeof(types) / sizeof(types[0]))

static const struct workload_type *find_type(struct workload_word name, char error[SOURCE_ERROR_MAX])
{
	char names[SOURCE_ERROR_MAX] = "", hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name.at, name.length);
	for (size_t i = 0; i < TYPES; i++) {
		if (workload_is_word(name, types[i]->name))
			return types[i];
		nearest_try(&nearest, types[i]->name);
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
			 types[i]->name);
	}
	workload_fail(error, "unknown workload `" QUOTE_FORMAT "`%s; there are: %s", SHOWN(name),
		      nearest_hint(&nearest, hint), names);
	return NULL;
}

/* The workload of a specification, before it is opened. */
static struct workload *parse(const char *spec, uint64_t seed, char error[SOURCE_ERROR_MAX])
{
	const char *colon = strchr(spec, ':');
	struct workload_word name = {spec, colon != NULL ? (size_t)(colon - spec) : strlen(spec)};
	const struct workload_type *type = find_type(name, error);
	struct workload *workload;

	if (type == NULL)
		return NULL;
	workload = calloc(1, sizeof(*workload));
	if (workload == NULL) {
		workload_fail(error, "workload %s: out of memory", type->name);
		return NULL;
	}
	workload->type = type;
	workload->random = seed;
	workload_set_source(workload);
	if (workload_parse(workload, colon != NULL ? colon + 1 : NULL, error))
		return workload;
	workload_discard(workload);
	return NULL;
}

bool workload_check(const char *spec, bool (*take)(void *context, const char *text), void *context,
		    char error[SOURCE_ERROR_MAX])
{
	struct workload *workload = parse(spec, 0, error);
	bool is_good = workload != NULL;

	for (unsigned i = 0; is_good && i < workload_params(workload->type); i++)
		if (workload->text[i] != NULL)
			is_good = take(context, workload->text[i]);
	if (workload != NULL)
		workload_discard(workload);
	return is_good;
}

struct source *workload_open(const char *spec, uint64_t seed, char error[SOURCE_ERROR_MAX])
{
	struct workload *workload = parse(spec, seed, error);
	const struct workload_type *type;

	if (workload == NULL)
		return NULL;
	type = workload->type;
	workload->agents = (uint32_t)workload->value[workload_params(type) - 1];
	workload->slot = calloc(workload->agents, sizeof(*workload->slot));
	if (workload->slot == NULL || !workload_print_name(workload, strlen(spec))) {
		workload_fail(error, "workload %s: out of memory", type->name);
		workload_discard(workload);
		return NULL;
	}
	if (!type->open(workload)) {
		if (interrupt_caught != 0)
			workload_fail(error, "%.300s: interrupted", workload->name);
		else if (workload->source.error[0] != '\0')
			workload_fail(error, "%s", workload->source.error);
		else
			workload_fail(error, "workload %.300s: out of memory", workload->name);
		workload->source.close(&workload->source);
		return NULL;
	}
	return &workload->source;
}

void workload_list(FILE *out)
{
	int width = 0;

	for (size_t t = 0; t < TYPES; t++)
		if ((int)strlen(types[t]->name) > width)
			width = (int)strlen(types[t]->name);
	for (size_t t = 0; t < TYPES; t++)
		workload_list_type(types[t], width, out);
}

bool workload_list_one(const char *name, FILE *out, char error[SOURCE_ERROR_MAX])
{
	const struct workload_type *type = find_type((struct workload_word){name, strlen(name)}, error);

	if (type != NULL)
		workload_list_type(type, (int)strlen(type->name), out);
	return type != NULL;
}
