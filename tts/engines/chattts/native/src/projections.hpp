// Products by matrices of their own, for any number of rows, and ConvNeXt blocks: what the vocoder is
// made of.
#pragma once

#include <vector>

#include "arena.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"
#include "weights.hpp"

namespace gpt {

// A ConvNeXt block (arXiv:2201.03545) over time, with its norm's gain and its layer scale folded into
// its two matrices, which have been added: from c channels to more, and back.
struct BlockSource {
  FloatArray taps;  // width, c; width is odd
  FloatArray bias;  // c
  int dilation;
  float epsilon;
  int wide;
  int narrow;
};

class Projections {
 public:
  Projections(Precision precision, InstructionSet set, int threads);

  // Packs a matrix (outputs, inputs) with its bias (outputs); returns its index.
  int add(FloatArray weights, FloatArray bias, int inputs);

  // outputs (rows, outputs) = bias + inputs (rows, inputs) times the matrix. A row's sums are the
  // same bit for bit whatever rows are with it. Calls must not overlap.
  void multiply(int index, FloatArray inputs, float* outputs, size_t count);

  // Returns the block's index.
  int add_block(const BlockSource& source);

  // frames (t + 2 * margin, c), where margin = dilation * (width / 2), to outputs (wanted, c) with
  // wanted <= t: frame i + margin and what the block adds to it. Otherwise as `multiply`.
  void run_block(int index, FloatArray frames, float* outputs, size_t count);

  size_t bytes() const;

 private:
  struct Entry {
    Matrix matrix;
    float* bias;  // of each padded column
    int outputs;
    int inputs;
    Arena arena;
  };

  struct Block {
    const float* taps;
    const float* bias;
    int width;
    int channels;
    int dilation;
    float epsilon;
    size_t wide;
    size_t narrow;
    Arena arena;

    size_t margin() const { return static_cast<size_t>(dilation) * static_cast<size_t>(width / 2); }
  };

  void allocate(Arena& arena, Entry& entry) const;
  const Entry& entry_of(int index) const;
  void reserve(int depth);
  void reserve_hidden(const Entry& wide);
  void prepare(const Entry& entry, const float* values, int row, int thread);
  void multiply(const Entry& entry, float* const* outputs, int rows, int columns,
                Epilogue epilogue);
  void part(const Entry& entry, const float* inputs, float* outputs, int rows);
  void block_part(const Block& block, const float* frames, float* outputs, int rows);

  const WeightKernels* kernels_;
  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  Arena hidden_arena_;
  float* hidden_ = nullptr;  // a block's rows between its matrices
  size_t hidden_stride_ = 0;
  Arena arena_;  // of rows
  Activations rows_{};
  float* scratch_ = nullptr;  // `depth_` floats for each thread
  int depth_ = 0;
  ThreadPool pool_;
};

}  // namespace gpt
