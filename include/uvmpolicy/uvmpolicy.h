/* uvmpolicy.h: the whole library. docs/architecture.md shows how they fit together; each header reads by
 * itself. */
#ifndef UVMPOLICY_UVMPOLICY_H
#define UVMPOLICY_UVMPOLICY_H

#include "adapt.h"
#include "base.h"
#include "counter.h"
#include "evict.h"
#include "fault.h"
#include "geometry.h"
#include "mask.h"
#include "plan.h"
#include "pmm.h"
#include "policy.h"
#include "prefetch.h"
#include "pressure.h"
#include "processor.h"
#include "replay.h"
#include "residency.h"
#include "service.h"
#include "thrash.h"
#include "tree.h"

#endif
