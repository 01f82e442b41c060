/* Addresses, one a line, the simplest format for a tool to print: ADDRESS, or AGENT,ACCESS,ADDRESS as in a trace.
 * Order is all there is. A number with 0x is hexadecimal, one without is decimal, unless all are said to be
 * hexadecimal: a number without letters could be either. Lines that begin with # and empty ones are skipped.
 */
#include "import/importer.h"

#include <string.h>

#define AGENT_MAX (IMPORT_AGENTS_MAX - 1u)

static bool take_address(struct import *import, const char *text, uint64_t *address)
{
	bool is_hex = import->options->is_hex || strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;

	if (is_hex ? import_hex(text, address) : import_decimal(text, address))
		return true;
	if (!is_hex && import_hex(text, address))
		return import_bad(import,
				  "address \"%.40s\" has letters but no 0x; --hex reads all as hexadecimal",
				  text);
	return import_bad(import, "address \"%.40s\" is not a number of 64 bits", text);
}

static bool take_kind(struct import *import, const char *text, enum uvmp_access *access)
{
	static const char letters[] = "rwap";
	static const enum uvmp_access kinds[] = {UVMP_ACCESS_READ, UVMP_ACCESS_WRITE,
						 UVMP_ACCESS_ATOMIC_STRONG, UVMP_ACCESS_PREFETCH};
	const char *letter = text[0] != '\0' && text[1] == '\0' ? strchr(letters, text[0]) : NULL;

	if (!letter)
		return import_bad(import, "access \"%.40s\" is not one of r, w, a, p", text);
	*access = kinds[letter - letters];
	return true;
}

static bool take_agent(struct import *import, const char *text, struct source_row *row)
{
	uint64_t agent = 0;

	row->is_cpu = strcmp(text, "cpu") == 0;
	if (!row->is_cpu && (!import_decimal(text, &agent) || agent > AGENT_MAX))
		return import_bad(import, "agent \"%.40s\" is not cpu or 0..%u", text, AGENT_MAX);
	row->agent = (uint32_t)agent;
	return true;
}

static bool take_line(struct import *import)
{
	struct source_row row = {.kind = SOURCE_ACCESS, .access = UVMP_ACCESS_READ};
	char *field[3];
	size_t count = import_fields(import->text.lines.text, field, 3);

	if (count == 1)
		row.agent = import_agent(import);
	else if (count != 3)
		return import_bad(import, "neither ADDRESS nor AGENT,ACCESS,ADDRESS");
	else if (!take_agent(import, field[0], &row) || !take_kind(import, field[1], &row.access))
		return false;
	return take_address(import, field[count - 1], &row.address) && import_access(import, &row);
}

static bool read_lines(struct import *import)
{
	enum line_status status;

	while ((status = import_next(import)) == LINE_OK) {
		const char *line = import->text.lines.text;

		if (line[0] != '\0' && line[0] != '#' && !take_line(import))
			return false;
	}
	return status == LINE_END;
}

const struct import_format import_addresses = {
	.name = "addresses",
	.summary = "lines ADDRESS or AGENT,ACCESS,ADDRESS: the simplest format for a tool to print",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_AGENTS | IMPORT_HEX,
	.read = read_lines,
};
