/* Opens a store by name. */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(char *text, size_t bytes, const char *what, int error)
{
	if (bytes != 0 && text[0] == '\0')
		snprintf(text, bytes, "%s: %s", what, strerror(-error));
}

/* "zstd" or "zstd:LEVEL". */
static bool take_level(const char *name, int *level)
{
	char *end;
	long number;

	*level = UVMP_STORE_ZSTD_LEVEL;
	if (strcmp(name, "zstd") == 0)
		return true;
	number = strtol(name + 5, &end, 10);
	*level = (int)number;
	return end != name + 5 && *end == '\0' && number >= UVMP_STORE_ZSTD_FASTEST &&
	       number <= UVMP_STORE_ZSTD_SMALLEST;
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

struct uvmp_pager_store *uvmp_store_open(const char *name, uint64_t pages, int *error, char *text,
					 size_t text_bytes)
{
	struct uvmp_pager_store *store = NULL;
	int level;

	if (text_bytes != 0)
		text[0] = '\0';
	*error = -EINVAL;
	if (strcmp(name, "mem") == 0)
		store = uvmp_store_mem(pages, error);
	else if (strcmp(name, "map") == 0)
		store = uvmp_store_map(pages, error);
	else if ((strcmp(name, "zstd") == 0 || begins(name, "zstd:")) && take_level(name, &level))
		store = uvmp_store_zstd(pages, level, error);
	else if (begins(name, "file:") && name[5] != '\0')
		store = uvmp_store_file(name + 5, pages, error, text, text_bytes);
	else if (text_bytes != 0)
		snprintf(text, text_bytes,
			 "store: \"%.100s\" is not accepted; mem, zstd, file:PATH, map, zstd:LEVEL (%d..%d)",
			 name, UVMP_STORE_ZSTD_FASTEST, UVMP_STORE_ZSTD_SMALLEST);
	if (!store && *error == -ENOTSUP && begins(name, "zstd") && text_bytes != 0)
		snprintf(text, text_bytes, "store: %.100s: built without zstd; install libzstd-dev and build again", name);
	if (!store)
		say(text, text_bytes, name, *error);
	return store;
}
