// Keys and values of all layers, for a fixed number of slots.
#pragma once

#include "arena.hpp"
#include "kernels.hpp"
#include "shape.hpp"

namespace gpt {

class Cache {
 public:
  Cache(const Shape& shape, const CacheKernels& kernels, int slots, int positions);

  HeadCache head(int layer, int slot, int head) const;

  int slots() const { return slots_; }
  int positions() const { return positions_; }
  const CacheKernels& kernels() const { return kernels_; }
  size_t bytes() const { return arena_.capacity(); }

 private:
  void allocate(Arena& arena);

  const CacheKernels& kernels_;
  int layers_;
  int heads_;
  size_t head_size_;
  int slots_;
  int positions_;
  size_t padded_positions_;
  Arena arena_;
  unsigned char* keys_ = nullptr;
  unsigned char* values_ = nullptr;
  float* key_scales_ = nullptr;
  float* value_scales_ = nullptr;
};

}  // namespace gpt
