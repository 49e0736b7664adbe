// Products by matrices of their own, for any number of rows: what the vocoder is made of.
#pragma once

#include <vector>

#include "arena.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"
#include "weights.hpp"

namespace gpt {

class Projections {
 public:
  Projections(Precision precision, InstructionSet set, int threads);

  // Packs a matrix (outputs, inputs) with its bias (outputs); returns its index.
  int add(FloatArray weights, FloatArray bias, int inputs);

  // outputs (rows, outputs) = bias + inputs (rows, inputs) times the matrix. A row's sums are the
  // same bit for bit whatever rows are with it. Calls must not overlap.
  void multiply(int index, FloatArray inputs, float* outputs, size_t count);

  size_t bytes() const;

 private:
  struct Entry {
    Matrix matrix;
    float* bias;  // of each padded column
    int outputs;
    int inputs;
    Arena arena;
  };

  void allocate(Arena& arena, Entry& entry) const;
  void reserve(int depth);
  void part(const Entry& entry, const float* inputs, float* outputs, int rows);

  const WeightKernels* kernels_;
  std::vector<Entry> entries_;
  Arena arena_;  // of rows
  Activations rows_{};
  float* scratch_ = nullptr;  // `depth_` floats for each thread
  int depth_ = 0;
  ThreadPool pool_;
};

}  // namespace gpt
