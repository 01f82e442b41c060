/* Frames of the units of page-wise orders. */
#ifndef UVMPOLICY_FRAMES_INTERNAL_H
#define UVMPOLICY_FRAMES_INTERNAL_H

#include "objects_internal.h"

struct arriving;
struct gpu;

/* Frames of the units of a page-wise order (frames.c). */
struct frames {
	uint32_t *of_unit;     /* [units]: frame, NO_INDEX: none */
	uint32_t *next;	       /* [units]: of a free frame, the next one; NO_INDEX: last */
	uint32_t first, last;  /* free frames, the first to be reused first; by root: wholly free roots */
	uint32_t begun, unused; /* frames that were ever used, and the free ones among them */
	uint32_t partial;      /* by root: the first partly free root */
	bool by_root;	       /* orders with groups */
};

/* Bytes for so many units, a multiple of 16. */
size_t uvmpi_frames_size(uint64_t units);
/* No unit has a frame; the memory is not read or written. */
void uvmpi_frames_init(struct frames *frames, uint64_t units, void *memory);
/* Moves the frames of `units` units, of which `used` were used so far, to memory for `more` units. */
void uvmpi_frames_grow(struct frames *frames, uint32_t used, uint32_t units, uint32_t more, void *memory);
/* Frames by root: is no root wholly free, and has the memory a further root, which has no links yet? */
bool uvmpi_frames_lack_root(const struct gpu *g);
/* The same, and do these pages need a root: do all units of the block arrive, of which none has a frame? `p`: its state. */
bool uvmpi_frames_lack_root_for(const struct gpu *g, const struct residency *p, const uvmp_mask *pages);
/* These units are used for the first time. */
void uvmpi_frames_begin(struct frames *frames, uint32_t unit, uint32_t units);
/* For uvmp_service_check. Orders with groups: every root with a free frame is in its list, and the free frames are counted. */
bool uvmpi_frames_check(const struct frames *frames);
/* Is the frame, which was begun, in the set of free frames of its root? Other orders have no such sets: false. */
bool uvmpi_frames_is_free(const struct frames *frames, uint32_t frame);
/* The frame of the unit, which has one, may be reused. O(1). */
void uvmpi_frames_release(struct frames *frames, uint32_t unit);
/* Frames for the units of these pages that have none; queues ALLOCATE. `first_unit`: that of the block's page 0. O(units
 * of the pages). */
void uvmpi_frames_take(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first_unit,
		       const struct arriving *arriving);
/* Releases every frame of the block; queues FREE. */
void uvmpi_frames_free(struct uvmp_service *s, uint32_t gpu, handle block, uint32_t first_unit);

#endif
