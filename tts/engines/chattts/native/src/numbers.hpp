// How a row and a panel of weights are multiplied in each precision.
//
// Each kind has `Sum`, the accumulator of `lanes` columns, and `step`, which adds one block of
// kDepthStep inputs to the sums of `Rows` rows in ascending order of inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

// Makes the compiler finish with one row before it starts the next: left alone it loads all rows'
// inputs first, and has no registers left for the sums.
template <class Sum>
inline void keep_order(Sum& left, Sum& right) {
  asm volatile("" : "+v"(left), "+v"(right));
}

template <class S>
struct Fp32 {
  static constexpr Precision precision = Precision::fp32;
  static constexpr int group = 1;
  static constexpr int byte_bias = 0;
  using Weight = float;
  using Activation = float;
  using Sum = typename S::Floats;

  static Sum start(int32_t) { return S::zero(); }
  static typename S::Floats finish(Sum sum, const float*, size_t, float) {
    return sum;
  }

  static void activate(const float* values, int width, Activation* out, float*, int32_t*) {
    for (int i = 0; i < width; i += S::lanes) S::store(out + i, S::load(values + i));
  }

  template <int Rows>
  static void step(Sum (&sums)[Rows][2], const Weight* weights, const Activation* inputs,
                   size_t stride) {
    for (int k = 0; k < kDepthStep; ++k, weights += 2 * S::lanes) {
      const auto left = S::load(weights), right = S::load(weights + S::lanes);
#pragma GCC unroll 12
      for (int row = 0; row < Rows; ++row) {
        const auto input = S::all(inputs[static_cast<size_t>(row) * stride + k]);
        sums[row][0] = S::multiply_add(left, input, sums[row][0]);
        sums[row][1] = S::multiply_add(right, input, sums[row][1]);
        keep_order(sums[row][0], sums[row][1]);
      }
    }
  }
};

// bfloat16 weights with float32 activations, for processors that cannot multiply bfloat16.
template <class S>
struct WidenedBf16 {
  static constexpr Precision precision = Precision::bf16;
  static constexpr int group = 2;
  static constexpr int byte_bias = 0;
  using Weight = uint16_t;
  using Activation = float;
  using Sum = typename S::Floats;

  static Sum start(int32_t) { return S::zero(); }
  static typename S::Floats finish(Sum sum, const float*, size_t, float) {
    return sum;
  }

  static void activate(const float* values, int width, Activation* out, float*, int32_t*) {
    for (int i = 0; i < width; i += S::lanes) S::store(out + i, S::load(values + i));
  }

  template <int Rows>
  static void step(Sum (&sums)[Rows][2], const Weight* weights, const Activation* inputs,
                   size_t stride) {
    for (int k = 0; k < kDepthStep; k += 2, weights += 4 * S::lanes) {
      const Weight* next = weights + 2 * S::lanes;
      add<Rows>(sums, S::first_halves(weights), S::first_halves(next), inputs + k, stride);
      // The second halves are read again: kept from here on, they would take the sums' registers.
      asm volatile("" ::: "memory");
      add<Rows>(sums, S::second_halves(weights), S::second_halves(next), inputs + k + 1, stride);
    }
  }

 private:
  template <int Rows>
  static void add(Sum (&sums)[Rows][2], typename S::Floats left, typename S::Floats right,
                  const Activation* inputs, size_t stride) {
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      const auto input = S::all(inputs[static_cast<size_t>(row) * stride]);
      sums[row][0] = S::multiply_add(left, input, sums[row][0]);
      sums[row][1] = S::multiply_add(right, input, sums[row][1]);
      keep_order(sums[row][0], sums[row][1]);
    }
  }
};

// Bytes on both sides, exact sums in 32 bits, a scale for each row and each column.
template <class S>
struct Int8 {
  static constexpr Precision precision = Precision::int8;
  static constexpr int group = S::byte_group;
  static constexpr int byte_bias = S::byte_bias;
  using Weight = uint8_t;
  using Activation = typename S::ByteActivation;
  using Sum = typename S::Ints;

  static Sum start(int32_t offset) { return S::all_ints(offset); }
  static typename S::Floats finish(Sum sum, const float* column_scales, size_t column,
                                   float row_scale) {
    const auto scaled = S::multiply(S::to_floats(sum), S::load(column_scales + column));
    return S::multiply(scaled, S::all(row_scale));
  }

  static void activate(const float* values, int width, Activation* out, float* scale,
                       int32_t* offset) {
    *scale = quantise<S>(values, width, out, offset);
  }

  template <int Rows>
  static void step(Sum (&sums)[Rows][2], const Weight* weights, const Activation* inputs,
                   size_t stride) {
    for (int k = 0; k < kDepthStep; k += group, weights += 2 * group * S::lanes) {
      const auto left = S::load_byte_weights(weights);
      const auto right = S::load_byte_weights(weights + group * S::lanes);
#pragma GCC unroll 12
      for (int row = 0; row < Rows; ++row) {
        const auto input = S::all_byte_inputs(inputs + static_cast<size_t>(row) * stride + k);
        sums[row][0] = S::dot_bytes(sums[row][0], left, input);
        sums[row][1] = S::dot_bytes(sums[row][1], right, input);
        keep_order(sums[row][0], sums[row][1]);
      }
    }
  }
};

}  // namespace
}  // namespace gpt
