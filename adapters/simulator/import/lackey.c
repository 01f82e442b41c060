/* Accesses of a program to memory, as `valgrind --tool=lackey --trace-mem=yes` prints them: a letter, an address without 0x and
 * a size. L loads, S stores, M loads and stores; I, the fetch of an instruction, is left out. So are the lines of Valgrind
 * itself. With ranges only accesses to them count: a program also uses its stack and its libraries. */
#include "import/importer.h"

#include <string.h>

#define BYTES_MOST 65536u /* of one access; the state of the processor is stored at once */

static bool is_data(const char *line)
{
	return line[0] == ' ' && (line[1] == 'L' || line[1] == 'S' || line[1] == 'M') && line[2] == ' ';
}

static bool is_other(const char *line)
{
	static const char *const starts[] = {"==", "--", "**", "I  ", "SB "};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(line, starts[i], strlen(starts[i])) == 0)
			return true;
	return line[0] == '\0';
}

/* One row for each page. */
static bool put_access(struct import *import, char letter, uint64_t address, uint64_t bytes)
{
	struct source_row row = {.access = letter == 'L' ? UVMP_ACCESS_READ : UVMP_ACCESS_WRITE};
	bool has_ranges = import->options->ranges.file != NULL;

	row.agent = import_agent(import);
	while (bytes > 0) {
		uint64_t here = IMPORT_PAGE - address % IMPORT_PAGE;

		here = here < bytes ? here : bytes;
		row.address = address;
		row.access_bytes = (uint16_t)here;
		if ((!has_ranges || import_ranges_hold(&import->ranges, address)) &&
		    !import_access(import, &row))
			return false;
		address += here;
		bytes -= here;
	}
	return true;
}

static bool take_line(struct import *import)
{
	char *line = import->text.lines.text, *field[2];
	uint64_t address, bytes;

	if (is_other(line))
		return true;
	if (!is_data(line))
		return import_bad(
			import,
			"\"%.40s\" is no line of lackey; the program's own output goes elsewhere with "
			"--log-file",
			line);
	if (import_fields(line + 3, field, 2) != 2)
		return import_bad(import, "not ADDRESS,BYTES after the letter");
	if (!import_hex(field[0], &address))
		return import_bad(import, "address \"%.40s\" is not a hexadecimal number of 64 bits",
				  field[0]);
	if (!import_decimal(field[1], &bytes) || bytes == 0 || bytes > BYTES_MOST)
		return import_bad(import, "size \"%.40s\" is not 1..%u bytes", field[1], BYTES_MOST);
	if (address + (bytes - 1u) < address)
		return import_bad(import, "the access ends behind the last address");
	return put_access(import, line[1], address, bytes);
}

static bool read_lines(struct import *import)
{
	enum line_status status;

	while ((status = import_next(import)) == LINE_OK)
		if (!take_line(import))
			return false;
	return status == LINE_END;
}

static bool shows(const char *head, size_t length)
{
	static const char banner[] = "Lackey, an example Valgrind tool";

	return memmem(head, length, banner, sizeof(banner) - 1u) != NULL ||
	       (length > 3 && (memcmp(head, "I  ", 3) == 0 || is_data(head)));
}

const struct import_format import_lackey = {
	.name = "lackey",
	.summary =
		"accesses of a program on the CPU: `valgrind --tool=lackey --trace-mem=yes --log-file=FILE`",
	.options = IMPORT_RANGES | IMPORT_BENCHMARK | IMPORT_AGENTS,
	.has_bytes = true,
	.read = read_lines,
	.shows = shows,
};
