// Ctrl-C inside long kernels.
//
// A kernel runs without the interpreter's lock, so Python cannot look at signals meanwhile. Kernels therefore pass
// check points between pieces of about a millisecond. There the thread that Python called looks, every 50 ms, whether
// a signal has arrived: if its handler raises, the kernel unwinds with that exception. Worker threads only look at a
// flag. What a kernel was writing is left unfinished; a kernel that changes its input in place says what it leaves.
#pragma once
#include <atomic>
#include <cstddef>

namespace sparseigen {

constexpr double kCheckedWork = 1 << 20;  // elementary operations between two check points

// Thrown in a worker thread at a check point after the job has failed elsewhere.
struct JobStopped {};

// Throws when the kernel is to stop; the caller's thread throws the Python exception itself.
void check_point();

// For loops whose rounds are short: a check point whenever enough work has been added up.
class CheckedLoop {
public:
    void add(std::size_t work) {
        done_ += work;
        if (done_ >= static_cast<std::size_t>(kCheckedWork)) {
            done_ = 0;
            check_point();
        }
    }

private:
    std::size_t done_ = 0;
};

// body(from, to) over [begin, end) in blocks of rows that are about as long as the work between two check points.
template <class Body>
void in_checked_blocks(std::size_t begin, std::size_t end, std::size_t row_work, std::size_t multiple,
                       const Body& body) {
    std::size_t rows = static_cast<std::size_t>(kCheckedWork) / (row_work + 1) / multiple * multiple;
    if (rows < multiple) rows = multiple;
    for (; begin + rows < end; begin += rows) {
        body(begin, begin + rows);
        check_point();
    }
    body(begin, end);
}

// While one lives in a worker thread, check points there stop when the flag is set.
class ObeyFlag {
public:
    explicit ObeyFlag(const std::atomic<bool>& flag);
    ~ObeyFlag();
    ObeyFlag(const ObeyFlag&) = delete;
    ObeyFlag& operator=(const ObeyFlag&) = delete;
};

// Releases the interpreter's lock for a kernel, and lets its check points look at signals.
//
// A thread whose interpreter ends meanwhile can never take the lock again. Python up to 3.13 ends such a thread by
// unwinding it, which C++ frames turn into an abort of the process: here it sleeps instead until the process is gone.
class KernelScope {
public:
    KernelScope();
    ~KernelScope();
    KernelScope(const KernelScope&) = delete;
    KernelScope& operator=(const KernelScope&) = delete;

private:
    void* outer_;  // of a kernel that a signal handler interrupted
};

}  // namespace sparseigen
