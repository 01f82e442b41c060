/* The prefetchers stride, next, pattern and safe, page by page over arrays, from the words at the top of their
 * files. A range is looked at as a whole: what the library reaches through hint->follow is simply fetched. */
#ifndef NAIVE_PREFETCH_H
#define NAIVE_PREFETCH_H

#include <stdbool.h>

#include "uvmpolicy/prefetch.h"

#define NAIVE_PAGES 4096 /* of a range, at most */

/* Pages that faulted, first to last of a stream; the stream used last comes last. */
struct naive_stream {
	long page, stride, confidence;
};

struct naive_streams {
	struct naive_stream stream[4];
	int count;
};

/* Adds to `wanted` what the faults in [first, end) of a range of `pages` pages promise, also elsewhere. */
void naive_stride(const struct uvmp_prefetch_params *params, struct naive_streams *streams,
                  const bool faulted[NAIVE_PAGES], long first, long end, long pages,
                  bool wanted[NAIVE_PAGES]);

/* May this page of the block be prefetched? */
bool naive_admits(const struct uvmp_prefetch_facts *facts, unsigned page);

/* What density would do, and whether the block then holds enough to go on with the next. */
bool naive_is_full(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                   const bool asked[512]);

/* Does the pattern hold? If so, the pages of it that come; if not, it is emptied. */
bool naive_pattern_holds(const struct uvmp_prefetch_facts *facts, bool pattern[512], bool pages[512]);

/* The threshold of density that safe chooses. */
unsigned naive_safe(const struct uvmp_prefetch_params *params, unsigned utlbs);

#endif
