/* Parameters as fields of a structure: parameter_internal.h. */
#include "parameter_internal.h"

uint64_t uvmpi_field_get(const void *structure, uint32_t offset, uint32_t bytes)
{
	const uint8_t *field = (const uint8_t *)structure + offset;
	uint64_t wide;
	uint32_t word;

	if (bytes == sizeof(wide)) {
		__builtin_memcpy(&wide, field, sizeof(wide));
		return wide;
	}
	if (bytes == sizeof(word)) {
		__builtin_memcpy(&word, field, sizeof(word));
		return word;
	}
	return *field;
}

void uvmpi_field_set(void *structure, uint32_t offset, uint32_t bytes, uint64_t value)
{
	uint8_t *field = (uint8_t *)structure + offset;
	uint32_t word = (uint32_t)value;

	if (bytes == sizeof(value))
		__builtin_memcpy(field, &value, sizeof(value));
	else if (bytes == sizeof(word))
		__builtin_memcpy(field, &word, sizeof(word));
	else
		*field = (uint8_t)value;
}

const char *uvmpi_switch_name(uint32_t choice)
{
	static const char name[][4] = {"off", "on"};

	return choice <= 1 ? name[choice] : NULL;
}

void uvmpi_parameters_init(const struct parameter *parameter, uint32_t count, void *structure)
{
	for (uint32_t i = 0; i < count; i++)
		uvmpi_field_set(structure, parameter[i].offset, parameter[i].bytes,
				(uint64_t)parameter[i].initial * parameter[i].scale);
}
