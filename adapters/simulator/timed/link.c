/* The link as two queues of work, of copies and of remote accesses, which share its rate; link.h. */
#include "link.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* -- the work in hand -- */

/* Both uses get half of the rate, for span_ns; remote accesses get an odd ns. */
static void share(struct link_work *work, uint64_t span_ns)
{
	work->copies_ns -= span_ns / 2u;
	work->remote_ns -= span_ns - span_ns / 2u;
	work->now_ns += span_ns;
}

/* The link works until until_ns. A time that is over changes nothing. */
static void run(struct link_work *work, uint64_t until_ns)
{
	uint64_t *alone, done_ns;

	if (until_ns <= work->now_ns)
		return;
	share(work, least(2u * least(work->copies_ns, work->remote_ns), until_ns - work->now_ns));
	alone = work->copies_ns != 0 ? &work->copies_ns : &work->remote_ns;
	done_ns = least(*alone, until_ns - work->now_ns);
	*alone -= done_ns;
	work->now_ns = until_ns;
}

static void start_copies(struct link_work *work, const struct link_part *part)
{
	run(work, part->from_ns);
	work->copies_ns += part->work_ns;
}

static const struct link_part *part_of(const struct link_engine *engine, uint32_t i)
{
	return &engine->part[(engine->first + i) % LINK_PARTS];
}

/* What the link has to do when the last part may begin. */
static struct link_work tail_of(const struct link_engine *engine)
{
	struct link_work work = engine->work;

	if (!engine->is_tail_old)
		return engine->tail;
	for (uint32_t i = 0; i < engine->parts; i++)
		start_copies(&work, part_of(engine, i));
	return work;
}

/* When the copies have ended, if no remote access follows; 0: all had ended when the last remote access was issued. */
static uint64_t copies_end_ns(const struct link_engine *engine)
{
	struct link_work tail = tail_of(engine);

	return tail.copies_ns == 0 ? 0 : tail.now_ns + tail.copies_ns + least(tail.copies_ns, tail.remote_ns);
}

/* When the remote accesses have ended. */
static uint64_t remote_end_ns(const struct link_engine *engine)
{
	struct link_work work = engine->work;
	uint64_t end_ns = work.now_ns + work.remote_ns + least(work.copies_ns, work.remote_ns);

	for (uint32_t i = 0; i < engine->parts && part_of(engine, i)->from_ns < end_ns; i++) {
		start_copies(&work, part_of(engine, i));
		end_ns = work.now_ns + work.remote_ns + least(work.copies_ns, work.remote_ns);
	}
	return end_ns;
}

/* -- copies -- */

static void renew_tail(struct link_engine *engine)
{
	engine->tail = tail_of(engine);
	engine->is_tail_old = false;
}

/* If all places are taken, the oldest copies count as begun: the GPU has issued no remote access for long. */
static void append(struct link_engine *engine, uint64_t from_ns, uint64_t work_ns)
{
	struct link_part part = {from_ns, work_ns};

	if (engine->parts == LINK_PARTS) {
		engine->work.copies_ns += part_of(engine, 0)->work_ns;
		engine->first = (engine->first + 1u) % LINK_PARTS;
		engine->parts--;
	}
	engine->part[(engine->first + engine->parts++) % LINK_PARTS] = part;
	start_copies(&engine->tail, &part);
}

/* The work behind which a copy without a pause follows; NULL: all copies have ended. */
static uint64_t *last_work(struct link_engine *engine)
{
	if (engine->parts != 0)
		return &engine->part[(engine->first + engine->parts - 1u) % LINK_PARTS].work_ns;
	return engine->work.copies_ns != 0 ? &engine->work.copies_ns : NULL;
}

/* The GPU's clock may be ahead. What the copy has done before the first of the remote accesses that run is over; copies that were
 * late then are not taken into account. */
static uint64_t append_rest(struct link_engine *engine, uint64_t from_ns, uint64_t work_ns)
{
	if (engine->work.remote_ns != 0 && from_ns < engine->remote_since_ns)
		work_ns -= least(work_ns, engine->remote_since_ns - from_ns);
	if (work_ns != 0)
		append(engine, from_ns, work_ns);
	return work_ns;
}

/* The end of the copy that was submitted last, which would end at end_ns if the link had no other work. */
static uint64_t tell(struct link_engine *engine, uint64_t end_ns)
{
	struct link_told *told = &engine->told[engine->copies % LINK_PARTS];

	engine->copies_until_ns = later(engine->copies_until_ns, later(end_ns, copies_end_ns(engine)));
	*told = (struct link_told){engine->copies_until_ns, engine->submitted_ns};
	return engine->copies_until_ns;
}

static uint64_t submit(struct link_engine *engine, uint64_t from_ns, uint64_t work_ns)
{
	uint64_t *last = last_work(engine);
	uint64_t start_ns = later(from_ns, engine->copies_until_ns);

	renew_tail(engine);
	engine->copies++;
	if (last != NULL && start_ns == engine->copies_until_ns) {
		*last += work_ns;
		engine->tail.copies_ns += work_ns;
		engine->last_ns = work_ns;
	} else {
		engine->last_ns = append_rest(engine, start_ns, work_ns);
	}
	engine->submitted_ns += engine->last_ns;
	return tell(engine, start_ns + work_ns);
}

uint64_t link_start_ns(const struct link *link, enum model_direction direction, uint64_t from_ns)
{
	return later(from_ns, link->engine[direction].copies_until_ns);
}

uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	return submit(&link->engine[direction], from_ns, model_link_ns(link->model, direction, bytes));
}

/* What a run of pages is on the link. */
static uint64_t compressed(const struct link *link, uint64_t bytes)
{
	return (bytes * 100u + link->ratio_percent - 1u) / link->ratio_percent;
}

/* The work of pages in a push that has copied `pushed` bytes before. */
static uint64_t pages_ns(const struct link *link, enum model_direction direction, uint64_t pushed, uint64_t bytes)
{
	uint64_t before_ns = pushed == 0 ? 0 : model_link_ns(link->model, direction, compressed(link, pushed));
	uint64_t all_ns = model_link_ns(link->model, direction, compressed(link, pushed + bytes));

	return all_ns - least(all_ns, before_ns);
}

uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t pushed, uint64_t bytes)
{
	return submit(&link->engine[direction], from_ns, pages_ns(link, direction, pushed, bytes));
}

uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t pushed, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t work_ns = pages_ns(link, direction, pushed, bytes);
	uint64_t moved_ns = least(engine->last_ns, work_ns);

	if (moved_ns != 0)
		*last_work(engine) -= moved_ns;
	engine->is_tail_old = true;
	renew_tail(engine);
	engine->last_ns = append_rest(engine, from_ns, work_ns);
	engine->submitted_ns = engine->submitted_ns - moved_ns + engine->last_ns;
	return tell(engine, from_ns + work_ns);
}

/* -- remote accesses -- */

static void go_to(struct link_engine *engine, uint64_t now_ns)
{
	while (engine->parts != 0 && part_of(engine, 0)->from_ns <= now_ns) {
		start_copies(&engine->work, part_of(engine, 0));
		engine->first = (engine->first + 1u) % LINK_PARTS;
		engine->parts--;
	}
	run(&engine->work, now_ns);
}

uint64_t link_remote(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t at_ns,
		     struct link_load load)
{
	const struct model_link *model = &link->model->link;
	struct link_engine *engine = &link->engine[direction];
	uint64_t mb_s = model_link_mb_s(model, direction);
	uint64_t bytes = later(load.bytes, load.requests * model->request_bytes[direction]);
	uint64_t owed = engine->remote_debt + bytes * 1000u, work_ns = owed / mb_s;

	engine->remote_debt = owed % mb_s;
	go_to(engine, from_ns);
	if (engine->work.remote_ns == 0)
		engine->remote_since_ns = engine->work.now_ns;
	engine->work.remote_ns += work_ns;
	engine->is_tail_old = true;
	return later(remote_end_ns(engine), at_ns + work_ns);
}

uint64_t link_remote_fixed(struct link *link, enum model_direction direction, uint64_t at_ns, uint64_t work_ns)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t start_ns = later(at_ns, engine->fixed_until_ns);

	engine->fixed_until_ns = start_ns + work_ns;
	if (engine->copies_until_ns > start_ns)
		engine->copies_until_ns += work_ns;
	return engine->fixed_until_ns;
}

/* -- ends -- */

uint64_t link_idle_ns(const struct link *link, uint64_t at_ns)
{
	for (uint32_t i = 0; i < MODEL_DIRECTIONS; i++) {
		const struct link_engine *engine = &link->engine[i];

		at_ns = later(later(at_ns, engine->copies_until_ns), later(copies_end_ns(engine), remote_end_ns(engine)));
		at_ns = later(at_ns, engine->fixed_until_ns);
	}
	return at_ns;
}

uint64_t link_copies_end_ns(const struct link *link)
{
	uint64_t end_ns = 0;

	for (uint32_t i = 0; i < MODEL_DIRECTIONS; i++) {
		const struct link_engine *engine = &link->engine[i];

		if (engine->copies_until_ns != 0)
			end_ns = later(end_ns, later(engine->copies_until_ns, copies_end_ns(engine)));
	}
	return end_ns;
}

/* The work of the copies that were told to end by at_ns and of all before them; 0: no copy was, or only copies that the link no
 * longer knows. */
static uint64_t work_told_by(const struct link_engine *engine, uint64_t at_ns)
{
	for (uint64_t i = 0; i < LINK_PARTS && i < engine->copies; i++) {
		const struct link_told *told = &engine->told[(engine->copies - i) % LINK_PARTS];

		if (told->end_ns <= at_ns)
			return told->submitted_ns;
	}
	return 0;
}

/* The work of copies that has not been done at work.now_ns. */
static uint64_t work_left(const struct link_engine *engine)
{
	uint64_t left_ns = engine->work.copies_ns;

	for (uint32_t i = 0; i < engine->parts; i++)
		left_ns += part_of(engine, i)->work_ns;
	return left_ns;
}

/* When the copies with the first work_ns of all work have ended, if no remote access follows; 0: they had ended when the last
 * remote access was issued. */
static uint64_t work_end_ns(const struct link_engine *engine, uint64_t work_ns)
{
	uint64_t done_ns = engine->submitted_ns - work_left(engine), left_ns = work_ns - least(work_ns, done_ns);
	struct link_work work = engine->work;

	if (left_ns == 0)
		return 0;
	for (uint32_t i = 0; i < engine->parts && left_ns > work.copies_ns; i++) {
		uint64_t before_ns = work.copies_ns;

		run(&work, part_of(engine, i)->from_ns);
		left_ns -= before_ns - work.copies_ns;
		work.copies_ns += part_of(engine, i)->work_ns;
	}
	return work.now_ns + left_ns + least(left_ns, work.remote_ns);
}

uint64_t link_settled_ns(const struct link *link, uint64_t at_ns)
{
	uint64_t end_ns = at_ns;

	for (uint32_t i = 0; i < MODEL_DIRECTIONS; i++)
		end_ns = later(end_ns, work_end_ns(&link->engine[i], work_told_by(&link->engine[i], at_ns)));
	return end_ns;
}
