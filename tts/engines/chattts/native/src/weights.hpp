// The model's weights, packed for one instruction set and precision; read-only once complete.
#pragma once

#include <memory>
#include <vector>

#include "arena.hpp"
#include "kernels.hpp"
#include "packing.hpp"
#include "shape.hpp"

namespace gpt {

// Row-major float32, of a length that is checked against the shape.
struct FloatArray {
  const float* data;
  size_t count;
};

struct LayerSource {
  FloatArray input_norm;   // hidden
  FloatArray qkv;          // 3 hidden, hidden
  FloatArray attention;    // hidden, hidden
  FloatArray output_norm;  // hidden
  FloatArray gate_up;      // 2 intermediate, hidden
  FloatArray down;         // hidden, intermediate
};

struct Layer {
  float* input_norm;
  float* output_norm;
  Matrix qkv;
  Matrix attention;
  Matrix gate_up;
  Matrix down;
};

// Which of a model's weights are in one allocation.
struct Extent {
  int first;    // layer
  int layers;   // how many from there on
  bool output;  // the last norm and the heads
};

// Made layer by layer, so that the source need not be in memory at once; and in parts, so that
// models which differ in some layers share the others.
class Weights {
 public:
  Weights(const Shape& shape, Precision precision, InstructionSet set, Extent extent);

  // All of `parts`, which are of one shape, precision and set, and overlap nowhere.
  explicit Weights(const std::vector<std::shared_ptr<const Weights>>& parts);

  void pack_layer(int index, const LayerSource& source);
  void pack_output(FloatArray norm, FloatArray heads);  // hidden; outputs, hidden

  const Shape& shape() const { return shape_; }
  const WeightKernels& kernels() const { return *kernels_; }
  const WeightKernels& head_kernels() const { return *head_kernels_; }
  InstructionSet instruction_set() const { return set_; }
  const Layer& layer(int index) const { return layers_[static_cast<size_t>(index)]; }
  const float* norm() const { return norm_; }
  const Matrix& heads() const { return heads_; }
  size_t bytes() const;
  bool complete() const;

 private:
  void allocate(Arena& arena);
  void take(const Weights& part);
  void pack_matrix(const char* name, FloatArray source, int outputs, int inputs, Columns columns,
                   const PanelLayout& layout, Matrix& matrix);
  void copy(const char* name, FloatArray source, float* to);

  Shape shape_;
  InstructionSet set_;
  Extent extent_;
  const WeightKernels* kernels_;
  const WeightKernels* head_kernels_;  // float32 in every precision
  Arena arena_;
  std::vector<std::shared_ptr<const Weights>> parts_;
  std::vector<Layer> layers_;
  float* norm_ = nullptr;
  Matrix heads_{};
  std::vector<bool> packed_;  // each layer, then the output
};

}  // namespace gpt
