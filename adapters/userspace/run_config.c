/* The pager options of uvmp-run, read from the environment: by the processes that it starts, and by
 * itself, to test them before it starts a program. */
#include "run.h"

#include <stdlib.h>

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

void run_config(struct uvmp_pager_config *config)
{
	uvmp_pager_config_init(config);
	config->budget_bytes = number_of(RUN_BUDGET, 0);
	config->managed_bytes = number_of(RUN_MANAGED, 0);
	config->batch_threads = (uint32_t)number_of(RUN_THREADS, config->batch_threads);
	config->sample_pages = (uint32_t)number_of(RUN_SAMPLE, 0);
	config->store = getenv(RUN_STORE);
	config->policy = getenv(RUN_POLICY);
	config->is_user_mode = getenv(RUN_USER_MODE) != NULL;
	config->logs_completions = getenv(RUN_COMPLETIONS) != NULL;
}

size_t run_threshold(void)
{
	return number_of(RUN_THRESHOLD, SIZE_MAX);
}
