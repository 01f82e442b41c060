/* Objects of cache traces: see trace_objects.h. */
#include "trace_objects.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define SLOTS_LEAST 4096u

static struct object_slot *find(const struct objects *objects, uint64_t id)
{
	size_t at = object_slot_of(objects, id);

	while (objects->slot[at].object != 0 && objects->slot[at].id != id)
		at = (at + 1u) & (objects->slots - 1u);
	return &objects->slot[at];
}

static bool grow(struct objects *objects)
{
	size_t slots = objects->slots != 0 ? 2u * objects->slots : SLOTS_LEAST, before = objects->slots;
	struct object_slot *old = objects->slot, *fresh = array_zeros(slots, sizeof(*fresh));

	if (!fresh || !ARRAY_RESERVE(objects->page, objects->page_room, slots / 2u + 1u)) {
		free(fresh);
		return false;
	}
	objects->slot = fresh;
	objects->slots = slots;
	for (size_t i = 0; i < before; i++)
		if (old[i].object != 0)
			*find(objects, old[i].id) = old[i];
	free(old);
	return true;
}

uint32_t objects_find(const struct objects *objects, uint64_t id)
{
	return objects->slots != 0 ? find(objects, id)->object - 1u : OBJECT_NONE;
}

uint32_t objects_add(struct objects *objects, const struct object_request *request)
{
	struct object_slot *slot;
	uint64_t *pages;

	if (objects->count == objects->slots / 2u && (objects->count >= UINT32_MAX / 2u || !grow(objects)))
		return OBJECT_NONE;
	slot = find(objects, request->id);
	if (slot->object == 0) {
		*slot = (struct object_slot){request->id, ++objects->count};
		objects->page[slot->object - 1u] = 0;
	}
	pages = &objects->page[slot->object - 1u];
	if (*pages < request->pages)
		*pages = request->pages;
	return slot->object - 1u;
}

bool objects_place(struct objects *objects)
{
	uint64_t first = 0;

	for (uint32_t i = 0; i < objects->count; i++) {
		uint64_t pages = objects->page[i];

		objects->page[i] = first;
		first += pages;
	}
	if (objects->count != 0)
		objects->page[objects->count] = first;
	return first <= OBJECTS_PAGES_MOST;
}

void objects_forget_names(struct objects *objects)
{
	free(objects->slot);
	objects->slot = NULL;
	objects->slots = 0;
}

void objects_free(struct objects *objects)
{
	objects_forget_names(objects);
	free(objects->page);
	objects->page = NULL;
}
