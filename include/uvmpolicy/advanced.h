/* advanced.h: the advanced set, one header per decision. Each function can be called alone, without the
 * engine. Each header lists its sources. docs/embedding.md lists the files to compile for each header.
 *
 *   header        | decision
 *   --------------|----------------------------------------------------------------------------------------
 *   geometry.h    | which page, big page and VABlock an address is; how ranges and allocations are cut
 *   mask.h        | sets of pages of one block
 *   tree.h        | how full each subtree of basic blocks is (UVM Smart)
 *   fault.h       | which faults a batch holds, which are duplicates, their order, what is permitted
 *   replay.h      | when faults are replayed, the buffer is flushed, prefetch faults are disabled
 *   residency.h   | where a page goes, which mappings follow
 *   thrash.h      | which pages thrash; throttle or pin
 *   prefetch.h    | which pages are prefetched, and how they are cut into transfers
 *   plan.h        | which copies a migration takes, in which order
 *   pmm.h         | the driver's chunks of GPU memory and its eviction order
 *   evict.h       | eviction orders over pages, basic blocks and VABlocks
 *   pressure.h    | whether memory is full (UVM Smart)
 *   counter.h     | access counters of the driver and of UVM Smart; migrate or access remotely
 *   adapt.h       | controllers: what a run changes in the parameters of later decisions
 *   plugin.h      | prefetchers and eviction orders of your own
 */
#ifndef UVMPOLICY_ADVANCED_H
#define UVMPOLICY_ADVANCED_H

#include "adapt.h"
#include "counter.h"
#include "evict.h"
#include "fault.h"
#include "geometry.h"
#include "mask.h"
#include "plan.h"
#include "plugin.h"
#include "pmm.h"
#include "prefetch.h"
#include "pressure.h"
#include "replay.h"
#include "residency.h"
#include "thrash.h"
#include "tree.h"

#endif
