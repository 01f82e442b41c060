/* Cache traces of libCacheSim from the rows of a source: see trace_oracle.h. The number of the next request is known once that
 * request comes: each object remembers its latest record. */
#include "trace_oracle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_objects.h"

#define NONE UINT64_MAX /* -1 in a record */

struct record {
	uint64_t page, next; /* next: counted from 1; NONE */
	uint32_t second, bytes;
};

struct trace_oracle {
	struct record *record;
	uint64_t count, room;
	struct objects objects;
	uint64_t *latest; /* [objects.count]: the object's latest record, counted from 1 */
	uint64_t latest_room;
	uint32_t second; /* of the latest access that has a time */
};

struct trace_oracle *trace_oracle_open(void)
{
	return calloc(1, sizeof(struct trace_oracle));
}

void trace_oracle_close(struct trace_oracle *oracle)
{
	if (!oracle)
		return;
	objects_free(&oracle->objects);
	free(oracle->record);
	free(oracle->latest);
	free(oracle);
}

static bool add(struct trace_oracle *oracle, uint64_t page, uint32_t bytes)
{
	struct object_request request = {.id = page, .pages = 1};
	uint32_t before = oracle->objects.count, object;

	if (!ARRAY_RESERVE(oracle->record, oracle->room, oracle->count + 1u) ||
	    !ARRAY_RESERVE(oracle->latest, oracle->latest_room, (uint64_t)before + 1u))
		return false;
	object = objects_add(&oracle->objects, &request);
	if (object == OBJECT_NONE)
		return false;
	oracle->record[oracle->count] =
		(struct record){.page = page, .next = NONE, .second = oracle->second, .bytes = bytes};
	oracle->count++;
	if (object < before)
		oracle->record[oracle->latest[object] - 1u].next = oracle->count;
	oracle->latest[object] = oracle->count;
	return true;
}

bool trace_oracle_row(struct trace_oracle *oracle, const struct source_row *row, char error[SOURCE_ERROR_MAX])
{
	if (row->kind != SOURCE_ACCESS || row->is_cpu)
		return true;
	if (row->has_time && row->time_ns / OBJECTS_NS_PER_S > UINT32_MAX) {
		snprintf(error, SOURCE_ERROR_MAX,
			 "a time of %llu ns is beyond the 32 bits of seconds of oracleGeneral",
			 (unsigned long long)row->time_ns);
		return false;
	}
	if (row->has_time)
		oracle->second = (uint32_t)(row->time_ns / OBJECTS_NS_PER_S);
	if (add(oracle, row->address / OBJECTS_PAGE_BYTES,
		row->access_bytes != 0 ? row->access_bytes : (uint32_t)OBJECTS_PAGE_BYTES))
		return true;
	snprintf(error, SOURCE_ERROR_MAX, "out of memory");
	return false;
}

static void put(unsigned char *to, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
}

bool trace_oracle_write(struct trace_oracle *oracle, FILE *out, const char *name,
			char error[SOURCE_ERROR_MAX])
{
	unsigned char bytes[OBJECTS_RECORD_BYTES];

	if (oracle->count == 0) {
		snprintf(error, SOURCE_ERROR_MAX,
			 "there is no access of the GPU: a cache trace without requests is empty");
		return false;
	}
	for (uint64_t i = 0; i < oracle->count; i++) {
		const struct record *record = &oracle->record[i];

		put(bytes, record->second, 4);
		put(bytes + 4, record->page, 8);
		put(bytes + 12, record->bytes, 4);
		put(bytes + 16, record->next, 8);
		if (fwrite(bytes, 1, sizeof(bytes), out) != sizeof(bytes))
			break;
	}
	if (fflush(out) == 0 && !ferror(out))
		return true;
	snprintf(error, SOURCE_ERROR_MAX, "%.250s: %s", name, errno != 0 ? strerror(errno) : "write error");
	return false;
}
