/* A host for the engine in tests: performs nothing, completes every action as it comes, and keeps what was
 * decided as text, one action a line, without what only tells lines apart (id, time, after, space, page size).
 */
#ifndef SERVICE_HOST_H
#define SERVICE_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uvmpolicy/service.h"

#define HOST_GPUS_MAX  63u
#define HOST_LOG_BYTES (1u << 20)

struct host {
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	struct uvmp_service_gpu gpu[HOST_GPUS_MAX];
	struct uvmp_service_params params;
	struct uvmp_service *service;
	void *memory;
	uint64_t now_ns;
	bool is_checking;	      /* uvmp_service_check after every action */
	enum uvmp_action_kind failing; /* actions of this kind, */
	uint32_t failing_to;	      /* to this processor (any: UVMP_PROC_NONE), */
	enum uvmp_status failure;     /* end so; UVMP_OK: all end well */
	uint32_t done;		      /* DONE actions so far, */
	enum uvmp_status status;      /* and the status of the last one */
	char *log;
	size_t length;
};

/* CPU and `gpus` GPUs on PCIe: each GPU reaches its own memory and the CPU's. 2 MiB roots. */
static inline void host_init(struct host *host, uint32_t gpus, uint32_t roots)
{
	memset(host, 0, sizeof(*host));
	uvmp_policy_init(&host->policy);
	host->processors.count = gpus + 1u;
	for (uint32_t p = 0; p <= gpus; p++) {
		host->processors.can_access[p] = (uint64_t)1 << p | 1u;
		host->processors.native_atomics[p] = (uint64_t)1 << p;
	}
	for (uint32_t i = 0; i < gpus; i++)
		host->gpu[i] = (struct uvmp_service_gpu){.memory_bytes = (uint64_t)roots << 21,
		                                         .splits = roots,
		                                         .fault_entries = 512,
		                                         .utlbs = 8,
		                                         .notes = 1024};
	host->params = (struct uvmp_service_params){.policy = &host->policy,
	                                            .processors = &host->processors,
	                                            .gpu = host->gpu,
	                                            .page_bytes = 4096,
	                                            .blocks = 64,
	                                            .spaces = 4,
	                                            .ranges = 16,
	                                            .instances = 8,
	                                            .requests = 8,
	                                            .seed = 1};
	host->is_checking = true;
	host->failing_to = UVMP_PROC_NONE;
	host->now_ns = 1000000;
}

/* After policy, processors and params were changed as the test wants them. `extra`: bytes beyond those of the
 * blocks. */
static inline bool host_start(struct host *host, uint32_t resident, size_t extra)
{
	size_t bytes = uvmp_service_size(&host->params, resident) + extra;

	host->memory = aligned_alloc(16, (bytes + 15u) / 16u * 16u);
	host->log = calloc(1, HOST_LOG_BYTES);
	return uvmp_service_init(&host->params, host->memory, bytes, &host->service) == UVMP_OK;
}

static inline void host_stop(struct host *host)
{
	free(host->memory);
	free(host->log);
}

static inline void host_forget_log(struct host *host)
{
	host->length = 0;
	host->log[0] = '\0';
}

static inline bool host_is_left_out(const char *word)
{
	static const char *const key[] = {"t=", "after=", "space=", "page_bytes="};

	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
		if (strncmp(word, key[i], strlen(key[i])) == 0)
			return true;
	return false;
}

static inline void host_write(struct host *host, const struct uvmp_action *action)
{
	char text[UVMP_ACTION_TEXT_MAX] = "";
	char *word;

	if (uvmp_action_print(action, text, sizeof(text)) != UVMP_OK)
		snprintf(text, sizeof(text), "0 unprintable");
	(void)strtok(text, " ");
	for (word = strtok(NULL, " "); word; word = strtok(NULL, " ")) {
		if (host_is_left_out(word))
			continue;
		host->length += (size_t)snprintf(host->log + host->length, HOST_LOG_BYTES - host->length,
		                                 "%s ", word);
	}
	host->length += (size_t)snprintf(host->log + host->length - 1, HOST_LOG_BYTES - host->length, "\n") - 1u;
}

/* One action; false: there is none. */
static inline bool host_step(struct host *host)
{
	struct uvmp_action action;
	enum uvmp_status status = UVMP_OK;

	if (uvmp_service_next(host->service, host->now_ns, &action) != UVMP_OK)
		return false;
	host_write(host, &action);
	if (action.kind == UVMP_ACTION_DONE) {
		host->done++;
		host->status = (enum uvmp_status)action.status;
	}
	if (action.kind == host->failing &&
	    (host->failing_to == UVMP_PROC_NONE || host->failing_to == action.to))
		status = host->failure;
	if (uvmp_service_complete(host->service, action.id, status) != UVMP_OK ||
	    (host->is_checking && !uvmp_service_check(host->service))) {
		fprintf(stderr, "engine not consistent after:\n%s", host->log);
		abort();
	}
	return true;
}

/* All that there is to do; returns the status of the last DONE. */
static inline enum uvmp_status host_run(struct host *host)
{
	host->status = UVMP_OK;
	for (uint32_t i = 0; host_step(host); i++) {
		if (i > 100000u) {
			fprintf(stderr, "no end\n");
			abort();
		}
	}
	return host->status;
}

#endif
