#include "naive_pcie.h"

#define PI 3.14159265358979323846264338327950288L

/* Euler's series; each term is at most half of the one before for x up to 1. */
static long double arctangent(long double x)
{
	long double term, sum = 0;

	if (x > 1)
		return PI / 2 - arctangent(1 / x);
	term = x / (1 + x * x);
	for (int n = 1; n < 80; n++) {
		sum += term;
		term *= 2 * n * x * x / ((2 * n + 1) * (1 + x * x));
	}
	return sum;
}

uint64_t naive_pcie_cycles(const struct pcie *pcie, enum pcie_transfer transfer, uint64_t bytes)
{
	volatile float b = 9787157.0f / 134217728.0f, size = (float)bytes, kib = size / 1024.0f,
	               product = b * kib;
	long double x = transfer == PCIE_MIGRATION ? (long double)b * (long double)bytes / 1024
	                                           : (long double)product;
	long double a = pcie->gbps == 16 ? 12 : pcie->gbps == 32 ? 24 : 48;
	volatile float speed = (float)(2 * a / PI * arctangent(x));
	long double cycles = (long double)size * pcie->clock_mhz * 1000000 / (long double)speed / 1073741824;

	return (uint64_t)(transfer == PCIE_COPY && bytes >= 2097152 ? 2 * cycles : cycles);
}
