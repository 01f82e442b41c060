/* Which format the first bytes of a file show. */
#include "import/importer.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES 4096u

static const struct import_format *find_shown(const char *head, size_t length, const char *name,
					      char error[SOURCE_ERROR_MAX])
{
	const struct import_format *found = NULL, *format;
	char known[SOURCE_ERROR_MAX / 2] = "";
	size_t at = 0;

	for (size_t i = 0; (format = import_format_at(i)) != NULL; i++) {
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i > 0 ? ", " : "",
				       format->name);
		at = at < sizeof(known) ? at : sizeof(known) - 1u;
		if (!format->shows || !format->shows(head, length))
			continue;
		if (found) {
			snprintf(error, SOURCE_ERROR_MAX,
				 "%.200s: begins as %s and as %s do; name the format", name, found->name,
				 format->name);
			return NULL;
		}
		found = format;
	}
	if (!found)
		snprintf(error, SOURCE_ERROR_MAX, "%.200s: its first bytes show no format; name one of %s",
			 name, known);
	return found;
}

static bool is_trace(const char *head, size_t length)
{
	static const char text[] = "uvmp-trace", binary[] = "\xf5uvmpt\r\n";

	return (length >= sizeof(text) - 1u && memcmp(head, text, sizeof(text) - 1u) == 0) ||
	       (length >= sizeof(binary) - 1u && memcmp(head, binary, sizeof(binary) - 1u) == 0);
}

/* The first bytes, decompressed. False with the error filled: none, or the file cannot be rewound. */
static bool read_head(FILE *in, const char *name, char head[HEAD_BYTES], size_t *length,
		      char error[SOURCE_ERROR_MAX])
{
	off_t start = ftello(in);
	struct import_view *view;

	if (start < 0 || fseeko(in, start, SEEK_SET) != 0) {
		snprintf(error, SOURCE_ERROR_MAX, "%.200s: cannot be rewound; name its format", name);
		return false;
	}
	view = import_view_open(in, false);
	if (!view) {
		snprintf(error, SOURCE_ERROR_MAX, "out of memory");
		return false;
	}
	*length = fread(head, 1, HEAD_BYTES, import_view_file(view));
	if (*length == 0)
		snprintf(error, SOURCE_ERROR_MAX, "%.200s: %s", name,
			 import_view_problem(view) ? import_view_problem(view) : "is empty");
	import_view_close(view);
	if (fseeko(in, start, SEEK_SET) == 0)
		return *length > 0;
	snprintf(error, SOURCE_ERROR_MAX, "%.200s: cannot be rewound: %s", name, strerror(errno));
	return false;
}

bool import_shows_trace(FILE *in)
{
	char head[HEAD_BYTES], error[SOURCE_ERROR_MAX];
	size_t length;

	return read_head(in, "", head, &length, error) && is_trace(head, length);
}

const struct import_format *import_detect(FILE *in, const char *name, char error[SOURCE_ERROR_MAX])
{
	char head[HEAD_BYTES];
	size_t length;

	if (!read_head(in, name, head, &length, error))
		return NULL;
	if (!is_trace(head, length))
		return find_shown(head, length, name, error);
	snprintf(error, SOURCE_ERROR_MAX, "%.200s: is a trace of uvmsim already; see `uvmsim run --trace`",
		 name);
	return NULL;
}
