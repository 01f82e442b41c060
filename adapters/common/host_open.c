/* Options, and opening and closing. */
#include "host_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

#define GPUS_MAX	63u
#define RANGE_BYTES_MAX ((uint64_t)1 << 40)
#define RETRY_NS	1000000u
#define RANGES		65536u
#define BLOCKS		65536u /* VABlocks; the operating system commits the pages of their tables on first use */
#define BLOCKS_FEW	16384u /* where tables are filled with zeros, or addresses have 32 bits */
#define SIZE_LEAST	(offsetof(struct uvmp_host_options, memory_bytes) + sizeof(uint64_t))

/* -- options -- */

__attribute__((format(printf, 2, 3))) static bool refuse(char *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, UVMP_HOST_ERROR_MAX, format, arguments);
	va_end(arguments);
	return false;
}

/* What the caller's version of the structure lacks is 0. */
static bool read_options(const struct uvmp_host_options *from, struct uvmp_host_options *to, char *error)
{
	uint32_t size = from == NULL ? 0 : from->size;

	if (from == NULL)
		return refuse(error, "options: missing (NULL)");
	if (size < SIZE_LEAST || size > UVMP_SIZE_MAX)
		return refuse(error, "size: %u is not accepted; sizeof(struct uvmp_host_options), which is %zu", size,
			      sizeof(*to));
	memset(to, 0, sizeof(*to));
	memcpy(to, from, size < sizeof(*to) ? size : sizeof(*to));
	for (size_t i = sizeof(*to); i < size; i++)
		if (((const uint8_t *)from)[i] != 0)
			return refuse(error, "size: an option is set that this version of the library does not know");
	return true;
}

static bool is_within(char *error, const char *name, uint64_t value, uint64_t most)
{
	return value <= most || refuse(error, "%s: %llu is not accepted; 0..%llu", name, (unsigned long long)value,
				       (unsigned long long)most);
}

static bool check_page(const struct uvmp_host_options *o, char *error)
{
	if (o->page_bytes == 4096u || o->page_bytes == 16384u || o->page_bytes == 65536u || o->page_bytes == 2097152u)
		return true;
	return refuse(error, "page_bytes: %u is not accepted; 4096, 16384, 65536 or 2097152", o->page_bytes);
}

static bool check_range_bytes(const struct uvmp_host_options *o, char *error)
{
	if ((o->range_bytes & (o->range_bytes - 1u)) == 0 && o->range_bytes >= HOSTKIT_WINDOW_BYTES &&
	    o->range_bytes <= RANGE_BYTES_MAX)
		return true;
	return refuse(error, "range_bytes: %llu is not accepted; a power of two, 2097152..%llu",
		      (unsigned long long)o->range_bytes, (unsigned long long)RANGE_BYTES_MAX);
}

static bool check_callbacks(const struct uvmp_host_options *o, char *error)
{
	if (o->copy != NULL && o->copy_ns != NULL)
		return refuse(error, "copy and copy_ns: both are set; one of them, or neither");
	if ((o->allocate == NULL) != (o->release == NULL))
		return refuse(error, "allocate and release: one of them is set; both, or neither");
	return true;
}

static void fill_in(struct uvmp_host_options *o)
{
	if (o->page_bytes == 0)
		o->page_bytes = 4096;
	if (o->gpus == 0)
		o->gpus = 1;
	if (o->utlbs == 0)
		o->utlbs = SETUP_UTLBS;
	if (o->range_bytes == 0)
		o->range_bytes = UVMP_HOST_RANGE_BYTES;
	if (o->memory_retry_ns == 0)
		o->memory_retry_ns = RETRY_NS;
	if (o->ranges == 0)
		o->ranges = RANGES;
}

static bool check_options(struct uvmp_host_options *o, char *error)
{
	if (o->memory_bytes == 0)
		return refuse(error, "memory_bytes: 0 is not accepted; the bytes of a GPU's memory for managed pages");
	if (!is_within(error, "gpus", o->gpus, GPUS_MAX))
		return false;
	fill_in(o);
	return check_page(o, error) && check_range_bytes(o, error) && check_callbacks(o, error);
}

/* -- the policy -- */

static bool read_policy(struct uvmp_host *h, char *error)
{
	const char *text = h->options.policy == NULL ? "" : h->options.policy;
	struct uvmp_policy_error why;
	char hint[NEAREST_TEXT_MAX];

	uvmp_policy_init(&h->policy);
	if (uvmp_policy_parse_plugins(text, strlen(text), h->options.plugins, &h->policy, &why) != UVMP_OK)
		return refuse(error, "policy: %s%s", why.text, nearest_policy(text, h->options.plugins, &why, hint));
	h->options.policy = NULL; /* belongs to the caller */
	h->needs.size = sizeof(h->needs);
	(void)uvmp_policy_needs(&h->policy, &h->needs);
	h->is_chunked = uvmp_policy_evict_traits(&h->policy)->is_chunked;
	h->counts_accesses = setup_counts_accesses(&h->policy, h->options.page_bytes, false);
	return true;
}

static void set_geometry(struct uvmp_host *h)
{
	uint64_t unit = h->is_chunked ? HOSTKIT_WINDOW_BYTES : h->options.page_bytes;
	uint64_t capacity = setup_capacity_bytes(&h->policy, h->options.memory_bytes, h->options.page_bytes);
	uint64_t unit_bytes = (uint64_t)uvmp_policy_unit_pages(&h->policy) * UVMP_POLICY_PAGE_BYTES;

	h->capacity_bytes = capacity / unit * unit;
	h->window_pages = HOSTKIT_WINDOW_BYTES / h->options.page_bytes;
	h->unit_pages = (uint32_t)hostkit_later(unit_bytes / h->options.page_bytes, 1);
}

/* -- the engine -- */

static bool open_engine(struct uvmp_host *h, char *error)
{
	uint32_t blocks = h->options.allocate != NULL || sizeof(size_t) < 8u ? BLOCKS_FEW : BLOCKS;
	struct uvmp_service_gpu gpu[GPUS_MAX];
	struct uvmp_service_params params = {.size = sizeof(params),
					     .page_bytes = h->options.page_bytes,
					     .policy = &h->policy,
					     .gpu = gpu,
					     .blocks = blocks,
					     .spaces = 1,
					     .ranges = h->options.ranges,
					     .instances = h->options.gpus,
					     .requests = HOSTKIT_ACTIVE,
					     .seed = h->options.seed,
					     .gpus = h->options.gpus};

	for (uint32_t i = 0; i < h->options.gpus; i++)
		gpu[i] = (struct uvmp_service_gpu){.size = sizeof(gpu[i]),
						   .memory_bytes = h->options.memory_bytes,
						   .splits = setup_splits(blocks, h->capacity_bytes),
						   .fault_entries = setup_fault_entries(&h->policy),
						   .utlbs = h->options.utlbs,
						   .notes = h->counts_accesses ? HOSTKIT_NOTES : 0,
						   .sms = h->options.sms,
						   .counts_units = !h->options.counts_pages};
	if (!hostkit_open_engine(h, &params))
		return refuse(error, "%s", h->error);
	for (uint32_t i = 1; i <= h->options.gpus; i++)
		(void)uvmp_service_bind(h->service, i, UVMP_APERTURE_VID, 0, 0, UVMP_HOST_SPACE);
	return true;
}

static bool open_rest(struct uvmp_host *h, char *error)
{
	h->request = hostkit_zeros(&h->options, HOSTKIT_ACTIVE, sizeof(*h->request));
	h->action = hostkit_zeros(&h->options, UVMP_SERVICE_PENDING_MAX, sizeof(*h->action));
	h->next_ns = HOSTKIT_NEVER;
	h->first_piece_id = 1;
	if (hostkit_frames_open(h) && h->request != NULL && h->action != NULL)
		return true;
	return refuse(error, "out of memory");
}

struct uvmp_host *uvmp_host_open(const struct uvmp_host_options *options, char error[UVMP_HOST_ERROR_MAX])
{
	char text[UVMP_HOST_ERROR_MAX];
	struct uvmp_host_options own;
	struct uvmp_host *h;

	if (error == NULL)
		error = text;
	error[0] = '\0';
	if (!read_options(options, &own, error) || !check_options(&own, error))
		return NULL;
	h = hostkit_zeros(&own, 1, sizeof(*h));
	if (h == NULL) {
		(void)refuse(error, "out of memory");
		return NULL;
	}
	h->options = own;
	if (!read_policy(h, error)) {
		uvmp_host_close(h);
		return NULL;
	}
	set_geometry(h);
	if (!open_engine(h, error) || !open_rest(h, error)) {
		uvmp_host_close(h);
		return NULL;
	}
	return h;
}

void uvmp_host_close(struct uvmp_host *h)
{
	struct uvmp_host_options options;

	if (h == NULL)
		return;
	if (h->is_running) {
		(void)hostkit_fail(h, UVMP_ERR_STATE, "uvmp_host_close: called from a callback");
		return;
	}
	options = h->options;
	hostkit_tables_close(h);
	hostkit_frames_close(h);
	for (uint32_t i = 0; i < h->segments; i++)
		hostkit_release(&options, h->segment[i]);
	hostkit_release(&options, h->ranges.range);
	hostkit_release(&options, h->counted);
	hostkit_release(&options, h->inbox.event);
	hostkit_release(&options, h->queued.event);
	hostkit_release(&options, h->request);
	hostkit_release(&options, h->stalled.fault);
	hostkit_release(&options, h->action);
	hostkit_release(&options, h->piece);
	hostkit_release(&options, h);
}
