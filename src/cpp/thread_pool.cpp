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
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "interrupts.hpp"
#include "process.hpp"

#if defined(_WIN32)
#include <intrin.h>
#else
#include <pthread.h>
#include <signal.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace sparseigen {
namespace {

constexpr double kSerialWork = 200000.0;  // below this many operations waking a second thread does not pay
constexpr std::size_t kPiecesPerThread = 8;
constexpr std::chrono::microseconds kSpin{40};
constexpr std::chrono::milliseconds kWaiting{20};  // how long a caller waits for others between its check points

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

// Signals are the business of Python's threads: a worker that took one would leave a sleeping main thread asleep.
// Faults stay with the thread that makes them.
class SignalsBlocked {
#if defined(_WIN32)
public:
    SignalsBlocked() {}
#else
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
#endif
};

// Into how many pieces a job is cut: enough to spread them well, and none so long that Ctrl-C would wait for it.
std::size_t piece_count(std::size_t units, double work, std::size_t at_least) {
    const std::size_t short_enough = work < kCheckedWork * 1e9 ? static_cast<std::size_t>(work / kCheckedWork) : units;
    return std::min(units, std::max(at_least, short_enough));
}

// A job is cut into more pieces than there are threads. Every thread works through its own pieces first, which is the
// same in every job of that size and so may still be in its core's cache, then through what the others have not begun:
// a worker that another library's thread keeps off its core (BLAS threads spin after every call) delays nobody. A
// worker that wakes when all pieces are taken does not join, so the caller waits for running pieces only.
class Pool {
public:
    explicit Pool(int threads) : owner_(current_process()), threads_(threads), next_(threads) {
        const SignalsBlocked inherited_by_workers;
        try {
            for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
        } catch (...) {  // no more threads to be had: the vector's threads must be joined before it goes
            stop();
            throw;
        }
    }
    ~Pool() { stop(); }
    bool usable(int threads) const { return owner_ == current_process() && threads_ == threads; }
    bool alive_here() const { return owner_ == current_process(); }

    void run(std::size_t count, double work, std::size_t multiple, const std::function<void(std::size_t, std::size_t)>& body) {
        bool sleepers;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            count_ = count;
            multiple_ = multiple;
            units_ = (count + multiple - 1) / multiple;
            pieces_ = piece_count(units_, work, static_cast<std::size_t>(threads_) * kPiecesPerThread);
            for (int i = 0; i < threads_; ++i) next_[i].piece = share(i);
            failed_ = false;
            open_ = true;
            sleepers = sleeping_ > 0;
            ++generation_;
        }
        if (sleepers) wake_.notify_all();
        noting_failure([this] { take_pieces(0); });
        std::unique_lock<std::mutex> lock(mutex_);
        open_ = false;
        if (active_ > 0) {
            lock.unlock();
            spin_until([this] { return active_ == 0; });
            lock.lock();
            while (!done_.wait_for(lock, kWaiting, [this] { return active_ == 0; })) {
                lock.unlock();
                noting_failure([] { check_point(); });
                lock.lock();
            }
        }
        body_ = nullptr;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

private:
    void stop() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopping_ = true;
            ++generation_;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    std::size_t share(int thread) const { return pieces_ * static_cast<std::size_t>(thread) / threads_; }
    void take_pieces(int thread) {
        for (int turn = 0; turn < threads_; ++turn) {
            const int whose = (thread + turn) % threads_;
            const std::size_t last = share(whose + 1);
            while (!failed_) {
                const std::size_t piece = next_[whose].piece++;
                if (piece >= last) break;
                const std::size_t begin = units_ * piece / pieces_ * multiple_;
                const std::size_t end = std::min(count_, units_ * (piece + 1) / pieces_ * multiple_);
                if (begin < end) (*body_)(begin, end);
                if (thread == 0) check_point();
            }
        }
    }
    // What fails in one thread stops all of them, and is thrown in the caller's thread when they have stopped.
    template <class Work>
    void noting_failure(const Work& work) {
        try {
            work();
        } catch (...) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (!failure_) failure_ = std::current_exception();
            failed_ = true;
        }
    }
    void serve(int thread) {
        const ObeyFlag obey(failed_);
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
            noting_failure([this, thread] { take_pieces(thread); });
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
std::atomic<int> holder{0};          // the process one of whose threads has the pool; 0: nobody
Pool* pool = nullptr;                // never deleted at exit: joining threads during interpreter shutdown can hang

// Takes the pool if no other thread of this process has it. One number says both whether it is taken and where, so
// that a pool inherited as taken from a forked parent is taken over by one thread only.
bool acquire() {
    const int here = current_process();
    int found = holder;
    return found != here && holder.compare_exchange_strong(found, here);
}

// The pool with this many threads, or null where the system gives no more threads. In a forked child the parent's threads do not exist: its pool cannot be joined and
// is left behind. A fork never sees a pool that is being deleted.
Pool* ready_pool(int threads) {
    if (pool == nullptr || !pool->usable(threads)) {
        Pool* const old = std::exchange(pool, nullptr);
        if (old != nullptr && old->alive_here()) delete old;
        try {
            pool = new Pool(threads);
        } catch (const std::system_error&) {
        }
    }
    return pool;
}

void run_serially(std::size_t count, double work, std::size_t multiple,
                  const std::function<void(std::size_t, std::size_t)>& body) {
    const std::size_t units = (count + multiple - 1) / multiple;
    const std::size_t pieces = piece_count(units, work, 1);
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        const std::size_t begin = units * piece / pieces * multiple;
        const std::size_t end = std::min(count, units * (piece + 1) / pieces * multiple);
        if (begin < end) body(begin, end);
        if (pieces > 1) check_point();
    }
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
    if (work < kSerialWork || count <= multiple) {
        body(0, count);
        return;
    }
    if (threads == 1 || !acquire()) {
        run_serially(count, work, multiple, body);
        return;
    }
    struct Release {
        ~Release() { holder = 0; }
    } release;
    if (Pool* const ready = ready_pool(threads))
        ready->run(count, work, multiple, body);
    else
        run_serially(count, work, multiple, body);
}

}  // namespace sparseigen
