/* pcie.h: how long UVM Smart's link takes [uvmsmart: transfer-time], to the core cycle.
 *
 * The original evaluates an arctangent in floating point; here it is the integers of
 * [uvmsmart: integer-forms], so that results are the same on every platform. Those equal the original's for
 * all sizes tried, up to 600 MB; from 2^29.8 bytes on its product is no longer exact.
 *
 * Quirk reproduced by default: [uvmsmart: zero-by-zero] (a synchronisation that ends in a whole piece of 4
 * KiB divides 0 by 0, and the clock jumps by 2^63).
 */
#ifndef UVMSIM_PCIE_H
#define UVMSIM_PCIE_H

#include <stdbool.h>
#include <stdint.h>

#define PCIE_BYTES_MAX	   ((uint64_t)1 << 36) /* of one transfer */
#define PCIE_MHZ_MAX	   65535u
#define PCIE_REMOTE_CYCLES 200u /* an access to the other side's memory, of any size */

/* What is transferred: the roundings differ. */
enum pcie_transfer {
	PCIE_MIGRATION = 0, /* or write-back */
	PCIE_COPY,	    /* explicit; at half the speed from 2 MiB on */
	PCIE_SYNC	    /* one piece of the write-back at a device synchronisation */
};

struct pcie {
	uint32_t gbps;	    /* of the link: 16, 32 or 64; its speed for endless transfers is 3/4 of that */
	uint32_t clock_mhz; /* of the core whose cycles are counted, 1..PCIE_MHZ_MAX */
};

/* False for NULL and for values that are not accepted. */
bool pcie_is_valid(const struct pcie *pcie);

/* Core cycles of a transfer; 0 if there is nothing to transfer, the link is not valid or bytes exceed
 * PCIE_BYTES_MAX. Some two hundred 64-bit operations. */
uint64_t pcie_cycles(const struct pcie *pcie, enum pcie_transfer transfer, uint64_t bytes);

/* A device synchronisation writes `left` bytes in growing chunks, each as 4 KiB and the rest of it. Start
 * with {bytes, 0, quirks}. */
struct pcie_sync {
	uint64_t left;
	uint32_t piece; /* number of the next one */
	bool quirks;
};

/* The next piece; false: the transfer is complete. With quirks a last piece of 0 bytes follows where 4 KiB leave
 * nothing [uvmsmart: zero-by-zero]. */
bool pcie_sync_next(struct pcie_sync *sync, uint64_t *bytes);
/* Core cycles of a whole synchronisation; with quirks 2^63 more where there is a piece of 0 bytes. */
uint64_t pcie_sync_cycles(const struct pcie *pcie, uint64_t bytes, bool quirks);

#endif
