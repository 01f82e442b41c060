/* Which store a name means. */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void say(char *text, size_t bytes, const char *what, int error)
{
	if (bytes != 0 && text[0] == '\0')
		snprintf(text, bytes, "%s: %s", what, strerror(-error));
}

struct uvmp_pager_store *uvmp_store_open(const char *name, uint64_t pages, int *error, char *text,
                                         size_t text_bytes)
{
	struct uvmp_pager_store *store = NULL;

	if (text_bytes != 0)
		text[0] = '\0';
	*error = -EINVAL;
	if (strcmp(name, "mem") == 0)
		store = uvmp_store_mem(pages, error);
	else if (strcmp(name, "zstd") == 0)
		store = uvmp_store_zstd(pages, error);
	else if (strncmp(name, "file:", 5) == 0 && name[5] != '\0')
		store = uvmp_store_file(name + 5, pages, error, text, text_bytes);
	else if (text_bytes != 0)
		snprintf(text, text_bytes, "store: \"%.100s\" is not accepted; mem, zstd, file:PATH", name);
	if (!store)
		say(text, text_bytes, name, *error);
	return store;
}
