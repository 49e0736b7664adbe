// Rows times a panel of weights, and rows made ready for it.
#pragma once

#include <math.h>
#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "numbers.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

// How far ahead of their use weights are fetched, in bytes: they come from memory, once a step.
constexpr size_t kFetchAhead = 4096;
constexpr size_t kCacheLine = 64;

template <class S, class Kind>
struct Products {
  using Weight = typename Kind::Weight;
  using Activation = typename Kind::Activation;
  static constexpr int panel_columns = 2 * S::lanes;

  static constexpr WeightKernels kernels() {
    return {{Kind::precision, S::lanes, Kind::group, Kind::byte_bias}, &prepare, &multiply};
  }

  static void prepare(const RowSource& source, const Activations& activations, int row) {
    auto* out = reinterpret_cast<Activation*>(activations.data +
                                              static_cast<size_t>(row) * activations.stride);
    float* scale = activations.scales + row;
    int32_t* offset = activations.offsets + row;
    if (source.norm == nullptr) {
      Kind::activate(source.values, source.width, out, scale, offset);
      return;
    }
    normalise(source);
    Kind::activate(source.scratch, source.width, out, scale, offset);
  }

  static void multiply(const Product& product, int panel) {
    // Tiles of nearly the same height, so that none is left with one row.
    const int tiles = (product.rows + S::product_rows - 1) / S::product_rows;
    int row = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int rows = (product.rows - row + tiles - tile - 1) / (tiles - tile);
      multiply_tile<S::product_rows>(product, panel, row, rows);
      row += rows;
    }
  }

 private:
  // Finds the code for `rows` rows, which is at most `Rows`.
  template <int Rows>
  static void multiply_tile(const Product& product, int panel, int first, int rows) {
    if constexpr (Rows > 1) {
      if (rows < Rows) return multiply_tile<Rows - 1>(product, panel, first, rows);
    }
    multiply_rows<Rows>(product, panel, first);
  }

  static void normalise(const RowSource& source) {
    auto squares = S::zero();
    for (int i = 0; i < source.width; i += S::lanes) {
      const auto value = S::load(source.values + i);
      squares = S::multiply_add(value, value, squares);
    }
    const float mean = S::sum(squares) / static_cast<float>(source.width);
    const auto factor = S::all(1.0f / sqrtf(mean + source.epsilon));
    for (int i = 0; i < source.width; i += S::lanes) {
      const auto value = S::multiply(S::load(source.values + i), factor);
      S::store(source.scratch + i, S::multiply(value, S::load(source.norm + i)));
    }
  }

  template <int Rows>
  __attribute__((noinline)) static void multiply_rows(const Product& product, int panel,
                                                      int first) {
    const Matrix& matrix = *product.matrix;
    const Activations& activations = *product.inputs;
    const size_t stride = activations.stride / sizeof(Activation);
    const auto* inputs = reinterpret_cast<const Activation*>(activations.data) +
                         static_cast<size_t>(first) * stride;
    const auto* weights = reinterpret_cast<const Weight*>(
        static_cast<const char*>(matrix.data) + static_cast<size_t>(panel) * matrix.panel_bytes);

    typename Kind::Sum sums[Rows][2];
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      sums[row][0] = sums[row][1] = Kind::start(activations.offsets[first + row]);
    }
    constexpr size_t block = static_cast<size_t>(kDepthStep) * panel_columns;
    for (int k = 0; k < matrix.depth; k += kDepthStep, weights += block) {
      const char* ahead = reinterpret_cast<const char*>(weights) + kFetchAhead;
      for (size_t i = 0; i < block * sizeof(Weight); i += kCacheLine) {
        _mm_prefetch(ahead + i, _MM_HINT_T0);
      }
      Kind::template step<Rows>(sums, weights, inputs + k, stride);
    }
    const size_t column = static_cast<size_t>(panel) * panel_columns;
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      const float row_scale = activations.scales[first + row];
      conclude(product, panel, first + row,
               Kind::finish(sums[row][0], matrix.scales, column, row_scale),
               Kind::finish(sums[row][1], matrix.scales, column + S::lanes, row_scale));
    }
  }

  static void conclude(const Product& product, int panel, int row, typename S::Floats left,
                       typename S::Floats right) {
    float* out = product.outputs[row];
    if (product.epilogue == Epilogue::swiglu) {
      const auto one = S::all(1.0f);
      const auto decay = exponential<S>(S::subtract(S::zero(), left));
      const auto gate = S::divide(left, S::add(one, decay));
      S::store(out + static_cast<size_t>(panel) * S::lanes, S::multiply(gate, right));
      return;
    }
    const int first = panel * panel_columns;
    if (first + panel_columns <= product.columns) {
      out += first;
      if (product.epilogue == Epilogue::add) {
        left = S::add(S::load(out), left);
        right = S::add(S::load(out + S::lanes), right);
      }
      S::store(out, left);
      S::store(out + S::lanes, right);
      return;
    }
    float last[panel_columns];
    S::store(last, left);
    S::store(last + S::lanes, right);
    for (int i = 0; first + i < product.columns; ++i) {
      const float before = product.epilogue == Epilogue::add ? out[first + i] : 0.0f;
      out[first + i] = before + last[i];
    }
  }
};

}  // namespace
}  // namespace gpt
