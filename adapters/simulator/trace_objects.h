/* trace_objects.h: cache traces of libCacheSim (oracleGeneral): their records, and the pages of their objects.
 *
 * Records of 24 bytes, little-endian: seconds (32 bits), object (64), its bytes (32), number of the next request for it (64,
 * not needed here). Each object has pages of its own, as many as the largest request for it needs, one object behind the
 * other in the order of their first requests. A request reads all pages that its size needs. */
#ifndef UVMSIM_TRACE_OBJECTS_H
#define UVMSIM_TRACE_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_binary.h"

#define OBJECTS_RECORD_BYTES 24u
#define OBJECTS_PAGE_BYTES   UINT64_C(4096)
#define OBJECTS_BASE	     UINT64_C(0x7e0000000000) /* of the first object; as built-in workloads */
#define OBJECTS_PAGES_MOST   (((UINT64_C(1) << 47) - OBJECTS_BASE) / OBJECTS_PAGE_BYTES) /* user addresses end there */
#define OBJECTS_NS_PER_S     UINT64_C(1000000000)
#define OBJECT_NONE	     UINT32_MAX

struct object_request {
	uint64_t id, pages; /* of the object; pages that the request reads */
	uint32_t second, bytes;
};

static inline uint32_t object_word(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline uint64_t object_id(const unsigned char *record)
{
	return trace_binary_read(record + 4);
}

/* The request in a record. */
static inline struct object_request object_request_read(const unsigned char *record)
{
	uint32_t bytes = object_word(record + 12);

	return (struct object_request){.id = object_id(record),
				       .pages = bytes != 0 ? (bytes + OBJECTS_PAGE_BYTES - 1u) / OBJECTS_PAGE_BYTES : 1u,
				       .second = object_word(record),
				       .bytes = bytes};
}

/* Bytes that the request reads of its page number `page`; 0: of an object of 0 bytes. */
static inline uint16_t object_request_page_bytes(const struct object_request *request, uint64_t page)
{
	uint64_t rest = request->bytes - page * OBJECTS_PAGE_BYTES;

	return (uint16_t)(rest < OBJECTS_PAGE_BYTES ? rest : OBJECTS_PAGE_BYTES);
}

struct object_slot {
	uint64_t id;
	uint32_t object; /* plus 1; 0: free */
};

/* Objects are numbered in the order of their first requests. Starts as zeros. */
struct objects {
	uint64_t *page;	 /* [count + 1]: pages of each object; when placed: its first page, and behind the last one all pages */
	uint32_t count;
	size_t page_room;
	struct object_slot *slot; /* a hash table */
	size_t slots;		  /* a power of two, at least twice the objects */
};

static inline size_t object_slot_of(const struct objects *objects, uint64_t id)
{
	return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (objects->slots - 1u);
}

/* The object is looked up soon; there is one at least. */
static inline void objects_prefetch(const struct objects *objects, uint64_t id)
{
	__builtin_prefetch(&objects->slot[object_slot_of(objects, id)]);
}

/* OBJECT_NONE: not known. */
uint32_t objects_find(const struct objects *objects, uint64_t id);
/* The object of the request, which has as many pages afterwards. OBJECT_NONE: out of memory. */
uint32_t objects_add(struct objects *objects, const struct object_request *request);
/* Gives each object its pages. False: they do not fit the address space. */
bool objects_place(struct objects *objects);
/* Placed objects are known by number only: frees the table of names. */
void objects_forget_names(struct objects *objects);
void objects_free(struct objects *objects);

/* When placed. */
static inline uint64_t objects_pages(const struct objects *objects)
{
	return objects->count != 0 ? objects->page[objects->count] : 0;
}

#endif
