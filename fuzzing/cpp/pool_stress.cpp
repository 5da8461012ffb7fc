// The thread pool under load, for the thread sanitizer: many callers at once, changing thread counts, failures.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "no_interpreter.hpp"
#include "thread_pool.hpp"

using sparseigen::parallel_for;

static std::atomic<long> wrong{0}, jobs{0};

static void one_job(std::size_t count, bool failing) {
    std::vector<int> touched(count, 0);
    try {
        parallel_for(count, 1e9, 8, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) ++touched[i];
            if (failing && begin > count / 2) throw std::runtime_error("on purpose");
        });
        if (failing) return;
        for (int times : touched) wrong += times != 1;
    } catch (const std::runtime_error&) {
        wrong += !failing;
    }
    ++jobs;
}

int main() {
    for (int round = 0; round < 12; ++round) {
        sparseigen::set_thread_count(2 + round % 4);
        std::vector<std::thread> callers;  // the first of them start the pool at the same time
        for (int c = 0; c < 6; ++c)
            callers.emplace_back([c] {
                for (int i = 0; i < 150; ++i) one_job(64 + 37 * static_cast<std::size_t>((i + c) % 50), i % 29 == 0);
            });
        for (auto& caller : callers) caller.join();
    }
    std::printf("pool: %ld jobs, %ld entries wrong\n", jobs.load(), wrong.load());
    return wrong.load() == 0 ? 0 : 1;
}
