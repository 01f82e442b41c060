// uvmpolicy/gate.hpp with a mock of GPGPU-Sim's load/store units: one dispatch register each, which takes an instruction a
// cycle and hands one access a cycle to an L1 that never stalls.
#include <uvmpolicy/gate.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#define CHECK(condition)                                                                                      \
	do {                                                                                                  \
		if (!(condition)) {                                                                           \
			std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                 \
			std::exit(1);                                                                         \
		}                                                                                             \
	} while (0)

static unsigned alive;

// As much of warp_inst_t as the gate uses.
struct instruction {
	struct {
		bool global;
		bool is_global() const
		{
			return global;
		}
	} space = {true};
	std::vector<uvmp_addr> lanes; // 0: inactive
	unsigned uid = 0, left = 0;
	bool is_empty = true, store = false, atomic = false;

	instruction()
	{
		alive++;
	}
	~instruction()
	{
		alive--;
	}
	bool empty() const
	{
		return is_empty;
	}
	bool is_store() const
	{
		return store;
	}
	bool isatomic() const
	{
		return atomic;
	}
	unsigned get_uid() const
	{
		return uid;
	}
	unsigned warp_size() const
	{
		return 32;
	}
	bool active(unsigned lane) const
	{
		return lanes[lane] != 0;
	}
	uvmp_addr get_addr(unsigned lane) const
	{
		return lanes[lane];
	}
};

struct gpu {
	unsigned sms;
	uint64_t cycle = 0, done = 0, finished_while_held = 0, seed = 1, footprint;
	unsigned issued = 0;
	std::set<uint64_t> mapped;		   // pages now
	std::map<unsigned, std::set<uint64_t>> waits; // by uid: pages that have not been mapped since the issue
	std::vector<instruction *> dispatch;
	std::unique_ptr<uvmp::gate<instruction>> gate;

	gpu(unsigned n, const char *policy, uint64_t memory_bytes, uint64_t bytes) : sms(n), footprint(bytes)
	{
		uvmp::options o;
		o.memory_bytes = memory_bytes;
		o.policy = policy;
		o.is_all_managed = o.is_on_cpu = true;
		o.batch_ns = 500;
		uvmp::callbacks c;
		c.map = [this](const uvmp_host_mapping *pages) {
			for (uint64_t i = 0; pages->processor == 1 && i < pages->bytes; i += 4096) {
				mapped.insert((pages->address + i) / 4096);
				for (auto &w : waits)
					w.second.erase((pages->address + i) / 4096);
			}
		};
		c.unmap = [this](const uvmp_host_mapping *pages) {
			for (uint64_t i = 0; pages->processor == 1 && i < pages->bytes; i += 4096)
				mapped.erase((pages->address + i) / 4096);
		};
		c.copy_ns = [](const uvmp_host_copy *copy) { return 10 + copy->bytes / 1000; };
		gate.reset(new uvmp::gate<instruction>(n, 0.7, [] { return new instruction; }, o, c));
		for (unsigned i = 0; i < n; i++)
			dispatch.push_back(new instruction);
	}
	~gpu()
	{
		for (instruction *i : dispatch)
			delete i;
	}
	void issue(instruction *i)
	{
		i->uid = ++issued;
		i->is_empty = false;
		i->store = issued % 3 == 0;
		i->atomic = issued % 7 == 0;
		i->space.global = issued % 5 != 0;
		i->left = 1 + issued % 4;
		i->lanes.assign(32, 0);
		uint64_t near = uvmp_random_below(&seed, footprint);
		for (unsigned lane = 0; lane < 32; lane++) { // a few spread over all pages, some inactive
			bool is_spread = issued % 11 == 0;
			if (lane % 4 != 3)
				i->lanes[lane] = (uint64_t(0x7f) << 40) +
						 (is_spread ? uvmp_random_below(&seed, footprint) : (near + lane * 4) % footprint);
			if (i->space.global && i->lanes[lane] && !mapped.count(i->lanes[lane] / 4096))
				waits[i->uid].insert(i->lanes[lane] / 4096);
		}
	}
	void run(unsigned instructions)
	{
		while (done < instructions) {
			gate->cycle(cycle++);
			for (unsigned sm = 0; sm < sms; sm++) {
				gate->pass(sm, dispatch[sm]);
				instruction *i = dispatch[sm];
				if (!i->empty() && --i->left == 0) {
					CHECK(waits[i->uid].empty());
					waits.erase(i->uid);
					i->is_empty = true;
					done++;
					finished_while_held += gate->held() > 0;
				}
				// at most 40 instructions in flight, as warps and scoreboards have it
				if (i->empty() && issued < instructions && gate->held() < 40)
					issue(i);
			}
			CHECK(cycle < 100000000);
		}
	}
};

static uint64_t simulate(const char *policy, uint64_t memory_bytes, uint64_t bytes, double remote_ns = 0)
{
	uint64_t cycles;
	{
		gpu g(4, policy, memory_bytes, bytes);
		if (remote_ns > 0)
			g.gate->charge_remote(remote_ns, 12);
		g.run(1000);
		CHECK((g.gate->remote_bytes() > 0) == (remote_ns > 0) && g.gate->remote_bytes() % 32 == 0);
		struct uvmp_host_counts counts = g.gate->memory().counts();
		CHECK(g.gate->held() == 0 && counts.waiting == 0 && counts.replayed == counts.faults);
		CHECK(counts.faults > 20 && (counts.evictions > 0) == (memory_bytes < bytes));
		CHECK(g.finished_while_held > 20); // other warps pass
		cycles = g.cycle;
		std::printf("%-32s %8lu cycles %6lu faults %6lu evictions\n", policy, (unsigned long)cycles,
			    (unsigned long)counts.faults, (unsigned long)counts.evictions);
	}
	CHECK(alive == 0);
	return cycles;
}

// A warp that reads or writes 128 bytes of page 1.
static void prepare(instruction *i, unsigned uid, bool is_store)
{
	i->uid = uid;
	i->is_empty = false;
	i->store = is_store;
	i->lanes.clear();
	for (unsigned lane = 0; lane < 32; lane++)
		i->lanes.push_back(4096 + lane * 4);
}

// Remote accesses wait for the latency and, in each direction, for each other.
static void remote_latency()
{
	gpu g(4, "", 8 << 20, 4096);
	uint64_t cycle = 0, ready_ns[4] = {0, 0, 0, 0}, start_ns = 0;

	g.gate->charge_remote(700, 1.28);
	g.gate->memory().add_range(4096, 4096);
	g.gate->memory().advise_range(4096, 4096, UVMP_ADVISE_PREFERRED, 0, 0);
	for (unsigned i = 0; i < 2; i++) { // the page enters the page table for reads, then for writes
		prepare(g.dispatch[0], 1 + i, i == 1);
		for (g.gate->pass(0, g.dispatch[0]); g.dispatch[0]->empty(); g.gate->pass(0, g.dispatch[0]))
			g.gate->cycle(cycle++);
		CHECK(g.gate->held() == 0 && g.gate->remote_bytes() == 128 * (i + 1));
		g.dispatch[0]->is_empty = true;
	}
	start_ns = uint64_t(double(cycle) * 0.7);
	g.gate->cycle(cycle++);
	for (unsigned sm = 0; sm < 4; sm++) {
		prepare(g.dispatch[sm], 10 + sm, sm == 2);
		g.gate->pass(sm, g.dispatch[sm]);
		CHECK(g.dispatch[sm]->empty() && g.gate->held() == sm + 1);
	}
	for (; g.gate->held() > 1; cycle++) { // the last is deleted with the gate
		g.gate->cycle(cycle);
		for (unsigned sm = 0; sm < 4; sm++) {
			g.gate->pass(sm, g.dispatch[sm]);
			if (!g.dispatch[sm]->empty() && ready_ns[sm] == 0)
				ready_ns[sm] = uint64_t(double(cycle) * 0.7) - start_ns;
		}
	}
	CHECK(ready_ns[0] == 800 && ready_ns[1] == 900 && ready_ns[2] == 800 && ready_ns[3] == 0);
}

int main()
{
	remote_latency();
	CHECK(alive == 0);
	CHECK(simulate("", 8 << 20, 8 << 20) == simulate("", 8 << 20, 8 << 20));
	simulate("", 4 << 20, 8 << 20);
	simulate("preset=auto", 4 << 20, 8 << 20);
	simulate("preset=uvmsmart", 4 << 20, 8 << 20);
	simulate("prefetch=none evict=lru4k", 2 << 20, 8 << 20);
	const char *remote = "evict=lru4k remote=always remote_threshold=20";
	simulate(remote, 4 << 20, 8 << 20, 900);
	simulate(remote, 4 << 20, 8 << 20);
	// a warp that touches more blocks than fit
	simulate("prefetch=none", 2 << 20, 16 << 20);
	// nothing to wait for: no cycle is lost
	gpu g(1, "", 8 << 20, 4096);
	instruction *i = g.dispatch[0];
	g.issue(i);
	g.gate->pass(0, g.dispatch[0]);
	CHECK(g.dispatch[0]->empty() && g.gate->held() == 1);
	for (uint64_t cycle = 0; g.dispatch[0]->empty(); cycle++) {
		g.gate->cycle(cycle);
		g.gate->pass(0, g.dispatch[0]);
	}
	CHECK(g.dispatch[0] == i && i->get_uid() == 1);
	i->is_empty = true;
	g.issue(i);
	g.gate->pass(0, g.dispatch[0]);
	CHECK(g.dispatch[0] == i && !i->empty());
	return 0;
}
