// host.hpp: the host object of host.h as a C++ class, in the shape of the memory manager of a GPU simulator:
// report a fault, run what is due, look up a frame. Names mean what they mean in host.h. C++11 or later.
//
// Errors are exceptions: where host.h returns a negative status, the class throws uvmp::error, and nothing
// has changed. An exception that leaves a callback does not pass through the library: the class keeps the
// first one, calls the callbacks of other events, so that page tables stay in step, and run() throws it.
//
// A host can be moved, not copied. One thread at a time. Callbacks may call each member function but run().
#ifndef UVMPOLICY_HOST_HPP
#define UVMPOLICY_HOST_HPP

#include <uvmpolicy/host.h>

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace uvmp
{

struct error : std::runtime_error {
	const enum uvmp_status status; // negative
	error(enum uvmp_status s, const std::string &text) : std::runtime_error(text), status(s)
	{
	}
};

// `size` is set, all else is 0. The class host sets `user` and the callbacks but `allocate` and `release`.
struct options : uvmp_host_options {
	options() : uvmp_host_options()
	{
		size = sizeof(uvmp_host_options);
	}
};

// The callbacks of host.h, without `user`. Each may be empty; without `cancel`, run() throws an error for a
// cancelled access.
struct callbacks {
	std::function<void(const uvmp_host_mapping *)> map, unmap;
	std::function<uint64_t(const uvmp_host_copy *)> copy_ns;
	std::function<void(const uvmp_host_copy *)> copy;
	std::function<void(const uvmp_host_waiter *)> replay;
	std::function<void(const uvmp_host_waiter *, enum uvmp_status)> cancel;
	std::function<void(const uvmp_host_done *)> done;
	std::function<void(uint32_t gpu, uint32_t stopped_sms, uint32_t extra_blocks, uint64_t now_ns)> limit;
	std::function<void(const char *line)> log;
};

class host
{
      public:
	// The text of the error names the option, or the key of the policy, and what is accepted.
	host(uvmp_host_options o, const callbacks &calls)
	    : m_shared(new shared{calls, nullptr, false}), m_host(nullptr, uvmp_host_close)
	{
		callbacks &c = m_shared->calls;
		char text[UVMP_HOST_ERROR_MAX];

		if (!c.cancel)
			c.cancel = [](const uvmp_host_waiter *, enum uvmp_status s) {
				throw error(s, std::string("access cancelled: ") + uvmp_status_text(s));
			};
		o.user = m_shared.get();
		o.map = c.map ? forward<decltype(c.map), &callbacks::map>::call : nullptr;
		o.unmap = c.unmap ? forward<decltype(c.unmap), &callbacks::unmap>::call : nullptr;
		o.copy_ns = c.copy_ns ? forward<decltype(c.copy_ns), &callbacks::copy_ns>::call : nullptr;
		o.copy = c.copy ? forward<decltype(c.copy), &callbacks::copy>::call : nullptr;
		o.replay = c.replay ? forward<decltype(c.replay), &callbacks::replay>::call : nullptr;
		o.cancel = forward<decltype(c.cancel), &callbacks::cancel>::call;
		o.done = c.done ? forward<decltype(c.done), &callbacks::done>::call : nullptr;
		o.limit = c.limit ? forward<decltype(c.limit), &callbacks::limit>::call : nullptr;
		o.log = c.log ? forward<decltype(c.log), &callbacks::log>::call : nullptr;
		m_host.reset(uvmp_host_open(&o, text));
		if (!m_host)
			throw error(UVMP_ERR_ARGUMENT, text);
	}

	// An access of a warp missed: the warp stalls until `replay` or `cancel`.
	void fault(uint64_t warp, uvmp_addr address, enum uvmp_access how, uint64_t now_ns,
		   uint32_t processor = 1)
	{
		check(uvmp_host_fault_on(get(), processor, warp, address, how, now_ns));
	}
	// Performs what is due, and returns the time of the next call in ns; UINT64_MAX: none until an event.
	// Throws the first exception of a callback, or error: see callbacks; UVMP_ERR_STATE: called from a
	// callback. If memory is short, it returns the time of the next attempt.
	uint64_t run(uint64_t now_ns)
	{
		std::exception_ptr thrown;

		if (m_shared->is_running)
			throw error(UVMP_ERR_STATE, "run() was called from a callback");
		m_shared->is_running = true;
		uint64_t next_ns = uvmp_host_run(get(), now_ns);
		m_shared->is_running = false;
		std::swap(thrown, m_shared->thrown);
		if (thrown)
			std::rethrow_exception(thrown);
		return next_ns;
	}
	void copied(uint64_t id, uint64_t now_ns, enum uvmp_status status = UVMP_OK)
	{
		check(uvmp_host_copied(get(), id, status, now_ns));
	}

	// Is the access allowed without a fault? If so, *frame (may be nullptr) is the offset of the page in
	// the memory of the processor; UVMP_HOST_NO_FRAME: it lies in other memory.
	bool translate(uvmp_addr address, enum uvmp_access how, uint64_t *frame = nullptr,
		       uint32_t processor = 1) const
	{
		if (!uvmp_host_is_mapped(get(), processor, address, how))
			return false;
		if (frame)
			*frame = page(address, processor).frame;
		return true;
	}
	struct uvmp_host_page_state page(uvmp_addr address, uint32_t processor = 1) const
	{
		struct uvmp_host_page_state answer = {};
		answer.size = sizeof(answer);
		check(uvmp_host_page(get(), processor, address, &answer));
		return answer;
	}
	// Reports an access that hit; no effect unless uvmp_host_wants_accesses(get()).
	void access(uvmp_addr address, enum uvmp_access how, uint32_t processor = 1)
	{
		check(uvmp_host_access(get(), processor, address, how));
	}

	void add_range(uvmp_addr base, uint64_t bytes)
	{
		check(uvmp_host_add_range(get(), base, bytes));
	}
	// Requests, which run() performs: `done` reports uvmp_host_last_request(get()).
	void free_range(uvmp_addr base, uint64_t now_ns)
	{
		check(uvmp_host_free(get(), base, now_ns));
	}
	void prefetch_range(uvmp_addr base, uint64_t bytes, uint32_t processor, uint64_t now_ns)
	{
		check(uvmp_host_prefetch(get(), base, bytes, processor, now_ns));
	}
	void advise_range(uvmp_addr base, uint64_t bytes, enum uvmp_advice advice, uint32_t processor,
			  uint64_t now_ns)
	{
		check(uvmp_host_advise(get(), base, bytes, advice, processor, now_ns));
	}

	struct uvmp_host_counts counts() const
	{
		struct uvmp_host_counts answer = {};
		answer.size = sizeof(answer);
		check(uvmp_host_count(get(), &answer));
		return answer;
	}
	// For the functions of host.h that are not here.
	struct uvmp_host *get() const noexcept
	{
		return m_host.get();
	}

      private:
	struct shared { // its address stays when the host is moved
		callbacks calls;
		std::exception_ptr thrown;
		bool is_running;
	};
	std::unique_ptr<shared> m_shared;
	std::unique_ptr<struct uvmp_host, void (*)(struct uvmp_host *)> m_host;

	void check(enum uvmp_status status) const
	{
		if (status != UVMP_OK)
			throw error(status, uvmp_host_error(get()));
	}

	// What C calls for a member of callbacks.
	template <class Function, Function callbacks::*member> struct forward;
	template <class Result, class... Args, std::function<Result(Args...)> callbacks::*member>
	struct forward<std::function<Result(Args...)>, member> {
		static Result call(void *user, Args... args) noexcept
		{
			shared *s = static_cast<shared *>(user);
			try {
				return (s->calls.*member)(args...);
			} catch (...) {
				if (!s->thrown)
					s->thrown = std::current_exception();
				return Result();
			}
		}
	};
};

} // namespace uvmp
#endif
