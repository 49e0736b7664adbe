// Rows of one slot against the keys and values of one head.
#pragma once

#include <math.h>
#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "cached.hpp"
#include "kernels.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

// Into the second cache, from where they are read soon enough.
inline void fetch(const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += kLineBytes) _mm_prefetch(from + i, _MM_HINT_T1);
}

template <class S, class Kind>
struct Attention {
  using Key = typename Kind::Key;
  using Value = typename Kind::Value;
  using Query = typename Kind::Query;
  using Floats = typename S::Floats;

  // Softmax of the scaled products, then the sum of the values that it weighs.
  static void attend(const AttentionTile& tile, const HeadCache& cache) {
    switch (tile.rows) {
      case 1:
        return attend_rows<1>(tile, cache);
      case 2:
        return attend_rows<2>(tile, cache);
      case 3:
        return attend_rows<3>(tile, cache);
      default:
        return attend_rows<kTileRows>(tile, cache);
    }
  }

 private:
  template <int Rows>
  static void attend_rows(const AttentionTile& tile, const HeadCache& cache) {
    Query queries[Rows];
    for (int row = 0; row < Rows; ++row) {
      Kind::ask(tile.queries[row], tile.head_size, queries[row]);
    }
    // The last row sees the most tokens. Keys behind a row's own count give scores that are not
    // looked at.
    const int blocks = (tile.counts[Rows - 1] + S::lanes - 1) / S::lanes;
    constexpr int together = S::chains / Rows;
    int block = 0;
    for (; block + together <= blocks; block += together) {
      score<Rows, together>(tile, cache, queries, block);
    }
    for (; block < blocks; ++block) score<Rows, 1>(tile, cache, queries, block);

    float totals[Rows];
    for (int row = 0; row < Rows; ++row) {
      float* scores = tile.scores + static_cast<size_t>(row) * tile.score_stride;
      totals[row] = soften(scores, tile.counts[row], cache);
    }
    gather<Rows>(tile, cache);
    for (int row = 0; row < Rows; ++row) {
      const auto factor = S::all(1.0f / totals[row]);
      for (int i = 0; i < tile.head_size; i += S::lanes) {
        S::store(tile.outputs[row] + i, S::multiply(S::load(tile.outputs[row] + i), factor));
      }
    }
  }

  // Scores of `Blocks` blocks of tokens from `block` on.
  template <int Rows, int Blocks>
  __attribute__((noinline)) static void score(const AttentionTile& tile, const HeadCache& cache,
                                              const Query* queries, int block) {
    const size_t block_keys = static_cast<size_t>(tile.head_size) * S::lanes;
    const Key* keys = static_cast<const Key*>(cache.keys) + static_cast<size_t>(block) * block_keys;
    typename Kind::Sum sums[Rows][Blocks];
    for (int row = 0; row < Rows; ++row) {
#pragma GCC unroll 8
      for (int i = 0; i < Blocks; ++i) sums[row][i] = Kind::start(queries[row]);
    }
    constexpr int group = Kind::key_group;
    constexpr size_t step_bytes = static_cast<size_t>(Blocks) * group * S::lanes * sizeof(Key);
    // The same tokens' values are as many bytes, and come next.
    const char* values = static_cast<const char*>(cache.values) +
                         static_cast<size_t>(block) * block_keys * sizeof(Key);
    for (int d = 0; d < tile.head_size; d += group, keys += group * S::lanes) {
      fetch(values, step_bytes);
      values += step_bytes;
#pragma GCC unroll 8
      for (int i = 0; i < Blocks; ++i) {
#pragma GCC unroll 4
        for (int row = 0; row < Rows; ++row) {
          const Key* at = keys + static_cast<size_t>(i) * block_keys;
          sums[row][i] = Kind::add(sums[row][i], at, queries[row], d);
          // In this order: all keys loaded first would take the sums' registers.
          asm volatile("" : "+v"(sums[row][i]));
        }
      }
    }
    const auto factor = S::all(1.0f / sqrtf(static_cast<float>(tile.head_size)));
    for (int row = 0; row < Rows; ++row) {
      float* scores = tile.scores + static_cast<size_t>(row) * tile.score_stride;
#pragma GCC unroll 8
      for (int i = 0; i < Blocks; ++i) {
        const size_t token = static_cast<size_t>(block + i) * S::lanes;
        const auto sum = Kind::finish(sums[row][i], queries[row], cache.key_scales, token);
        S::store(scores + token, S::multiply(sum, factor));
      }
    }
  }

  // Makes `count` scores weights, not yet divided by their sum, which is returned; of int8 values
  // the weights include the values' scales. The maximum may pass over a score that is not a number:
  // its own weight, and with that the sum, are none either.
  static float soften(float* scores, int count, const HeadCache& cache) {
    const int padded = static_cast<int>(round_up(static_cast<size_t>(count), S::lanes));
    for (int i = count; i < padded; ++i) scores[i] = -INFINITY;
    auto most = S::load(scores);
    for (int i = S::lanes; i < padded; i += S::lanes) {
      most = S::maximum(most, S::load(scores + i));
    }
    const auto largest = S::all(S::largest(most));
    for (int i = 0; i < padded; i += S::lanes) {
      S::store(scores + i, exponential<S>(S::subtract(S::load(scores + i), largest)));
    }
    for (int i = count; i < padded; ++i) scores[i] = 0.0f;
    auto total = S::zero();
    for (int i = 0; i < padded; i += S::lanes) {
      const auto weight = S::load(scores + i);
      total = S::add(total, weight);
      if constexpr (Kind::scaled) {
        S::store(scores + i, S::multiply(weight, S::load(cache.value_scales + i)));
      }
    }
    return S::sum(total);
  }

  // Sums of weighed values into the outputs, each in ascending order of tokens.
  template <int Rows>
  static void gather(const AttentionTile& tile, const HeadCache& cache) {
    const int vectors = tile.head_size / S::lanes;
    constexpr int most = S::chains / Rows >= 4 ? S::chains / Rows : 2;
    int first = 0;
    if constexpr (most >= 8) {
      for (; first + 8 <= vectors; first += 8) weigh<Rows, 8>(tile, cache, first);
    }
    if constexpr (most >= 4) {
      for (; first + 4 <= vectors; first += 4) weigh<Rows, 4>(tile, cache, first);
    }
    for (; first + 2 <= vectors; first += 2) weigh<Rows, 2>(tile, cache, first);
    for (; first < vectors; ++first) weigh<Rows, 1>(tile, cache, first);
  }

  template <int Rows, int Vectors>
  __attribute__((noinline)) static void weigh(const AttentionTile& tile, const HeadCache& cache,
                                              int first) {
    const Value* values =
        static_cast<const Value*>(cache.values) + static_cast<size_t>(first) * S::lanes;
    Floats sums[Rows][Vectors];
#pragma GCC unroll 4
    for (int row = 0; row < Rows; ++row) {
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) sums[row][i] = S::zero();
    }
    // All rows see the tokens that the first one sees; the few after those are each row's own.
    const size_t head_size = static_cast<size_t>(tile.head_size);
    const char* keys = static_cast<const char*>(tile.next_keys) +
                       static_cast<size_t>(first) * S::lanes * sizeof(Value);
    for (int token = 0; token < tile.counts[0]; ++token) {
      const Value* at = values + static_cast<size_t>(token) * head_size;
      fetch(keys + static_cast<size_t>(token) * head_size * sizeof(Value),
            Vectors * S::lanes * sizeof(Value));
      add_values<Rows, Vectors>(sums, tile.scores + token, tile.score_stride, at);
    }
#pragma GCC unroll 4
    for (int row = 0; row < Rows; ++row) {
      const float* scores = tile.scores + static_cast<size_t>(row) * tile.score_stride;
      Floats own[1][Vectors];
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) own[0][i] = sums[row][i];
      for (int token = tile.counts[0]; token < tile.counts[row]; ++token) {
        add_values<1, Vectors>(own, scores + token, 0,
                               values + static_cast<size_t>(token) * head_size);
      }
      float* out = tile.outputs[row] + static_cast<size_t>(first) * S::lanes;
#pragma GCC unroll 8
      for (int i = 0; i < Vectors; ++i) S::store(out + i * S::lanes, own[0][i]);
    }
  }

  template <int Rows, int Vectors>
  static void add_values(Floats (&sums)[Rows][Vectors], const float* weights, size_t stride,
                         const Value* values) {
    Floats own[Rows];
#pragma GCC unroll 4
    for (int row = 0; row < Rows; ++row) {
      own[row] = S::all(weights[static_cast<size_t>(row) * stride]);
    }
    // One value at a time: with all of them loaded there would be no registers for the sums.
#pragma GCC unroll 8
    for (int i = 0; i < Vectors; ++i) {
      const auto value = Kind::load_value(values + i * S::lanes);
#pragma GCC unroll 4
      for (int row = 0; row < Rows; ++row) {
        sums[row][i] = S::multiply_add(value, own[row], sums[row][i]);
      }
    }
  }
};

}  // namespace
}  // namespace gpt
