// The simulator of ten_minutes.c in C++: the same warps, link and answers. docs/ten-minutes.md explains each step.
#include <cstdio>
#include <vector>

#include <uvmpolicy/host.hpp>

class simulator
{
      public:
	explicit simulator(const char *policy) : m_host(options(policy), callbacks())
	{
		m_host.add_range(base, uint64_t(pages) * page);
	}

	void run()
	{
		for (uint64_t next_ns = 0; next_ns != UINT64_MAX;) {
			m_now_ns = next_ns;
			next_ns = m_host.run(m_now_ns); // may wake warps
			if (step())
				next_ns = m_now_ns + 100;
		}
		const auto counts = m_host.counts();
		std::printf("%llu us, %llu faults, %llu batches, %llu KiB in, %llu KiB out\n",
		            (unsigned long long)m_now_ns / 1000, (unsigned long long)counts.faults,
		            (unsigned long long)counts.batches, (unsigned long long)counts.bytes_in >> 10,
		            (unsigned long long)counts.bytes_out >> 10);
	}

      private:
	static constexpr unsigned warps = 64, pages = 2048, page = 4096;
	static constexpr uvmp_addr base = 0x7f0000000000;
	struct warp {
		unsigned done = 0; // pages that the warp has read
		bool is_stalled = false;
	};

	static uvmp::options options(const char *policy)
	{
		uvmp::options options;

		options.memory_bytes = 6 << 20;
		options.policy = policy;
		options.is_on_cpu = true;
		options.batch_ns = 20000;
		return options;
	}
	uvmp::callbacks callbacks()
	{
		uvmp::callbacks calls;

		// 12 GB/s, and 2 us for each transfer
		calls.copy_ns = [](const uvmp_host_copy *copy) { return (copy->part == 0 ? 2000 : 0) + copy->bytes / 12; };
		calls.replay = [this](const uvmp_host_waiter *waiter) { m_warps[waiter->warp].is_stalled = false; };
		return calls;
	}
	// Each warp reads the next page of its own, or faults. Returns whether a warp could run.
	bool step()
	{
		bool has_run = false;

		for (unsigned i = 0; i < warps; i++) {
			warp &w = m_warps[i];
			uvmp_addr address = base + uint64_t(w.done * warps % pages + i) * page;

			if (w.is_stalled || w.done == 2 * pages / warps)
				continue;
			has_run = true;
			if (m_host.translate(address, UVMP_ACCESS_READ)) {
				w.done++;
			} else {
				m_host.fault(i, address, UVMP_ACCESS_READ, m_now_ns);
				w.is_stalled = true;
			}
		}
		return has_run;
	}

	std::vector<warp> m_warps = std::vector<warp>(warps);
	uint64_t m_now_ns = 0;
	uvmp::host m_host;
};

int main(int argc, char **argv)
{
	try {
		simulator(argc > 1 ? argv[1] : "").run();
	} catch (const uvmp::error &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	return 0;
}
