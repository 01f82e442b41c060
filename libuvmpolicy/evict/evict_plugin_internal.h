/* An eviction order that is not of the library (plugin.h), seen from the engine. */
#ifndef UVMPOLICY_EVICT_PLUGIN_INTERNAL_H
#define UVMPOLICY_EVICT_PLUGIN_INTERNAL_H

#include "../base/plugin_internal.h"

struct plugin_defect uvmpi_evict_plugin_defect(const struct uvmp_evict_plugin *plugin);

#endif
