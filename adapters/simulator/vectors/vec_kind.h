/* vec_kind.h: what a kind of vector is, and the helpers that kinds share. It knows no kind and no file.
 *
 * A kind is one file vec_NAME.c with one `const struct vec_kind`, and one row in the table of vec.c. A kind gets
 * the words of one line from left to right (vec_args.c) and prints its `=> ` lines (vec_out.c).
 */
#ifndef UVMSIM_VEC_KIND_H
#define UVMSIM_VEC_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uvmpolicy/mask.h"

#define VEC_LINE_MAX 16384 /* bytes of one line, LF not counted */

/* As realloc and calloc for `count` elements of `each` bytes. Both end the program if memory is short. */
void *vec_grow(void *old, uint64_t count, size_t each);
void *vec_zeros(uint64_t count, size_t each);

/* -- output: a growing string -- */
struct vec_out {
	char *text; /* NUL-terminated, NULL while empty */
	size_t length, capacity;
};

void vec_printf(struct vec_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void vec_out_clear(struct vec_out *out);
void vec_out_free(struct vec_out *out);

/* A set, ascending numbers one by one: `0-4,6`, `-` if none. */
struct vec_set_printer {
	struct vec_out *out;
	uint64_t first, last;
	bool is_open, is_empty;
};

void vec_set_begin(struct vec_set_printer *printer, struct vec_out *out);
void vec_set_add(struct vec_set_printer *printer, uint64_t number); /* ascending */
void vec_set_end(struct vec_set_printer *printer);
void vec_print_mask(struct vec_out *out, const uvmp_mask *mask);
void vec_print_bits(struct vec_out *out, uint64_t bits); /* set of processors */
/* A list: `1,2,2`, `-` if empty. */
void vec_print_list(struct vec_out *out, const uint32_t *number, size_t count);
/* A processor: its number, or `none` for UVMP_PROC_NONE and above. */
void vec_print_proc(struct vec_out *out, uint32_t proc);

/* -- input: the words of one line, taken from left to right -- */
struct vec_args {
	char *words; /* rest of the line */
	bool failed; /* a getter has failed; error says why */
	char error[512];
};

/* The value of the next word, which must be `key=...`. NULL and failed = true if it is not. All getters below
 * do nothing (and return zero) once failed, so that a kind can take all its keys and look at `failed` once.
 */
const char *vec_text(struct vec_args *args, const char *key);
uint64_t vec_number(struct vec_args *args, const char *key, uint64_t min, uint64_t max);
bool vec_flag(struct vec_args *args, const char *key);
/* `none` gives UVMP_PROC_NONE. */
uint32_t vec_proc(struct vec_args *args, const char *key);
/* Index of the value in the NULL-terminated list of names. */
uint32_t vec_choice(struct vec_args *args, const char *key, const char *const *names);
/* A mask with bits below `limit` (<= 512). With is_none given, `none` sets it and leaves the mask empty; else
 * `none` is an error. */
void vec_mask(struct vec_args *args, const char *key, uint32_t limit, uvmp_mask *mask, bool *is_none);
/* Any set of numbers below `limit`, as ascending inclusive ranges in malloc'd memory (free it); 0 and NULL if
 * empty. */
struct vec_range {
	uint64_t first, last;
};
size_t vec_set(struct vec_args *args, const char *key, uint64_t limit, struct vec_range **ranges);
/* A list of numbers min..max, malloc'd; 0 and NULL for `-`. */
size_t vec_list(struct vec_args *args, const char *key, uint64_t min, uint64_t max, uint64_t **numbers);
/* Fails with a formatted message (only the first failure counts). */
void vec_fail(struct vec_args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Strict parsing of pieces of values, for kinds with spellings of their own: a decimal number without leading
 * zeros at *text; advances *text behind it. False (and nothing moved) if there is none or it exceeds max. */
bool vec_scan_number(const char **text, uint64_t max, uint64_t *number);

/* -- kinds -- */
struct vec_kind {
	const char *name;
	bool is_scripted;
	/* Scripted: state of one script; open is called at each `case` line after the old state was closed.
	 * Stateless: both NULL. */
	void *(*open)(struct vec_args *args, const char *case_name); /* NULL with args->failed on error */
	void (*close)(void *state);
	/* One input line: its first word (the kind's name, or the step's) and the rest. Prints the expected
	 * lines, each starting with
	 * "=> " and ending in a newline. vec.c checks that all words were taken, and args->failed. */
	void (*line)(void *state, const char *word, struct vec_args *args, struct vec_out *out);
};

extern const struct vec_kind vec_density, vec_fetch, vec_order, vec_flush, vec_toggle, vec_replay, vec_evict,
	vec_tree, vec_alloc, vec_tbn, vec_sl, vec_residency, vec_counters, vec_thrash, vec_pcie,
	vec_smart_migrate, vec_smart_counter, vec_smart_pattern, vec_tbn_evict, vec_smart_evict;

#endif
