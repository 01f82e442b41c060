/* Requests: what their kinds share, and what the state machine calls of each kind. */
#ifndef UVMPOLICY_REQUEST_INTERNAL_H
#define UVMPOLICY_REQUEST_INTERNAL_H

#include "service_internal.h"

enum request_phase { BEGIN, WORK, SPLIT, LEAVE, VACATE, REMOVE, RANGE, MAKE, BLOCK, MAP };

/* -- request_run.c -- */

/* Gives back what the block has on one GPU; false: it has nothing. One at a time, so that the queue has room. */
bool uvmpi_request_give_memory(struct uvmp_service *s, handle h);
/* Pages of the block that the request names. */
struct uvmp_region uvmpi_request_part_of(const struct uvmp_service *s, const struct block *b);
/* Slot of the range that holds the address; NO_INDEX: none. */
uint32_t uvmpi_request_range_at(const struct uvmp_service *s, uvmp_addr address);
void uvmpi_request_all_pages(const struct block *b, uvmp_mask *pages);
/* Starts the request with this phase, if all its pages lie in ranges. */
void uvmpi_request_begin_window(struct uvmp_service *s, enum request_phase phase);
/* Ends the request; queues DONE. */
void uvmpi_request_finish(struct uvmp_service *s, enum uvmp_status status);
/* Starts the job of the request. */
void uvmpi_request_serve(struct uvmp_service *s);

/* -- request_cut.c -- */

/* Would the advice change the policy of the range? */
bool uvmpi_request_differs(const struct range *range, const struct request *request);
void uvmpi_request_begin_free_part(struct uvmp_service *s);
/* The phases SPLIT, LEAVE and VACATE of a range that is cut. */
void uvmpi_request_leave(struct uvmp_service *s);
/* Maps a processor that accesses the range. */
void uvmpi_request_map_accessor(struct uvmp_service *s, handle h, uint32_t proc);
void uvmpi_request_split(struct uvmp_service *s);
void uvmpi_request_vacate(struct uvmp_service *s);

/* -- request_free.c -- */

void uvmpi_request_begin_free(struct uvmp_service *s);
void uvmpi_request_free_pieces(struct uvmp_service *s);

/* -- request_migrate.c -- */

void uvmpi_request_migrate(struct uvmp_service *s);

/* -- request_advise.c -- */

/* The phases RANGE, MAKE, BLOCK and MAP. */
void uvmpi_request_make_next(struct uvmp_service *s);
void uvmpi_request_map_next(struct uvmp_service *s);
void uvmpi_request_next_block(struct uvmp_service *s);
void uvmpi_request_next_range(struct uvmp_service *s);

/* -- request_cpu.c -- */

void uvmpi_request_begin_cpu_fault(struct uvmp_service *s);
void uvmpi_request_cpu_fault(struct uvmp_service *s);

#endif
