/* Measured faults: reader and judge. The judge asks the library for one decision per fault, with the
 * residency that the measurement implies, and compares pages and copies. */
#include "measured.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cli.h"
#include "lines.h"
#include "vectors/vec_kind.h"

/* -- reading -- */

struct parse {
	struct line_reader reader;
	const char *name;
	struct measured *measured;
	bool in_program;
	uvmp_mask resident[2];
	struct measured_fault *open; /* the fault whose copies are being read */
};

__attribute__((format(printf, 2, 3))) static bool bad(struct parse *parse, const char *format, ...)
{
	char cause[200];
	va_list list;

	va_start(list, format);
	vsnprintf(cause, sizeof(cause), format, list);
	va_end(list);
	snprintf(parse->measured->error, sizeof(parse->measured->error), "%.250s:%llu: %s", parse->name,
		 (unsigned long long)(parse->reader.number == 0 ? 1 : parse->reader.number), cause);
	return false;
}

static struct measured_fault *add_fault(struct parse *parse, uint32_t proc, uint32_t page)
{
	struct measured *measured = parse->measured;
	struct measured_fault *fault;

	if (!ARRAY_RESERVE(measured->fault, measured->faults_capacity, measured->faults + 1))
		exit(say_error("out of memory"));
	fault = &measured->fault[measured->faults++];
	*fault = (struct measured_fault){.program = measured->programs - 1, .proc = proc, .page = page};
	return fault;
}

static bool take_number(struct parse *parse, char **rest, const char *what, uint32_t min, uint32_t max,
			uint32_t *number)
{
	const char *word = line_word(rest);
	const char *at = word;
	uint64_t value = 0;

	if (word != NULL && vec_scan_number(&at, max, &value) && *at == '\0' && value >= min) {
		*number = (uint32_t)value;
		return true;
	}
	return bad(parse, "%s \"%.40s\" is not accepted; %lu..%lu", what, word != NULL ? word : "",
		   (unsigned long)min, (unsigned long)max);
}

static bool take_proc(struct parse *parse, char **rest, uint32_t *proc)
{
	const char *word = line_word(rest);

	*proc = word != NULL && strcmp(word, "gpu") == 0 ? MEASURED_GPU : UVMP_CPU;
	if (word == NULL || (strcmp(word, "cpu") != 0 && strcmp(word, "gpu") != 0))
		return bad(parse, "processor \"%.40s\" is not accepted; cpu or gpu",
			   word != NULL ? word : "");
	return true;
}

static bool no_more(struct parse *parse, const char *rest)
{
	return *rest == '\0' || bad(parse, "\"%.40s\" is too much", rest);
}

/* A fault must have copies before anything but a copy may follow. */
static bool close_fault(struct parse *parse)
{
	struct measured_fault *fault = parse->open;

	parse->open = NULL;
	if (fault == NULL)
		return true;
	if (!uvmp_mask_test(&fault->moved, fault->page))
		return bad(parse, "no copy before this line moved page %lu, which faulted",
			   (unsigned long)fault->page);
	uvmp_mask_or(&parse->resident[fault->proc], &parse->resident[fault->proc], &fault->moved);
	uvmp_mask_andnot(&parse->resident[1 - fault->proc], &parse->resident[1 - fault->proc], &fault->moved);
	return true;
}

static bool take_program(struct parse *parse, char *rest)
{
	struct measured *measured = parse->measured;
	const char *name = line_word(&rest);

	if (name == NULL || strlen(name) >= MEASURED_NAME_MAX)
		return bad(parse, "a name of at most %d bytes must follow `program`", MEASURED_NAME_MAX - 1);
	if (!ARRAY_RESERVE(measured->program, measured->programs_capacity, measured->programs + 1))
		exit(say_error("out of memory"));
	strcpy(measured->program[measured->programs++], name);
	parse->in_program = true;
	uvmp_mask_zero(&parse->resident[0]);
	uvmp_mask_zero(&parse->resident[1]);
	return no_more(parse, rest);
}

/* The faults of a walk: `list` is F,F,..., ascending, the first one the first page. */
static bool take_walk(struct parse *parse, const char *list, struct uvmp_region walk)
{
	struct measured_fault *last = NULL;

	for (uint64_t page; vec_scan_number(&list, walk.end - 1, &page); list++) {
		if (last == NULL ? page != walk.first : page <= last->page)
			return bad(parse, "faults must start with page %lu and ascend",
				   (unsigned long)walk.first);
		if (last != NULL)
			last->next = (uint32_t)page;
		last = add_fault(parse, UVMP_CPU, (uint32_t)page);
		last->is_touch = true;
		last->next = last->end = walk.end;
		if (*list == '\0')
			return true;
		if (*list != ',')
			break;
	}
	return bad(parse, "\"%.40s\" is not accepted; pages %lu..%lu separated by commas", list,
		   (unsigned long)walk.first, (unsigned long)walk.end - 1);
}

static bool take_touch(struct parse *parse, char *rest)
{
	struct uvmp_region walk;
	uint32_t proc, pages = 0;
	const char *list;

	if (!take_proc(parse, &rest, &proc) ||
	    !take_number(parse, &rest, "first page", 0, 511, &walk.first) ||
	    !take_number(parse, &rest, "number of pages", 1, 512 - walk.first, &pages))
		return false;
	if (proc != UVMP_CPU)
		return bad(parse, "only cpu can touch");
	if (!uvmp_mask_is_empty(&parse->resident[0]) || !uvmp_mask_is_empty(&parse->resident[1]))
		return bad(parse, "`touch` must directly follow `program`");
	list = line_word(&rest);
	walk.end = walk.first + pages;
	if (!take_walk(parse, list != NULL ? list : "", walk))
		return false;
	uvmp_mask_region_set(&parse->resident[UVMP_CPU], walk);
	return no_more(parse, rest);
}

static bool take_fault(struct parse *parse, char *rest)
{
	uint32_t proc, page = 0;

	if (!take_proc(parse, &rest, &proc) || !take_number(parse, &rest, "page", 0, 511, &page))
		return false;
	if (uvmp_mask_test(&parse->resident[proc], page))
		return bad(parse, "page %lu is resident there and cannot fault", (unsigned long)page);
	parse->open = add_fault(parse, proc, page);
	return no_more(parse, rest);
}

static bool take_copy(struct parse *parse, char *rest)
{
	const char *way = line_word(&rest);
	struct measured_fault *fault = parse->open;
	struct uvmp_region copy;
	uint32_t pages = 0;

	if (fault == NULL)
		return bad(parse, "a copy without a fault directly before it");
	if (way == NULL || strcmp(way, fault->proc == UVMP_CPU ? "d2h" : "h2d") != 0)
		return bad(parse, "direction \"%.40s\" is not accepted; %s after this fault",
			   way != NULL ? way : "", fault->proc == UVMP_CPU ? "d2h" : "h2d");
	if (!take_number(parse, &rest, "first page", 0, 511, &copy.first) ||
	    !take_number(parse, &rest, "number of pages", 1, 512 - copy.first, &pages))
		return false;
	copy.end = copy.first + pages;
	if (!uvmp_mask_region_all(&parse->resident[1 - fault->proc], copy))
		return bad(parse, "not all of these pages are where they are copied from");
	if (uvmp_mask_bounds(&fault->moved).end > copy.first)
		return bad(parse, "copies of one fault must ascend");
	uvmp_mask_region_set(&fault->moved, copy);
	uvmp_mask_set(&fault->starts, copy.first);
	return no_more(parse, rest);
}

static bool take_line(struct parse *parse)
{
	char *rest = parse->reader.text;
	const char *word;

	if (*rest == '#')
		return true;
	if (!line_is_single_spaced(rest))
		return bad(parse, "words must be separated by exactly one blank");
	word = line_word(&rest);
	if (word == NULL)
		return bad(parse, "empty line");
	if (strcmp(word, "copy") == 0)
		return take_copy(parse, rest);
	if (!close_fault(parse))
		return false;
	if (strcmp(word, "program") == 0)
		return take_program(parse, rest);
	if (!parse->in_program)
		return bad(parse, "`program NAME` must come first");
	if (strcmp(word, "touch") == 0)
		return take_touch(parse, rest);
	if (strcmp(word, "fault") == 0)
		return take_fault(parse, rest);
	return bad(parse, "\"%.40s\" is not accepted; program, touch, fault or copy", word);
}

static bool read_all(struct parse *parse)
{
	enum line_status status = line_read(&parse->reader);

	if (status == LINE_OK && strcmp(parse->reader.text, "uvmp-measured 1") != 0)
		return bad(parse, "not a file of measured faults: the first line must be `uvmp-measured 1`");
	if (status == LINE_END)
		return bad(parse, "empty file; the first line is `uvmp-measured 1`");
	while (status == LINE_OK && (status = line_read(&parse->reader)) == LINE_OK)
		if (!take_line(parse))
			return false;
	if (status == LINE_BAD)
		return bad(parse, "%s", parse->reader.error);
	if (!close_fault(parse))
		return false;
	if (!parse->in_program)
		return bad(parse, "the file holds no program");
	return parse->measured->faults != 0 || bad(parse, "the file holds no fault: nothing is compared");
}

bool measured_read(FILE *in, const char *name, struct measured *measured)
{
	struct parse *parse = calloc(1, sizeof(*parse));
	bool done;

	if (parse == NULL)
		exit(say_error("out of memory"));
	line_reader_init(&parse->reader, in);
	parse->name = name;
	parse->measured = measured;
	done = read_all(parse);
	free(parse);
	return done;
}

void measured_free(struct measured *measured)
{
	free(measured->fault);
	free(measured->program);
	memset(measured, 0, sizeof(*measured));
}

/* -- judging -- */

void measured_start(struct measured_model *model, const struct uvmp_policy *policy)
{
	memset(model, 0, sizeof(*model));
	model->params = policy->prefetch;
	model->random = 1;
	uvmp_prefetch_state_init(&model->state);
	uvmp_tree_init(&model->tree, UVMP_TREE_BLOCKS_MAX);
	model->state.tree = &model->tree;
	model->state.range = model->range;
	model->state.random = &model->random;
}

/* Asks which pages arrive with the faulting page. */
static enum uvmp_status prefetch(struct measured_model *model, const struct measured_fault *fault,
				 const uvmp_mask *faulted, struct uvmp_prefetch_hint *hint)
{
	const uvmp_mask *resident = &model->resident[fault->proc];
	struct uvmp_prefetch_facts facts = {
		.faulted = faulted,
		.faulted_region = {fault->page, fault->page + 1},
		.resident = resident,
		.to = fault->proc,
		.range_pages = UVMP_MASK_BITS,
	};

	uvmp_block_from_shape(UVMP_MASK_BITS, 0, 16, &facts.block);
	model->state.processor = model->processor[fault->proc];
	facts.is_first_touch =
		uvmp_mask_is_empty(&model->resident[0]) && uvmp_mask_is_empty(&model->resident[1]);
	if (fault->proc == UVMP_CPU)
		facts.cpu_read_mapped = resident; /* the host maps all pages it has */
	uvmp_tree_assign(&model->tree, resident);
	return uvmp_prefetch_decide(&model->params, &facts, &model->state, hint);
}

static void mark_copies(struct measured_verdict *verdict, const uvmp_mask *faulted)
{
	struct uvmp_group group[UVMP_MASK_BITS];
	uint32_t groups = 0;

	uvmp_prefetch_groups(UVMP_GROUPING_BY_CAUSE, &verdict->decided, faulted, false, group, UVMP_MASK_BITS,
			     &groups);
	uvmp_mask_zero(&verdict->starts);
	for (uint32_t i = 0; i < groups; i++)
		uvmp_mask_set(&verdict->starts, group[i].pages.first);
}

static void settle(struct measured_model *model, const struct measured_fault *fault)
{
	uvmp_mask *here = &model->resident[fault->proc], *there = &model->resident[1 - fault->proc];
	struct uvmp_region walked = {fault->page, fault->next};

	if (fault->is_touch) {
		uvmp_mask_region_set(here, walked);
		return;
	}
	uvmp_mask_or(here, here, &fault->moved);
	uvmp_mask_andnot(there, there, &fault->moved);
}

enum uvmp_status measured_judge(struct measured_model *model, const struct measured_fault *fault,
				struct measured_verdict *verdict)
{
	struct uvmp_prefetch_hint hint;
	uvmp_mask faulted, after;
	enum uvmp_status status;

	uvmp_mask_zero(&faulted);
	uvmp_mask_set(&faulted, fault->page);
	status = prefetch(model, fault, &faulted, &hint);
	if (status != UVMP_OK)
		return status;
	verdict->before = model->resident[fault->proc];
	verdict->decided = faulted;
	if (hint.to == fault->proc)
		uvmp_mask_or(&verdict->decided, &hint.pages, &faulted);
	uvmp_mask_andnot(&verdict->decided, &verdict->decided, &verdict->before);
	mark_copies(verdict, &faulted);
	uvmp_mask_or(&after, &verdict->before, &verdict->decided);
	verdict->next = uvmp_mask_next_clear(&after, fault->page);
	if (verdict->next > fault->end)
		verdict->next = fault->end;
	verdict->agrees = fault->is_touch ? verdict->next == fault->next
					  : uvmp_mask_equal(&verdict->decided, &fault->moved);
	verdict->has_same_copies =
		fault->is_touch || (verdict->agrees && uvmp_mask_equal(&verdict->starts, &fault->starts));
	settle(model, fault);
	return UVMP_OK;
}
