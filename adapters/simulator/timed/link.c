#include "link.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Work of `work_ns` begins at from_ns: how much of it is done at half the rate, beside the other use. */
static uint64_t shared_ns(const struct link_use *other, uint64_t from_ns, uint64_t work_ns)
{
	uint64_t begin_ns = later(from_ns, other->since_ns), both_ns;

	if (other->until_ns <= begin_ns || work_ns <= begin_ns - from_ns)
		return 0;
	work_ns -= begin_ns - from_ns;
	both_ns = other->until_ns - begin_ns;
	return work_ns < both_ns ? work_ns : both_ns;
}

/* Work of `work_ns` follows the use's own, at from_ns at the earliest. Each use delays the other by as much as it gets
 * meanwhile. */
static void use(struct link_use *own, struct link_use *other, uint64_t from_ns, uint64_t work_ns)
{
	uint64_t shared;

	if (from_ns > own->until_ns)
		own->since_ns = own->until_ns = from_ns;
	shared = shared_ns(other, own->until_ns, work_ns);
	own->until_ns += work_ns + shared;
	other->until_ns += shared;
}

uint64_t link_copy(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_engine *engine = &link->engine[direction];

	use(&engine->copies, &engine->remote, from_ns, model_link_ns(link->model, direction, bytes));
	return engine->copies.until_ns;
}

/* What a run of pages is on the link. */
static uint64_t compressed(const struct link *link, uint64_t bytes)
{
	return (bytes * 100u + link->ratio_percent - 1u) / link->ratio_percent;
}

uint64_t link_copy_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	return link_copy(link, direction, from_ns, compressed(link, bytes));
}

uint64_t link_delay_pages(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t bytes)
{
	struct link_use *copies = &link->engine[direction].copies;
	uint64_t end_ns = from_ns + model_link_ns(link->model, direction, compressed(link, bytes));

	copies->until_ns = later(copies->until_ns, end_ns);
	return copies->until_ns;
}

uint64_t link_remote(struct link *link, enum model_direction direction, uint64_t from_ns, uint64_t at_ns,
		     struct link_load load)
{
	const struct model_link *model = &link->model->link;
	struct link_engine *engine = &link->engine[direction];
	uint64_t mb_s = model_link_mb_s(model, direction);
	uint64_t bytes = later(load.bytes, load.requests * model->request_bytes[direction]);
	uint64_t owed = engine->remote_debt + bytes * 1000u, work_ns = owed / mb_s;
	uint64_t alone_ns = at_ns + work_ns;

	engine->remote_debt = owed % mb_s;
	use(&engine->remote, &engine->copies, from_ns, work_ns);
	return later(engine->remote.until_ns, alone_ns);
}

uint64_t link_remote_fixed(struct link *link, enum model_direction direction, uint64_t at_ns, uint64_t work_ns)
{
	struct link_engine *engine = &link->engine[direction];
	uint64_t start_ns = later(at_ns, engine->remote.until_ns);

	engine->remote.until_ns = start_ns + work_ns;
	if (engine->copies.until_ns > start_ns)
		engine->copies.until_ns += work_ns;
	return engine->remote.until_ns;
}
