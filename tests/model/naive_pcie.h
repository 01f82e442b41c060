/* The time of UVM Smart's link [uvmsmart: transfer-time] in floating point, with an arctangent from the
 * textbook. */
#ifndef NAIVE_PCIE_H
#define NAIVE_PCIE_H

#include "pcie.h"

uint64_t naive_pcie_cycles(const struct pcie *pcie, enum pcie_transfer transfer, uint64_t bytes);

#endif
