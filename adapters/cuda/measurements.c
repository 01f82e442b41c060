/* Reads measurements. */
#include "measurements.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 12u
#define LINE_MAX_  1024u

#define UTLB_FAULTS_MOST 65536u
#define REMOTE_NS_MOST	 1e6

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

/* A property of the GPU, with the limits that a model has. */
struct property {
	const char *name;
	uint64_t *value, least, most;
};

static bool take_property(const struct line *line, size_t field, const struct property *property)
{
	char text[128];

	if (!whole(line, field, property->value))
		return false;
	if (*property->value >= property->least && *property->value <= property->most)
		return true;
	snprintf(text, sizeof(text), "gpu: %s: %s is out of range, %" PRIu64 "..%" PRIu64, property->name, line->field[field],
		 property->least, property->most);
	return bad(line, text);
}

static bool take_gpu(const struct line *line, struct measurements *m)
{
	const struct property property[] = {{"sms", &m->sms, 1, 1024},
					    {"warps_per_sm", &m->warps_per_sm, 1, 256},
					    {"blocks_per_sm", &m->blocks_per_sm, 1, 256},
					    {"clock_mhz", &m->clock_mhz, 1, 100000},
					    {"cores_per_sm", &m->cores_per_sm, 1, 1024},
					    {"memory_bytes", &m->memory_bytes, 2097152, UINT64_C(1) << 44},
					    {"memory_mb_s", &m->memory_mb_s, 1024, 1000000000},
					    {"page_bytes", &m->page_bytes, 4096, 65536}};

	if (line->fields != 10)
		return bad(line, "gpu,NAME and eight numbers");
	if (m->has_gpu)
		return bad(line, "a second line `gpu`");
	if (strlen(line->field[1]) >= sizeof(m->name) || strpbrk(line->field[1], "#=\t"))
		return bad(line, "the name is longer than 63 bytes, or has one of #, = and tab");
	memcpy(m->name, line->field[1], strlen(line->field[1]) + 1);
	for (size_t i = 0; i < sizeof(property) / sizeof(property[0]); i++)
		if (!take_property(line, i + 2, &property[i]))
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

static bool take_utlb(const struct line *line, struct measurements *m)
{
	if (line->fields != 3)
		return bad(line, "utlb,UTLBS,FAULTS");
	if (!whole(line, 1, &m->utlbs) || !whole(line, 2, &m->utlb_faults))
		return false;
	return m->utlbs == 0 || m->utlb_faults / m->utlbs < UTLB_FAULTS_MOST || bad(line, "utlb: more than 65536 faults of a uTLB");
}

static bool take_remote(const struct line *line, struct measurements *m)
{
	if (line->fields != 2)
		return bad(line, "remote,NS");
	return number(line, 1, &m->remote_ns) && (m->remote_ns <= REMOTE_NS_MOST || bad(line, "remote: more than 1000000 ns"));
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
		return take_remote(line, m);
	if (strcmp(kind, "first") == 0)
		return line->fields == 3 ? number(line, 1, &m->first_ns) && number(line, 2, &m->like_ns)
					 : bad(line, "first,NS,NS of a later fault of the same size");
	if (strcmp(kind, "utlb") == 0)
		return take_utlb(line, m);
	return bad(line, "unknown kind of line; there are: gpu, copy, run, chase, remote, first, utlb");
}

bool measurements_read(FILE *in, const char *name, struct measurements *out, char error[MEASUREMENTS_ERROR_MAX])
{
	struct line line = {.file = name, .error = error};

	memset(out, 0, sizeof(*out));
	while (fgets(line.text, sizeof(line.text), in)) {
		line.number++;
		if (!strchr(line.text, '\n'))
			return bad(&line, feof(in) ? "the line does not end: the file is cut" : "the line is too long, or has a zero byte");
		if (strchr(line.text, '\r'))
			return bad(&line, "the line ends with a carriage return: the file must have the line ends of Unix");
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
