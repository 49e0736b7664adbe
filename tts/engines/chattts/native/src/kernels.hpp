// What the instruction sets must provide: the arithmetic of rows, products and attention.
//
// Everything is bit for bit the same for a row whatever rows are computed with it: each value is
// summed by one thread, in one order that depends on the row alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shape.hpp"

namespace gpt {

constexpr size_t kLineBytes = 64;  // of the processor's caches
// How many keys may be read, and must be allocated, at once.
constexpr int kPositionStep = 16;
// Rows of one slot that share a reading of its keys and values.
constexpr int kTileRows = 4;
// More rows are computed in parts of this many: what fits into the second level cache.
constexpr int kMostRows = 64;

// A matrix is kept in panels of 2 * lanes output columns. A panel holds, for every `group` inputs,
// the `group` weights of each of its columns side by side, as the instructions multiply them.
// Bytes are stored plus `byte_bias`, where an instruction wants them unsigned.
struct PanelLayout {
  Precision precision;
  int lanes;
  int group;
  int byte_bias;

  int columns() const { return 2 * lanes; }
  size_t element_bytes() const {
    return precision == Precision::fp32 ? 4 : precision == Precision::bf16 ? 2 : 1;
  }
};

struct Matrix {
  void* data;
  float* scales;  // of each padded column, int8 only
  int depth;      // inputs, padded
  int panels;
  size_t panel_bytes;
};

// From one row of a table to the next: an odd number of cache lines. Rows an even number apart, as
// the usual widths are, share few sets of the first cache.
inline size_t row_bytes(int width) {
  const size_t lines = round_up(static_cast<size_t>(width) * sizeof(float), kLineBytes) / kLineBytes;
  return (lines | 1) * kLineBytes;
}

// Rows in the form that products take; of int8 also each row's scale, and what its bias adds.
struct Activations {
  unsigned char* data;
  size_t stride;  // bytes
  float* scales;
  int32_t* offsets;
};

// A row to be made an activation: normalised with `norm` (RMSNorm) unless that is null.
struct RowSource {
  const float* values;
  const float* norm;
  float epsilon;
  int width;       // a multiple of kDepthStep
  float* scratch;  // `width` floats of the calling thread
};

enum class Epilogue { store, add, gelu, swiglu };

// outputs[row][column] = or += inputs[row] · matrix[column] + bias[column]. For swiglu a panel is
// `lanes` gate columns, then their `lanes` up columns, and gives `lanes` values.
struct Product {
  const Matrix* matrix;
  const Activations* inputs;
  float* const* outputs;  // one pointer a row
  int rows;
  int columns;  // of the output, without padding
  Epilogue epilogue;
  const float* bias = nullptr;  // of each padded column; swiglu has none
};

// A frame to be convolved over time, channel by channel, and normalised (a layer norm without gain
// and shift): tap k is that of the frame at `frames` + k * stride.
struct FrameSource {
  const float* frames;
  size_t stride;  // floats
  int width;      // taps
  int channels;
  const float* taps;  // width, channels
  const float* bias;  // channels
  float epsilon;
};

struct WeightKernels {
  PanelLayout layout;
  void (*prepare)(const RowSource& source, const Activations& activations, int row);
  // `next` is the panel that the same thread multiplies after this one, or -1.
  void (*multiply)(const Product& product, int panel, int next);
  void (*mix)(const FrameSource& source, float* out);
};

// Keys of one head of one slot: blocks of `lanes` tokens; in a block, for every `key_group`
// dimensions, those of each token side by side. Values: token by token.
struct HeadCache {
  void* keys;
  void* values;
  float* key_scales;  // of each token, int8 only
  float* value_scales;
};

// Query, key and value of one head of one row, which has this position's sines.
struct NewToken {
  float* query;  // is rotated in place
  const float* key;
  const float* value;
  const float* cosines;  // head_size / 2
  const float* sines;
  int position;
  int head_size;
};

// Rows of one slot in ascending order of position.
struct AttentionTile {
  int rows;
  int head_size;
  const float* queries[kTileRows];
  float* outputs[kTileRows];
  int counts[kTileRows];  // tokens that the row sees
  float* scores;          // kTileRows * score_stride, a thread's own
  size_t score_stride;    // at least the counts rounded up to kPositionStep
  const void* next_keys;  // that the same thread reads after this: fetched meanwhile
};

struct CacheKernels {
  Precision precision;
  size_t element_bytes;
  void (*remember)(const NewToken& token, const HeadCache& cache);
  void (*attend)(const AttentionTile& tile, const HeadCache& cache);
};

// Which instructions compute; `best` takes the widest that the processor has.
enum class InstructionSet : int32_t { best = 0, avx2 = 1, avx512 = 2 };

// Null when the processor has no suitable instructions.
const WeightKernels* find_weight_kernels(Precision precision, InstructionSet set);
const CacheKernels* find_cache_kernels(Precision precision, InstructionSet set);

}  // namespace gpt
