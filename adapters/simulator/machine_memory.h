/* machine_memory.h: the memory that this process may have. */
#ifndef UVMSIM_MACHINE_MEMORY_H
#define UVMSIM_MACHINE_MEMORY_H

#include <stdint.h>

/* RAM, as far as memory cgroups allow. */
uint64_t machine_ram_bytes(void);
/* The same with swap space. */
uint64_t machine_memory_bytes(void);
/* Address space (ulimit -v). */
uint64_t machine_address_bytes(void);

#endif
