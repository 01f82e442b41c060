/* vec_processor.h: sets of processors and values with one part per processor, as several kinds have them. */
#ifndef UVMSIM_VEC_PROCESSOR_H
#define UVMSIM_VEC_PROCESSOR_H

#include "vec_kind.h"
#include "uvmpolicy/processor.h"

/* A set of processors. */
uint64_t vec_proc_set(struct vec_args *args, const char *key);
/* `count` sets separated by `/`, that of processor 0 first, of numbers below `limit` (<= 512). */
void vec_mask_rows(struct vec_args *args, const char *key, uint32_t count, uint32_t limit, uvmp_mask *rows);
/* The same for sets of processors 0..count-1. */
void vec_proc_rows(struct vec_args *args, const char *key, uint32_t count, uint64_t *rows);

#endif
