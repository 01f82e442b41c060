/* preload.h: declarations that all files of libuvmp-preload share. */
#ifndef UVMP_PRELOAD_H
#define UVMP_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#define PRELOAD_BLOCK_SHIFT 21u			 /* a VABlock */
#define PRELOAD_BLOCKS	    ((uintptr_t)1 << 27) /* of the address space: 256 TiB */

/* A bit for each VABlock of the address space: is memory there managed? A bit may stay set for some time
 * after managed memory was unmapped in pieces. NULL: nothing is managed yet. Written without a lock, so that
 * signal handlers can read it. */
extern HIDDEN uint64_t *preload_managed;
/* The same map, if the kernel must not be given managed memory because its faults are not serviced; else
 * NULL. */
extern HIDDEN uint64_t *preload_bounced;

/* Writes log and trace before this process ends or is replaced. */
HIDDEN void preload_end(void);

/* The lowest of the pager's descriptors from `from` on, which the program must not close; -1: none. */
HIDDEN int preload_next_descriptor(int from);

static inline bool preload_is_at(uint64_t *const *map, uintptr_t address)
{
	const uint64_t *blocks = __atomic_load_n(map, __ATOMIC_ACQUIRE);
	uintptr_t block = address >> PRELOAD_BLOCK_SHIFT;

	return blocks && block < PRELOAD_BLOCKS &&
	       (__atomic_load_n(&blocks[block / 64u], __ATOMIC_RELAXED) >> (block % 64u) & 1u) != 0;
}

/* By number: compilers warn about pointers to memory that is not initialised. */
#define preload_is_in(map, memory) preload_is_at(map, (uintptr_t)(memory))
/* Does this memory need a bounce buffer? */
#define preload_is_bounced(memory) preload_is_in(&preload_bounced, memory)

#endif
