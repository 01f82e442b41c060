/* Segments by the program headers of the loaded objects. */
#include "segment.h"

#include <link.h>
#include <stddef.h>

struct search {
	uintptr_t address;
	struct segment *found;
};

static int find(struct dl_phdr_info *object, size_t bytes, void *context)
{
	const struct search *search = context;

	(void)bytes;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		uintptr_t first = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
		struct segment segment = {first, first + object->dlpi_phdr[i].p_memsz};

		if (object->dlpi_phdr[i].p_type != PT_LOAD || !segment_has(&segment, search->address))
			continue;
		*search->found = segment;
		return 1;
	}
	return 0;
}

bool segment_find(uintptr_t address, struct segment *segment)
{
	struct search search = {address, segment};

	return dl_iterate_phdr(find, &search) != 0;
}
