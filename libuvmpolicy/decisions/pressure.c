/* Is GPU memory full? ([uvmsmart: oversubscription-switch, eviction-trigger, migrate-or-remote]; the integer
 * form is that of [uvmsmart: integer-forms].)
 *
 * Demand is memory to be kept free, in use and requested; supply is the memory and the departing pages.
 * Demand above supply is pressure, demand divided by supply is the occupancy.
 *
 * The original's numbers are 32-bit floats: each input, product, quotient and sum is rounded to 24
 * significant bits, ties to even. Here a number is an integer of exactly 24 bits times a power of two. Every
 * step is calculated exactly in 64 bits, with a last bit that says whether a remainder follows, and is then
 * rounded once. */
#include "uvmpolicy/pressure.h"

#define DIGITS    24u
#define TOP       ((uint64_t)1 << DIGITS)
#define ZERO_EXP  (-1000) /* below any other exponent */
#define WIDE_BITS 39      /* a 24-bit number fits 64 bits when moved up by so much, and with it another */

/* m * 2^e, with TOP/2 <= m < TOP; zero has m = 0 and e = ZERO_EXP. So larger numbers have larger (e, m). */
struct real {
	uint64_t m;
	int32_t e;
};

/* m * 2^e, and a bit more if `has_rest`, which only a number of more than 24 bits may have. */
static struct real rounded(uint64_t m, int32_t e, bool has_rest)
{
	bool half = false;

	if (m == 0)
		return (struct real){0, ZERO_EXP};
	for (; m < TOP / 2u; e--)
		m *= 2u;
	for (; m >= TOP; e++) {
		has_rest |= half;
		half = (m & 1u) != 0;
		m /= 2u;
	}
	m += half & (has_rest | ((m & 1u) != 0));
	return m == TOP ? (struct real){TOP / 2u, e + 1} : (struct real){m, e};
}

static struct real from_integer(uint64_t n)
{
	return rounded(n, 0, false);
}

static struct real product(struct real a, struct real b)
{
	return rounded(a.m * b.m, a.e + b.e, false);
}

static struct real quotient(struct real a, struct real b)
{
	uint64_t n = a.m << WIDE_BITS;

	return rounded(n / b.m, a.e - b.e - WIDE_BITS, n % b.m != 0);
}

static struct real sum(struct real a, struct real b)
{
	struct real low = a.e < b.e ? a : b, high = a.e < b.e ? b : a;

	/* Less than a thousandth of the last digit changes nothing. */
	if (high.e - low.e > WIDE_BITS)
		return high;
	return rounded((high.m << (high.e - low.e)) + low.m, low.e, false);
}

static bool is_less(struct real a, struct real b)
{
	return a.e != b.e ? a.e < b.e : a.m < b.m;
}

static uint64_t whole(struct real a)
{
	if (a.e > 64 - (int32_t)DIGITS)
		return UINT64_MAX;
	if (a.e >= 0)
		return a.m << a.e;
	return a.e > -(int32_t)DIGITS ? a.m >> -a.e : 0;
}

static struct real demand(const struct uvmp_pressure *pressure)
{
	uint64_t used = pressure->total_pages - pressure->free_pages; /* [uvmsmart: clean-pages-uncounted]: wraps */
	struct real kept =
	        product(from_integer(pressure->total_pages), from_integer(pressure->buffer_percent));

	if (!pressure->quirks && pressure->free_pages > pressure->total_pages)
		used = 0;
	return sum(sum(quotient(kept, from_integer(100)), from_integer(used)),
	           from_integer(pressure->incoming_pages));
}

static struct real supply(const struct uvmp_pressure *pressure)
{
	return from_integer(pressure->leaving_pages + pressure->total_pages);
}

bool uvmp_pressure_is_valid(const struct uvmp_pressure *pressure)
{
	return pressure != NULL && pressure->total_pages > 0 &&
	       pressure->total_pages <= UVMP_PRESSURE_PAGES_MAX &&
	       pressure->free_pages <= UVMP_PRESSURE_PAGES_MAX &&
	       pressure->incoming_pages <= UVMP_PRESSURE_PAGES_MAX &&
	       pressure->leaving_pages <= UVMP_PRESSURE_PAGES_MAX && pressure->buffer_percent <= 100u;
}

bool uvmp_pressure_is_over(const struct uvmp_pressure *pressure)
{
	return uvmp_pressure_is_valid(pressure) && is_less(supply(pressure), demand(pressure));
}

uint64_t uvmp_pressure_scale(const struct uvmp_pressure *pressure, uint32_t factor)
{
	if (!uvmp_pressure_is_valid(pressure))
		return 0;
	return whole(product(from_integer(factor), quotient(demand(pressure), supply(pressure))));
}
