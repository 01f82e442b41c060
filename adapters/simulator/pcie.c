/* The link of UVM Smart ([uvmsmart: transfer-time], integer form of [uvmsmart: integer-forms]).
 *
 *     speed  = (2 * A / pi) * atan(B * KiB), in 2^30 bytes a second, with A = 12, 24, 48 and B = 0.07292
 *     cycles = bytes / speed * clock
 *
 * B is the 32-bit float 9787157 / 2^27. The argument of the arctangent is kept as a fraction p / q; speed is
 * rounded to the 24 bits of a 32-bit float; what remains is one division. The arctangent, in units of 2/pi,
 * takes the nearest eighth from a table and adds a short series for the difference. Products and quotients of
 * more than 64 bits are worked out by halves and bit by bit, so that no type of 128 bits is needed. */
#include "pcie.h"

#include <stddef.h>

#define B_MANTISSA  9787157u
#define ONE	    ((uint64_t)1 << 62) /* fixed point: 1 */
#define TWO_OVER_PI 0x28be60db9391054au
#define MANTISSA    ((uint64_t)1 << 24)
#define PIECE	    4096u
#define HALF_SPEED  2097152u

bool pcie_is_valid(const struct pcie *pcie)
{
	return pcie != NULL && (pcie->gbps == 16u || pcie->gbps == 32u || pcie->gbps == 64u) &&
	       pcie->clock_mhz >= 1u && pcie->clock_mhz <= PCIE_MHZ_MAX;
}

/* The 32-bit float nearest to n, ties to even: *mantissa * 2^result, with at most 24 bits of mantissa, or
 * 2^24. */
static uint32_t to_float(uint64_t n, uint64_t *mantissa)
{
	uint32_t e = 0;
	uint64_t rest, half;

	while (n >> e >= MANTISSA)
		e++;
	*mantissa = n >> e;
	rest = n - (*mantissa << e);
	half = ((uint64_t)1 << e) / 2u;
	if (rest > half || (e > 0 && rest == half && *mantissa % 2u != 0))
		++*mantissa;
	return e;
}

static uint64_t nearest_float(uint64_t n)
{
	uint64_t mantissa;
	uint32_t e = to_float(n, &mantissa);

	return mantissa << e;
}

/* a * b / 2^62 for a, b up to 2^62: the product's halves, from products of 32 bits. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
	uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & UINT32_MAX);
	uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);

	return (high << 2) + (other >> 30 & 3u);
}

/* n * 2^bits / d, rounded down; d below 2^63, and the result below 2^64. */
static uint64_t divide(uint64_t n, uint32_t bits, uint64_t d)
{
	uint64_t result = n / d, rest = n % d;

	for (; bits > 0; bits--) {
		rest *= 2u;
		result = result * 2u + (rest >= d);
		if (rest >= d)
			rest -= d;
	}
	return result;
}

/* atan(x) for x = tangent of the angle that is left, in units of 2/pi: x up to a sixteenth. */
static uint64_t short_arc(uint64_t x)
{
	uint64_t square = multiply(x, x), series = 0;

	for (uint32_t n = 17; n <= 17; n -= 2)
		series = ONE / n - multiply(square, series);
	return multiply(multiply(x, series), TWO_OVER_PI);
}

/* (2 / pi) * atan(p / q) * 2^62, within 3; p <= q < 2^60. */
static uint64_t flat_arc(uint64_t p, uint64_t q)
{
	/* of 0/8, 1/8, ... 8/8 */
	static const uint64_t eighth[] = {
		0x0000000000000000, 0x051111d41ddd9a1b, 0x09fb385b5ee39e8e,
		0x0e9e1d24179d5a77, 0x12e4051d9df30866, 0x16c266f6edfc1e3e,
		0x1a37f5c4c419ef33, 0x1d49ab3ac8b1bb50, 0x2000000000000000,
	};
	uint64_t i = (16u * p + q) / (2u * q);
	bool is_below = 8u * p < i * q;
	uint64_t apart = is_below ? i * q - 8u * p : 8u * p - i * q;
	uint64_t angle = short_arc(divide(apart, 62, 8u * q + i * p));

	return is_below ? eighth[i] - angle : eighth[i] + angle;
}

static uint64_t arc(uint64_t p, uint64_t q)
{
	return p > q ? ONE - flat_arc(q, p) : flat_arc(p, q);
}

/* B * KiB = result / 2^37; but for migrations that is a product of 32-bit floats. */
static uint64_t slope(enum pcie_transfer transfer, uint64_t bytes)
{
	return transfer == PCIE_MIGRATION ? B_MANTISSA * bytes
					  : nearest_float(B_MANTISSA * nearest_float(bytes));
}

uint64_t pcie_cycles(const struct pcie *pcie, enum pcie_transfer transfer, uint64_t bytes)
{
	uint64_t speed, size, work;
	int32_t shift;

	if (!pcie_is_valid(pcie) || bytes == 0 || bytes > PCIE_BYTES_MAX)
		return 0;
	/* 62 bits of fraction of the arc, 30 of the unit of speed; A is 3 times 2^2, 2^3 or 2^4. */
	shift = -(int32_t)to_float(3u * arc(slope(transfer, bytes), (uint64_t)1 << 37), &speed);
	shift += 62 - 30 - (pcie->gbps == 16u ? 2 : pcie->gbps == 32u ? 3 : 4);
	shift += (int32_t)to_float(bytes, &size);
	if (transfer == PCIE_COPY && bytes >= HALF_SPEED)
		shift++;
	work = size * pcie->clock_mhz * 1000000u;
	return shift < 0 ? work / speed >> -shift : divide(work, (uint32_t)shift, speed);
}

bool pcie_sync_next(struct pcie_sync *sync, uint64_t *bytes)
{
	static const uint32_t kib[] = {64, 64, 128, 256, 512, 1024};
	bool is_rest = sync->piece % 2u != 0;
	uint32_t chunk = kib[sync->piece / 2u % 6u] * 1024u, whole = is_rest ? chunk - PIECE : PIECE;

	*bytes = sync->left < whole ? sync->left : whole;
	if (*bytes == 0 && !(is_rest && sync->quirks)) /* [uvmsmart: zero-by-zero] */
		return false;
	sync->left -= *bytes;
	/* Less than 4 KiB has no rest. */
	sync->piece += !is_rest && *bytes < PIECE ? 2u : 1u;
	return true;
}

uint64_t pcie_sync_cycles(const struct pcie *pcie, uint64_t bytes, bool quirks)
{
	struct pcie_sync sync = {bytes, 0, quirks};
	uint64_t sum = 0, piece;

	while (pcie_sync_next(&sync, &piece))
		sum += piece != 0 ? pcie_cycles(pcie, PCIE_SYNC, piece) : (uint64_t)1 << 63;
	return sum;
}
