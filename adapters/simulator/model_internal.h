/* model_internal.h: the reader of the files of models. Only model*.c use it; model.h is for others.
 *
 * The parts, from the lowest to the highest: model_fields.c has the table of numeric keys, model_find.c finds
 * files by name, model_parse.c reads values and writes errors, model_keys.c reads the keys of a file,
 * model_check.c checks ranges and links, and model.c joins the files of a model. model_draw.c draws models from
 * ranges, model_list.c prints the built-in ones, and model_link.c has the times of a link. */
#ifndef UVMSIM_MODEL_INTERNAL_H
#define UVMSIM_MODEL_INTERNAL_H

#include "lines.h"
#include "model.h"

#define MODEL_FIELDS_MAX	96u
#define MODEL_REQUEST_BYTES_MAX 1000000u

/* What a range may stand for besides values of the file: all costs of the driver, all times of the link. */
#define MODEL_COSTS_KEY "host_percent"
#define MODEL_SPEED_KEY "speed_percent"

enum model_kind { MODEL_GPU, MODEL_HOST, MODEL_LINK };

/* -- model_fields.c -- */

/* A key of a GPU's or host's file, and where its number is in struct model. */
struct model_field {
	const char *key;
	size_t at;
	bool is_wide; /* uint64_t, else uint32_t */
	uint64_t min, max;
	bool is_optional; /* 0 where a file lacks it: files of users that are older than the key */
};

extern const struct model_field model_field[];
extern const size_t model_fields;

/* NULL: no such key. */
const struct model_field *model_find_field(const char *key);
/* The number of a field that is not wide. */
uint32_t *model_value(struct model *model, const struct model_field *field);
/* False: the value follows a further rule, or is no constant of nature. */
bool model_field_has_range(const struct model_field *field);

/* Reading one file. */
struct model_parse {
	struct line_reader reader;
	enum model_kind kind;
	char file[MODEL_NAME_MAX]; /* for errors */
	const char *folder;	   /* `file`, if it is a user's: paths in it begin there; NULL: built in */
	char *error;
	/* the line that has set it, 0: none */
	uint64_t title_line, source_line, link_line, include_line;
	uint64_t latency_line, table_line, formula_line, gbps_line, clock_line;
	uint64_t request_line[MODEL_DIRECTIONS];
	uint64_t line[MODEL_FIELDS_MAX];
	char link[MODEL_NAME_MAX], include[MODEL_NAME_MAX];
	char title[MODEL_TITLE_MAX], source[MODEL_SOURCE_MAX];
};

/* -- model_find.c -- */

bool model_ends_with(const char *text, const char *ending);
/* Is it the name of a GPU's file? It may be the name of a host's file instead. */
bool model_is_gpu(const char *name);
/* Opens the file of that name for a new parse. `asker`, in whose line `line` the name stands, gets its
 * place in front of an error that has none; NULL: the user has named the file. NULL with `error`. */
FILE *model_open_file(struct model_parse *parse, enum model_kind kind, const char *name,
		      const struct model_parse *asker, uint64_t line, char *error);

/* -- model_parse.c -- */

/* Writes the error, with file and line (0: the first). Always false. */
bool model_bad_at(struct model_parse *parse, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The key stands in the line in hand, *line; false: in an earlier one, too. */
bool model_parse_once(struct model_parse *parse, const char *key, uint64_t *line);
/* The same with its text. False with the error, as all below. */
bool model_parse_text(struct model_parse *parse, const char *key, const char *value, uint64_t *line,
		      char *out, size_t room);
/* A number at *text, up to a blank or the end; moves *text past it. */
bool model_parse_number(struct model_parse *parse, const char *key, const char **text, uint64_t min,
			uint64_t max, uint64_t *number);
/* `rest` is what follows the values of the key: it must be empty. */
bool model_parse_end(struct model_parse *parse, const char *key, const char *rest);

/* -- model_keys.c -- */

/* All lines of a file; `in` is closed. `link`, NULL for others than a link's; `model`, NULL for a link's. */
bool model_read_lines(struct model_parse *parse, FILE *in, struct model *model, struct model_link *link);
/* Title and source have been given. */
bool model_has_texts(struct model_parse *parse);

/* -- model_check.c -- */

/* The ranges of the file itself, once its values are known. */
bool model_check_ranges(struct model_parse *parse, struct model *model);
/* Points or formula, and ranges, of a link whose lines have been read. */
bool model_check_link(struct model_parse *parse, const struct model_link *link);

#endif
