/* entry.c: the simulator as a function of libuvmpolicy-python, with plugins that are in memory already. The Python package calls
 * it in a process of its own: policies that are written in Python run in uvmsim, which gets them by --plugin with the name of this
 * library. */
#include "nearest.h"
#include "uvmpolicy/plugin.h"

int main(int argc, char **argv); /* of uvmsim */

UVMP_API int uvmsim_main(int argc, char **argv);
UVMP_API void uvmp_python_plugins(const struct uvmp_plugins *plugins);
UVMP_API const char *uvmp_python_hint(const char *policy, const struct uvmp_plugins *plugins,
				      const struct uvmp_policy_error *error);
UVMP_API const struct uvmp_plugins *uvmp_plugin(uint32_t version);

static const struct uvmp_plugins *present;

int uvmsim_main(int argc, char **argv)
{
	return main(argc, argv);
}

/* The plugins of the next run; they stay as they are until its end. */
void uvmp_python_plugins(const struct uvmp_plugins *plugins)
{
	present = plugins;
}

/* The nearest valid word, for the message of an error: valid until the next call of the thread. */
const char *uvmp_python_hint(const char *policy, const struct uvmp_plugins *plugins, const struct uvmp_policy_error *error)
{
	static _Thread_local char text[NEAREST_TEXT_MAX];

	return nearest_policy(policy, plugins, error, text);
}

const struct uvmp_plugins *uvmp_plugin(uint32_t version)
{
	return version == UVMP_PLUGIN_VERSION ? present : NULL;
}
