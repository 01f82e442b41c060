/* The table of controllers.
 *
 * UVMP_CONTROLLERS (adapt.h) lists the controllers; each file adapt_*.c defines its descriptor. */
#include "adapt_internal.h"

#define ENTRY(CONSTANT, name) [UVMP_CONTROLLER_##CONSTANT] = &uvmpi_controller_##name,
static const struct controller *const table[UVMP_CONTROLLER_COUNT] = {UVMP_CONTROLLERS(ENTRY)};

const char *uvmp_controller_name(enum uvmp_controller controller)
{
	return (uint32_t)controller < UVMP_CONTROLLER_COUNT ? table[controller]->name : NULL;
}

const struct controller *uvmpi_controller_at(uint32_t controller)
{
	return table[controller];
}
