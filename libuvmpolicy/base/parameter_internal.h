/* One parameter of a decision: its name in the policy string, range, default, help, and the field that holds it.
 *
 * Each decision defines its parameters once, as a constant table. Defaults and range checks of the decision, and
 * keys of the policy string, are derived from the table. */
#ifndef UVMPOLICY_PARAMETER_INTERNAL_H
#define UVMPOLICY_PARAMETER_INTERNAL_H

#include "uvmpolicy/base.h"

/* Does another value of the policy narrow the range? */
enum parameter_limit {
	LIMIT_NONE,
	LIMIT_QUIRKS,	      /* 0 only with quirks */
	LIMIT_TO_THRESHOLD,   /* at most the density threshold of the policy, of which 0 counts as 1 */
	LIMIT_FROM_THRESHOLD, /* at least that */
};

struct parameter {
	char name[24];
	char field[32];		    /* that holds it, as in C */
	char summary[96];	    /* one line of help */
	uint32_t min, max, initial; /* in the unit of the policy string */
	uint32_t scale;	 /* field = number * scale, e.g. 1000 for microseconds kept in nanoseconds */
	uint16_t offset; /* of the field in its structure, bytes */
	uint8_t bytes;	 /* of the field: 1, 4 or 8 */
	uint8_t limit;	 /* enum parameter_limit */
	bool is_pages;	 /* a number of pages of 4 KiB; decisions take pages of the host */
	const char *(*choice)(uint32_t); /* name of a value; NULL: the value is a number */
};

#define PARAMETER_OF(type, field, name, min, max, initial, scale, limit, is_pages, choice, summary)          \
	{                                                                                                    \
		name, #field, summary, min, max, initial, scale, (uint16_t)offsetof(type, field),            \
			(uint8_t)sizeof(((type *)0)->field), limit, is_pages, choice                         \
	}
#define PARAMETER(type, field, name, min, max, initial, scale, limit, choice, summary)                       \
	PARAMETER_OF(type, field, name, min, max, initial, scale, limit, false, choice, summary)
#define PARAMETER_NUMBER(type, field, name, min, max, initial, summary)                                      \
	PARAMETER(type, field, name, min, max, initial, 1, LIMIT_NONE, NULL, summary)
/* `count` values, named by choice(0) to choice(count - 1). */
#define PARAMETER_CHOICE(type, field, name, count, initial, choice, summary)                                 \
	PARAMETER(type, field, name, 0, (count)-1, initial, 1, LIMIT_NONE, choice, summary)

/* The field at `offset`; `bytes` is 1, 4 or 8. */
uint64_t uvmpi_field_get(const void *structure, uint32_t offset, uint32_t bytes);
void uvmpi_field_set(void *structure, uint32_t offset, uint32_t bytes, uint64_t value);

/* Is the number in the parameter's range? */
static inline bool parameter_accepts(const struct parameter *parameter, uint64_t number)
{
	return number >= parameter->min && number <= parameter->max;
}

/* "off", "on"; NULL for a greater number. */
const char *uvmpi_switch_name(uint32_t choice);

/* Gives `count` parameters their defaults. */
void uvmpi_parameters_init(const struct parameter *parameter, uint32_t count, void *structure);

#endif
