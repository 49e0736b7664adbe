#include "arena.hpp"

#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "shape.hpp"

namespace gpt {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kAlignment = 64;
// Kernels prefetch beyond the array that they read, which never faults, but may read whole vectors
// of padding at the very end.
constexpr size_t kSlack = 4096;

}  // namespace

Arena::Arena(size_t bytes) {
  const size_t wanted = bytes + kSlack;
  if (wanted < bytes) throw std::bad_alloc();
  const size_t alignment = wanted >= kHugePage ? kHugePage : kAlignment;
  capacity_ = round_up(wanted, alignment);
  if (capacity_ < wanted) throw std::bad_alloc();
  memory_.reset(std::aligned_alloc(alignment, capacity_));
  if (!memory_) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Only a wish: without huge pages everything works, with more misses of the address cache.
  if (alignment == kHugePage) madvise(memory_.get(), capacity_, MADV_HUGEPAGE);
#endif
  // Touching every page here keeps page faults out of the decode steps.
  std::memset(memory_.get(), 0, capacity_);
}

void* Arena::take_bytes(size_t bytes) {
  const size_t start = used_;
  const size_t size = round_up(bytes, kAlignment);
  if (size < bytes || start + size < start) throw std::bad_alloc();
  used_ = start + size;
  if (!memory_) return nullptr;
  if (used_ > capacity_) throw std::bad_alloc();
  return static_cast<char*>(memory_.get()) + start;
}

}  // namespace gpt
