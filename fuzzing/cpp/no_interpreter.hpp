// Check points without an interpreter, for programs that run the core alone: a worker looks at the flag of its job, as
// in the extension.
#pragma once
#include <atomic>

#include "interrupts.hpp"

namespace sparseigen {
namespace {
thread_local const std::atomic<bool>* flag = nullptr;
}
void check_point() {
    if (flag != nullptr && flag->load(std::memory_order_relaxed)) throw JobStopped();
}
ObeyFlag::ObeyFlag(const std::atomic<bool>& job_failed) { flag = &job_failed; }
ObeyFlag::~ObeyFlag() { flag = nullptr; }
}  // namespace sparseigen
