/* What plugins of both kinds share (plugin.h): name, parameters, values. */
#ifndef UVMPOLICY_PLUGIN_INTERNAL_H
#define UVMPOLICY_PLUGIN_INTERNAL_H

#include "uvmpolicy/plugin.h"

/* The fields that both kinds have. */
struct plugin_head {
	const char *name;
	const struct uvmp_plugin_parameter *parameter;
	uint32_t parameters;
};

/* A defect: the status, and what is wrong. UVMP_OK: none. */
struct plugin_defect {
	enum uvmp_status status;
	const char *what; /* NULL: the initial value of `parameter` is out of its range */
	const struct uvmp_plugin_parameter *parameter; /* that has the defect, with a valid name; NULL: none */
};
struct plugin_defect uvmpi_plugin_defect(const struct plugin_head *head);

/* value[UVMP_PLUGIN_VALUES_MAX] becomes the defaults, and 0 behind them; the plugin is valid. */
void uvmpi_plugin_values_init(const struct uvmp_plugin_parameter *parameter, uint32_t parameters, uint32_t *value);
/* Are the values in range? Those behind the parameters are not looked at. */
bool uvmpi_plugin_values_are_valid(const struct uvmp_plugin_parameter *parameter, uint32_t parameters,
				   const uint32_t *value);

#define PLUGIN_SIZE_DEFECT plugin_defect(UVMP_ERR_ARGUMENT, "size is not the sizeof of the structure")

static inline struct plugin_defect plugin_defect(enum uvmp_status status, const char *what)
{
	return (struct plugin_defect){status, what, NULL};
}
/* The first defect of two. */
static inline struct plugin_defect plugin_defect_or(struct plugin_defect first, struct plugin_defect second)
{
	return first.status != UVMP_OK ? first : second;
}

#endif
