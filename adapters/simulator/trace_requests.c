/* Cache traces of libCacheSim (oracleGeneral) as a source: the same rows as `uvmsim import oracleGeneral` makes
 * (import/oracle_general.c), without a text between; trace_objects.c knows the records and objects of both. The file is mapped,
 * or decompressed into memory. One pass gives each request the number of its object and each object its size; then every object
 * has its pages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "array.h"
#include "trace_internal.h"
#include "trace_objects.h"

#define AHEAD 16u /* records whose slot is fetched early */

struct requests {
	struct source source; /* first: the two are the same pointer to callers */
	FILE *in;
	char *name;
	unsigned char *bytes;
	size_t length, count; /* bytes, records */
	bool is_mapped;
	uint32_t *object; /* [count] of each request */
	struct objects objects;
	size_t at; /* request in hand */
	uint64_t page_at;
	bool has_range;
};

static const unsigned char *record(const struct requests *r, size_t at)
{
	return r->bytes + at * OBJECTS_RECORD_BYTES;
}

static uint32_t second_of(const struct requests *r, size_t at)
{
	return object_word(record(r, at));
}

/* Gives the request its object. False: out of memory. */
static bool take_request(struct requests *r, size_t at)
{
	struct object_request request = object_request_read(record(r, at));

	if (at + AHEAD < r->count && at != 0)
		objects_prefetch(&r->objects, object_id(record(r, at + AHEAD)));
	r->object[at] = objects_add(&r->objects, &request);
	return r->object[at] != OBJECT_NONE;
}

static bool fail(struct requests *r, size_t at, const char *text)
{
	r->source.line = at * OBJECTS_RECORD_BYTES;
	return source_fail(&r->source, text, r->source.error);
}

static bool take_requests(struct requests *r)
{
	r->count = r->length / OBJECTS_RECORD_BYTES;
	if (r->length == 0 || r->length % OBJECTS_RECORD_BYTES != 0)
		return fail(r, r->count, "the file is empty, or ends within a record of 24 bytes");
	r->object = array_again(NULL, r->count, sizeof(*r->object));
	if (!r->object)
		return fail(r, 0, "out of memory");
	for (size_t i = 0; i < r->count; i++) {
		if (i > 0 && second_of(r, i) < second_of(r, i - 1u))
			return fail(r, i, "time goes backwards");
		if (!take_request(r, i))
			return fail(r, i, "out of memory");
	}
	objects_forget_names(&r->objects);
	return objects_place(&r->objects) ||
	       fail(r, 0, "all objects together do not fit the address space");
}

/* -- bytes -- */

static bool map_bytes(struct requests *r)
{
	struct stat info;
	void *map;

	if (fstat(fileno(r->in), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0)
		return false;
	map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fileno(r->in), 0);
	if (map == MAP_FAILED)
		return false;
	r->bytes = map;
	r->length = (size_t)info.st_size;
	r->is_mapped = true;
	return true;
}

/* The whole input, decompressed. */
static bool read_bytes(struct requests *r, struct input *input)
{
	size_t room = 0, got = 1;

	while (got != 0) {
		if (!ARRAY_RESERVE(r->bytes, room, r->length + TRACE_BUFFER))
			return fail(r, 0, "out of memory");
		got = input_read(input, r->bytes + r->length, TRACE_BUFFER);
		r->length += got;
	}
	return !input_problem(input) || fail(r, 0, input_problem(input));
}

static bool load(struct requests *r)
{
	struct input *input = input_open(r->in);
	unsigned char first;
	bool is_good;

	if (!input)
		return fail(r, 0, "out of memory");
	(void)input_read(input, &first, 1);
	if (!input_is_packed(input) && map_bytes(r)) {
		input_close(input);
		return take_requests(r);
	}
	rewind(r->in);
	input_restart(input);
	is_good = read_bytes(r, input);
	input_close(input);
	return is_good && take_requests(r);
}

/* -- source -- */

static void requests_next(struct source *source, struct source_row *row)
{
	struct requests *r = (struct requests *)source;
	struct object_request request;

	if (!r->has_range) {
		*row = (struct source_row){.kind = SOURCE_RANGE,
					   .range = {.base = OBJECTS_BASE,
						     .bytes = objects_pages(&r->objects) * OBJECTS_PAGE_BYTES,
						     .name = "objects"}};
		r->has_range = true;
		return;
	}
	if (r->at == r->count) {
		*row = (struct source_row){.kind = SOURCE_END};
		return;
	}
	request = object_request_read(record(r, r->at));
	row->kind = SOURCE_ACCESS;
	row->has_time = true;
	row->time_ns = (uint64_t)(second_of(r, r->at) - second_of(r, 0)) * OBJECTS_NS_PER_S;
	row->is_cpu = false;
	row->agent = 0;
	row->access = UVMP_ACCESS_READ;
	row->address = OBJECTS_BASE + (r->objects.page[r->object[r->at]] + r->page_at) * OBJECTS_PAGE_BYTES;
	row->access_bytes = object_request_page_bytes(&request, r->page_at);
	source->done = source->line = r->at * OBJECTS_RECORD_BYTES;
	if (++r->page_at == request.pages) {
		r->page_at = 0;
		r->at++;
	}
}

static void requests_close(struct source *source)
{
	struct requests *r = (struct requests *)source;

	if (r->is_mapped)
		munmap(r->bytes, r->length);
	else
		free(r->bytes);
	free(r->object);
	objects_free(&r->objects);
	free(r->name);
	fclose(r->in);
	free(r);
}

bool trace_is_requests(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "oracleGeneral") != NULL;
}

struct source *trace_open_requests(FILE *in, const char *path, char error[SOURCE_ERROR_MAX])
{
	struct requests *r = calloc(1, sizeof(*r));

	if (!r || !(r->name = strdup(path))) {
		trace_describe(error, path, "out of memory");
		free(r);
		fclose(in);
		return NULL;
	}
	r->in = in;
	r->source.name = r->name;
	r->source.is_binary = true;
	r->source.has_bytes = true;
	r->source.next = requests_next;
	r->source.close = requests_close;
	if (load(r)) {
		r->source.total = r->length;
		return &r->source;
	}
	memcpy(error, r->source.error, SOURCE_ERROR_MAX);
	requests_close(&r->source);
	return NULL;
}
