/* What controllers share: the descriptor.
 *
 * Layers of this folder: one file per controller < adapt.c, which holds the table. The engine calls a controller
 * through its descriptor (engine/controllers.c). The state of a controller is private to its file. */
#ifndef UVMPOLICY_ADAPT_INTERNAL_H
#define UVMPOLICY_ADAPT_INTERNAL_H

#include "../base/parameter_internal.h"
#include "uvmpolicy/adapt.h"

/* The initial facts of a controller. */
struct control_setup {
	const struct uvmp_controls *controls;
	uint32_t base; /* density threshold of the policy, 1..100 */
	uint32_t sms;  /* of the GPU; 0: the host has not set the number, or the state is shared */
};

/* One GPU at one time. */
struct control_facts {
	uint64_t now_ns;
	uint64_t managed_bytes, memory_bytes; /* of all ranges; of the GPU */
	struct uvmp_threshold_load load;      /* since the last event `batch` */
	const struct uvmp_lifetime *lifetime; /* needs_lifetimes: of the GPU's units of memory */
	bool has_begun;			      /* a batch has begun before */
};

/* The results for one GPU. Each controller writes its own fields only. */
struct control_answer {
	struct uvmp_prefetch_setting setting; /* pressure, early */
	uint32_t stopped_sms;		      /* sm_throttle */
	uint32_t extra_blocks;		      /* threads */
};

/* The descriptor of one controller. Functions may be NULL: the controller ignores the event. */
struct controller {
	char name[16];	      /* in the policy string */
	uint8_t adapt;	      /* enum uvmp_adapt: the value that turns the controller on; UVMP_ADAPT_OFF: the first
			       * parameter, a switch, does */
	bool needs_sms;	      /* GPUs without a number of SMs do without the controller */
	bool needs_lifetimes; /* control_facts.lifetime */
	bool counts_refaults; /* control_facts.load.refaults */
	bool is_shared;	      /* one state for all GPUs; not together with needs_sms */
	const struct parameter *parameter; /* [parameters], fields of struct uvmp_controls */
	uint32_t parameters;
	uint16_t state_bytes; /* per GPU; is_shared: of the engine. At least 1 */
	uint16_t block_bytes; /* per block that faults, zeros at first, for `faulted` */
	void (*init)(const struct control_setup *setup, void *state, struct control_answer *answer);
	/* A batch begins, or due_ns has passed. */
	void (*batch)(const struct control_facts *facts, void *state, struct control_answer *answer);
	/* When time alone may change the answer; UINT64_MAX: never. */
	uint64_t (*due_ns)(const struct control_facts *facts, const void *state);
	/* A block with `faults` faulted pages is serviced: returns the threshold for it. `adapt` is not OFF.
	 * block: NULL if the arena is full. */
	uint32_t (*faulted)(void *state, void *block, uint64_t now_ns, uint32_t faults);
	/* Pages were evicted. */
	void (*evicted)(void *state, uint64_t now_ns);
};

#define UVMPI_CONTROLLER_DECLARE(CONSTANT, name) extern const struct controller uvmpi_controller_##name;
UVMP_CONTROLLERS(UVMPI_CONTROLLER_DECLARE)

/* The descriptor (adapt.c); controller < UVMP_CONTROLLER_COUNT. */
const struct controller *uvmpi_controller_at(uint32_t controller);

/* Parameter of struct uvmp_controls. */
#define CONTROL_PARAMETER(field, name, min, max, initial, summary)                                           \
	PARAMETER_NUMBER(struct uvmp_controls, field, name, min, max, initial, summary)
/* The switch of a controller, off by default. */
#define CONTROL_SWITCH(field, name, summary)                                                                 \
	PARAMETER_CHOICE(struct uvmp_controls, field, name, 2, 0, uvmpi_switch_name, summary)
/* The number of entries of a table of parameters. */
#define PARAMETERS(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))

/* adapt_lifetime.c: moves the pages to an array for more of them. */
void uvmpi_lifetime_move(struct uvmp_lifetime *lifetime, uint64_t *page, uint64_t pages);

extern const struct parameter uvmpi_cyclic_parameters[1]; /* adapt_cyclic.c: cyclic=on */

#endif
