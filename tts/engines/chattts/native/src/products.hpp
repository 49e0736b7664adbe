// Rows times a panel of weights, and rows made ready for it.
#pragma once

#include <math.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "mixing.hpp"
#include "numbers.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

// Weights come from memory, once a step, in pieces of this size: one that several tiles of rows
// use stays in the first cache meanwhile, beside the rows.
constexpr size_t kPieceBytes = 8192;

// What to fetch while a piece is multiplied: `lines` cache lines from `from` on at each step of the
// depth. Each tile of rows fetches its share of the next piece, so that memory is never idle; into
// the second cache, since the first has too few misses under way to keep memory busy.
struct Fetch {
  const char* from;
  size_t lines;
};

template <class S, class Kind>
struct Products {
  using Weight = typename Kind::Weight;
  using Activation = typename Kind::Activation;
  static constexpr int panel_columns = 2 * S::lanes;

  static constexpr WeightKernels kernels() {
    return {{Kind::precision, S::lanes, Kind::group, Kind::byte_bias},
            &prepare,
            &multiply,
            &mix<S>};
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

  static void multiply(const Product& product, int panel, int next) {
    const Matrix& matrix = *product.matrix;
    // Tiles of nearly the same height, so that none is left with one row.
    const int tiles = (product.rows + S::product_rows - 1) / S::product_rows;
    const int depth = std::min(matrix.depth, piece_depth);
    Sum sums[kMostRows][2];
    for (int row = 0; row < product.rows; ++row) {
      sums[row][0] = sums[row][1] = Kind::start(product.inputs->offsets[row]);
    }
    for (int k = 0; k < matrix.depth; k += depth) {
      const Piece piece{panel, k, std::min(depth, matrix.depth - k)};
      const bool last = k + depth >= matrix.depth;
      const Piece after = last ? Piece{next, 0, depth} : Piece{panel, k + depth, depth};
      for (int tile = 0, row = 0; tile < tiles; ++tile) {
        const int rows = (product.rows - row + tiles - tile - 1) / (tiles - tile);
        add_tile<S::product_rows>(sums + row, product, piece, row, rows,
                                  fetch_share(matrix, after, tile, tiles));
        row += rows;
      }
    }
    conclude(product, panel, sums);
  }

 private:
  using Sum = typename Kind::Sum;
  static constexpr size_t block = static_cast<size_t>(kDepthStep) * panel_columns;
  static constexpr size_t block_lines = block * sizeof(Weight) / kLineBytes;
  static constexpr int piece_depth = kPieceBytes / (block * sizeof(Weight)) * kDepthStep;

  // Inputs `start` to `start + depth` of a panel.
  struct Piece {
    int panel;
    int start;
    int depth;
  };

  static const Weight* weights_of(const Matrix& matrix, const Piece& piece) {
    const auto* panel = static_cast<const char*>(matrix.data) +
                        static_cast<size_t>(piece.panel) * matrix.panel_bytes;
    return reinterpret_cast<const Weight*>(panel) +
           static_cast<size_t>(piece.start) * panel_columns;
  }

  static Fetch fetch_share(const Matrix& matrix, const Piece& piece, int tile, int tiles) {
    if (piece.panel < 0) return {nullptr, 0};
    const size_t shares = static_cast<size_t>(tiles);
    const size_t lines = (block_lines + shares - 1) / shares;
    const size_t share = static_cast<size_t>(piece.depth / kDepthStep) * lines * kLineBytes;
    const auto* weights = reinterpret_cast<const char*>(weights_of(matrix, piece));
    return {weights + static_cast<size_t>(tile) * share, lines};
  }

  // Finds the code for `rows` rows, which is at most `Rows`.
  template <int Rows>
  static void add_tile(Sum (*sums)[2], const Product& product, const Piece& piece, int first,
                       int rows, Fetch fetch) {
    if constexpr (Rows > 1) {
      if (rows < Rows) return add_tile<Rows - 1>(sums, product, piece, first, rows, fetch);
    }
    add_rows<Rows>(sums, product, piece, first, fetch);
  }

  template <int Rows>
  __attribute__((noinline)) static void add_rows(Sum (*kept)[2], const Product& product,
                                                 const Piece& piece, int first, Fetch fetch) {
    const Activations& activations = *product.inputs;
    const size_t stride = activations.stride / sizeof(Activation);
    const auto* inputs = reinterpret_cast<const Activation*>(activations.data) +
                         static_cast<size_t>(first) * stride + piece.start;
    const Weight* weights = weights_of(*product.matrix, piece);
    Sum sums[Rows][2];
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      sums[row][0] = kept[row][0];
      sums[row][1] = kept[row][1];
    }
    for (int k = 0; k < piece.depth; k += kDepthStep, weights += block) {
      for (size_t line = 0; line < fetch.lines; ++line, fetch.from += kLineBytes) {
        _mm_prefetch(fetch.from, _MM_HINT_T1);
      }
      Kind::template step<Rows>(sums, weights, inputs + k, stride);
    }
#pragma GCC unroll 12
    for (int row = 0; row < Rows; ++row) {
      kept[row][0] = sums[row][0];
      kept[row][1] = sums[row][1];
    }
  }

  static void conclude(const Product& product, int panel, const Sum (*sums)[2]) {
    const float* scales = product.matrix->scales;
    const size_t column = static_cast<size_t>(panel) * panel_columns;
    for (int row = 0; row < product.rows; ++row) {
      const float row_scale = product.inputs->scales[row];
      put(product, panel, row, Kind::finish(sums[row][0], scales, column, row_scale),
          Kind::finish(sums[row][1], scales, column + S::lanes, row_scale));
    }
  }

  static void normalise(const RowSource& source) {
    auto squares = S::zero();
    for (int i = 0; i < source.width; i += S::lanes) {
      const auto value = S::load(source.values + i);
      squares = S::multiply_add(value, value, squares);
    }
    const float mean = S::sum(squares) / static_cast<float>(source.width);
    // Nothing is added to a mean that is a number; the infinite one of squares that overflowed would
    // make zeros of the whole row, as if it were a quiet one.
    const auto factor = S::all(1.0f / sqrtf(mean + source.epsilon) + (mean - mean));
    for (int i = 0; i < source.width; i += S::lanes) {
      const auto value = S::multiply(S::load(source.values + i), factor);
      S::store(source.scratch + i, S::multiply(value, S::load(source.norm + i)));
    }
  }

  static void put(const Product& product, int panel, int row, typename S::Floats left,
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
    if (product.bias != nullptr) {
      left = S::add(S::load(product.bias + first), left);
      right = S::add(S::load(product.bias + first + S::lanes), right);
    }
    if (product.epilogue == Epilogue::gelu) {
      left = gelu<S>(left);
      right = gelu<S>(right);
    }
    const bool adds = product.epilogue == Epilogue::add;
    out += first;
    if (first + panel_columns <= product.columns) {
      S::store(out, adds ? S::add(S::load(out), left) : left);
      S::store(out + S::lanes, adds ? S::add(S::load(out + S::lanes), right) : right);
      return;
    }
    float last[panel_columns];
    S::store(last, left);
    S::store(last + S::lanes, right);
    for (int i = 0; first + i < product.columns; ++i) out[i] = adds ? out[i] + last[i] : last[i];
  }
};

}  // namespace
}  // namespace gpt
