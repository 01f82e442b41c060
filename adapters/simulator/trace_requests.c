/* Cache traces of libCacheSim (oracleGeneral) as a source: the same rows as `uvmsim import oracleGeneral` makes
 * (import/oracle_general.c), without a text between. The file is mapped, or decompressed into memory. One pass gives each
 * request the number of its object and each object its size; then every object has its pages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "array.h"
#include "trace_internal.h"

#define RECORD_BYTES 24u
#define PAGE_BYTES   UINT64_C(4096)
#define FIRST_BASE   UINT64_C(0x7e0000000000) /* as built-in workloads */
#define LAST_END     (UINT64_C(1) << 47)      /* user addresses end there */
#define NS_PER_S     UINT64_C(1000000000)
#define AHEAD	     16u /* records whose slot is fetched early */

struct slot {
	uint64_t id;
	uint32_t object; /* plus 1; 0: free */
};

struct requests {
	struct source source; /* first: the two are the same pointer to callers */
	FILE *in;
	char *name;
	unsigned char *bytes;
	size_t length, count; /* bytes, records */
	bool is_mapped;
	uint32_t *object; /* [count] of each request */
	uint64_t *page;	  /* [objects_room] pages of each object, then its first page */
	uint32_t objects;
	size_t objects_room;
	struct slot *slot;
	size_t slots; /* a power of two, at least twice the objects */
	size_t at;    /* request in hand */
	uint64_t page_at, total_pages;
	bool has_range;
};

static uint64_t number(const unsigned char *bytes, uint32_t length)
{
	uint64_t value = 0;

	while (length-- > 0)
		value = value << 8 | bytes[length];
	return value;
}

static const unsigned char *record(const struct requests *r, size_t at)
{
	return r->bytes + at * RECORD_BYTES;
}

static uint32_t second_of(const struct requests *r, size_t at)
{
	return (uint32_t)number(record(r, at), 4);
}

static uint64_t id_of(const struct requests *r, size_t at)
{
	return trace_binary_read(record(r, at) + 4);
}

static uint64_t pages_of(const struct requests *r, size_t at)
{
	uint64_t bytes = number(record(r, at) + 12, 4);

	return bytes != 0 ? (bytes + PAGE_BYTES - 1u) / PAGE_BYTES : 1u;
}

/* -- objects -- */

static size_t slot_of(const struct requests *r, uint64_t id)
{
	return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (r->slots - 1u);
}

static struct slot *find(const struct requests *r, uint64_t id)
{
	size_t at = slot_of(r, id);

	while (r->slot[at].object != 0 && r->slot[at].id != id)
		at = (at + 1u) & (r->slots - 1u);
	return &r->slot[at];
}

static bool grow(struct requests *r)
{
	size_t slots = r->slots != 0 ? 2u * r->slots : 4096u, before = r->slots;
	struct slot *old = r->slot, *fresh = array_zeros(slots, sizeof(*fresh));

	if (!fresh || !ARRAY_RESERVE(r->page, r->objects_room, slots / 2u)) {
		free(fresh);
		return false;
	}
	r->slot = fresh;
	r->slots = slots;
	for (size_t i = 0; i < before; i++)
		if (old[i].object != 0)
			*find(r, old[i].id) = old[i];
	free(old);
	return true;
}

/* Gives the request its object, and the object its size. False: out of memory. */
static bool take_request(struct requests *r, size_t at)
{
	uint64_t pages = pages_of(r, at);
	struct slot *slot;

	if (r->objects == r->slots / 2u && (r->objects >= UINT32_MAX / 2u || !grow(r)))
		return false;
	if (at + AHEAD < r->count)
		__builtin_prefetch(&r->slot[slot_of(r, id_of(r, at + AHEAD))]);
	slot = find(r, id_of(r, at));
	if (slot->object == 0) {
		*slot = (struct slot){id_of(r, at), ++r->objects};
		r->page[slot->object - 1u] = 0;
	}
	r->object[at] = slot->object - 1u;
	if (r->page[slot->object - 1u] < pages)
		r->page[slot->object - 1u] = pages;
	return true;
}

/* One object behind the other, in the order of their first requests. */
static void place_objects(struct requests *r)
{
	for (uint32_t i = 0; i < r->objects; i++) {
		uint64_t pages = r->page[i];

		r->page[i] = r->total_pages;
		r->total_pages += pages;
	}
}

static bool fail(struct requests *r, size_t at, const char *text)
{
	r->source.line = at * RECORD_BYTES;
	return source_fail(&r->source, text, r->source.error);
}

static bool take_requests(struct requests *r)
{
	r->count = r->length / RECORD_BYTES;
	if (r->length == 0 || r->length % RECORD_BYTES != 0)
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
	free(r->slot);
	r->slot = NULL;
	place_objects(r);
	return r->total_pages <= (LAST_END - FIRST_BASE) / PAGE_BYTES ||
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

	if (!r->has_range) {
		*row = (struct source_row){.kind = SOURCE_RANGE,
					   .range = {.base = FIRST_BASE,
						     .bytes = r->total_pages * PAGE_BYTES,
						     .name = "objects"}};
		r->has_range = true;
		return;
	}
	if (r->at == r->count) {
		*row = (struct source_row){.kind = SOURCE_END};
		return;
	}
	row->kind = SOURCE_ACCESS;
	row->has_time = true;
	row->time_ns = (uint64_t)(second_of(r, r->at) - second_of(r, 0)) * NS_PER_S;
	row->is_cpu = false;
	row->agent = 0;
	row->access = UVMP_ACCESS_READ;
	row->address = FIRST_BASE + (r->page[r->object[r->at]] + r->page_at) * PAGE_BYTES;
	source->done = source->line = r->at * RECORD_BYTES;
	if (++r->page_at == pages_of(r, r->at)) {
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
	free(r->page);
	free(r->slot);
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
