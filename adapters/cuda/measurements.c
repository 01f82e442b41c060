/* Reads measurements. */
#include "measurements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 12u
#define LINE_MAX_  1024u

/* A line, cut at its commas. */
struct line {
	const char *file;
	unsigned number;
	char text[LINE_MAX_];
	char *field[FIELDS_MAX];
	size_t fields;
	char *error;
};

static bool bad(const struct line *line, const char *what)
{
	snprintf(line->error, MEASUREMENTS_ERROR_MAX, "%.100s:%u: %s", line->file, line->number, what);
	return false;
}

static bool split(struct line *line)
{
	char *at = line->text;

	line->fields = 0;
	at[strcspn(at, "\n")] = '\0';
	for (;;) {
		if (line->fields == FIELDS_MAX)
			return bad(line, "too many fields");
		line->field[line->fields++] = at;
		at = strchr(at, ',');
		if (!at)
			return true;
		*at++ = '\0';
	}
}

/* The field as a number that is not negative. */
static bool number(const struct line *line, size_t field, double *value)
{
	char *end;

	*value = strtod(line->field[field], &end);
	if (end == line->field[field] || *end != '\0' || !(*value >= 0) || *value > 1e18)
		return bad(line, "not a number from 0 to 1e18");
	return true;
}

static bool whole(const struct line *line, size_t field, uint64_t *value)
{
	double read;

	if (!number(line, field, &read))
		return false;
	*value = (uint64_t)read;
	return (double)*value == read || bad(line, "not a whole number");
}

static bool take_gpu(const struct line *line, struct measurements *m)
{
	uint64_t *const values[] = {&m->sms,	      &m->warps_per_sm, &m->blocks_per_sm, &m->clock_mhz,
				    &m->cores_per_sm, &m->memory_bytes, &m->memory_mb_s,   &m->page_bytes};

	if (line->fields != 10)
		return bad(line, "gpu,NAME and eight numbers");
	if (strlen(line->field[1]) >= sizeof(m->name) || strpbrk(line->field[1], "#=\t"))
		return bad(line, "the name is longer than 63 bytes, or has one of #, = and tab");
	memcpy(m->name, line->field[1], strlen(line->field[1]) + 1);
	for (size_t i = 0; i < 8; i++)
		if (!whole(line, i + 2, values[i]) || (*values[i] == 0 && !bad(line, "gpu: 0 is not possible")))
			return false;
	m->has_gpu = true;
	return true;
}

static bool take_point(const struct line *line, size_t field, struct measured_points *points)
{
	double bytes, ns;

	if (points->count == MEASUREMENTS_MAX)
		return bad(line, "more than 512 lines of this kind");
	if (!number(line, field, &bytes) || !number(line, field + 1, &ns))
		return false;
	if (bytes <= 0 || ns <= 0)
		return bad(line, "0 is not possible");
	points->bytes[points->count] = bytes;
	points->ns[points->count++] = ns;
	return true;
}

static bool take_copy(const struct line *line, struct measurements *m)
{
	bool is_in = line->fields == 4 && strcmp(line->field[1], "h2d") == 0;

	if (line->fields != 4 || (!is_in && strcmp(line->field[1], "d2h") != 0))
		return bad(line, "copy,h2d|d2h,BYTES,NS");
	return take_point(line, 2, &m->copy[is_in ? 0 : 1]);
}

static bool take_run(const struct line *line, struct measurements *m)
{
	struct fit_row *row = &m->run[m->runs];
	double copies;

	if (line->fields != 4 + TERMS - 1)
		return bad(line, "run,NAME,NS,COPY_NS,GROUPS,FAULTS,SERVICED,BLOCKS,PAGES,MOVED_BLOCKS,MOVED_PAGES");
	if (m->runs == MEASUREMENTS_MAX)
		return bad(line, "more than 512 runs");
	memset(row, 0, sizeof(*row));
	if (!number(line, 2, &row->value) || !number(line, 3, &copies))
		return false;
	row->value -= copies;
	if (row->value <= 0)
		return bad(line, "the copies take longer than the run");
	row->count[TERM_LAUNCH] = 1;
	for (size_t i = TERM_GROUP; i < TERMS; i++)
		if (!number(line, i + 3, &row->count[i]))
			return false;
	m->runs++;
	return true;
}

static bool take_line(const struct line *line, struct measurements *m)
{
	const char *kind = line->field[0];

	if (strcmp(kind, "gpu") == 0)
		return take_gpu(line, m);
	if (strcmp(kind, "copy") == 0)
		return take_copy(line, m);
	if (strcmp(kind, "run") == 0)
		return take_run(line, m);
	if (strcmp(kind, "chase") == 0)
		return line->fields == 3 ? take_point(line, 1, &m->chase) : bad(line, "chase,BYTES,NS");
	if (strcmp(kind, "remote") == 0)
		return line->fields == 2 ? number(line, 1, &m->remote_ns) : bad(line, "remote,NS");
	if (strcmp(kind, "first") == 0)
		return line->fields == 3 ? number(line, 1, &m->first_ns) && number(line, 2, &m->like_ns)
					 : bad(line, "first,NS,NS of a later fault of the same size");
	if (strcmp(kind, "utlb") == 0)
		return line->fields == 3 ? whole(line, 1, &m->utlbs) && whole(line, 2, &m->utlb_faults)
					 : bad(line, "utlb,UTLBS,FAULTS");
	return bad(line, "unknown kind of line; there are: gpu, copy, run, chase, remote, first, utlb");
}

bool measurements_read(FILE *in, const char *name, struct measurements *out, char error[MEASUREMENTS_ERROR_MAX])
{
	struct line line = {.file = name, .error = error};

	memset(out, 0, sizeof(*out));
	while (fgets(line.text, sizeof(line.text), in)) {
		line.number++;
		if (!strchr(line.text, '\n') && !feof(in))
			return bad(&line, "the line is too long");
		if (line.number == 1) {
			if (strcmp(line.text, "uvmp-measurements 1\n") != 0)
				return bad(&line, "the first line is not `uvmp-measurements 1`");
			continue;
		}
		if (line.text[0] == '\n' || line.text[0] == '#')
			continue;
		if (!split(&line) || !take_line(&line, out))
			return false;
	}
	line.number += line.number == 0;
	if (ferror(in)) {
		char text[96];

		snprintf(text, sizeof(text), "cannot be read: %s", strerror(errno));
		return bad(&line, text);
	}
	return line.number > 1 || bad(&line, "no measurements");
}
