// One allocation that many arrays share, on huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace gpt {

// Hands out 64-byte aligned, zeroed arrays. Made without memory it only measures: running the same
// `take` calls on such an arena says how many bytes the real one needs.
class Arena {
 public:
  Arena() = default;
  explicit Arena(size_t bytes);  // throws std::bad_alloc

  template <class T>
  T* take(size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }

  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  void* take_bytes(size_t bytes);

  std::unique_ptr<void, Free> memory_;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace gpt
