// Which process this is: state that threads share is made anew in a forked child.
#pragma once
#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

namespace sparseigen {

inline int current_process() {
#if defined(_WIN32)
    return _getpid();
#else
    return static_cast<int>(getpid());
#endif
}

}  // namespace sparseigen
