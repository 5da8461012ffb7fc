// A small thread pool of our own.
//
// Why not OpenMP: libgomp hangs in a forked child, and forking is what multiprocessing and joblib do on Linux.
// This pool notices a fork by its process id and starts afresh; a call that arrives while another Python thread
// holds the pool runs serially in its own thread, so no call ever waits for another.
#pragma once
#include <cstddef>
#include <functional>

namespace sparseigen {

// How many threads parallel_for may use (at least 1).
int thread_count();
// Sets that number for this process; values below 1 restore the default (environment, affinity, cgroup).
void set_thread_count(int count);

// Runs body(begin, end) over a partition of [0, count). `work` is the number of elementary operations in all;
// small jobs run in the caller's thread because waking a thread costs more than they do. `multiple` keeps the
// borders of the parts at multiples of it (so that neighbouring parts do not share a cache line).
void parallel_for(std::size_t count, double work, std::size_t multiple,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace sparseigen
