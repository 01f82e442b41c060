/* One parameter of a decision: its name in the policy string, range, default, help, and the field that holds it.
 *
 * Each decision defines its parameters once, as a constant table. Defaults and range checks of the decision, and
 * keys of the policy string, are derived from the table. */
#ifndef UVMPOLICY_PARAMETER_INTERNAL_H
#define UVMPOLICY_PARAMETER_INTERNAL_H

#include "uvmpolicy/base.h"

struct parameter {
	char name[24];
	char summary[96];		 /* one line of help */
	uint32_t min, max, initial;	 /* in the unit of the policy string */
	uint32_t scale;			 /* field = number * scale, e.g. 1000 for microseconds kept in nanoseconds */
	uint16_t offset;		 /* of the field in its structure, bytes */
	uint8_t bytes;			 /* of the field: 1, 4 or 8 */
	const char *(*choice)(uint32_t); /* name of a value; NULL: the value is a number */
};

#define PARAMETER_SCALED(type, field, name, min, max, initial, scale, summary)                               \
	{                                                                                                    \
		name, summary, min, max, initial, scale, (uint16_t)offsetof(type, field),                    \
			(uint8_t)sizeof(((type *)0)->field), NULL                                            \
	}
#define PARAMETER_NUMBER(type, field, name, min, max, initial, summary)                                      \
	PARAMETER_SCALED(type, field, name, min, max, initial, 1, summary)
/* `count` values, named by choice(0) to choice(count - 1). */
#define PARAMETER_CHOICE(type, field, name, count, initial, choice, summary)                                 \
	{                                                                                                    \
		name, summary, 0, (count)-1, initial, 1, (uint16_t)offsetof(type, field),                    \
			(uint8_t)sizeof(((type *)0)->field), choice                                          \
	}

/* Reads or writes the field in `structure`, in the unit of the policy string. */
uint64_t uvmp_parameter_get(const struct parameter *parameter, const void *structure);
void uvmp_parameter_set(const struct parameter *parameter, void *structure, uint32_t value);

/* Gives `count` parameters their defaults. */
void uvmp_parameters_init(const struct parameter *parameter, uint32_t count, void *structure);
/* Are `count` parameters in range? */
bool uvmp_parameters_are_valid(const struct parameter *parameter, uint32_t count, const void *structure);

#endif
