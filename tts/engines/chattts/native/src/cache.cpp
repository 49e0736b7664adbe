#include "cache.hpp"

namespace gpt {

Cache::Cache(const Shape& shape, const CacheKernels& kernels, int slots, int positions)
    : kernels_(kernels),
      layers_(shape.layers),
      heads_(shape.heads),
      head_size_(static_cast<size_t>(shape.head_size())),
      slots_(slots),
      positions_(positions),
      padded_positions_(round_up(static_cast<size_t>(positions), kPositionStep)) {
  Arena measure;
  allocate(measure);
  arena_ = Arena(measure.used());
  allocate(arena_);
}

void Cache::allocate(Arena& arena) {
  const size_t tokens = static_cast<size_t>(layers_) * static_cast<size_t>(slots_) *
                        static_cast<size_t>(heads_) * padded_positions_;
  keys_ = arena.take<unsigned char>(tokens * head_size_ * kernels_.element_bytes);
  values_ = arena.take<unsigned char>(tokens * head_size_ * kernels_.element_bytes);
  if (kernels_.precision == Precision::int8) {
    key_scales_ = arena.take<float>(tokens);
    value_scales_ = arena.take<float>(tokens);
  }
}

HeadCache Cache::head(int layer, int slot, int head) const {
  const size_t index = (static_cast<size_t>(layer) * static_cast<size_t>(slots_) +
                        static_cast<size_t>(slot)) *
                           static_cast<size_t>(heads_) +
                       static_cast<size_t>(head);
  const size_t token = index * padded_positions_;
  const size_t byte = token * head_size_ * kernels_.element_bytes;
  HeadCache found{keys_ + byte, values_ + byte, nullptr, nullptr};
  if (key_scales_ != nullptr) {
    found.key_scales = key_scales_ + token;
    found.value_scales = value_scales_ + token;
  }
  return found;
}

}  // namespace gpt
