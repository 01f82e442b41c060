/* Kind "flush": may the flush keep the PUT that the batch has read?
 *
 *   flush cached=256 dups=129 ratio=50   => put=update
 */
#include "vec_kind.h"
#include "uvmpolicy/replay.h"

static void flush_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	uint32_t cached = (uint32_t)vec_number(args, "cached", 0, UINT32_MAX);
	uint32_t duplicates = (uint32_t)vec_number(args, "dups", 0, UINT32_MAX);
	uint32_t ratio = (uint32_t)vec_number(args, "ratio", 0, UINT32_MAX);

	(void)state;
	(void)word;
	if (!args->failed)
		vec_printf(out, "=> put=%s\n",
		           uvmp_replay_update_put(cached, duplicates, ratio) ? "update" : "cached");
}

const struct vec_kind vec_flush = {.name = "flush", .line = flush_line};
