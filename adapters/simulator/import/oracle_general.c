/* oracleGeneral, the binary format of libCacheSim for cache traces: records of 24 bytes, little-endian:
 * seconds (32 bits), object (64), bytes of it (32), number of the next request for it (64, not needed here).
 * Each object becomes pages of its own, as many as the largest request for it needs, one object behind the
 * other in the order in which they first appear. A request reads all pages that its size needs. */
#include "import/importer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES 24u
#define FIRST_BASE   ((uint64_t)0x7e0000000000) /* as built-in workloads */
#define LAST_END     ((uint64_t)1 << 47)	/* user addresses end there */
#define FIRST_ROOM   1024u
#define NS_PER_S     UINT64_C(1000000000)

struct object {
	uint64_t id;
	uint64_t address; /* known after the first reading */
	uint64_t pages;
};

/* Objects in the order of their appearance, and a hash of where they stand, plus 1. */
struct objects {
	struct object *object;
	size_t count, *slot, room; /* room slots, half as many objects */
	uint32_t first_s;
};

struct request {
	uint64_t id, pages;
	uint32_t second;
};

/* -- objects -- */

static size_t slot_of(const struct objects *objects, uint64_t id)
{
	size_t slot = (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (objects->room - 1);

	while (objects->slot[slot] != 0 && objects->object[objects->slot[slot] - 1].id != id)
		slot = (slot + 1) & (objects->room - 1);
	return slot;
}

static bool grow(struct objects *objects)
{
	size_t room = objects->room != 0 ? 2 * objects->room : FIRST_ROOM;
	struct object *object = realloc(objects->object, room / 2 * sizeof(*object));
	size_t *slot = calloc(room, sizeof(*slot));

	if (object)
		objects->object = object;
	if (!object || !slot) {
		free(slot);
		return false;
	}
	free(objects->slot);
	objects->slot = slot;
	objects->room = room;
	for (size_t i = 0; i < objects->count; i++)
		slot[slot_of(objects, object[i].id)] = i + 1;
	return true;
}

/* NULL: not found, or out of memory. */
static struct object *find(struct objects *objects, uint64_t id, bool may_add)
{
	size_t slot;

	if (may_add && objects->count == objects->room / 2 && !grow(objects))
		return NULL;
	if (objects->room == 0)
		return NULL;
	slot = slot_of(objects, id);
	if (objects->slot[slot] == 0) {
		if (!may_add)
			return NULL;
		objects->object[objects->count] = (struct object){.id = id};
		objects->slot[slot] = ++objects->count;
	}
	return &objects->object[objects->slot[slot] - 1];
}

/* -- records -- */

static uint64_t little_endian(const unsigned char *bytes, size_t length)
{
	uint64_t value = 0;

	while (length-- > 0)
		value = value << 8 | bytes[length];
	return value;
}

/* LINE_END, LINE_OK, or LINE_BAD with the error filled. */
static enum line_status next_record(struct import *import, struct request *request)
{
	FILE *in = import_view_file(import->view);
	unsigned char record[RECORD_BYTES];
	size_t length = fread(record, 1, sizeof(record), in);
	const char *problem = import_view_problem(import->view);
	uint64_t bytes;

	if (length == 0 && !ferror(in))
		return LINE_END;
	import->record++;
	if (ferror(in)) {
		import_bad(import, "%s", problem ? problem : strerror(errno));
		return LINE_BAD;
	}
	if (length < sizeof(record)) {
		import_bad(import, "ends after %zu of %u bytes", length, RECORD_BYTES);
		return LINE_BAD;
	}
	request->second = (uint32_t)little_endian(record, 4);
	request->id = little_endian(record + 4, 8);
	bytes = little_endian(record + 12, 4);
	request->pages = bytes != 0 ? (bytes + IMPORT_PAGE - 1) / IMPORT_PAGE : 1;
	return LINE_OK;
}

/* -- two readings -- */

/* Gives every object its place. */
static bool place(struct import *import, struct objects *objects)
{
	struct source_range range = {.base = FIRST_BASE, .name = "objects"};
	const char *wrong;

	for (size_t i = 0; i < objects->count; i++) {
		objects->object[i].address = FIRST_BASE + range.bytes;
		range.bytes += objects->object[i].pages * IMPORT_PAGE;
		if (range.bytes > LAST_END - FIRST_BASE)
			return import_bad(import, "all objects together have more than %llu bytes",
					  (unsigned long long)(LAST_END - FIRST_BASE));
	}
	wrong = objects->count > 0 ? import_ranges_add(&import->ranges, &range) : NULL;
	return !wrong || import_bad(import, "%s", wrong);
}

static bool count_objects(struct import *import, struct objects *objects)
{
	struct request request;
	enum line_status status;

	while ((status = next_record(import, &request)) == LINE_OK) {
		struct object *object = find(objects, request.id, true);

		if (!object)
			return import_bad(import, "out of memory");
		if (import->accesses++ == 0)
			objects->first_s = request.second;
		if (request.second < import->time_ns)
			return import_bad(import, "time goes backwards, from %llu s to %lu s",
					  (unsigned long long)import->time_ns, (unsigned long)request.second);
		import->time_ns = request.second;
		if (object->pages < request.pages)
			object->pages = request.pages;
	}
	return status == LINE_END && place(import, objects);
}

static bool put_request(struct import *import, const struct objects *objects, const struct object *object,
			const struct request *request)
{
	struct source_row row = {.has_time = true, .access = UVMP_ACCESS_READ};

	row.time_ns = (uint64_t)(request->second - objects->first_s) * NS_PER_S;
	row.agent = import_agent(import);
	for (uint64_t page = 0; page < request->pages; page++) {
		row.address = object->address + page * IMPORT_PAGE;
		if (!import_access(import, &row))
			return false;
	}
	return true;
}

static bool put_requests(struct import *import, struct objects *objects)
{
	struct request request;
	enum line_status status;

	while ((status = next_record(import, &request)) == LINE_OK) {
		const struct object *object = find(objects, request.id, false);

		if (!object || request.pages > object->pages || request.second < objects->first_s)
			return import_bad(import, "was not so in the first reading: the file has changed");
		if (!put_request(import, objects, object, &request))
			return false;
	}
	return status == LINE_END;
}

static bool read_records(struct import *import)
{
	struct objects *objects = import->state;

	if (!objects)
		objects = import->state = calloc(1, sizeof(*objects));
	if (!objects)
		return import_bad(import, "out of memory");
	return import->is_scan ? count_objects(import, objects) : put_requests(import, objects);
}

static void end_records(struct import *import)
{
	struct objects *objects = import->state;

	if (objects) {
		free(objects->object);
		free(objects->slot);
	}
	free(objects);
}

const struct import_format import_oracle_general = {
	.name = "oracleGeneral",
	.summary = "cache traces of libCacheSim: binary records of 24 bytes",
	.options = IMPORT_AGENTS,
	.is_binary = true,
	.makes_ranges = true,
	.read = read_records,
	.end = end_records,
};
