/* host.h: the engine, and the effects of its actions on residency and counts, without time: what the untimed (untimed.h)
 * and the timed simulator (timed/timed.h) share. */
#ifndef UVMSIM_HOST_H
#define UVMSIM_HOST_H

#include "untimed.h"
#include "space.h"

#define HOST_GPU    1u
#define HOST_SPACE  1u
#define HOST_ARENAS 8u /* as many segments of arena as the engine takes */

struct host_params {
	struct sim_run run;
	uint32_t page_bytes;
	uint32_t utlbs, fault_entries; /* of the fault buffer, which limits the batch */
	uint32_t sms;		       /* 0: not known */
	bool has_ats;		       /* as in struct uvmp_service_params */
	bool counts_units;	       /* as in struct uvmp_service_gpu; memory is whole roots then */
	bool asks_at_misses;	       /* as in struct uvmp_service_gpu */
	bool reads_ahead;	       /* the source: its line is not that of an error */
};

/* What an action is about. The simulator counts pages from the first page of the sim_block; the engine counts from its
 * own block, which advice may have made smaller. */
struct host_target {
	struct sim_block *block; /* NULL: none */
	uint32_t first;		 /* page of `block` with which the engine's block begins */
	const uvmp_mask *pages;	 /* of `block`; valid until the next host_perform */
};

struct host {
	struct host_params params;
	struct source *source; /* for error messages */
	struct sim_result *result;
	char *error; /* [SOURCE_ERROR_MAX] */
	struct space space;
	struct uvmp_service *service; /* NULL until host_open */
	struct uvmp_needs needs;
	/* private */
	struct observe_event event; /* of the latest transfer, not told yet if */
	bool has_event;
	uvmp_mask shifted; /* pages of the latest action, counted from the first page of its sim_block */
	void *arena[HOST_ARENAS];
	uint32_t arenas, known_blocks;
};

/* Why a run is given up. */
#define HOST_NEVER_SERVICED                                                                                  \
	"this policy never services a fault: max_batches and max_throttled of 0 stop all servicing (driver " \
	"quirk "                                                                                             \
	"Q23; quirks=0 counts them as 1)"
#define HOST_NEVER_RESUMED                                                                                   \
	"no access can continue: with this policy and memory every page is evicted before it is used"

/* Writes the error, with the name of the source and its line if it has one; always false. */
bool host_fail(struct host *host, const char *text);
bool host_init(struct host *host, const struct host_params *params, struct source *source,
	       struct sim_result *result, char error[SOURCE_ERROR_MAX]);
/* Before or after host_open; memory that is not managed before. */
bool host_add_range(struct host *host, const struct source_range *range);
/* Builds the engine for the ranges that are known. */
bool host_open(struct host *host);
/* Would host_open succeed, if this machine has the memory? Fills footprint and memory of the result. */
bool host_can_open(struct host *host);
/* uvmp_service_next; if the arena is too full, it grows first. UVMP_ERR_ARENA: out of memory, the host has failed. */
enum uvmp_status host_next(struct host *host, uint64_t now_ns, const struct uvmp_action **action);
/* Is GPU memory managed in root chunks? Every other eviction order has units of its own. */
bool host_has_roots(const struct host *h);
/* The capacity of the GPU's memory: with compression more than its size. */
uint64_t host_capacity_bytes(const struct host *h);
/* The program's calls: whole pages around [address, address + bytes) move, or are advised on. The processor of an
 * advice may be UVMP_PROC_NONE. The request's DONE has *ticket. */
bool host_prefetch(struct host *host, uint64_t address, uint64_t bytes, bool to_gpu, uint64_t *ticket);
bool host_advise(struct host *host, uint64_t address, uint64_t bytes, enum uvmp_advice advice,
		 uint32_t processor, uint64_t *ticket);
/* The same of [address, address + bytes): a range as it was added, or (is_part) whole pages of ranges. After
 * DONE, call host_freed, which removes them and fails if memory is short. */
bool host_free(struct host *host, uint64_t address, uint64_t bytes, bool is_part, uint64_t *ticket);
bool host_freed(struct host *host, uint64_t address, uint64_t bytes);
/* Such a call has ended with `status`, which is not UVMP_OK: the error; always false. */
bool host_fail_call(struct host *host, uint64_t address, uint64_t bytes, enum uvmp_status status);
/* Sets the right (enum uvmp_right) on the pages in the planes of its low and its high bit. */
void host_set_planes(uvmp_mask *low, uvmp_mask *high, const uvmp_mask *pages, uint32_t right);
/* MAP, UNMAP and REVOKE: sets the rights of the processor on the pages. */
void host_set_rights(const struct host_target *target, const struct uvmp_action *action);
/* What an action does to residency and counts; the log line. *target: what the action is about. Left to the caller:
 * rights, and the transfers of COPY and POPULATE (host_transfer). False: a CANCEL, or the log cannot be written. */
bool host_perform(struct host *host, const struct uvmp_action *action, struct host_target *target);
/* What one transfer of a COPY or POPULATE does. `transfer`: pages of the action. */
void host_transfer(struct host *host, const struct uvmp_action *action, const struct host_target *target,
		   struct uvmp_region transfer);
/* Writes when an action ended; called by host_complete. False: the log cannot be written. */
bool host_log_completion(struct host *host, const struct uvmp_action *action, uint64_t end_ns);
/* The action, which host_perform has performed, ends at `end_ns`, on the clock of host_next: tells the engine, and the log
 * if it has completions. False: the log cannot be written. */
static inline bool host_complete(struct host *host, const struct uvmp_action *action, uint64_t end_ns)
{
	uvmp_service_complete(host->service, action->id, UVMP_OK);
	return !host->params.run.log.has_completions || host_log_completion(host, action, end_ns);
}
/* Closes all and completes the counts. */
void host_close(struct host *host, bool is_complete);

#endif
