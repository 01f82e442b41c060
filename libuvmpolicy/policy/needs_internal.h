/* Arena that the engine takes for one block beside uvmp_service_size, bytes. Policies are below the engine and do not see its
 * structures: these are upper bounds, which cold.c and runtime_logs.c compare with the structures. */
#ifndef UVMPOLICY_NEEDS_INTERNAL_H
#define UVMPOLICY_NEEDS_INTERNAL_H

/* Objects have multiples of 16 bytes. */
#define NEEDS_COLD_BYTES     144u /* struct cold: before each of the following but the log */
#define NEEDS_COUNTERS_BYTES 352u /* struct counters */
#define NEEDS_HISTORY_BYTES  152u /* struct history, and up to 15 bytes behind its private states */
#define NEEDS_TREE_BYTES     256u /* struct uvmp_tree */
#define NEEDS_LOG_BYTES	     256u /* runtime=on: log of the allocation; arrays are at most twice as large as needed */

#endif
