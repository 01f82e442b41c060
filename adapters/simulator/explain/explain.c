/* The reader of the log. Both answers see every action once: the story tells the actions on some pages, the summary counts
 * all of them. */
#include "explain_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"

#define QUOTE_MAX 40

/* An action without memory names no space: 0. */
static void note_space(struct explanation *explanation, uint64_t space)
{
	explanation->is_in_space = explanation->is_in_space || space == explanation->query->space;
	if (space == 0)
		return;
	for (size_t i = 0; i < explanation->named_spaces; i++)
		if (explanation->named_space[i] == space)
			return;
	explanation->has_more_spaces = explanation->named_spaces == SPACES_SHOWN;
	if (!explanation->has_more_spaces)
		explanation->named_space[explanation->named_spaces++] = space;
}

/* The answer, if the log lacks the address space of the query. */
static void tell_spaces(const struct explanation *explanation)
{
	FILE *out = explanation->out;

	fprintf(out, "the log has no action of address space %" PRIu64 "; it has ", explanation->query->space);
	for (size_t i = 0; i < explanation->named_spaces; i++)
		fprintf(out, "%s%" PRIu64, i > 0 ? ", " : "", explanation->named_space[i]);
	fprintf(out, "%s\n", explanation->has_more_spaces ? " and others" : explanation->named_spaces > 0 ? "" : "none");
}

static bool take_action(struct explanation *explanation, const struct uvmp_action *action)
{
	const struct explain_query *query = explanation->query;

	if (action->kind == UVMP_ACTION_COMPLETE) {
		explain_take_completion(explanation, action);
		return true;
	}
	if (query->has_space)
		note_space(explanation, action->space);
	if (query->has_space && action->space != query->space && !is_conclusion(action))
		return true;
	if (query->observers && !explain_observe(explanation, action))
		return false;
	return query->has_address ? explain_take_of_story(explanation, action)
				  : explain_count_action(explanation, action);
}

static void refuse_line(const struct line_reader *reader, const char *name, enum uvmp_status status,
			size_t offset, char error[EXPLAIN_ERROR_MAX])
{
	char where[QUOTE_MAX + 8] = "the end";
	const char *rest = reader->text + offset;

	if (*rest != '\0')
		snprintf(where, sizeof(where), "`%.*s%s`", QUOTE_MAX, rest,
			 strlen(rest) > QUOTE_MAX ? "..." : "");
	snprintf(error, EXPLAIN_ERROR_MAX, "%.300s:%" PRIu64 ": %s at %s", name, reader->number,
		 uvmp_status_text(status), where);
}

/* The host takes actions in the order of their ids. Two logs in one file, or a line that is there twice, break this order. */
static bool check_order(struct explanation *explanation, const struct line_reader *reader, const char *name,
			const struct uvmp_action *action, char error[EXPLAIN_ERROR_MAX])
{
	if (action->kind == UVMP_ACTION_COMPLETE)
		return true;
	if (explanation->has_id && action->id <= explanation->last_id) {
		snprintf(error, EXPLAIN_ERROR_MAX,
			 "%.300s:%" PRIu64 ": action %" PRIu64 " follows action %" PRIu64
			 "; in the log of one run the ids of actions increase",
			 name, reader->number, action->id, explanation->last_id);
		return false;
	}
	explanation->has_id = true;
	explanation->last_id = action->id;
	return true;
}

static bool read_log(struct explanation *explanation, struct line_reader *reader, const char *name,
		     char error[EXPLAIN_ERROR_MAX])
{
	enum line_status line;

	while ((line = line_read(reader)) == LINE_OK) {
		struct uvmp_action action;
		size_t offset;
		enum uvmp_status status = uvmp_action_parse(reader->text, reader->length, &action, &offset);

		if (status != UVMP_OK) {
			refuse_line(reader, name, status, offset, error);
			return false;
		}
		if (!check_order(explanation, reader, name, &action, error))
			return false;
		if (!take_action(explanation, &action)) {
			snprintf(error, EXPLAIN_ERROR_MAX, "out of memory");
			return false;
		}
	}
	if (line == LINE_BAD)
		snprintf(error, EXPLAIN_ERROR_MAX, "%.300s:%" PRIu64 ": %s", name, reader->number,
			 reader->error);
	else if (reader->number == 0)
		snprintf(error, EXPLAIN_ERROR_MAX, "%.300s: is empty: a log has a line for each action", name);
	return line == LINE_END && reader->number != 0;
}

bool explain_log(FILE *in, const char *name, const struct explain_query *query, FILE *out,
		 char error[EXPLAIN_ERROR_MAX])
{
	struct explanation explanation = {.query = query, .out = out, .step = 1};
	struct line_reader reader;
	bool is_good;

	line_reader_init(&reader, in);
	is_good = read_log(&explanation, &reader, name, error);
	explain_end_step(&explanation);
	explain_end_observing(&explanation);
	if (is_good && query->has_space && !explanation.is_in_space)
		tell_spaces(&explanation);
	else if (is_good && query->has_address)
		explain_tell_tally(&explanation);
	else if (is_good)
		explain_print_summary(&explanation);
	for (size_t i = 0; i < explanation.blocks; i++)
		explain_free_mirror(&explanation.block[i]);
	free(explanation.block);
	free(explanation.kept);
	free(explanation.slot);
	return is_good;
}
