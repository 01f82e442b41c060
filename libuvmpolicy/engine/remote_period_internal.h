/* remote=auto: is a tenant used for more than a round each time? Costs are in copies of 4 KiB. */
#ifndef UVMPOLICY_REMOTE_PERIOD_INTERNAL_H
#define UVMPOLICY_REMOTE_PERIOD_INTERNAL_H

#include "service_internal.h"

/* A block of the tenant is notified; moving a block costs `cost`. */
void uvmpi_period_note(struct idle *idle, struct idle_tenant *tenant, uint32_t cost);
/* A round of the tenant is as long as moving so many blocks. */
uint32_t uvmpi_period_round(const struct idle_tenant *tenant);
/* A round of the tenant is complete. */
void uvmpi_period_complete(struct idle_tenant *tenant);
/* A block of the tenant returns without a draw. True: so a round is complete. */
bool uvmpi_period_return(struct idle *idle, struct idle_tenant *tenant);
/* Do the tenant's blocks return at once? */
bool uvmpi_period_is_expected(const struct idle_tenant *tenant);
/* Of the set, the tenants that make room for this one, in a period in which its blocks return at once. */
uint32_t uvmpi_period_gives(const struct idle_tenant *tenant, uint32_t set);

#endif
