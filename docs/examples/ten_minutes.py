"""The simulator of ten_minutes.c in Python: the same warps, link and answers."""

import sys

import uvmpolicy as uvmp

WARPS, PAGES, PAGE, BASE = 64, 2048, 4096, 0x7F0000000000


def simulate(policy: str) -> str:
    done = [0] * WARPS  # pages that each warp has read
    stalled = [False] * WARPS

    def copy_time(copy):  # 12 GB/s, and 2 us for each transfer
        return (2000 if copy.part == 0 else 0) + copy.bytes // 12

    def wake(waiter):
        stalled[waiter.warp] = False

    def step(now_ns):
        """Each warp reads the next page of its own, or faults; True: a warp could run."""
        has_run = False
        for warp in range(WARPS):
            if stalled[warp] or done[warp] == 2 * PAGES // WARPS:
                continue
            has_run = True
            address = BASE + (done[warp] * WARPS % PAGES + warp) * PAGE
            if host.is_mapped(address):
                done[warp] += 1
            else:
                host.fault(warp, address, "read", now_ns)
                stalled[warp] = True
        return has_run

    options = {"is_all_managed": False, "is_on_cpu": True, "batch_ns": 20000}
    with uvmp.Host(6 << 20, policy, copy_ns=copy_time, replay=wake, **options) as host:
        host.add_range(BASE, PAGES * PAGE)
        next_ns = 0
        while next_ns is not None:
            now_ns = next_ns
            next_ns = host.run(now_ns)  # may wake warps
            if step(now_ns):
                next_ns = now_ns + 100
        counts = host.counts
    return (
        f"{now_ns // 1000} us, {counts['faults']} faults, {counts['batches']} batches, "
        f"{counts['bytes_in'] >> 10} KiB in, {counts['bytes_out'] >> 10} KiB out"
    )


if __name__ == "__main__":
    try:
        print(simulate(sys.argv[1] if len(sys.argv) > 1 else ""))
    except ValueError as error:
        sys.exit(str(error))
