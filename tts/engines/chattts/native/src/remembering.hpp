// A new token's query is rotated, its key and value go into the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attention.hpp"
#include "cached.hpp"
#include "kernels.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

// Rotary position embedding over the halves of a head (arXiv:2104.09864, in LLaMA's order).
inline void rotate(const float* from, const NewToken& token, float* to) {
  const int half = token.head_size / 2;
  for (int i = 0; i < half; ++i) {
    const float first = from[i], second = from[i + half];
    to[i] = first * token.cosines[i] - second * token.sines[i];
    to[i + half] = second * token.cosines[i] + first * token.sines[i];
  }
}

// Where dimension 0 of a token's key is; the groups after it are `lanes` groups apart.
template <class S, class Kind>
inline typename Kind::Key* key_start(const HeadCache& cache, const NewToken& token) {
  const size_t block = static_cast<size_t>(token.position / S::lanes);
  const size_t within = static_cast<size_t>(token.position % S::lanes);
  return static_cast<typename Kind::Key*>(cache.keys) +
         block * S::lanes * static_cast<size_t>(token.head_size) + within * Kind::key_group;
}

template <class S, class Kind>
struct Remembering {
  static constexpr CacheKernels kernels() {
    return {Kind::precision, sizeof(typename Kind::Key), &remember, &Attention<S, Kind>::attend};
  }

  static void remember(const NewToken& token, const HeadCache& cache) {
    float rotated[kMostHeadSize];
    const size_t head_size = static_cast<size_t>(token.head_size);
    rotate(token.query, token, rotated);
    std::memcpy(token.query, rotated, head_size * sizeof(float));
    rotate(token.key, token, rotated);
    auto* keys = key_start<S, Kind>(cache, token);
    auto* values = static_cast<typename Kind::Value*>(cache.values) +
                   static_cast<size_t>(token.position) * head_size;
    if constexpr (Kind::scaled) {
      remember_bytes(token, cache, rotated, keys, values);
    } else {
      constexpr size_t group = Kind::key_group;
      for (size_t i = 0; i < head_size; ++i) {
        keys[i / group * group * S::lanes + i % group] = Kind::key(rotated[i]);
        values[i] = Kind::value(token.value[i]);
      }
    }
  }

 private:
  static void remember_bytes(const NewToken& token, const HeadCache& cache, const float* rotated,
                             uint8_t* keys, int8_t* values) {
    alignas(64) int8_t bytes[kMostHeadSize];
    cache.key_scales[token.position] = to_bytes(rotated, token.head_size, bytes);
    cache.value_scales[token.position] = to_bytes(token.value, token.head_size, values);
    constexpr int group = S::byte_group;
    for (int i = 0; i < token.head_size; i += group) {
      uint8_t biased[group];
      for (int k = 0; k < group; ++k) {
        biased[k] = static_cast<uint8_t>(static_cast<uint8_t>(bytes[i + k]) + S::byte_bias);
      }
      std::memcpy(keys + static_cast<size_t>(i) * S::lanes, biased, group);
    }
  }

  static float to_bytes(const float* from, int count, int8_t* to) {
    const float magnitude = largest_magnitude<S>(from, count);
    const auto factor = S::all(kByteLimit / magnitude);
    for (int i = 0; i < count; i += S::lanes) {
      S::store_bytes(to + i, S::to_ints(S::multiply(S::load(from + i), factor)));
    }
    return magnitude / kByteLimit;
  }
};

}  // namespace
}  // namespace gpt
