/* Kind "fetch": one fetch from a fault buffer, with merging.
 *
 *   fetch limit= coalesce= mode=ready|all ring= get= faults=u0i7v0p1Rt1,...
 *   => cached= coalesced= single= get=
 *   => rep= page= acc= n= mask= fatal=      one per representative, in order of arrival
 */
#include "vec_kind.h"

#include <inttypes.h>
#include <stdlib.h>

#include "vec_fault.h"

/* The library takes rings of 2^24 entries; a file may not ask for more than 2^20 (some 70 MiB, mostly
 * untouched). */
#define RING_MAX (1u << 20)
#define UTLB_MAX 65535u
#define FORM     "u<uTLB 0..65535><i|s><instance>v<subcontext>p<page><P|R|W|A|S>t<type 0..255>[!]"

struct fetch_input {
	struct uvmp_fetch_params params;
	enum uvmp_fetch_mode mode;
	struct uvmp_fault_buffer buffer;
	struct uvmp_fault_batch batch;
	struct uvmp_fault *fault; /* as in the line */
	uint32_t faults;
};

static bool scan_instance(const char **text, struct uvmp_fault *fault)
{
	bool is_video = **text == 'i';

	fault->aperture = is_video ? UVMP_APERTURE_VID : UVMP_APERTURE_SYS;
	return vec_scan_part(text, is_video ? 'i' : 's', UINT64_MAX, &fault->instance);
}

static bool scan_fault(const char **text, struct uvmp_fault *fault)
{
	uint64_t utlb, subcontext, page, type;

	if (!vec_scan_part(text, 'u', UTLB_MAX, &utlb) || !scan_instance(text, fault) ||
	    !vec_scan_part(text, 'v', UINT32_MAX, &subcontext) ||
	    !vec_scan_part(text, 'p', VEC_PAGE_MAX, &page) || !vec_scan_access(text, &fault->access) ||
	    !vec_scan_part(text, 't', UINT8_MAX, &type))
		return false;
	fault->utlb = (uint32_t)utlb;
	fault->subcontext = (uint32_t)subcontext;
	fault->address = page * VEC_PAGE_BYTES;
	fault->type = (uint8_t)type;
	fault->is_valid = **text != '!';
	if (!fault->is_valid)
		(*text)++;
	return true;
}

/* Where the driver would wait for an entry, there is no result that could be printed. */
static void check_ready(struct vec_args *args, const struct fetch_input *in)
{
	for (uint32_t i = 0; i < in->faults && !args->failed; i++) {
		if (in->fault[i].is_valid)
			continue;
		if (i == 0)
			vec_fail(args, "faults: the first fault must be ready, without !");
		else if (in->mode == UVMP_FETCH_ALL)
			vec_fail(args, "faults: with mode=all each fault must be ready, fault %u has a !", i);
	}
}

static void take_all(struct vec_args *args, struct fetch_input *in)
{
	static const char *const modes[] = {"ready", "all", NULL};
	uint32_t ring;

	in->params.max_batch = (uint32_t)vec_number(args, "limit", 0, UINT32_MAX);
	in->params.page_bytes = VEC_PAGE_BYTES;
	in->params.coalesce = vec_flag(args, "coalesce");
	in->params.quirks = true;
	in->mode = vec_choice(args, "mode", modes) == 0 ? UVMP_FETCH_BATCH_READY : UVMP_FETCH_ALL;
	ring = (uint32_t)vec_number(args, "ring", 1, RING_MAX);
	in->buffer.capacity = ring;
	in->buffer.get = (uint32_t)vec_number(args, "get", 0, (uint64_t)ring - 1u);
	in->fault = vec_faults(args, scan_fault, FORM, &in->faults);
	if (args->failed)
		return;
	if (in->faults >= ring)
		vec_fail(args, "faults: %u faults do not fit; a ring of %u holds at most %u", in->faults,
		         ring, ring - 1u);
	check_ready(args, in);
}

/* Lays the faults into the ring from GET on, and makes room for the batch. Returns PUT. */
static uint32_t set_up(struct vec_args *args, struct fetch_input *in)
{
	struct uvmp_fault_buffer *buffer = &in->buffer;
	struct uvmp_fault_batch *batch = &in->batch;
	uint32_t put = buffer->get, max_utlb = 0;
	uint32_t limit = uvmp_fault_max_batch(in->params.max_batch, buffer->capacity);

	batch->capacity = limit > in->faults ? limit : in->faults;
	for (uint32_t i = 0; i < in->faults; i++)
		if (in->fault[i].utlb > max_utlb)
			max_utlb = in->fault[i].utlb;
	batch->utlbs = max_utlb + 1u;
	buffer->entry = calloc(buffer->capacity, sizeof(*buffer->entry));
	batch->entry = calloc(batch->capacity, sizeof(*batch->entry));
	batch->utlb = calloc(batch->utlbs, sizeof(*batch->utlb));
	if (buffer->entry == NULL || batch->entry == NULL || batch->utlb == NULL) {
		vec_fail(args, "out of memory");
		return put;
	}
	for (uint32_t i = 0; i < in->faults; i++) {
		buffer->entry[put] = in->fault[i];
		put = (put + 1u) % buffer->capacity;
	}
	buffer->cached_put = buffer->get; /* so that the fetch reads PUT */
	return put;
}

static void print_representative(const struct uvmp_fault *fault, uint32_t index, struct vec_out *out)
{
	vec_printf(out, "=> rep=%u page=%" PRIu64 " acc=%c n=%u mask=", index,
	           fault->address / VEC_PAGE_BYTES, vec_access_letter(fault->access), fault->num_instances);
	for (uint32_t access = 0; access < UVMP_ACCESS_NONE; access++)
		if ((fault->access_mask >> access & 1u) != 0)
			vec_printf(out, "%c", vec_access_letter(access));
	vec_printf(out, " fatal=%d\n", fault->is_fatal);
}

static void fetch_and_print(struct vec_args *args, struct fetch_input *in, uint32_t put, struct vec_out *out)
{
	const struct uvmp_fault_batch *batch = &in->batch;
	enum uvmp_status status = uvmp_fault_fetch(&in->params, in->mode, put, &in->buffer, &in->batch);

	if (status != UVMP_OK) {
		vec_fail(args, "no fetch: %s", uvmp_status_text(status));
		return;
	}
	vec_printf(out, "=> cached=%u coalesced=%u single=%d get=%u\n", batch->cached, batch->coalesced,
	           batch->is_single_instance, in->buffer.get);
	for (uint32_t i = 0; i < batch->cached; i++)
		if (!batch->entry[i].is_filtered)
			print_representative(&batch->entry[i], i, out);
}

static void fetch_line(void *state, const char *word, struct vec_args *args, struct vec_out *out)
{
	struct fetch_input in = {.fault = NULL};
	uint32_t put = 0;

	(void)state;
	(void)word;
	take_all(args, &in);
	if (!args->failed)
		put = set_up(args, &in);
	if (!args->failed)
		fetch_and_print(args, &in, put, out);
	free(in.batch.utlb);
	free(in.batch.entry);
	free(in.buffer.entry);
	free(in.fault);
}

const struct vec_kind vec_fetch = {.name = "fetch", .line = fetch_line};
