/* Requests of programs. The requesting thread waits until the end of its request.
 *
 * Most requests go to the engine, and end with the DONE of their ticket. Some end at once. Two kinds
 * are held until the end of a round that began with reading after them: the end of a submission, so
 * that the reports of its warps are serviced before the program continues, and a change of policy,
 * before which no warp may wait for an answer of the old engine.
 *
 * A round takes a bounded number of requests, so that threads that never stop asking do not starve the
 * others. */
#include "emu_bottom.h"

#define AGAIN 1 /* the engine was asked again */

/* -- they end -- */

static void await(struct emu_bottom *b, struct emu_request *request)
{
	list_add_tail(&request->link, &b->asked);
	b->asked_count++;
}

void emu_request_finish(struct emu_request *request, int status)
{
	request->status = status;
	complete(&request->done);
}

static int error_of(enum uvmp_status status)
{
	switch (status) {
	case UVMP_OK:
		return 0;
	case UVMP_ERR_RETRY:
		return -EAGAIN;
	case UVMP_ERR_UNKNOWN:
		return -ENOENT;
	case UVMP_ERR_CONFLICT:
		return -EFAULT;
	case UVMP_ERR_RANGE:
	case UVMP_ERR_UNSUPPORTED:
		return -EINVAL;
	default:
		return -ENOMEM;
	}
}

/* A throttled fault is retried; it is recorded once. */
static int end_throttled(struct emu_bottom *b, struct emu_request *request)
{
	b->retry_space = request->space->id;
	b->retry_address = request->address & PAGE_MASK;
	b->retry_ns = b->throttled_ns;
	request->until_ns = b->start_ns + b->throttled_ns;
	b->throttled_ns = 0;
	return -EAGAIN;
}

static bool is_managed(const struct emu_bottom *b, const struct emu_space *space, u64 address)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	return uvmp_service_page(b->driver->service, space->id, address, &state) == UVMP_OK;
}

/* The engine has released the pages. */
static void drop(struct emu_bottom *b, struct emu_range *range, u64 address, u64 bytes)
{
	emu_advice_unmap(range, address, bytes);
	emu_residency_forget(b, range->space, address, bytes);
	emu_range_free(range, address, bytes);
}

/* The program has unmapped the whole range, but the engine could not split off parts of it. All of it
 * is freed now, which needs no memory. After a change of policy each piece is a range of the engine. */
static int free_left(struct emu_bottom *b, struct emu_request *request)
{
	struct emu_range *range = request->range;
	u64 address, bytes;
	bool is_last;

	for (;;) {
		emu_range_lowest(range, &address, &bytes);
		if (is_managed(b, range->space, address))
			break;
		range->stuck -= bytes >> PAGE_SHIFT;
		emu_record_free_part(b, range->space->id, address, bytes);
		is_last = range->stuck == 0; /* frees the range */
		drop(b, range, address, bytes);
		if (is_last)
			return 0;
	}
	if (request->address == address && request->bytes == 0) {
		emu_broken(b->driver, "a range cannot be freed");
		return 0;
	}
	request->address = address;
	request->bytes = 0;
	if (uvmp_service_free_range(b->driver->service, range->space->id, address, &request->ticket) ==
	    UVMP_OK)
		return AGAIN;
	emu_broken(b->driver, "a range is not freed");
	return 0;
}

/* The program has unmapped the pages, even if the engine refuses. If the engine has no memory to split
 * them off, they stay in the engine and here until the rest of the range is unmapped; meanwhile nothing
 * can be mapped there. */
static int end_free(struct emu_bottom *b, struct emu_request *request)
{
	struct emu_range *range = request->range;
	u64 pages = request->bytes >> PAGE_SHIFT, all = range->bytes >> PAGE_SHIFT;
	bool is_last;

	if (request->bytes == 0) /* a later pass */
		return free_left(b, request);
	is_last = range->unmapped + range->stuck + pages == all;
	if (is_managed(b, request->space, request->address)) {
		range->stuck += pages;
		emu_record_range(b, request->space->id, request->address, request->bytes, false);
	} else {
		is_last = is_last && range->stuck != 0; /* else the range is freed */
		drop(b, range, request->address, request->bytes);
	}
	return is_last ? free_left(b, request) : 0;
}

/* A discard is not in force: it has happened. */
static int end_advise(struct emu_request *request, enum uvmp_status status)
{
	if (request->kept != NULL && status == UVMP_OK)
		emu_advice_keep(request->space, request->kept);
	else if (request->kept != NULL)
		emu_advice_release(request->space, request->kept);
	return error_of(status);
}

static int end_asked(struct emu_bottom *b, struct emu_request *request, enum uvmp_status status)
{
	if (request->ask == EMU_ASK_FREE)
		return end_free(b, request);
	if (request->ask == EMU_ASK_CPU_FAULT && status == UVMP_ERR_RETRY)
		return end_throttled(b, request);
	if (request->ask == EMU_ASK_ADVISE)
		return end_advise(request, status);
	return error_of(status);
}

static void end_request(struct emu_bottom *b, struct emu_request *request, enum uvmp_status status)
{
	int result = end_asked(b, request, status);

	if (result == AGAIN)
		await(b, request);
	else
		emu_request_finish(request, result);
}

void emu_request_answer(struct emu_bottom *b, u64 ticket, enum uvmp_status status)
{
	struct emu_request *request;

	b->ended_ticket = ticket;
	b->ended_status = status;
	list_for_each_entry(request, &b->asked, link)
	{
		if (request->ticket != ticket)
			continue;
		list_del(&request->link);
		b->asked_count--;
		end_request(b, request, status);
		return;
	}
}

/* -- they begin -- */

static int open_space(struct emu_bottom *b, struct emu_space *space)
{
	int result = emu_engine_bind(b, b->driver->service, space->id);

	if (result != 0)
		return result;
	INIT_LIST_HEAD(&space->advice);
	result = xa_err(xa_store(&b->spaces, space->id, space, GFP_KERNEL));
	if (result != 0)
		emu_engine_unbind(b, space->id);
	return result;
}

static void close_space(struct emu_bottom *b, struct emu_space *space)
{
	emu_residency_settle(b, true);
	emu_engine_unbind(b, space->id);
	emu_advice_close(space);
	xa_erase(&b->spaces, space->id);
}

static int manage(struct emu_bottom *b, struct emu_request *request)
{
	struct emu_range *range = request->range;
	enum uvmp_status status = uvmp_service_add_range(b->driver->service, request->space->id, range->base,
							 range->bytes, request->right, UVMP_PROC_NONE);

	if (status != UVMP_OK)
		return -ENOMEM;
	range->right = (u8)request->right;
	range->is_known = true;
	range->first_advice = request->space->advice_number;
	emu_record_range(b, request->space->id, range->base, range->bytes, true);
	return 0;
}

static enum uvmp_status ask_free(struct emu_bottom *b, struct emu_request *request)
{
	u64 space = request->space->id;

	if (request->bytes != request->range->bytes) {
		emu_record_free_part(b, space, request->address, request->bytes);
		return uvmp_service_free_part(b->driver->service, space, request->address, request->bytes,
					      &request->ticket);
	}
	emu_record_free(b, space, request->address);
	return uvmp_service_free_range(b->driver->service, space, request->address, &request->ticket);
}

static bool is_retry(const struct emu_bottom *b, const struct emu_request *request)
{
	return b->retry_ns != 0 && b->retry_space == request->space->id &&
	       b->retry_address == (request->address & PAGE_MASK);
}

static void take_time(struct emu_bottom *b, const struct emu_request *request)
{
	if (is_retry(b, request)) {
		b->now_ns = max(b->now_ns, b->retry_ns);
	} else {
		emu_pass_time(b);
		emu_record_access(b, request->space->id, UVMP_CPU, 0, (u8)request->access, request->address);
	}
	b->retry_ns = 0;
}

/* The right of a page that is resident on the CPU by the engine, but has no frame yet. GPUs may have
 * copies, so the right may be less than the range allows. */
static enum uvmp_right right_of_unused(const struct emu_bottom *b, const struct emu_request *request,
				      const struct emu_range *range)
{
	struct uvmp_page_state state = {.size = sizeof(state)};

	if (uvmp_service_page(b->driver->service, request->space->id, request->address & PAGE_MASK, &state) !=
		    UVMP_OK ||
	    (state.resident & state.read & 1u) == 0)
		return UVMP_RIGHT_NONE;
	return (state.write & 1u) != 0 ? (enum uvmp_right)range->right : UVMP_RIGHT_READ;
}

/* 1: the engine must be asked. */
static int check_cpu_fault(struct emu_bottom *b, const struct emu_request *request)
{
	struct emu_range *range = emu_range_find(request->space, request->address);
	const struct emu_page *page = range != NULL ? emu_range_page(range, request->address) : NULL;
	enum uvmp_right right;

	if (page == NULL)
		return -EFAULT;
	if (page->right[UVMP_CPU] >= (u8)uvmp_access_right(request->access))
		return 0; /* another fault has mapped the page */
	if (page->right[UVMP_CPU] != UVMP_RIGHT_NONE)
		return 1;
	right = right_of_unused(b, request, range);
	if (right < uvmp_access_right(request->access))
		return 1;
	return emu_perform_first_use(b, request->space, request->address, right);
}

static enum uvmp_status ask_cpu_fault(struct emu_bottom *b, struct emu_request *request)
{
	take_time(b, request);
	b->driver->stats.cpu_faults++;
	return uvmp_service_cpu_fault(b->driver->service, request->space->id, request->address,
				      request->access, request->thread, &request->ticket);
}

static enum uvmp_status ask_prefetch(struct emu_bottom *b, struct emu_request *request)
{
	emu_record_prefetch(b, request->space->id, request->processor, request->address, request->bytes);
	return uvmp_service_migrate(b->driver->service, request->space->id, request->address, request->bytes,
				    request->processor, &request->ticket);
}

static enum uvmp_status ask_advise(struct emu_bottom *b, struct emu_request *request)
{
	request->kept = NULL;
	if (request->advice != UVMP_ADVISE_DISCARD &&
	    emu_advice_reserve(request->space, request->address, request->bytes, request->advice,
			       request->processor, &request->kept) != 0)
		return UVMP_ERR_NO_MEMORY;
	emu_record_advise(b, request->space->id, request->advice, request->processor, request->address,
			  request->bytes);
	return uvmp_service_advise(b->driver->service, request->space->id, request->address, request->bytes,
				   (enum uvmp_advice)request->advice, request->processor, &request->ticket);
}

static void ask(struct emu_bottom *b, struct emu_request *request)
{
	enum uvmp_status status;

	if (request->ask == EMU_ASK_FREE)
		status = ask_free(b, request);
	else if (request->ask == EMU_ASK_CPU_FAULT)
		status = ask_cpu_fault(b, request);
	else if (request->ask == EMU_ASK_PREFETCH)
		status = ask_prefetch(b, request);
	else
		status = ask_advise(b, request);
	if (status != UVMP_OK)
		end_request(b, request, status);
	else
		await(b, request);
}

static struct emu_gpu *gpu_of(struct emu_bottom *b, const struct emu_request *request)
{
	return emu_gpu_of(b, request->processor);
}

static void begin_kernel(struct emu_bottom *b, struct emu_request *request)
{
	request->kernel = 0;
	request->engine = b->driver->stats.policy_changes;
	emu_record_kernel(b, request->space->id, request->processor, true);
	(void)uvmp_service_begin_kernel(b->driver->service, request->processor, b->now_ns, &request->kernel);
	emu_request_finish(request, 0);
}

static void end_kernel(struct emu_bottom *b, struct emu_request *request)
{
	emu_record_kernel(b, request->space->id, request->processor, false);
	if (request->kernel != 0 && request->engine == b->driver->stats.policy_changes)
		(void)uvmp_service_end_kernel(b->driver->service, request->kernel, b->now_ns);
	emu_request_finish(request, 0);
}

static void take_request(struct emu_bottom *b, struct emu_request *request)
{
	int result;

	switch (request->ask) {
	case EMU_ASK_OPEN:
		emu_request_finish(request, open_space(b, request->space));
		break;
	case EMU_ASK_CLOSE:
		close_space(b, request->space);
		emu_request_finish(request, 0);
		break;
	case EMU_ASK_ADD:
		emu_request_finish(request, manage(b, request));
		break;
	case EMU_ASK_BEGIN:
		begin_kernel(b, request);
		break;
	case EMU_ASK_END:
		request->reported = emu_ring_written(gpu_of(b, request));
		fallthrough;
	case EMU_ASK_POLICY:
		list_add_tail(&request->link, &b->held);
		break;
	case EMU_ASK_CPU_FAULT:
		result = check_cpu_fault(b, request);
		if (result != 1) {
			emu_request_finish(request, result);
			break;
		}
		fallthrough;
	default:
		ask(b, request);
		break;
	}
}

/* -- they are taken -- */

/* The engine performs requests first, so more than EMU_REQUESTS in a round would starve faults. True:
 * there were some. */
bool emu_request_take(struct emu_bottom *b)
{
	struct emu_request *request, *next;
	bool is_some = false;

	if (b->is_changing)
		return false;
	spin_lock(&b->driver->request_lock);
	list_splice_tail_init(&b->driver->requests, &b->pending);
	spin_unlock(&b->driver->request_lock);
	list_for_each_entry_safe(request, next, &b->pending, link)
	{
		if (b->taken == EMU_REQUESTS)
			break;
		b->taken++;
		list_del(&request->link);
		take_request(b, request);
		is_some = true;
	}
	return is_some;
}

/* -- they are held -- */

void emu_request_begin_reading(struct emu_bottom *b)
{
	list_splice_tail_init(&b->held, &b->due);
}

bool emu_request_is_held(const struct emu_bottom *b)
{
	return !list_empty(&b->pending) || !list_empty(&b->held);
}

static bool is_read(struct emu_bottom *b, const struct emu_request *request)
{
	return emu_ring_passed(gpu_of(b, request)) >= request->reported;
}

struct emu_request *emu_request_end_due(struct emu_bottom *b)
{
	struct emu_request *request, *next;

	list_for_each_entry_safe(request, next, &b->due, link)
	{
		list_del(&request->link);
		if (request->ask == EMU_ASK_POLICY)
			return request;
		if (is_read(b, request))
			end_kernel(b, request);
		else
			list_add_tail(&request->link, &b->held);
	}
	return NULL;
}

/* -- for others -- */

void emu_request_init(struct emu_bottom *b)
{
	INIT_LIST_HEAD(&b->pending);
	INIT_LIST_HEAD(&b->asked);
	INIT_LIST_HEAD(&b->held);
	INIT_LIST_HEAD(&b->due);
	INIT_LIST_HEAD(&b->driver->requests);
	spin_lock_init(&b->driver->request_lock);
}
