/* See naive_prefetch.h. */
#include "model/naive_prefetch.h"

#include <stdlib.h>
#include <string.h>

static bool has(const uvmp_mask *mask, unsigned page)
{
	return mask != NULL && ((mask->word[page / 64] >> (page % 64)) & 1) != 0;
}

bool naive_admits(const struct uvmp_prefetch_facts *facts, unsigned page)
{
	if (has(facts->faulted, page) || has(facts->resident, page) || has(facts->pending, page) ||
	    has(facts->thrashing, page))
		return false;
	if (facts->preferred != UVMP_PROC_NONE && facts->preferred != facts->to)
		return false;
	for (unsigned g = 0; g < facts->range_groups; g++) {
		bool any = false;

		for (unsigned p = facts->range_group[g].first; p < facts->range_group[g].end; p++)
			any = any || has(facts->faulted, p);
		if (!any && page >= facts->range_group[g].first && page < facts->range_group[g].end)
			return false;
	}
	return true;
}

/* -- stride -- */

/* Is the page one of those that the stream should fault on next? All of them are written down. */
static bool is_next(const struct uvmp_prefetch_params *params, const struct naive_stream *stream, long page)
{
	long most = 1;

	if (stream->confidence >= (long)params->stride_confidence)
		most += (long)params->stride_depth;
	for (long m = 1; m <= most && stream->stride != 0; m++)
		if (page == stream->page + m * stream->stride)
			return true;
	return false;
}

static int choose(const struct uvmp_prefetch_params *params, const struct naive_streams *streams, long page)
{
	int nearest = -1;

	for (int i = streams->count - 1; i >= 0; i--)
		if (is_next(params, &streams->stream[i], page))
			return i;
	for (long distance = 0; distance <= 512 && nearest < 0; distance++)
		for (int i = streams->count - 1; i >= 0 && nearest < 0; i--)
			if (labs(page - streams->stream[i].page) == distance)
				nearest = i;
	return nearest;
}

/* Afterwards the page's stream is the last. */
static void note(const struct uvmp_prefetch_params *params, struct naive_streams *streams, long page)
{
	int at = choose(params, streams, page);
	struct naive_stream stream = {page, 0, 0};

	if (at >= 0) {
		stream = streams->stream[at];
		if (page == stream.page) {
			;
		} else if (is_next(params, &stream, page)) {
			stream.confidence += stream.confidence < 7;
		} else if (stream.confidence >= 2) {
			stream.confidence--;
		} else {
			stream.stride = page - stream.page;
			stream.confidence = 1;
		}
		stream.page = page;
	} else if (streams->count == 4) {
		at = 0;
	}
	if (at >= 0) {
		streams->count--;
		for (int i = at; i < streams->count; i++)
			streams->stream[i] = streams->stream[i + 1];
	}
	streams->stream[streams->count++] = stream;
}

void naive_stride(const struct uvmp_prefetch_params *params, struct naive_streams *streams,
                  const bool faulted[NAIVE_PAGES], long first, long end, long pages,
                  bool wanted[NAIVE_PAGES])
{
	bool beyond[NAIVE_PAGES] = {false};

	for (long page = first; page < end; page++) {
		const struct naive_stream *stream;
		bool has_left = false, out[NAIVE_PAGES] = {false};

		if (!faulted[page])
			continue;
		note(params, streams, page);
		stream = &streams->stream[streams->count - 1];
		if (stream->confidence < (long)params->stride_confidence)
			continue;
		for (long i = 1; i <= (long)params->stride_depth; i++) {
			long at = page + i * stream->stride;

			if (at < 0 || at >= pages)
				break;
			has_left = has_left || at < first || at >= end;
			*(has_left ? &out[at] : &wanted[at]) = true;
		}
		if (has_left)
			memcpy(beyond, out, sizeof(beyond));
	}
	for (long page = 0; page < pages; page++)
		wanted[page] = wanted[page] || beyond[page];
}

/* -- next, pattern, safe -- */

bool naive_is_full(const struct uvmp_prefetch_params *params, const struct uvmp_prefetch_facts *facts,
                   const bool asked[512])
{
	unsigned there = 0;

	for (unsigned p = 0; p < facts->block.pages; p++)
		there += has(facts->resident, p) || has(facts->pending, p) || has(facts->faulted, p) ||
		         asked[p];
	return 100 * there >= params->next_percent * facts->block.pages;
}

bool naive_pattern_holds(const struct uvmp_prefetch_facts *facts, bool pattern[512], bool pages[512])
{
	bool holds = true;

	for (unsigned p = 0; p < 512; p++)
		holds = holds && (pattern[p] || !has(facts->faulted, p));
	for (unsigned p = 0; p < 512; p++) {
		pages[p] = holds && pattern[p] && naive_admits(facts, p);
		pattern[p] = holds && pattern[p];
	}
	return holds;
}

unsigned naive_safe(const struct uvmp_prefetch_params *params, unsigned utlbs)
{
	if (utlbs == 0)
		return params->threshold;
	return utlbs < params->shared_utlbs ? params->private_threshold : params->shared_threshold;
}
