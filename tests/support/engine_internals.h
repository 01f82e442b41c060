/* All private headers of the engine, for tests that look inside. */
#ifndef TEST_ENGINE_INTERNALS_H
#define TEST_ENGINE_INTERNALS_H

#include "engine/arena_internal.h"
#include "engine/block_service_internal.h"
#include "engine/cold_internal.h"
#include "engine/cyclic_internal.h"
#include "engine/departing_internal.h"
#include "engine/eviction_internal.h"
#include "engine/job_internal.h"
#include "engine/mapping_internal.h"
#include "engine/memory_internal.h"
#include "engine/operations_internal.h"
#include "engine/queue_internal.h"
#include "engine/remote_idle_internal.h"
#include "engine/remote_internal.h"
#include "engine/remote_period_internal.h"
#include "engine/service_internal.h"
#include "engine/service_runtime_internal.h"
#include "engine/servicing_internal.h"
#include "engine/space_internal.h"
#include "engine/thrashing_internal.h"

#endif
