#include "thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <intrin.h>
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

constexpr double kSerialWork = 200000.0;  // below this many operations waking a second thread does not pay
constexpr std::size_t kPiecesPerThread = 8;
constexpr std::chrono::microseconds kSpin{40};

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

inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(_M_X64)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// Looks at a condition for about as long as waking a sleeping thread takes; true as soon as it holds.
template <class Condition>
bool spin_until(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    do {
        for (int i = 0; i < 64; ++i) {
            if (condition()) return true;
            pause_briefly();
        }
    } while (std::chrono::steady_clock::now() < deadline);
    return false;
}

// A job is cut into more pieces than there are threads. Every thread works through its own share first, which is the
// same in every job of that size and so may still be in its core's cache, then through what the others have not begun:
// a worker that another library's thread keeps off its core (BLAS threads spin after every call) delays nobody. A
// worker that wakes when all pieces are taken does not join, so the caller waits for running pieces only.
class Pool {
public:
    explicit Pool(int threads) : owner_(current_process()), threads_(threads), next_(threads) {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopping_ = true;
            ++generation_;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    bool usable(int threads) const { return owner_ == current_process() && threads_ == threads; }
    bool alive_here() const { return owner_ == current_process(); }

    void run(std::size_t count, std::size_t multiple, const std::function<void(std::size_t, std::size_t)>& body) {
        bool sleepers;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            count_ = count;
            multiple_ = multiple;
            units_ = (count + multiple - 1) / multiple;
            pieces_ = std::min<std::size_t>(units_, static_cast<std::size_t>(threads_) * kPiecesPerThread);
            for (int i = 0; i < threads_; ++i) next_[i].piece = share(i);
            failed_ = false;
            open_ = true;
            sleepers = sleeping_ > 0;
            ++generation_;
        }
        if (sleepers) wake_.notify_all();
        take_pieces(0);
        std::unique_lock<std::mutex> lock(mutex_);
        open_ = false;
        if (active_ > 0) {
            lock.unlock();
            spin_until([this] { return active_ == 0; });
            lock.lock();
            done_.wait(lock, [this] { return active_ == 0; });
        }
        body_ = nullptr;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    std::size_t share(int thread) const { return pieces_ * static_cast<std::size_t>(thread) / threads_; }
    void take_pieces(int thread) {
        try {
            for (int turn = 0; turn < threads_; ++turn) {
                const int whose = (thread + turn) % threads_;
                const std::size_t last = share(whose + 1);
                while (!failed_) {
                    const std::size_t piece = next_[whose].piece++;
                    if (piece >= last) break;
                    const std::size_t begin = units_ * piece / pieces_ * multiple_;
                    const std::size_t end = std::min(count_, units_ * (piece + 1) / pieces_ * multiple_);
                    if (begin < end) (*body_)(begin, end);
                }
            }
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            failed_ = true;
        }
    }
    void serve(int thread) {
        unsigned long seen = 0;
        while (true) {
            spin_until([&] { return generation_ != seen; });
            std::unique_lock<std::mutex> lock(mutex_);
            ++sleeping_;
            wake_.wait(lock, [&] { return generation_ != seen; });
            --sleeping_;
            seen = generation_;
            if (stopping_) return;
            if (!open_) continue;
            ++active_;
            lock.unlock();
            take_pieces(thread);
            lock.lock();
            if (--active_ == 0) done_.notify_one();
        }
    }

    int owner_;
    int threads_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t, std::size_t)>* body_ = nullptr;
    std::size_t count_ = 0, multiple_ = 1, units_ = 0, pieces_ = 0;
    struct alignas(64) Next {
        std::atomic<std::size_t> piece{0};
    };
    std::vector<Next> next_;
    std::atomic<bool> failed_{false};
    std::atomic<int> active_{0};
    std::atomic<unsigned long> generation_{0};
    std::exception_ptr failure_;
    int sleeping_ = 0;
    bool open_ = false;
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
    struct Release {
        ~Release() { busy = false; }
    } release;
    pool->run(count, multiple, body);
}

}  // namespace sparseigen
