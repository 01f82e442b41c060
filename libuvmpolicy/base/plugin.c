/* Plugins of both kinds: name, parameters, values. */
#include "plugin_internal.h"

static bool is_letter(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_name(const char *name)
{
	uint32_t length = 0;

	if (name == NULL || !is_letter(name[0]))
		return false;
	while (is_letter(name[length]) || (name[length] >= '0' && name[length] <= '9') || name[length] == '_') {
		length++;
		if (length == UVMP_PLUGIN_NAME_MAX)
			return false;
	}
	return name[length] == '\0';
}

static struct plugin_defect defect_of_parameter(const struct uvmp_plugin_parameter *parameter)
{
	if (!is_name(parameter->name))
		return plugin_defect(UVMP_ERR_RANGE, "the name of a parameter is a letter a-z, then a-z, 0-9 and _, at most 23");
	if (parameter->summary == NULL)
		return (struct plugin_defect){UVMP_ERR_ARGUMENT, "summary is missing", parameter};
	if (parameter->initial < parameter->min || parameter->initial > parameter->max)
		return (struct plugin_defect){UVMP_ERR_RANGE, NULL, parameter};
	return plugin_defect(UVMP_OK, NULL);
}

struct plugin_defect uvmpi_plugin_defect(const struct plugin_head *head)
{
	struct plugin_defect defect = plugin_defect(UVMP_OK, NULL);

	if (!is_name(head->name))
		return plugin_defect(UVMP_ERR_RANGE, "the name is a letter a-z, then a-z, 0-9 and _, at most 23");
	if (head->parameters > UVMP_PLUGIN_VALUES_MAX)
		return plugin_defect(UVMP_ERR_RANGE, "more than 8 parameters");
	if (head->parameters != 0 && head->parameter == NULL)
		return plugin_defect(UVMP_ERR_ARGUMENT, "parameter is missing");
	for (uint32_t i = 0; i < head->parameters; i++)
		defect = plugin_defect_or(defect, defect_of_parameter(&head->parameter[i]));
	return defect;
}

void uvmpi_plugin_values_init(const struct uvmp_plugin_parameter *parameter, uint32_t parameters, uint32_t *value)
{
	for (uint32_t i = 0; i < UVMP_PLUGIN_VALUES_MAX; i++)
		value[i] = i < parameters ? parameter[i].initial : 0;
}

bool uvmpi_plugin_values_are_valid(const struct uvmp_plugin_parameter *parameter, uint32_t parameters,
				   const uint32_t *value)
{
	for (uint32_t i = 0; i < parameters; i++)
		if (value[i] < parameter[i].min || value[i] > parameter[i].max)
			return false;
	return true;
}
