/* Kind "pcie": how long UVM Smart's link takes.
 *
 *   pcie op=h2d bytes=4096 gbps=16 clock_mhz=1481 quirks=1    => cycles=2605
 *   pcie op=sync bytes=12288 gbps=16 clock_mhz=1481 quirks=1  => cycles=5405 chunks=1x4096,1x8192
 */
#include <inttypes.h>

#include "pcie.h"
#include "vec_kind.h"

/* A line must hold the pieces: 95 characters for each 2 MiB, twelve runs. */
#define SYNC_BYTES_MAX ((uint64_t)1 << 28)

enum op { OP_H2D, OP_D2H, OP_MEMCPY, OP_REMOTE, OP_SYNC };

/* The pieces in the order sent, equal neighbours together. */
static void print_pieces(uint64_t bytes, bool quirks, struct vec_out *out)
{
	struct pcie_sync sync = {bytes, 0, quirks};
	uint64_t piece, before = 0, count = 0;
	const char *comma = "";

	vec_printf(out, " chunks=");
	while (pcie_sync_next(&sync, &piece)) {
		if (count != 0 && piece != before) {
			vec_printf(out, "%s%" PRIu64 "x%" PRIu64, comma, count, before);
			comma = ",";
			count = 0;
		}
		before = piece;
		count++;
	}
	if (count != 0)
		vec_printf(out, "%s%" PRIu64 "x%" PRIu64, comma, count, before);
	else
		vec_printf(out, "-");
}

static void pcie_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	static const char *const ops[] = {"h2d", "d2h", "memcpy", "remote", "sync", NULL};
	static const char *const gbps[] = {"16", "32", "64", NULL};
	enum op op = (enum op)vec_choice(args, "op", ops);
	uint64_t bytes =
	        vec_number(args, "bytes", op != OP_SYNC, op == OP_SYNC ? SYNC_BYTES_MAX : PCIE_BYTES_MAX);
	struct pcie pcie;
	uint64_t cycles;
	bool quirks;

	(void)state;
	(void)word;
	pcie.gbps = 16u << vec_choice(args, "gbps", gbps);
	pcie.clock_mhz = (uint32_t)vec_number(args, "clock_mhz", 1, PCIE_MHZ_MAX);
	quirks = vec_flag(args, "quirks");
	if (args->failed)
		return;
	if (op == OP_REMOTE)
		cycles = PCIE_REMOTE_CYCLES;
	else if (op == OP_SYNC)
		cycles = pcie_sync_cycles(&pcie, bytes, quirks);
	else
		cycles = pcie_cycles(&pcie, op == OP_MEMCPY ? PCIE_COPY : PCIE_MIGRATION, bytes);
	vec_printf(out, "=> cycles=%" PRIu64, cycles);
	if (op == OP_SYNC)
		print_pieces(bytes, quirks, out);
	vec_printf(out, "\n");
}

const struct vec_kind vec_pcie = {.name = "pcie", .line = pcie_line};
