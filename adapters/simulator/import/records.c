/* Profiles whose lines are records of KEY=VALUE fields. */
#include "import/records.h"

#include "import/profile.h"

#include <string.h>

bool records_read(struct import *import, records_take *take)
{
	enum line_status status = LINE_END;
	struct pairs pairs;

	while (!import_profile_is_loaded(import) && (status = import_next(import)) == LINE_OK) {
		const char *line = import->text.lines.text;

		if (line[0] != '\0' && line[0] != '#' && (!pairs_cut(import, &pairs) || !take(import, &pairs)))
			return false;
	}
	return status == LINE_END && import_profile_write(import);
}

const char *records_kind(const struct pairs *pairs, const char *prefix)
{
	return strncmp(pairs->word, prefix, strlen(prefix)) == 0 ? pairs->word + strlen(prefix) : pairs->word;
}

bool records_show(const char *head, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (pairs_show(head, length, *words))
			return true;
	return false;
}
