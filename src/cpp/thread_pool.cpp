#include "thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if defined(_WIN32)
#include <process.h>
static int current_process() { return _getpid(); }
#else
#include <unistd.h>
static int current_process() { return static_cast<int>(getpid()); }
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace sparseigen {
namespace {

constexpr double kSerialWork = 500000.0;  // below this many operations waking a second thread does not pay

int affinity_count() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The cgroup v2 quota of this container, rounded up; 0 where there is none.
int quota_count() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0.0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0.0) return 0;
    const double allowed = std::atof(quota.c_str()) / period;
    return allowed > 0.0 ? std::max(1, static_cast<int>(allowed + 0.999)) : 0;
}

int default_count() {
    if (const char* text = std::getenv("SPARSEIGEN_NUM_THREADS")) {
        const int wanted = std::atoi(text);
        if (wanted >= 1) return std::min(wanted, 256);
    }
    const int quota = quota_count();
    const int affinity = affinity_count();
    return quota > 0 ? std::min(quota, affinity) : affinity;
}

class Pool {
public:
    explicit Pool(int threads) : owner_(current_process()), threads_(threads) {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    bool usable(int threads) const { return owner_ == current_process() && threads_ == threads; }
    bool alive_here() const { return owner_ == current_process(); }

    void run(std::size_t count, std::size_t multiple, const std::function<void(std::size_t, std::size_t)>& body) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            count_ = count;
            multiple_ = multiple;
            pending_ = threads_ - 1;
            ++generation_;
        }
        wake_.notify_all();
        part(0);
        std::unique_lock<std::mutex> lock(mutex_);
        done_.wait(lock, [this] { return pending_ == 0; });
        body_ = nullptr;
    }

private:
    void part(int index) const {
        const std::size_t units = (count_ + multiple_ - 1) / multiple_;
        const std::size_t begin = units * static_cast<std::size_t>(index) / threads_ * multiple_;
        const std::size_t end = std::min(count_, units * static_cast<std::size_t>(index + 1) / threads_ * multiple_);
        if (begin < end) (*body_)(begin, end);
    }
    void serve(int index) {
        unsigned long seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
            if (stopping_) return;
            seen = generation_;
            lock.unlock();
            part(index);
            lock.lock();
            if (--pending_ == 0) done_.notify_one();
        }
    }

    int owner_;
    int threads_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t, std::size_t)>* body_ = nullptr;
    std::size_t count_ = 0, multiple_ = 1;
    int pending_ = 0;
    unsigned long generation_ = 0;
    bool stopping_ = false;
};

std::atomic<int> wanted_threads{0};  // 0: not decided yet
std::atomic<bool> busy{false};
std::atomic<int> busy_owner{0};
Pool* pool = nullptr;  // never deleted at exit: joining threads during interpreter shutdown can hang

// Takes the pool if nobody else of this process has it. A flag inherited as taken from a forked parent is ignored.
bool acquire() {
    bool expected = false;
    if (busy.compare_exchange_strong(expected, true)) {
        busy_owner = current_process();
        return true;
    }
    int owner = busy_owner;
    return owner != current_process() && busy_owner.compare_exchange_strong(owner, current_process());
}

}  // namespace

int thread_count() {
    int count = wanted_threads;
    if (count < 1) {
        count = default_count();
        wanted_threads = count;
    }
    return count;
}

void set_thread_count(int count) { wanted_threads = count >= 1 ? std::min(count, 256) : default_count(); }

void parallel_for(std::size_t count, double work, std::size_t multiple,
                  const std::function<void(std::size_t, std::size_t)>& body) {
    const int threads = thread_count();
    if (threads == 1 || work < kSerialWork || count <= multiple || !acquire()) {
        body(0, count);
        return;
    }
    if (pool == nullptr || !pool->usable(threads)) {
        // In a forked child the parent's threads do not exist: its pool cannot be joined and is left behind.
        if (pool != nullptr && pool->alive_here()) delete pool;
        pool = new Pool(threads);
    }
    pool->run(count, multiple, body);
    busy = false;
}

}  // namespace sparseigen
