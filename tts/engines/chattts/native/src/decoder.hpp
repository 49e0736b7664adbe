// The decoder with its cache and threads: one step of any rows.
#pragma once

#include <memory>
#include <vector>

#include "arena.hpp"
#include "batch.hpp"
#include "cache.hpp"
#include "kernels.hpp"
#include "thread_pool.hpp"
#include "weights.hpp"

namespace gpt {

struct Call {
  const float* inputs;  // rows, hidden
  const int32_t* slots;
  const int32_t* positions;
  int rows;
  int heads;  // logits are wanted of this many first rows
  float* hidden;
  float* logits;  // heads, outputs
};

class Decoder {
 public:
  Decoder(std::shared_ptr<const Weights> weights, Precision cache_precision, int slots,
          int positions, int threads);

  // Calls must not overlap. Nothing is computed when it throws InvalidArgument.
  void forward(const Call& call);

  const Cache& cache() const { return cache_; }
  int threads() const { return pool_.threads(); }
  const Shape& shape() const { return weights_->shape(); }

 private:
  struct Rows {  // a table of floats, and where each of its rows starts
    float* values;
    size_t stride;
    std::vector<float*> starts;
  };

  void allocate(Arena& arena);
  Rows take_rows(Arena& arena, int width);
  Activations take_activations(Arena& arena, int width);

  void validate(const Call& call) const;
  void compute(const Call& call, const Row* rows, int count);
  void load(const Call& call);
  void layer(const Layer& layer, int index, int thread);
  void attention(int index, int thread);
  void output(const Call& call, int thread);

  void activate(const Rows& source, const float* norm, int width, Activations& to,
                const WeightKernels& kernels, int thread);
  void multiply(const Matrix& matrix, const Activations& inputs, float* const* outputs, int rows,
                int columns, Epilogue epilogue, const WeightKernels& kernels);
  HeadCache head_cache(int index, int task) const;
  void remember(int row, int head, const HeadCache& cache);
  void attend(int index, int task, int next, int thread);

  std::shared_ptr<const Weights> weights_;
  Cache cache_;
  ThreadPool pool_;
  Arena arena_;

  // Of the rows that are being computed.
  const Row* rows_ = nullptr;
  int count_ = 0;
  std::vector<Run> runs_;

  Rows residual_{};
  Rows qkv_{};
  Rows attended_{};
  Rows gated_{};
  Activations narrow_{};  // of hidden width
  Activations wide_{};    // of intermediate width
  Activations final_{};   // normalised, those with logits first
  std::vector<int> final_row_;
  std::vector<float*> logits_;

  float* scratch_ = nullptr;  // a row for each thread
  size_t scratch_stride_ = 0;
  float* scores_ = nullptr;  // a tile for each thread
  size_t score_stride_ = 0;
  float* cosines_ = nullptr;  // positions, half a head
  float* sines_ = nullptr;
};

}  // namespace gpt
