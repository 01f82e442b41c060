/* The table of workloads, the parser of their specifications, and the scheduler that turns their warps into
 * rows (workload.h says how). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "nearest.h"
#include "number.h"
#include "workload.h"

#define LARGE_PAGE   ((uint64_t)2 << 20)
#define FIRST_BASE   ((uint64_t)0x7e0000000000)
#define PAGE_SHIFT   12
#define NO_AGENT     UINT32_MAX
#define NO_PAGE      UINT64_MAX
#define QUOTE_FORMAT "%.*s%s"

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
};
/* clang-format on */
#define TYPES (sizeof(types) / sizeof(types[0]))

/* -- ranges -- */

void workload_add_range(struct workload *workload, const char *name, uint64_t bytes)
{
	struct source_range *range = &workload->range[workload->ranges];
	uint64_t base = FIRST_BASE;

	if (workload->ranges > 0) {
		uint64_t end = range[-1].base + range[-1].bytes;

		base = (end + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE + LARGE_PAGE;
	}
	range->base = base;
	range->bytes = bytes;
	snprintf(range->name, sizeof(range->name), "%s", name);
	workload->ranges++;
}

void workload_add_fresh(struct workload *workload, const char *name, uint64_t bytes)
{
	workload_add_range(workload, name, bytes);
	workload->range[workload->ranges - 1].is_fresh = true;
}

void workload_add_device(struct workload *workload, const char *name, uint64_t bytes)
{
	workload_add_range(workload, name, bytes);
	workload->range[workload->ranges - 1].is_device = true;
	workload->has_device = true;
}

/* -- warps -- */

bool workload_launch(struct workload *workload)
{
	workload->op = (struct workload_op){.kind = WORKLOAD_KERNEL};
	workload->warps = 1;
	workload->tag = 0;
	if (!workload->type->launch(workload))
		return false;
	workload->ops++;
	return true;
}

void workload_start_warp(struct workload *workload, struct workload_slot *slot, uint64_t block, uint32_t warp)
{
	(void)workload;
	slot->block = block;
	slot->warp = warp;
	slot->step = slot->row = 0;
	slot->own[0] = slot->own[1] = 0;
	slot->at = slot->end = 0;
	slot->lanes = slot->lanes_done = 0;
	slot->last_page = NO_PAGE;
}

/* Puts an address on each page of the step in hand behind the first `lanes` of all. */
static uint32_t add_step(const struct workload_slot *slot, uint64_t *all, uint32_t lanes, uint64_t *bytes)
{
	uint32_t room = WORKLOAD_JOINED_LANES - lanes, more = slot->lanes < room ? slot->lanes : room;

	if (more != 0) {
		memcpy(all + lanes, slot->lane, more * sizeof(*all));
		*bytes += (uint64_t)more * slot->lane_bytes;
		return lanes + more;
	}
	for (uint64_t at = slot->at; at < slot->end && lanes < WORKLOAD_JOINED_LANES;
	     at = ((at >> PAGE_SHIFT) + 1) << PAGE_SHIFT)
		all[lanes++] = at;
	*bytes += slot->end - slot->at;
	return lanes;
}

/* Makes the step in hand and those behind it, as long as the warp goes on, to one. */
static void join_steps(struct workload *workload, struct workload_slot *slot)
{
	uint64_t all[WORKLOAD_JOINED_LANES], bytes = 0;
	uint32_t lanes = add_step(slot, all, 0, &bytes), flops = slot->flops;

	while (slot->goes_on && lanes <= WORKLOAD_LANES && workload->type->span(workload, slot)) {
		lanes = add_step(slot, all, lanes, &bytes);
		flops += slot->flops;
	}
	memcpy(slot->lane, all, lanes * sizeof(*all));
	workload_set_lanes(slot, lanes, (uint32_t)workload_ceil_div(bytes, lanes), slot->access);
	slot->flops = flops;
}

bool workload_step(struct workload *workload, struct workload_slot *slot)
{
	if (!workload->type->span(workload, slot))
		return false;
	if (slot->goes_on)
		join_steps(workload, slot);
	return true;
}

/* Is the page that of a lane before? Few lanes need the look at all of them. */
static bool is_repeated(struct workload_slot *slot, uint32_t lane)
{
	uint64_t page = slot->lane[lane] >> PAGE_SHIFT, bit = (uint64_t)1 << page % 64;

	if ((slot->lanes_seen & bit) == 0) {
		slot->lanes_seen |= bit;
		return false;
	}
	for (uint32_t i = 0; i < lane; i++)
		if (slot->lane[i] >> PAGE_SHIFT == page)
			return true;
	return false;
}

bool workload_next_page(struct workload_slot *slot, uint64_t *address)
{
	for (;;) {
		uint64_t page;

		if (slot->lanes_done < slot->lanes) {
			if (is_repeated(slot, slot->lanes_done++))
				continue;
			*address = slot->lane[slot->lanes_done - 1];
			page = *address >> PAGE_SHIFT;
		} else if (slot->at < slot->end) {
			*address = slot->at;
			page = *address >> PAGE_SHIFT;
			slot->at = (page + 1) << PAGE_SHIFT;
		} else {
			return false;
		}
		if (page == slot->last_page && slot->access == slot->last_access)
			continue;
		slot->last_page = page;
		slot->last_access = slot->access;
		return true;
	}
}

void workload_end_kernel(struct workload *workload)
{
	workload->kernels_done++;
}

/* -- without time: rows -- */

enum phase { SHOW_RANGES, LAUNCH, RUN, WALK, DONE };

/* The warps of a thread block follow each other, then those of the next. */
static void deal_warp(struct workload *workload, struct workload_slot *slot)
{
	workload_start_warp(workload, slot, workload->next_block, workload->next_warp);
	if (++workload->next_warp == workload->warps) {
		workload->next_warp = 0;
		workload->next_block++;
	}
}

/* Deals the first warps and closes the ring. */
static void start_kernel(struct workload *workload)
{
	uint64_t warps = workload->blocks * workload->warps;
	uint32_t running = warps < workload->agents ? (uint32_t)warps : workload->agents;

	workload->source.kernel_done = 0;
	workload->source.kernel_total = warps;
	workload->next_block = 0;
	workload->next_warp = 0;
	for (uint32_t agent = 0; agent < running; agent++) {
		deal_warp(workload, &workload->slot[agent]);
		workload->slot[agent].next = agent + 1 < running ? agent + 1 : 0;
	}
	workload->current = 0;
	workload->previous = running - 1;
}

/* Memory that is not managed is not in rows. */
static bool is_device(const struct workload *workload, uint64_t address)
{
	for (unsigned i = 0; i < workload->ranges; i++)
		if (workload->range[i].is_device &&
		    address - workload->range[i].base < workload->range[i].bytes)
			return true;
	return false;
}

/* The next row of one agent's warp; false when the warp is done. */
static bool next_access(struct workload *workload, struct workload_slot *slot, struct source_row *row)
{
	do {
		while (!workload_next_page(slot, &row->address)) {
			if (!workload_step(workload, slot))
				return false;
		}
	} while (workload->has_device && is_device(workload, row->address));
	row->kind = SOURCE_ACCESS;
	row->has_time = false;
	row->time_ns = 0;
	row->is_cpu = false;
	row->agent = (uint32_t)(slot - workload->slot);
	row->access = slot->access;
	return true;
}

/* The next row of the kernel; false when all of its warps are done. */
static bool run(struct workload *workload, struct source_row *row)
{
	while (workload->current != NO_AGENT) {
		struct workload_slot *slot = &workload->slot[workload->current];

		if (next_access(workload, slot, row)) {
			workload->previous = workload->current;
			workload->current = slot->next;
			return true;
		}
		workload->source.kernel_done++;
		if (workload->next_block < workload->blocks) {
			deal_warp(workload, slot);
		} else if (slot->next == workload->current) {
			workload->current = NO_AGENT;
		} else {
			workload->slot[workload->previous].next = slot->next;
			workload->current = slot->next;
		}
	}
	return false;
}

/* The next page of a CPU operation; false at its end. */
static bool walk(struct workload *workload, struct source_row *row)
{
	if (workload->cpu_at >= workload->op.at + workload->op.bytes)
		return false;
	*row = (struct source_row){.kind = SOURCE_ACCESS,
	                           .is_cpu = true,
	                           .access = workload->op.access,
	                           .address = workload->cpu_at};
	workload->cpu_at = (workload->cpu_at / WORKLOAD_PAGE + 1) * WORKLOAD_PAGE;
	return true;
}

/* Begins the thread's next operation. False: it makes no row of its own. */
static bool begin(struct workload *workload, struct source_row *row)
{
	const struct workload_op *op = &workload->op;

	switch (op->kind) {
	case WORKLOAD_KERNEL:
		start_kernel(workload);
		workload->phase = RUN;
		*row = (struct source_row){.kind = SOURCE_KERNEL};
		snprintf(row->name, sizeof(row->name), "%s", workload->kernel);
		return true;
	case WORKLOAD_CPU:
		workload->cpu_at = op->at;
		workload->phase = WALK;
		return false;
	case WORKLOAD_PREFETCH:
	case WORKLOAD_ADVISE:
		*row = (struct source_row){.kind = op->kind == WORKLOAD_PREFETCH ? SOURCE_PREFETCH
		                                                                 : SOURCE_ADVISE,
		                           .address = op->at,
		                           .bytes = op->bytes,
		                           .to_gpu = op->to_gpu,
		                           .to_none = op->to_none,
		                           .advice = op->advice};
		return true;
	default: /* the order of the program is all there is */
		return false;
	}
}

static bool next_range(struct workload *workload, struct source_row *row)
{
	while (workload->ranges_shown < workload->ranges) {
		*row = (struct source_row){.kind = SOURCE_RANGE,
		                           .range = workload->range[workload->ranges_shown++]};
		if (!row->range.is_device)
			return true;
	}
	return false;
}

static void workload_next(struct source *source, struct source_row *row)
{
	struct workload *workload = (struct workload *)source;

	for (;;) {
		switch ((enum phase)workload->phase) {
		case SHOW_RANGES:
			if (next_range(workload, row))
				return;
			workload->phase = LAUNCH;
			break;
		case LAUNCH:
			if (!workload_launch(workload))
				workload->phase = DONE;
			else if (begin(workload, row))
				return;
			break;
		case RUN:
			if (run(workload, row))
				return;
			workload_end_kernel(workload);
			workload->phase = LAUNCH;
			*row = (struct source_row){.kind = SOURCE_SYNC};
			return;
		case WALK:
			if (walk(workload, row))
				return;
			workload->phase = LAUNCH;
			break;
		case DONE:
			*row = (struct source_row){.kind = SOURCE_END};
			return;
		}
	}
}

static void discard(struct workload *workload)
{
	for (unsigned i = 0; i < WORKLOAD_PARAMS_MAX; i++)
		free(workload->text[i]);
	free(workload->name);
	free(workload->slot);
	free(workload);
}

static void workload_close(struct source *source)
{
	struct workload *workload = (struct workload *)source;

	if (workload->type->close != NULL)
		workload->type->close(workload);
	discard(workload);
}

struct workload *workload_of(struct source *source)
{
	return source->next == workload_next ? (struct workload *)source : NULL;
}

/* -- specification -- */

__attribute__((format(printf, 2, 3))) static bool fail(char error[SOURCE_ERROR_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SOURCE_ERROR_MAX, format, args);
	va_end(args);
	for (char *p = error; *p != '\0'; p++)
		if (*p < ' ' || *p > '~') /* the specification may hold anything, the message is one line */
			*p = '?';
	return false;
}

/* A piece of the specification as it may stand in a message. */
struct word {
	const char *at;
	size_t length;
};
#define SHOWN(word) (int)((word).length < 40 ? (word).length : 40), (word).at, (word).length > 40 ? "..." : ""

static bool is_word(struct word word, const char *name)
{
	return word.length == strlen(name) && memcmp(word.at, name, word.length) == 0;
}

static unsigned param_count(const struct workload_type *type)
{
	unsigned count = 0;

	while (count < WORKLOAD_PARAMS_MAX && type->param[count].name != NULL)
		count++;
	return count;
}

static bool parse_text(struct workload *workload, unsigned i, struct word word, char error[SOURCE_ERROR_MAX])
{
	if (word.length == 0)
		return true;
	workload->text[i] = strndup(word.at, word.length);
	return workload->text[i] != NULL || fail(error, "workload %s: out of memory", workload->type->name);
}

static void print_value(char text[NUMBER_TEXT_MAX], const struct workload_param *param, uint64_t value)
{
	if (param->is_size)
		number_print_size(text, value);
	else
		snprintf(text, NUMBER_TEXT_MAX, "%" PRIu64, value);
}

static bool parse_value(struct workload *workload, unsigned i, struct word word, char error[SOURCE_ERROR_MAX])
{
	const struct workload_param *param = &workload->type->param[i];
	bool (*parse)(const char *, size_t, uint64_t *) = param->is_size ? number_parse_size : number_parse;
	char least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];
	uint64_t value;

	if (parse(word.at, word.length, &value) && value >= param->min && value <= param->max) {
		workload->value[i] = value;
		return true;
	}
	print_value(least, param, param->min);
	print_value(most, param, param->max);
	return fail(error, "workload %s: %s=" QUOTE_FORMAT " is not accepted; %s..%s%s", workload->type->name,
	            param->name, SHOWN(word), least, most, param->is_size ? " " NUMBER_SIZE_HINT : "");
}

static bool parse_param(struct workload *workload, struct word item, unsigned *given,
                        char error[SOURCE_ERROR_MAX])
{
	const char *equals = memchr(item.at, '=', item.length);
	const struct workload_type *type = workload->type;
	struct word key = item, text;
	unsigned count = param_count(type), i = 0;
	const struct workload_param *param;

	if (equals == NULL)
		return fail(error, "workload %s: `" QUOTE_FORMAT "` is not key=value", type->name,
		            SHOWN(item));
	key.length = (size_t)(equals - item.at);
	text = (struct word){equals + 1, item.length - key.length - 1};
	while (i < count && !is_word(key, type->param[i].name))
		i++;
	if (i == count) {
		char keys[SOURCE_ERROR_MAX] = "", hint[NEAREST_TEXT_MAX];
		struct nearest nearest;

		nearest_start(&nearest, key.at, key.length);
		for (i = 0; i < count; i++)
			nearest_try(&nearest, type->param[i].name);
		for (i = 0; i < count; i++)
			snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", i ? ", " : "",
			         type->param[i].name);
		return fail(error, "workload %s: unknown key `" QUOTE_FORMAT "`%s; keys: %s", type->name,
		            SHOWN(key), nearest_hint(&nearest, hint), keys);
	}
	param = &type->param[i];
	if ((*given & 1u << i) != 0)
		return fail(error, "workload %s: %s is given twice", type->name, param->name);
	*given |= 1u << i;
	if (param->max == WORKLOAD_TEXT)
		return parse_text(workload, i, text, error);
	return parse_value(workload, i, text, error);
}

/* Why parameter i has no effect: the text that is given, or is not; NULL: it counts. */
static const struct workload_param *blocked_by(const struct workload *workload, unsigned i)
{
	const struct workload_type *type = workload->type;

	for (unsigned t = 0; t < param_count(type); t++) {
		const struct workload_param *text = &type->param[t];
		bool is_given = workload->text[t] != NULL;

		if (text->max != WORKLOAD_TEXT || t == i)
			continue;
		if (is_given ? i < t && i + text->min >= t : i > t && i <= t + text->initial)
			return text;
	}
	return NULL;
}

/* Parameters that have no effect are not given by mistake. */
static bool check_effect(const struct workload *workload, unsigned given, char error[SOURCE_ERROR_MAX])
{
	const struct workload_type *type = workload->type;

	for (unsigned i = 0; i < param_count(type); i++) {
		const struct workload_param *text = blocked_by(workload, i);

		if (text != NULL && (given & 1u << i) != 0)
			return fail(error, "workload %s: %s has no effect with%s %s=", type->name,
			            type->param[i].name, text > &type->param[i] ? "" : "out", text->name);
	}
	return true;
}

/* Fills value[] from the defaults and the text behind the colon (NULL: there is none). */
static bool parse_params(struct workload *workload, const char *text, char error[SOURCE_ERROR_MAX])
{
	unsigned count = param_count(workload->type), given = 0;

	for (unsigned i = 0; i < count; i++)
		workload->value[i] = workload->type->param[i].initial;
	while (text != NULL) {
		const char *comma = strchr(text, ',');
		struct word item = {text, comma != NULL ? (size_t)(comma - text) : strlen(text)};

		if (!parse_param(workload, item, &given, error))
			return false;
		text = comma != NULL ? comma + 1 : NULL;
	}
	return check_effect(workload, given, error);
}

static bool check_params(const struct workload *workload, char error[SOURCE_ERROR_MAX])
{
	const char *wrong = workload->type->check != NULL ? workload->type->check(workload) : NULL;

	return wrong == NULL || fail(error, "workload %s: %s", workload->type->name, wrong);
}

/* The canonical name: every parameter that has an effect, in the order of the table, but no text that is not
 * given. False: out of memory. */
static bool print_name(struct workload *workload, size_t spec_length)
{
	const struct workload_type *type = workload->type;
	/* texts are pieces of the specification, numbers have up to 20 digits */
	size_t size = spec_length + 64u * (WORKLOAD_PARAMS_MAX + 1u), used;
	char *name = workload->name = malloc(size), separator = ':';

	if (name == NULL)
		return false;
	used = (size_t)snprintf(name, size, "%s", type->name);
	for (unsigned i = 0; i < param_count(type); i++) {
		const struct workload_param *param = &type->param[i];

		if (blocked_by(workload, i) != NULL)
			continue;
		if (param->max != WORKLOAD_TEXT)
			used += (size_t)snprintf(name + used, size - used, "%c%s=%" PRIu64, separator,
			                         param->name, workload->value[i]);
		else if (workload->text[i] != NULL)
			used += (size_t)snprintf(name + used, size - used, "%c%s=%s", separator, param->name,
			                         workload->text[i]);
		else
			continue;
		separator = ',';
	}
	workload->source.name = name;
	return true;
}

static const struct workload_type *find_type(struct word name, char error[SOURCE_ERROR_MAX])
{
	char names[SOURCE_ERROR_MAX] = "", hint[NEAREST_TEXT_MAX];
	struct nearest nearest;

	nearest_start(&nearest, name.at, name.length);
	for (size_t i = 0; i < TYPES; i++) {
		if (is_word(name, types[i]->name))
			return types[i];
		nearest_try(&nearest, types[i]->name);
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
		         types[i]->name);
	}
	fail(error, "unknown workload `" QUOTE_FORMAT "`%s; there are: %s", SHOWN(name),
	     nearest_hint(&nearest, hint), names);
	return NULL;
}

struct source *workload_open(const char *spec, uint64_t seed, char error[SOURCE_ERROR_MAX])
{
	const char *colon = strchr(spec, ':');
	struct word name = {spec, colon != NULL ? (size_t)(colon - spec) : strlen(spec)};
	const struct workload_type *type = find_type(name, error);
	struct workload *workload;

	if (type == NULL)
		return NULL;
	workload = calloc(1, sizeof(*workload));
	if (workload == NULL) {
		fail(error, "workload %s: out of memory", type->name);
		return NULL;
	}
	workload->type = type;
	workload->random = seed;
	workload->source.next = workload_next;
	workload->source.close = workload_close;
	if (!parse_params(workload, colon != NULL ? colon + 1 : NULL, error) ||
	    !check_params(workload, error)) {
		discard(workload);
		return NULL;
	}
	workload->agents = (uint32_t)workload->value[param_count(type) - 1];
	workload->slot = calloc(workload->agents, sizeof(*workload->slot));
	if (workload->slot == NULL || !print_name(workload, strlen(spec))) {
		fail(error, "workload %s: out of memory", type->name);
		discard(workload);
		return NULL;
	}
	if (!type->open(workload)) {
		if (interrupt_caught != 0)
			fail(error, "%.300s: interrupted", workload->name);
		else if (workload->source.error[0] != '\0')
			fail(error, "%s", workload->source.error);
		else
			fail(error, "workload %.300s: out of memory", workload->name);
		workload_close(&workload->source);
		return NULL;
	}
	return &workload->source;
}

static void list_type(const struct workload_type *type, int width, FILE *out)
{
	unsigned count = param_count(type);

	fprintf(out, "%-*s %s\n", width, type->name, type->summary);
	for (unsigned i = 0; i < count; i++) {
		const struct workload_param *param = &type->param[i];
		char initial[NUMBER_TEXT_MAX], least[NUMBER_TEXT_MAX], most[NUMBER_TEXT_MAX];

		print_value(initial, param, param->initial);
		print_value(least, param, param->min);
		print_value(most, param, param->max);
		if (param->max == WORKLOAD_TEXT)
			fprintf(out, "%-*s %s=  %s\n", width, "", param->name, param->summary);
		else
			fprintf(out, "%-*s %s=%s  %s (%s..%s)\n", width, "", param->name, initial,
			        param->summary, least, most);
	}
}

void workload_list(FILE *out)
{
	int width = 0;

	for (size_t t = 0; t < TYPES; t++)
		if ((int)strlen(types[t]->name) > width)
			width = (int)strlen(types[t]->name);
	for (size_t t = 0; t < TYPES; t++)
		list_type(types[t], width, out);
}

bool workload_list_one(const char *name, FILE *out, char error[SOURCE_ERROR_MAX])
{
	const struct workload_type *type = find_type((struct word){name, strlen(name)}, error);

	if (type != NULL)
		list_type(type, (int)strlen(type->name), out);
	return type != NULL;
}
