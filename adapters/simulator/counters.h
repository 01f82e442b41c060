/* counters.h: the access counters of a simulated GPU: how often it uses memory of the CPU where it is mapped.
 *
 * A counter stands for 2 MiB (the granularity of the driver), of which it knows which 64 KiB were used. When it
 * reaches the policy's counter_threshold it notifies the engine once, and again only after the engine has cleared it. */
#ifndef UVMSIM_COUNTERS_H
#define UVMSIM_COUNTERS_H

#include "host.h"

#define COUNTERS_NOTES                                                                                       \
	256u /* entries of the notification buffer; what does not fit is lost and notifies later */

/* The GPU has used a page of the block that lies on the CPU, with so many requests of up to 128 bytes; they count as one
 * access unless the policy needs requests. True: the engine has been notified. */
bool counters_use(struct host *host, struct sim_block *block, uint32_t page, uint32_t requests);
/* The action CLEAR. */
void counters_clear(struct host *host, const struct uvmp_action *action);

#endif
