/* oracleGeneral, the binary format of libCacheSim for cache traces (trace_objects.h). The file is read twice: first each object
 * gets its pages, then each request reads those that its size needs. */
#include "import/importer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_objects.h"

struct state {
	struct objects objects;
	uint32_t first_s;
};

/* -- records -- */

/* LINE_END, LINE_OK, or LINE_BAD with the error filled. */
static enum line_status next_record(struct import *import, struct object_request *request)
{
	FILE *in = import_view_file(import->view);
	unsigned char record[OBJECTS_RECORD_BYTES];
	size_t length = fread(record, 1, sizeof(record), in);
	const char *problem = import_view_problem(import->view);

	if (length == 0 && !ferror(in))
		return LINE_END;
	import->record++;
	if (ferror(in)) {
		import_bad(import, "%s", problem ? problem : strerror(errno));
		return LINE_BAD;
	}
	if (length < sizeof(record)) {
		import_bad(import, "ends after %zu of %u bytes", length, OBJECTS_RECORD_BYTES);
		return LINE_BAD;
	}
	*request = object_request_read(record);
	return LINE_OK;
}

/* -- two readings -- */

/* Gives every object its pages. */
static bool place(struct import *import, struct objects *objects)
{
	struct source_range range = {.base = OBJECTS_BASE, .name = "objects"};
	const char *wrong;

	if (!objects_place(objects))
		return import_bad(import, "all objects together have more than %llu bytes",
				  (unsigned long long)(OBJECTS_PAGES_MOST * OBJECTS_PAGE_BYTES));
	range.bytes = objects_pages(objects) * OBJECTS_PAGE_BYTES;
	wrong = objects->count > 0 ? import_ranges_add(&import->ranges, &range) : NULL;
	return !wrong || import_bad(import, "%s", wrong);
}

static bool count_objects(struct import *import, struct state *state)
{
	struct object_request request;
	enum line_status status;

	while ((status = next_record(import, &request)) == LINE_OK) {
		if (objects_add(&state->objects, &request) == OBJECT_NONE)
			return import_bad(import, "out of memory");
		if (import->accesses++ == 0)
			state->first_s = request.second;
		if (request.second < import->time_ns)
			return import_bad(import, "time goes backwards, from %llu s to %lu s",
					  (unsigned long long)import->time_ns, (unsigned long)request.second);
		import->time_ns = request.second;
	}
	return status == LINE_END && place(import, &state->objects);
}

static bool put_request(struct import *import, const struct state *state, uint64_t first_page,
			const struct object_request *request)
{
	struct source_row row = {.has_time = true, .access = UVMP_ACCESS_READ};

	row.time_ns = (uint64_t)(request->second - state->first_s) * OBJECTS_NS_PER_S;
	row.agent = import_agent(import);
	for (uint64_t page = 0; page < request->pages; page++) {
		row.address = OBJECTS_BASE + (first_page + page) * OBJECTS_PAGE_BYTES;
		row.access_bytes = object_request_page_bytes(request, page);
		if (!import_access(import, &row))
			return false;
	}
	return true;
}

static bool put_requests(struct import *import, const struct state *state)
{
	const uint64_t *page = state->objects.page;
	struct object_request request;
	enum line_status status;

	while ((status = next_record(import, &request)) == LINE_OK) {
		uint32_t object = objects_find(&state->objects, request.id);

		if (object == OBJECT_NONE || request.pages > page[object + 1u] - page[object] ||
		    request.second < state->first_s)
			return import_bad(import, "was not so in the first reading: the file has changed");
		if (!put_request(import, state, page[object], &request))
			return false;
	}
	return status == LINE_END;
}

static bool read_records(struct import *import)
{
	struct state *state = import->state;

	if (!state)
		state = import->state = calloc(1, sizeof(*state));
	if (!state)
		return import_bad(import, "out of memory");
	return import->is_scan ? count_objects(import, state) : put_requests(import, state);
}

static void end_records(struct import *import)
{
	struct state *state = import->state;

	if (state)
		objects_free(&state->objects);
	free(state);
}

const struct import_format import_oracle_general = {
	.name = "oracleGeneral",
	.summary = "cache traces of libCacheSim: binary records of 24 bytes",
	.options = IMPORT_AGENTS,
	.is_binary = true,
	.makes_ranges = true,
	.has_bytes = true,
	.read = read_records,
	.end = end_records,
};
