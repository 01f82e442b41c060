/* Logs of the instrumented drivers of uvm-eval, with what the kernel's log puts before each line (up to the last semicolon) or
 * without. `s` begins a batch, `f,ADDRESS,...` is a fault, `p,ADDRESS` a prefetched page, `b,...` ends the batch. Faults are
 * written after they were sorted: their order of arrival is lost, so their times are not kept. The driver that counts per batch
 * writes no faults. Lines `e` (evictions) and `a` (counts of accesses) are skipped. All other lines belong to something else,
 * unless they begin with one letter or digit and a comma, or hold nothing but what records are made of: then a record is
 * damaged. */
#include "import/importer.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define FIELDS 16u
#define ACCESS 4u /* field of an f line */

struct log {
	uint32_t agents, stalled;	   /* of the open batch, of the last one */
	uint64_t *prefetched, count, room; /* addresses, of the open batch */
	bool has_counts;
};

static bool end_batch(struct import *import, struct log *log)
{
	if (log->agents > 0) {
		log->stalled = log->agents;
		log->agents = 0;
		if (!import_batch(import))
			return false;
	}
	for (uint64_t i = 0; i < log->count; i++) {
		struct source_row row = {
			.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ, .address = log->prefetched[i]};

		row.agent = (uint32_t)(i % (log->stalled > 0 ? log->stalled : 1u));
		if (!import_access(import, &row))
			return false;
	}
	log->count = 0;
	return true;
}

static bool take_fault(struct import *import, struct log *log, char *const field[], size_t fields)
{
	static const enum uvmp_access access[] = {UVMP_ACCESS_PREFETCH, UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
						  UVMP_ACCESS_ATOMIC_WEAK, UVMP_ACCESS_ATOMIC_STRONG};
	struct source_row row = {.kind = SOURCE_ACCESS};
	uint64_t kind;

	if (fields <= ACCESS)
		return import_bad(import, "a fault has %zu fields; ADDRESS,TIME,FAULT TYPE,ACCESS TYPE,...",
				  fields - 1u);
	if (!import_hex(field[1], &row.address))
		return import_bad(import, "address \"%.40s\" is not a hexadecimal number", field[1]);
	if (!import_decimal(field[ACCESS], &kind) || kind >= sizeof(access) / sizeof(access[0]))
		return import_bad(import, "access type \"%.40s\" is not 0..4", field[ACCESS]);
	if (log->agents == IMPORT_AGENTS_MAX)
		return import_bad(import, "more than %u faults in a batch", IMPORT_AGENTS_MAX);
	row.access = access[kind];
	row.agent = log->agents++;
	return import_access(import, &row);
}

static bool take_prefetched(struct import *import, struct log *log, char *const field[], size_t fields)
{
	uint64_t address;

	if (fields != 2)
		return import_bad(import, "a prefetched page has %zu fields; ADDRESS", fields - 1u);
	if (!import_hex(field[1], &address))
		return import_bad(import, "address \"%.40s\" is not a hexadecimal number", field[1]);
	if (import->options->touched == IMPORT_TOUCHED_FAULTS)
		return true;
	if (!ARRAY_RESERVE(log->prefetched, log->room, log->count + 1u))
		return import_no_memory(import);
	log->prefetched[log->count++] = address;
	return true;
}

/* Is there a record before the prefix of another line, because a line feed is lost? */
static bool has_two(const char *line, const char *cut)
{
	const char *first = cut ? strchr(line, ';') : NULL;

	return first && first != cut && strchr("spfb", first[1]) && first[2] == ',';
}

/* Could the text, which is no record, be the rest of one, or of its prefix? */
static bool is_rest(const char *text)
{
	return strchr(text, ',') && text[strspn(text, "0123456789abcdefpsx,-")] == '\0';
}

static bool take_line(struct import *import, struct log *log)
{
	char *line = import->text.lines.text, *cut = strrchr(line, ';'), *field[FIELDS];
	size_t fields;

	if (has_two(line, cut))
		return import_bad(import, "a record is followed by another line without a line feed");
	line = cut ? cut + 1 : line;
	line += strspn(line, " ");
	if (line[0] == '\0' || (line[1] != ',' && line[1] != '\0'))
		return !is_rest(line) || import_bad(import, "\"%.40s\" is part of a record", line);
	fields = import_fields(line, field, FIELDS);
	switch (line[0]) {
	case 'f':
		return take_fault(import, log, field, fields);
	case 'p':
		return take_prefetched(import, log, field, fields);
	case 's':
		return end_batch(import, log);
	case 'b':
		log->has_counts = log->has_counts || fields > FIELDS;
		return end_batch(import, log);
	case 'e':
	case 'a':
		return true;
	default:
		return fields == 1 || import_bad(import, "\"%.1s\" is no record; s, f, p, b, e or a", line);
	}
}

static bool read_log(struct import *import)
{
	struct log log = {.agents = 0};
	enum line_status status;
	bool is_good = true;

	while (is_good && (status = import_next(import)) == LINE_OK)
		is_good = take_line(import, &log);
	is_good = is_good && status == LINE_END && end_batch(import, &log);
	free(log.prefetched);
	if (is_good && import->accesses == 0 && log.has_counts)
		return import_bad(import, "has counts of batches only: this driver writes no faults");
	return is_good;
}

static bool shows(const char *head, size_t length)
{
	const char *line = memchr(head, ';', length < 200 ? length : 200);

	line = line ? line + 1 : head;
	return (size_t)(head + length - line) > 2 &&
	       (memcmp(line, "f,", 2) == 0 || memcmp(line, "s\n", 2) == 0 || memcmp(line, "s,", 2) == 0);
}

const struct import_format import_uvm_eval = {
	.name = "uvm-eval",
	.summary = "faults in their batches, as the instrumented drivers of uvm-eval log them",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_TOUCHED,
	.has_faults_only = true,
	.read = read_log,
	.shows = shows,
};
