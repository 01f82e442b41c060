/* The reader of edge lists: one edge a line, `u v` or `u v w`, between blanks; lines that begin with # or %
 * and empty lines are skipped, as in the lists of SNAP. A first line `%%MatrixMarket matrix coordinate ...`
 * makes it a matrix: the first line that is not a comment then says `rows columns entries`, and vertices are
 * numbered from 1.
 *
 * The file is read twice (graph.h), through zstd if its first four bytes say so. What the second reading
 * finds is checked against the first, for the file may change in between. Nothing but the rows is kept: a
 * line is taken word by word, however long it is.
 *
 * Every number up to the largest becomes a vertex, with or without edges. One number that is a slip, or
 * numbers that are keys and not counted from 0, would ask for all memory: so, of a large graph, vertices may
 * be at most PER_EDGE times the edges. That is found at the end; and at once in a file too small to hold
 * enough edges. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "building.h"
#include "graph.h"
#include "input.h"
#include "number.h"

#define BUFFER_BYTES 65536u
#define LARGE_GRAPH  ((uint64_t)1 << 20)
#define PER_EDGE     64u /* vertices of a large graph */
#define EDGE_BYTES   4u	 /* of a line, at least: `0 1` */
#define WORD_MAX     40u /* longer words are cut: no number is that long, and messages show no more */

struct reader {
	FILE *in;
	struct input *input; /* the bytes of `in` */
	const char *name;
	char *error; /* [SOURCE_ERROR_MAX] */
	bool is_bad;
	struct graph_options options;
	uint64_t line;	     /* number of the line in hand */
	uint64_t file_bytes; /* 0: not known */

	unsigned char buffer[BUFFER_BYTES];
	size_t at, end;

	/* Matrix Market */
	bool is_matrix, is_symmetric;
	bool has_size;
	uint64_t entries; /* announced */

	uint64_t edges;	   /* lines that were edges */
	uint64_t checksum; /* over them, in any order */
};

/* -- errors -- */

/* `NAME:LINE: text`, or `NAME: text` for line 0. Of an overlong name the end is shown. */
static void describe(char error[SOURCE_ERROR_MAX], const char *name, uint64_t line, const char *text)
{
	const size_t shown = SOURCE_ERROR_MAX / 2;
	size_t length = strlen(name);
	char where[32] = "";

	if (line != 0)
		snprintf(where, sizeof(where), "%" PRIu64 ":", line);
	snprintf(error, SOURCE_ERROR_MAX, "%s:%s %.200s", length > shown ? name + (length - shown) : name,
		 where, text);
	for (char *p = error; *p != '\0'; p++)
		if (*p < ' ' || *p > '~') /* the file may hold anything, the message is one line */
			*p = '?';
}

__attribute__((format(printf, 3, 4))) static bool fail_at(struct reader *reader, uint64_t line,
							  const char *format, ...)
{
	char text[SOURCE_ERROR_MAX];
	va_list args;

	if (reader->is_bad) /* results after the first failure do not count */
		return false;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	describe(reader->error, reader->name, line, text);
	reader->is_bad = true;
	return false;
}
#define fail(reader, ...) fail_at(reader, (reader)->line, __VA_ARGS__)

/* -- bytes -- */

static bool refill(struct reader *reader)
{
	reader->at = 0;
	reader->end = input_read(reader->input, reader->buffer, BUFFER_BYTES);
	if (reader->end == 0 && input_problem(reader->input))
		return fail_at(reader, input_is_packed(reader->input) ? reader->line : 0, "%s",
			       input_problem(reader->input));
	if (building_show(input_bytes(reader->input), 2 * reader->file_bytes))
		return reader->end != 0;
	reader->end = 0;
	return fail_at(reader, 0, "interrupted");
}

/* The next byte, without taking it; EOF at the end or on failure. */
static inline int peek(struct reader *reader)
{
	if (reader->at == reader->end && !refill(reader))
		return EOF;
	return reader->buffer[reader->at];
}

/* Goes to the first byte. */
static bool rewind_reader(struct reader *reader)
{
	if (fseek(reader->in, 0, SEEK_SET) != 0)
		return fail_at(reader, 0, "must be a regular file: it is read twice");
	reader->line = reader->edges = reader->checksum = reader->entries = 0;
	reader->is_matrix = reader->is_symmetric = reader->has_size = false;
	input_restart(reader->input);
	refill(reader);
	return !reader->is_bad;
}

/* -- words -- */

struct word {
	char text[WORD_MAX + 4]; /* of a longer one the beginning and dots */
	size_t length;
};

static void skip_blanks(struct reader *reader)
{
	int byte = peek(reader);

	while (byte == ' ' || byte == '\t' || byte == '\r') {
		reader->at++;
		byte = peek(reader);
	}
}

static bool is_line_over(struct reader *reader)
{
	int byte = peek(reader);

	return byte == '\n' || byte == EOF;
}

static void skip_line(struct reader *reader)
{
	while (!is_line_over(reader)) {
		const unsigned char *from = reader->buffer + reader->at;
		const unsigned char *newline = memchr(from, '\n', reader->end - reader->at);

		reader->at = newline != NULL ? (size_t)(newline - reader->buffer) : reader->end;
	}
	if (peek(reader) == '\n')
		reader->at++;
}

/* The next word of the line; empty at its end. */
static void take_word(struct reader *reader, struct word *word)
{
	skip_blanks(reader);
	word->length = 0;
	for (;;) {
		int byte = peek(reader);

		if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n' || byte == EOF)
			break;
		if (word->length < WORD_MAX)
			word->text[word->length] = byte != 0 ? (char)byte : '?';
		word->length += word->length <= WORD_MAX;
		reader->at++;
	}
	strcpy(word->text + (word->length < WORD_MAX ? word->length : WORD_MAX),
	       word->length > WORD_MAX ? "..." : "");
}

/* False: not a decimal number, without a message. What does not fit 64 bits becomes the largest number. */
static bool to_number(const struct word *word, uint64_t *number)
{
	return word->length <= WORD_MAX && number_decimal(word->text, word->length, number) != NUMBER_BAD;
}

/* -- lines -- */

static bool take_vertex(struct reader *reader, uint32_t *vertex)
{
	struct word word;
	uint64_t number;

	take_word(reader, &word);
	if (reader->is_bad)
		return false;
	if (word.length == 0)
		return fail(reader, "`u v` or `u v w` expected, the line ends too early");
	if (!to_number(&word, &number))
		return fail(reader, "`%s` is not the number of a vertex", word.text);
	if (reader->is_matrix && number == 0)
		return fail(reader, "vertex 0: a matrix has none, they are numbered from 1");
	number -= reader->is_matrix;
	if (number > GRAPH_VERTEX_MAX)
		return fail(reader, "vertex `%s` is above %" PRIu32, word.text,
			    GRAPH_VERTEX_MAX + reader->is_matrix);
	*vertex = (uint32_t)number;
	return true;
}

/* The third column may be anything (a value, a time, a sign) unless weights are wanted. */
static bool take_weight(struct reader *reader, uint32_t *weight)
{
	struct word word;
	uint64_t number = 1;

	take_word(reader, &word);
	if (word.length != 0 && reader->options.is_weighted &&
	    (!to_number(&word, &number) || number > UINT32_MAX))
		return fail(reader, "weight `%s` is not a whole number of 0..%" PRIu32, word.text,
			    UINT32_MAX);
	*weight = (uint32_t)number;
	if (word.length != 0)
		take_word(reader, &word);
	if (reader->is_bad)
		return false;
	if (word.length != 0)
		return fail(reader, "`%s` is one column too many: `u v` or `u v w` expected", word.text);
	return true;
}

/* The line behind `%%MatrixMarket`. */
static bool read_banner(struct reader *reader)
{
	struct word object, format, field, symmetry;

	take_word(reader, &object);
	take_word(reader, &format);
	take_word(reader, &field);
	take_word(reader, &symmetry);
	if (reader->is_bad)
		return false;
	if (strcmp(object.text, "matrix") != 0 || strcmp(format.text, "coordinate") != 0)
		return fail(reader,
			    "not a `matrix coordinate`, the only kind of Matrix Market that has edges");
	reader->is_matrix = true;
	reader->is_symmetric = strcmp(symmetry.text, "general") != 0;
	return true;
}

/* A comment, of which the first line may be the banner. */
static bool read_comment(struct reader *reader)
{
	struct word word;

	if (reader->line == 1) {
		take_word(reader, &word);
		if (!reader->is_bad && strcmp(word.text, "%%MatrixMarket") == 0 && !read_banner(reader))
			return false;
	}
	return true;
}

/* Is that not a slip? */
static bool is_plausible(struct reader *reader, uint64_t line, uint64_t vertices, uint64_t edges)
{
	return vertices <= LARGE_GRAPH || vertices / PER_EDGE <= edges ||
	       fail_at(reader, line,
		       "%" PRIu64 " vertices are too many for %" PRIu64 " edges: above %" PRIu64
		       ", at most %u an edge",
		       vertices, edges, LARGE_GRAPH, PER_EDGE);
}

/* rows columns entries; the graph has as many vertices as the larger of the first two. */
static bool read_size(struct reader *reader, uint64_t *vertices)
{
	struct word word;
	uint64_t number[3];

	for (unsigned i = 0; i < 3; i++) {
		take_word(reader, &word);
		if (!reader->is_bad && !to_number(&word, &number[i]))
			return fail(reader, "`rows columns entries` expected, not `%s`", word.text);
	}
	take_word(reader, &word);
	if (reader->is_bad)
		return false;
	if (word.length != 0)
		return fail(reader, "`%s` is one column too many: `rows columns entries` expected",
			    word.text);
	*vertices = number[0] > number[1] ? number[0] : number[1];
	if (*vertices > (uint64_t)GRAPH_VERTEX_MAX + 1)
		return fail(reader, "%" PRIu64 " vertices are more than %" PRIu32, *vertices,
			    GRAPH_VERTEX_MAX + 1);
	reader->entries = number[2];
	reader->has_size = true;
	return is_plausible(reader, reader->line, *vertices, reader->entries);
}

/* Skips a line that is not an edge: a comment, an empty line, or the size line of a matrix. `byte`: its first. */
static bool skip_other(struct reader *reader, int byte, uint64_t *size)
{
	bool is_comment = byte == '#' || byte == '%', is_empty = byte == '\n' || byte == EOF;

	if (is_comment ? !read_comment(reader) : !is_empty && !read_size(reader, size))
		return false;
	skip_line(reader);
	return !reader->is_bad;
}

/* Goes to the next line that is an edge. False at the end, or on failure (is_bad). */
static bool find_edge(struct reader *reader, uint64_t *size)
{
	for (;;) {
		int byte;

		if (peek(reader) == EOF)
			return false;
		reader->line++;
		skip_blanks(reader);
		byte = peek(reader);
		if (byte != '#' && byte != '%' && byte != '\n' && byte != EOF &&
		    (!reader->is_matrix || reader->has_size))
			return true;
		if (!skip_other(reader, byte, size))
			return false;
	}
}

/* The next edge; false at the end, or on failure (is_bad). *size: vertices that the size line announces, else
 * unchanged. */
static bool next_edge(struct reader *reader, struct graph_edge *edge, uint64_t *size)
{
	if (!find_edge(reader, size))
		return false;
	if (!take_vertex(reader, &edge->from) || !take_vertex(reader, &edge->to) ||
	    !take_weight(reader, &edge->weight))
		return false;
	skip_line(reader);
	reader->edges++;
	reader->checksum += (((uint64_t)edge->from << 32 | edge->to) + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return !reader->is_bad;
}

/* -- graph -- */

static bool is_both_ways(const struct reader *reader)
{
	return !reader->options.is_directed || reader->is_symmetric;
}

/* Rows for the vertex, and for those to come: room grows by doubling, what is too much is cut off later. */
static bool make_row(struct reader *reader, struct graph *graph, uint32_t vertex)
{
	uint64_t vertices = (uint64_t)vertex + 1;

	if (vertices <= graph->vertices)
		return true;
	if (vertices < 2 * graph->vertices)
		vertices = 2 * graph->vertices;
	return graph_reserve(graph, vertices) || fail_at(reader, 0, "out of memory");
}

/* rows: of a matrix; edges: as many as the file can hold. */
struct limits {
	uint64_t rows, edges;
};

/* One edge of the first reading. */
static bool count_edge(struct reader *reader, struct graph *graph, const struct graph_edge *edge,
		       struct limits limits)
{
	uint32_t last = edge->from > edge->to ? edge->from : edge->to;

	if (reader->is_matrix && last >= limits.rows)
		return fail(reader, "vertex %" PRIu64 " is outside a matrix of %" PRIu64, (uint64_t)last + 1,
			    limits.rows);
	if (!is_plausible(reader, reader->line, (uint64_t)last + 1, limits.edges) ||
	    !make_row(reader, graph, last))
		return false;
	graph_count(graph, edge->from);
	if (is_both_ways(reader))
		graph_count(graph, edge->to);
	return true;
}

/* The first reading. */
static bool count_edges(struct reader *reader, struct graph *graph)
{
	uint64_t rows = 0, vertices = 0, most = UINT64_MAX;
	struct graph_edge edge;

	if (!rewind_reader(reader))
		return false;
	if (reader->file_bytes != 0 && !input_is_packed(reader->input))
		most = reader->file_bytes / EDGE_BYTES + 1;
	while (next_edge(reader, &edge, &rows)) {
		uint32_t last = edge.from > edge.to ? edge.from : edge.to;

		if (!count_edge(reader, graph, &edge, (struct limits){rows, most}))
			return false;
		if (last >= vertices)
			vertices = (uint64_t)last + 1;
	}
	if (reader->is_bad)
		return false;
	if (reader->is_matrix && reader->edges != reader->entries)
		return fail(reader, "the file ends after %" PRIu64 " entries of %" PRIu64, reader->edges,
			    reader->entries);
	if (reader->edges == 0)
		return fail_at(reader, 0, "holds no edge");
	if (!is_plausible(reader, 0, vertices, reader->edges))
		return false;
	return graph_reserve(graph, rows > vertices ? rows : vertices) || fail_at(reader, 0, "out of memory");
}

/* False: not as many edges as were counted. */
static bool store(struct graph *graph, uint32_t from, uint32_t to, uint32_t weight)
{
	if (from >= graph->vertices || to >= graph->vertices || graph->offset[from] >= graph->edges)
		return false;
	graph_store(graph, from, to, weight);
	return true;
}

/* The second reading. */
static bool store_edges(struct reader *reader, struct graph *graph)
{
	uint64_t edges = reader->edges, checksum = reader->checksum, rows = 0;
	bool is_same = true;
	struct graph_edge edge;

	if (!rewind_reader(reader))
		return false;
	while (is_same && next_edge(reader, &edge, &rows)) {
		is_same = store(graph, edge.from, edge.to, edge.weight);
		if (is_both_ways(reader))
			is_same = is_same && store(graph, edge.to, edge.from, edge.weight);
	}
	if (reader->is_bad)
		return false;
	if (!is_same || reader->edges != edges || reader->checksum != checksum)
		return fail_at(reader, 0, "has changed while it was read");
	graph_close_rows(graph);
	return true;
}

bool graph_load_stream(struct graph *graph, FILE *in, const char *name, struct graph_options options,
		       char error[SOURCE_ERROR_MAX])
{
	struct reader *reader = calloc(1, sizeof(*reader));
	bool is_loaded = false;
	struct stat info;

	*graph = (struct graph){0};
	if (reader != NULL)
		reader->input = input_open(in);
	if (reader == NULL || reader->input == NULL) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
	} else {
		reader->in = in;
		reader->name = name;
		reader->error = error;
		reader->options = options;
		if (fstat(fileno(in), &info) == 0 && S_ISREG(info.st_mode))
			reader->file_bytes = (uint64_t)info.st_size;
		is_loaded = count_edges(reader, graph);
		if (is_loaded && !graph_place(graph, options.is_weighted))
			is_loaded = fail_at(reader, 0, "out of memory");
		is_loaded = is_loaded && store_edges(reader, graph);
		input_close(reader->input);
	}
	free(reader);
	fclose(in);
	if (!is_loaded)
		graph_free(graph);
	return is_loaded;
}

bool graph_load(struct graph *graph, const char *path, struct graph_options options,
		char error[SOURCE_ERROR_MAX])
{
	FILE *in = NULL;

	*graph = (struct graph){0};
	if (strcmp(path, "-") == 0) {
		describe(error, path, 0, "an edge list is read twice, so it cannot be standard input");
		return false;
	}
	in = fopen(path, "rb");
	if (in == NULL) {
		describe(error, path, 0, strerror(errno));
		return false;
	}
	return graph_load_stream(graph, in, path, options, error);
}
