#include "interrupts.hpp"

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <utility>

#include "process.hpp"

namespace sparseigen {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLooks{50};

// What the check points of this thread look at: a worker at the flag of its job, a thread that Python called at the
// clock (`released` is then the Python thread whose lock was given up).
thread_local const std::atomic<bool>* flag = nullptr;
thread_local PyThreadState* released = nullptr;
thread_local Clock::time_point next_look;

void take_lock(PyThreadState* state) {
#if defined(__GLIBC__)
    try {
        PyEval_RestoreThread(state);
    } catch (...) {  // the unwinding that ends a thread of a finished interpreter
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
#else
    PyEval_RestoreThread(state);
#endif
}

// Holds the interpreter's lock in the middle of a kernel. What runs then may call kernels of its own.
class LockAgain {
public:
    LockAgain() { take_lock(std::exchange(released, nullptr)); }
    ~LockAgain() { released = PyEval_SaveThread(); }
};

// Python runs signal handlers in its main thread only. In a forked child that is the thread that forked, so the answer
// is kept with the process it is about.
struct Role {
    int process = -1;
    bool main = false;
};

void look_at_signals() {
    thread_local Role role;
    const bool known = role.process == current_process();
    if (known && !role.main) return;  // the lock would be asked for in vain
    const LockAgain lock;
    if (!known) {
        const nanobind::module_ threading = nanobind::module_::import_("threading");
        role.main = threading.attr("main_thread")().attr("ident").equal(threading.attr("get_ident")());
        role.process = current_process();
    }
    if (role.main && PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace

void check_point() {
    if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw JobStopped();
    if (released == nullptr) return;
    const Clock::time_point now = Clock::now();
    if (now < next_look) return;
    next_look = now + kBetweenLooks;
    look_at_signals();
}

ObeyFlag::ObeyFlag(const std::atomic<bool>& job_failed) { flag = &job_failed; }
ObeyFlag::~ObeyFlag() { flag = nullptr; }

KernelScope::KernelScope() : outer_(released) {
    released = PyEval_SaveThread();
    next_look = Clock::now() + kBetweenLooks;
}
KernelScope::~KernelScope() {
    PyThreadState* state = static_cast<PyThreadState*>(std::exchange(released, static_cast<PyThreadState*>(outer_)));
    take_lock(state);
}

}  // namespace sparseigen
