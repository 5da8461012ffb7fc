// Memory that is written before it is read: a vector would set it to zero first.
#pragma once
#include <cstddef>
#include <memory>

namespace sparseigen {

template <class Value>
class Buffer {
public:
    explicit Buffer(std::size_t count) : values_(new Value[count]) {}
    Value* data() const { return values_.get(); }
    Value& operator[](std::size_t i) const { return values_[i]; }

private:
    std::unique_ptr<Value[]> values_;
};

}  // namespace sparseigen
