/* Naive model of mask.h: one bool a page, one loop an operation, written from the words of the contract
 * only. */
#ifndef NAIVE_MASK_H
#define NAIVE_MASK_H

#include <stdbool.h>
#include <stdint.h>

#include "uvmpolicy/mask.h"

#define NAIVE_PAGES 512

struct naive_mask {
	bool page[NAIVE_PAGES];
};

void naive_mask_from(struct naive_mask *out, const uvmp_mask *mask);
void naive_mask_to(uvmp_mask *out, const struct naive_mask *mask);
bool naive_mask_same(const struct naive_mask *a, const uvmp_mask *b);

bool naive_region_holds(struct uvmp_region region, uint32_t page);
uint32_t naive_region_pages(struct uvmp_region region); /* counted up to page 512 */
struct uvmp_region naive_region_intersect(struct uvmp_region a, struct uvmp_region b); /* regions below 512 */

bool naive_mask_is_empty(const struct naive_mask *mask);
bool naive_mask_intersects(const struct naive_mask *a, const struct naive_mask *b);
bool naive_mask_is_subset(const struct naive_mask *a, const struct naive_mask *b);
uint32_t naive_mask_weight(const struct naive_mask *mask);
void naive_mask_or(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b);
void naive_mask_and(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b);
void naive_mask_andnot(struct naive_mask *out, const struct naive_mask *a, const struct naive_mask *b);
void naive_mask_shift_up(struct naive_mask *out, const struct naive_mask *in, uint32_t pages);
void naive_mask_shift_down(struct naive_mask *out, const struct naive_mask *in, uint32_t pages);

void naive_mask_region_set(struct naive_mask *mask, struct uvmp_region region);
void naive_mask_region_clear(struct naive_mask *mask, struct uvmp_region region);
uint32_t naive_mask_region_weight(const struct naive_mask *mask, struct uvmp_region region);
bool naive_mask_region_any(const struct naive_mask *mask, struct uvmp_region region);
bool naive_mask_region_all(const struct naive_mask *mask, struct uvmp_region region);
void naive_mask_region_and(struct naive_mask *out, const struct naive_mask *in, struct uvmp_region region);

/* First page >= from that is (is not) in the set; 512 if none. */
uint32_t naive_mask_next(const struct naive_mask *mask, uint32_t from, bool wanted);
struct uvmp_region naive_mask_hull(const struct naive_mask *mask);
struct uvmp_region naive_mask_next_run(const struct naive_mask *mask, uint32_t from);

#endif
