/* A prefetcher that is not of the library (plugin.h), seen from the table and the engine. */
#ifndef UVMPOLICY_PREFETCH_PLUGIN_INTERNAL_H
#define UVMPOLICY_PREFETCH_PLUGIN_INTERNAL_H

#include "../base/plugin_internal.h"
#include "prefetch_internal.h"

/* The descriptor that calls params->plugin. It has no traits: those are the plugin's. */
extern const struct prefetcher uvmpi_prefetcher_plugin;

struct plugin_defect uvmpi_prefetch_plugin_defect(const struct uvmp_prefetch_plugin *plugin);
/* Is params->plugin valid, with values in range? */
bool uvmpi_prefetch_plugin_is_valid(const struct uvmp_prefetch_params *params);

#endif
