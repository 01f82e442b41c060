/* naive_service.h: the whole service pass a second time, written from docs/engine.md and docs/driver-rules.md: lists, loops and
 * a struct for each page. An operation runs straight through, and whenever a group of actions is decided, the host is called
 * to perform it. No state machines, nothing of the core but value types; the naive models of the single decisions are used.
 *
 * The orders lru, lru2m, lfu2m, lru4k, sl64k and tbne; the prefetchers none, density, tbn, sl and block; the plans serial and
 * overlapped. Memory of the arena never ends here. */
#ifndef NAIVE_SERVICE_H
#define NAIVE_SERVICE_H

#include "naive_fault.h"
#include "naive_pmm.h"
#include "naive_replay.h"
#include "naive_thrash.h"
#include "uvmpolicy/service.h"

#define NAIVE_PROCS	    5u
#define NAIVE_SPACES	    4u
#define NAIVE_RANGES	    32u
#define NAIVE_BLOCKS	    64u /* in all spaces together */
#define NAIVE_CHANNELS	    16u
#define NAIVE_REQUESTS	    16u
#define NAIVE_SERVICE_PAGES 512u

/* Performs a group of actions; status[i] is how action[i] ended, and moved[i], empty at first, the pages that a failed COPY or
 * POPULATE has moved all the same. Events may be reported meanwhile, and the time may be changed. */
typedef void naive_service_group(void *host, const struct uvmp_action *action, uint32_t count,
				 enum uvmp_status *status, uvmp_mask *moved);

struct naive_service;
struct naive_service *naive_service_new(const struct uvmp_service_params *params, naive_service_group *group,
					void *host);
void naive_service_free(struct naive_service *n);

void naive_service_set_time(struct naive_service *n, uint64_t now_ns);
/* All that there is to do now. */
void naive_service_run(struct naive_service *n);
/* When the pin ends that ends first; UINT64_MAX: none. */
uint64_t naive_service_due_ns(const struct naive_service *n);

/* As the functions of service.h with these names; arguments are right but for those in the comments. */
enum uvmp_status naive_service_bind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
				    uint64_t instance, uint32_t subcontext, uint64_t space); /* bound already */
enum uvmp_status naive_service_unbind(struct naive_service *n, uint32_t gpu, uint32_t aperture,
				      uint64_t instance, uint32_t subcontext); /* not bound */
enum uvmp_status naive_service_add_range(struct naive_service *n, uint64_t space, uvmp_addr base,
					 uint64_t bytes, enum uvmp_right right, uint32_t home); /* overlaps */
enum uvmp_status naive_service_free_range(struct naive_service *n, uint64_t space, uvmp_addr base);
enum uvmp_status naive_service_free_part(struct naive_service *n, uint64_t space, uvmp_addr base,
					 uint64_t bytes);
enum uvmp_status naive_service_advise(struct naive_service *n, uint64_t space, uvmp_addr base, uint64_t bytes,
				      enum uvmp_advice advice, uint32_t processor);
enum uvmp_status naive_service_migrate(struct naive_service *n, uint64_t space, uvmp_addr base,
				       uint64_t bytes, uint32_t processor);
enum uvmp_status naive_service_withdraw(struct naive_service *n, uint64_t space, uvmp_addr base,
					uint64_t bytes, uint32_t processor); /* any processor */
enum uvmp_status naive_service_cpu_fault(struct naive_service *n, uint64_t space, uvmp_addr address,
					 enum uvmp_access access, uint64_t thread);
enum uvmp_status naive_service_fault(struct naive_service *n, uint32_t gpu, const struct uvmp_fault *fault);
enum uvmp_status naive_service_note(struct naive_service *n, uint32_t gpu, const struct uvmp_note *note);
void naive_service_touch(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address);
void naive_service_arrive(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address);
void naive_service_hold(struct naive_service *n, uint32_t processor, uint64_t space, uvmp_addr address,
			uint64_t until_ns);

enum uvmp_status naive_service_page(const struct naive_service *n, uint64_t space, uvmp_addr address,
				    struct uvmp_page_state *state);
void naive_service_count(const struct naive_service *n, uint32_t gpu, struct uvmp_service_counts *counts);
/* Pages of chunks that blocks own on a GPU, and pages that are resident there. */
void naive_service_used(const struct naive_service *n, uint32_t gpu, uint64_t *owned, uint64_t *resident);
/* Faults that are in the buffer of a GPU. */
uint32_t naive_service_waiting(const struct naive_service *n, uint32_t gpu);

#endif
