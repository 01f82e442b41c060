/* Fields of parameters by offset: parameter_internal.h. */
#include "parameter_internal.h"

static uint64_t field_get(const struct parameter *parameter, const void *structure)
{
	const uint8_t *field = (const uint8_t *)structure + parameter->offset;
	uint64_t wide;
	uint32_t word;

	if (parameter->bytes == sizeof(wide)) {
		__builtin_memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	if (parameter->bytes == sizeof(word)) {
		__builtin_memcpy(&word, field, sizeof(word));
		return word;
	}
	return *field;
}

uint64_t uvmp_parameter_get(const struct parameter *parameter, const void *structure)
{
	return field_get(parameter, structure) / parameter->scale;
}

void uvmp_parameter_set(const struct parameter *parameter, void *structure, uint32_t value)
{
	uint8_t *field = (uint8_t *)structure + parameter->offset;
	uint64_t wide = (uint64_t)value * parameter->scale;

	if (parameter->bytes == sizeof(wide))
		__builtin_memcpy(field, &wide, sizeof(wide));
	else if (parameter->bytes == sizeof(value))
		__builtin_memcpy(field, &value, sizeof(value));
	else
		*field = (uint8_t)value;
}

void uvmp_parameters_init(const struct parameter *parameter, uint32_t count, void *structure)
{
	for (uint32_t i = 0; i < count; i++)
		uvmp_parameter_set(&parameter[i], structure, parameter[i].initial);
}

bool uvmp_parameters_are_valid(const struct parameter *parameter, uint32_t count, const void *structure)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = field_get(&parameter[i], structure);

		if (value < (uint64_t)parameter[i].min * parameter[i].scale ||
		    value > (uint64_t)parameter[i].max * parameter[i].scale)
			return false;
	}
	return true;
}
