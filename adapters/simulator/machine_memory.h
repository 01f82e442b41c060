/* machine_memory.h: the memory that this process may have. */
#ifndef UVMSIM_MACHINE_MEMORY_H
#define UVMSIM_MACHINE_MEMORY_H

#include <stdint.h>

/* RAM in bytes, as far as memory cgroups allow; 0: unknown. */
uint64_t machine_ram_bytes(void);
/* RAM and swap space, as far as memory cgroups allow; UINT64_MAX: unknown. */
uint64_t machine_memory_bytes(void);
/* The limit on address space (ulimit -v) in bytes; UINT64_MAX: none. */
uint64_t machine_address_bytes(void);

#endif
