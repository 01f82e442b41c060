/* uvmpolicy.h: the whole library. See docs/ for the tour; each header reads by itself. */
#ifndef UVMPOLICY_UVMPOLICY_H
#define UVMPOLICY_UVMPOLICY_H

#include "base.h"
#include "evict.h"
#include "fault.h"
#include "geometry.h"
#include "mask.h"
#include "pmm.h"
#include "policy.h"
#include "prefetch.h"
#include "replay.h"
#include "tree.h"

#endif
