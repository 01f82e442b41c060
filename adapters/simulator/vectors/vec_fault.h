/* vec_fault.h: what the kinds "fetch" and "order" share: lists of faults, each a row of letters and numbers.
 */
#ifndef UVMSIM_VEC_FAULT_H
#define UVMSIM_VEC_FAULT_H

#include "vec_kind.h"
#include "uvmpolicy/fault.h"

#define VEC_PAGE_BYTES 4096u
#define VEC_PAGE_MAX   (UINT64_MAX / VEC_PAGE_BYTES)

/* Reads one fault at *text and moves *text behind it; false if it is not well-formed. */
typedef bool vec_scan_fault(const char **text, struct uvmp_fault *fault);

/* The list of key `faults`, `-` if empty: malloc'd (free it; never NULL unless args->failed). `form` shows
 * what a fault looks like, for the message. */
struct uvmp_fault *vec_faults(struct vec_args *args, vec_scan_fault *scan, const char *form, uint32_t *count);

/* `letter` and a number up to max. */
bool vec_scan_part(const char **text, char letter, uint64_t max, uint64_t *number);
/* One access letter. */
bool vec_scan_access(const char **text, uint8_t *access);
char vec_access_letter(uint32_t access);

#endif
