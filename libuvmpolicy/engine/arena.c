/* Memory of the engine: objects of a few sizes, from up to eight segments that the host gave.
 *
 * Units of 16 bytes are numbered over all segments, so that a handle of 4 bytes reaches 64 GiB. An object
 * that is given back goes to the free list of its slab, whose links lie in the objects' first bytes; a new
 * one comes from there, or else from the never used end of the first segment that has room. Objects never
 * move, and memory never changes from one slab to another: what a burst of one kind took stays for that kind.
 * Arrays have a slab for each power of two.
 */
#include "../base/bits_internal.h"
#include "../base/sized_internal.h"
#include "arena_internal.h"

bool uvmp_service_is_valid(const struct uvmp_service *s)
{
	return s && s->magic == MAGIC && s->segments >= 1u && s->segments <= SEGMENTS_MAX &&
	       s->handed <= s->actions && s->completed <= s->handed && s->actions <= UVMP_SERVICE_PENDING_MAX;
}

static uint32_t slab_units(const struct uvmp_service *s, enum slab slab)
{
	return s->slab_bytes[slab] / UNIT_BYTES;
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + UNIT_BYTES - 1u) / UNIT_BYTES * UNIT_BYTES;
}

void *uvmpi_arena_at_grown(const struct uvmp_service *s, handle h)
{
	const struct segment *segment = s->segment + 1;

	while (h >= segment->end) /* every handle lies in a segment */
		segment++;
	return segment->memory + (size_t)(h - segment->first) * UNIT_BYTES;
}

uint64_t uvmpi_arena_reserve(uint32_t processors)
{
	return 2u * (rounded(sizeof(struct block)) + processors * rounded(sizeof(struct residency)) +
	             rounded(sizeof(struct cold)) + rounded(sizeof(struct uvmp_tree)) +
	             rounded(sizeof(struct chunk_map)));
}

/* Detectors, counters and controllers: if the arena has no memory for them, the engine decides without them. */
static bool is_optional(enum slab slab)
{
	return slab >= SLAB_THRASH;
}

/* Units that were never used before, of a segment that has `spare` more; 0: none has. *object: their memory. */
static handle take_fresh(struct uvmp_service *s, uint64_t units, uint32_t spare, void **object)
{
	for (struct segment *segment = s->segment; segment < s->segment + s->segments; segment++) {
		handle h = segment->unused;

		if (segment->end - h >= units + spare) {
			segment->unused = h + (handle)units;
			*object = segment->memory + (size_t)(h - segment->first) * UNIT_BYTES;
			return h;
		}
	}
	return 0;
}

handle uvmpi_arena_take(struct uvmp_service *s, enum slab slab)
{
	handle h = s->free[slab];
	void *object;

	if (h != 0) {
		object = uvmpi_arena_at(s, h);
		s->free[slab] = *(const handle *)object;
	} else {
		h = take_fresh(s, slab_units(s, slab), is_optional(slab) ? s->reserve : 0, &object);
		if (h == 0)
			return 0;
	}
	__builtin_memset(object, 0, s->slab_bytes[slab]);
	s->live[slab]++;
	return h;
}

void *uvmpi_arena_take_bytes(struct uvmp_service *s, uint64_t bytes)
{
	void *memory = NULL;

	(void)take_fresh(s, rounded(bytes) / UNIT_BYTES, s->reserve, &memory);
	return memory;
}

uint64_t uvmpi_arena_room(const struct uvmp_service *s)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < s->segments; i++)
		if (s->segment[i].end - s->segment[i].unused > most)
			most = s->segment[i].end - s->segment[i].unused;
	return (uint64_t)most * UNIT_BYTES;
}

enum slab uvmpi_arena_array(uint64_t bytes)
{
	uint32_t class = 0;

	while (class < ARRAY_CLASSES && (uint64_t)UNIT_BYTES << class < bytes)
		class ++;
	return (enum slab)((uint32_t)SLAB_ARRAY + class);
}

void uvmpi_arena_give(struct uvmp_service *s, enum slab slab, handle h)
{
	*(handle *)uvmpi_arena_at(s, h) = s->free[slab];
	s->free[slab] = h;
	s->live[slab]--;
}

/* Is a part of the memory the engine's already? The first segment follows the engine's structure and tables. */
static bool is_ours(const struct uvmp_service *s, const void *memory, uint64_t bytes)
{
	for (uint32_t i = 0; i < s->segments; i++) {
		const struct segment *segment = &s->segment[i];
		const uint8_t *begin = i == 0 ? (const uint8_t *)s : segment->memory;
		const uint8_t *end = segment->memory + (size_t)(segment->end - segment->first) * UNIT_BYTES;

		if (is_overlap(begin, (uint64_t)(end - begin), memory, bytes))
			return true;
	}
	return false;
}

enum uvmp_status uvmp_service_grow(struct uvmp_service *service, void *memory, size_t bytes)
{
	struct segment *segment;
	uint64_t units = bytes / UNIT_BYTES;
	uint32_t first;

	if (!uvmp_service_is_valid(service) || memory == NULL || (uintptr_t)memory % UNIT_BYTES != 0)
		return UVMP_ERR_ARGUMENT;
	if (bytes < UVMP_SERVICE_GROW_MIN || service->segments == SEGMENTS_MAX)
		return UVMP_ERR_SPACE;
	if (is_ours(service, memory, bytes))
		return UVMP_ERR_ARGUMENT;
	segment = &service->segment[service->segments];
	first = segment[-1].end;
	/* What the handles cannot number is left unused. */
	if (units > UINT32_MAX - first)
		units = UINT32_MAX - first;
	segment->memory = (uint8_t *)memory;
	segment->first = first;
	segment->unused = first;
	segment->end = first + (uint32_t)units;
	service->segments++;
	return UVMP_OK;
}

enum uvmp_status uvmp_service_memory_used(const struct uvmp_service *service, struct uvmp_service_memory *memory)
{
	struct uvmp_service_memory m = {0};

	if (!uvmp_service_is_valid(service) || memory == NULL)
		return UVMP_ERR_ARGUMENT;
	for (uint32_t i = 0; i < service->segments; i++) {
		const struct segment *segment = &service->segment[i];

		m.bytes += (uint64_t)(segment->end - segment->first) * UNIT_BYTES;
		m.used += (uint64_t)(segment->unused - segment->first) * UNIT_BYTES;
	}
	m.blocks = service->live[SLAB_BLOCK];
	m.residencies = service->live[SLAB_RESIDENCY];
	m.thrashing_blocks = service->live[SLAB_THRASH];
	return uvmpi_sized_write(memory, memory->size, &m, sizeof(m), sizeof(m.size));
}
