/* preload.h: what the two halves of libuvmp-preload know of each other. */
#ifndef UVMP_PRELOAD_H
#define UVMP_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#define PRELOAD_BLOCK_SHIFT 21u			 /* a VABlock */
#define PRELOAD_BLOCKS	    ((uintptr_t)1 << 27) /* of the address space: 256 TiB */

/* A bit for each VABlock of the address space: is memory there managed? Some time after managed memory was unmapped in
 * pieces, a bit may still be set. NULL: nothing is managed yet. Written by preload.c without a lock, so that a handler
 * of a signal can look. */
extern HIDDEN uint64_t *preload_managed;
/* The same, if the kernel must not be given managed memory (its faults are not served); else NULL. */
extern HIDDEN uint64_t *preload_kept;

/* Log and trace are complete, before this process is replaced. */
HIDDEN void preload_end(void);

/* The lowest of the pager's descriptors from `from` on that the program must leave alone; -1: none. */
HIDDEN int preload_next_descriptor(int from);

static inline bool preload_is_at(uint64_t *const *map, uintptr_t address)
{
	const uint64_t *blocks = __atomic_load_n(map, __ATOMIC_ACQUIRE);
	uintptr_t block = address >> PRELOAD_BLOCK_SHIFT;

	return blocks && block < PRELOAD_BLOCKS &&
	       (__atomic_load_n(&blocks[block / 64u], __ATOMIC_RELAXED) >> (block % 64u) & 1u) != 0;
}

/* By number: compilers take a pointer to what is yet to be read for one to what is not initialised. */
#define preload_is_in(map, memory) preload_is_at(map, (uintptr_t)(memory))
/* Must this memory be kept from the kernel? */
#define preload_is_kept(memory)	   preload_is_in(&preload_kept, memory)

#endif
