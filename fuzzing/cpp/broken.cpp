// Deliberately broken, to see that the sanitizers of this machine see it. Never part of the extension.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

int main(int count, char** words) {
    const char* kind = count > 1 ? words[1] : "";
    volatile int three = 3;
    if (std::strcmp(kind, "overflow") == 0) {  // a read behind the end of an array
        std::vector<int> numbers(three);
        const int* data = numbers.data();
        std::printf("%d\n", data[three]);
    } else if (std::strcmp(kind, "freed") == 0) {  // a read of memory that was given back
        int* numbers = static_cast<int*>(std::malloc(40));
        std::free(numbers);
        std::printf("%d\n", numbers[three]);
    } else if (std::strcmp(kind, "undefined") == 0) {  // an integer that runs over
        int largest = std::numeric_limits<int>::max();
        std::printf("%d\n", largest + three);
    } else if (std::strcmp(kind, "race") == 0) {  // two threads, one number
        int shared = 0;
        std::thread other([&] { for (int i = 0; i < 100000; ++i) ++shared; });
        for (int i = 0; i < 100000; ++i) ++shared;
        other.join();
        std::printf("%d\n", shared);
    }
    return 0;
}
