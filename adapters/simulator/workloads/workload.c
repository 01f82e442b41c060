/* The table of workloads, the parser of their specifications, and the scheduler that turns their thread
 * blocks into rows (workload.h says how). */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

#define LARGE_PAGE   ((uint64_t)2 << 20)
#define FIRST_BASE   ((uint64_t)0x7e0000000000)
#define PAGE_SHIFT   12
#define NO_AGENT     UINT32_MAX
#define NO_PAGE      UINT64_MAX
#define QUOTE_FORMAT "%.*s%s"

static const struct workload_type *const types[] = {
        &workload_regular, &workload_random,  &workload_sgemm,
        &workload_stream,  &workload_stencil, &workload_bfs,
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* -- scheduler -- */

enum phase { SHOW_RANGES, LAUNCH, RUN, DONE };

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

static void start_block(struct workload *workload, struct workload_slot *slot)
{
	slot->block = workload->next_block++;
	slot->step = slot->row = 0;
	slot->at = slot->end = 0;
	slot->last_page = NO_PAGE;
}

/* Deals the first blocks and closes the ring. */
static void start_kernel(struct workload *workload)
{
	uint32_t running =
	        workload->blocks < workload->agents ? (uint32_t)workload->blocks : workload->agents;

	workload->next_block = 0;
	for (uint32_t agent = 0; agent < running; agent++) {
		start_block(workload, &workload->slot[agent]);
		workload->slot[agent].next = agent + 1 < running ? agent + 1 : 0;
	}
	workload->current = 0;
	workload->previous = running - 1;
}

/* The next row of one agent's thread block; false when the block is done. */
static bool next_access(struct workload *workload, struct workload_slot *slot, struct source_row *row)
{
	for (;;) {
		uint64_t address, page;

		if (slot->at >= slot->end && !workload->type->span(workload, slot))
			return false;
		address = slot->at;
		page = address >> PAGE_SHIFT;
		slot->at = (page + 1) << PAGE_SHIFT;
		if (page == slot->last_page && slot->access == slot->last_access)
			continue;
		slot->last_page = page;
		slot->last_access = slot->access;
		row->kind = SOURCE_ACCESS;
		row->has_time = false;
		row->time_ns = 0;
		row->is_cpu = false;
		row->agent = (uint32_t)(slot - workload->slot);
		row->access = slot->access;
		row->address = address;
		return true;
	}
}

/* The next row of the kernel; false when all of its blocks are done. */
static bool run(struct workload *workload, struct source_row *row)
{
	while (workload->current != NO_AGENT) {
		struct workload_slot *slot = &workload->slot[workload->current];

		if (next_access(workload, slot, row)) {
			workload->previous = workload->current;
			workload->current = slot->next;
			return true;
		}
		if (workload->next_block < workload->blocks) {
			start_block(workload, slot);
		} else if (slot->next == workload->current) {
			workload->current = NO_AGENT;
		} else {
			workload->slot[workload->previous].next = slot->next;
			workload->current = slot->next;
		}
	}
	return false;
}

static void workload_next(struct source *source, struct source_row *row)
{
	struct workload *workload = (struct workload *)source;

	switch ((enum phase)workload->phase) {
	case SHOW_RANGES:
		row->kind = SOURCE_RANGE;
		row->range = workload->range[workload->ranges_shown++];
		if (workload->ranges_shown == workload->ranges)
			workload->phase = LAUNCH;
		return;
	case LAUNCH:
		if (!workload->type->launch(workload))
			break;
		start_kernel(workload);
		workload->phase = RUN;
		row->kind = SOURCE_KERNEL;
		snprintf(row->name, sizeof(row->name), "%s", workload->kernel);
		return;
	case RUN:
		if (run(workload, row))
			return;
		workload->kernels_done++;
		workload->phase = LAUNCH;
		row->kind = SOURCE_SYNC;
		return;
	case DONE:
		break;
	}
	workload->phase = DONE;
	row->kind = SOURCE_END;
}

static void workload_close(struct source *source)
{
	struct workload *workload = (struct workload *)source;

	if (workload->type->close != NULL)
		workload->type->close(workload);
	free(workload->slot);
	free(workload);
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

/* Digits, and for sizes k, m or g behind them. False: no number, or one that does not fit 64 bits. */
static bool parse_number(struct word word, bool is_size, uint64_t *value)
{
	static const char suffix[] = "kmg";
	unsigned shift = 0;
	uint64_t number = 0;

	if (is_size && word.length > 1) {
		const char *found = memchr(suffix, word.at[word.length - 1] | 0x20, 3);

		if (found != NULL) {
			shift = 10 * (unsigned)(found - suffix + 1);
			word.length--;
		}
	}
	for (size_t i = 0; i < word.length; i++) {
		unsigned digit = (unsigned)(word.at[i] - '0');

		if (word.at[i] < '0' || word.at[i] > '9' || number > (UINT64_MAX - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	if (word.length == 0 || number > UINT64_MAX >> shift)
		return false;
	*value = number << shift;
	return true;
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
		char keys[128] = "";

		for (i = 0; i < count; i++)
			snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", i ? ", " : "",
			         type->param[i].name);
		return fail(error, "workload %s: unknown key `" QUOTE_FORMAT "`; keys: %s", type->name,
		            SHOWN(key), keys);
	}
	param = &type->param[i];
	if ((*given & 1u << i) != 0)
		return fail(error, "workload %s: %s is given twice", type->name, param->name);
	*given |= 1u << i;
	if (!parse_number(text, param->is_size, &workload->value[i]) || workload->value[i] < param->min ||
	    workload->value[i] > param->max)
		return fail(error, "workload %s: %s=" QUOTE_FORMAT " is not accepted; %" PRIu64 "..%" PRIu64,
		            type->name, param->name, SHOWN(text), param->min, param->max);
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
	return true;
}

/* The canonical name: every parameter, in the order of the table. */
static void print_name(struct workload *workload)
{
	const struct workload_type *type = workload->type;
	unsigned count = param_count(type);
	size_t used = (size_t)snprintf(workload->name, sizeof(workload->name), "%s", type->name);

	for (unsigned i = 0; i < count; i++)
		used += (size_t)snprintf(workload->name + used, sizeof(workload->name) - used,
		                         "%c%s=%" PRIu64, i == 0 ? ':' : ',', type->param[i].name,
		                         workload->value[i]);
	workload->source.name = workload->name;
}

static const struct workload_type *find_type(struct word name, char error[SOURCE_ERROR_MAX])
{
	char names[128] = "";

	for (size_t i = 0; i < TYPES; i++) {
		if (is_word(name, types[i]->name))
			return types[i];
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? ", " : "",
		         types[i]->name);
	}
	fail(error, "unknown workload `" QUOTE_FORMAT "`; there are: %s", SHOWN(name), names);
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
	if (!parse_params(workload, colon != NULL ? colon + 1 : NULL, error)) {
		free(workload);
		return NULL;
	}
	print_name(workload);
	workload->agents = (uint32_t)workload->value[param_count(type) - 1];
	workload->slot = calloc(workload->agents, sizeof(*workload->slot));
	if (workload->slot == NULL || !type->open(workload)) {
		fail(error, "workload %s: out of memory", workload->name);
		workload_close(&workload->source);
		return NULL;
	}
	return &workload->source;
}

void workload_list(FILE *out)
{
	for (size_t t = 0; t < TYPES; t++) {
		unsigned count = param_count(types[t]);

		fprintf(out, "%-8s %s\n", types[t]->name, types[t]->summary);
		for (unsigned i = 0; i < count; i++) {
			const struct workload_param *param = &types[t]->param[i];

			fprintf(out, "         %s=%" PRIu64 "  %s (%" PRIu64 "..%" PRIu64 ")\n", param->name,
			        param->initial, param->summary, param->min, param->max);
		}
	}
}
