/* 64-bit division for 32-bit kernels. Compilers call these functions, which their runtime library has and a
 * kernel has not; add this file to the module on 32-bit machines, with <linux/math64.h> instead of the two
 * declarations. In tests it is linked with a division of its own. */
#include <uvmpolicy/base.h>

/* Of <linux/math64.h>. */
uint64_t div64_u64(uint64_t dividend, uint64_t divisor);
uint64_t div64_u64_rem(uint64_t dividend, uint64_t divisor, uint64_t *remainder);

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor);
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor);
uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *remainder);

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
	return div64_u64(dividend, divisor);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
	uint64_t remainder;

	div64_u64_rem(dividend, divisor, &remainder);
	return remainder;
}

uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
	uint64_t rest;
	uint64_t quotient = div64_u64_rem(dividend, divisor, &rest);

	if (remainder != NULL)
		*remainder = rest;
	return quotient;
}
