#include "weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace gpt {

namespace {

void require_count(const char* name, FloatArray source, size_t wanted) {
  require(source.data != nullptr && source.count == wanted,
          std::string(name) + " has " + std::to_string(source.count) + " values, the shape needs " +
              std::to_string(wanted));
}

const WeightKernels* require_kernels(Precision precision, InstructionSet set) {
  const WeightKernels* kernels = find_weight_kernels(precision, set);
  require(kernels != nullptr, "this processor lacks the instructions that were asked for");
  return kernels;
}

Extent require_extent(const Shape& shape, Extent extent) {
  require_range("first layer", extent.first, 0, shape.layers);
  require_range("layers", extent.layers, 0, shape.layers - extent.first);
  require(extent.layers > 0 || extent.output, "a part has layers or the output");
  return extent;
}

const Weights& require_first(const std::vector<std::shared_ptr<const Weights>>& parts) {
  require(!parts.empty(), "there are no parts");
  return *parts.front();
}

}  // namespace

Weights::Weights(const Shape& shape, Precision precision, InstructionSet set, Extent extent)
    : shape_(shape),
      set_(set),
      extent_(require_extent(shape, extent)),
      kernels_(require_kernels(precision, set)),
      head_kernels_(require_kernels(Precision::fp32, set)),
      layers_(static_cast<size_t>(shape.layers)),
      packed_(static_cast<size_t>(shape.layers) + 1, false) {
  Arena measure;
  allocate(measure);
  arena_ = Arena(measure.used());
  allocate(arena_);
}

Weights::Weights(const std::vector<std::shared_ptr<const Weights>>& parts)
    : shape_(require_first(parts).shape_),
      set_(parts.front()->set_),
      extent_{0, 0, false},
      kernels_(parts.front()->kernels_),
      head_kernels_(parts.front()->head_kernels_),
      parts_(parts),
      layers_(static_cast<size_t>(shape_.layers)),
      packed_(static_cast<size_t>(shape_.layers) + 1, false) {
  for (const auto& part : parts) take(*part);
}

void Weights::take(const Weights& part) {
  require(part.shape_ == shape_ && part.kernels_ == kernels_,
          "the parts are of several shapes, precisions or sets of instructions");
  for (size_t i = 0; i < packed_.size(); ++i) {
    if (!part.packed_[i]) continue;
    require(!packed_[i], "two parts have the same layer or both the output");
    packed_[i] = true;
    if (i < layers_.size()) {
      layers_[i] = part.layers_[i];
    } else {
      norm_ = part.norm_;
      heads_ = part.heads_;
    }
  }
}

size_t Weights::bytes() const {
  size_t total = arena_.capacity();
  for (const auto& part : parts_) total += part->bytes();
  return total;
}

void Weights::allocate(Arena& arena) {
  const PanelLayout& layout = kernels_->layout;
  const int hidden = shape_.hidden;
  const int intermediate = shape_.intermediate;
  for (int i = 0; i < extent_.layers; ++i) {
    Layer& layer = layers_[static_cast<size_t>(extent_.first + i)];
    layer.input_norm = arena.take<float>(static_cast<size_t>(hidden));
    layer.output_norm = arena.take<float>(static_cast<size_t>(hidden));
    layer.qkv = allocate_matrix(arena, layout, 3 * hidden, hidden, Columns::plain);
    layer.attention = allocate_matrix(arena, layout, hidden, hidden, Columns::plain);
    layer.gate_up = allocate_matrix(arena, layout, 2 * intermediate, hidden, Columns::fused_gate);
    layer.down = allocate_matrix(arena, layout, hidden, intermediate, Columns::plain);
  }
  if (!extent_.output) return;
  norm_ = arena.take<float>(static_cast<size_t>(hidden));
  heads_ = allocate_matrix(arena, head_kernels_->layout, shape_.outputs, hidden, Columns::plain);
}

void Weights::pack_layer(int index, const LayerSource& source) {
  require_range("layer", index, extent_.first, extent_.first + extent_.layers - 1);
  Layer& layer = layers_[static_cast<size_t>(index)];
  const PanelLayout& layout = kernels_->layout;
  const int hidden = shape_.hidden;
  const int intermediate = shape_.intermediate;
  copy("input_norm", source.input_norm, layer.input_norm);
  copy("output_norm", source.output_norm, layer.output_norm);
  pack_matrix("qkv", source.qkv, 3 * hidden, hidden, Columns::plain, layout, layer.qkv);
  pack_matrix("attention", source.attention, hidden, hidden, Columns::plain, layout,
              layer.attention);
  pack_matrix("gate_up", source.gate_up, 2 * intermediate, hidden, Columns::fused_gate, layout,
              layer.gate_up);
  pack_matrix("down", source.down, hidden, intermediate, Columns::plain, layout, layer.down);
  packed_[static_cast<size_t>(index)] = true;
}

void Weights::pack_output(FloatArray norm, FloatArray heads) {
  require(extent_.output, "this part has no output");
  copy("norm", norm, norm_);
  pack_matrix("heads", heads, shape_.outputs, shape_.hidden, Columns::plain, head_kernels_->layout,
              heads_);
  packed_.back() = true;
}

bool Weights::complete() const {
  return std::all_of(packed_.begin(), packed_.end(), [](bool done) { return done; });
}

void Weights::pack_matrix(const char* name, FloatArray source, int outputs, int inputs,
                          Columns columns, const PanelLayout& layout, Matrix& matrix) {
  require_count(name, source, static_cast<size_t>(outputs) * static_cast<size_t>(inputs));
  require(pack(layout, source.data, outputs, inputs, columns, matrix),
          std::string(name) + " has a value that is not finite");
}

void Weights::copy(const char* name, FloatArray source, float* to) {
  require_count(name, source, static_cast<size_t>(shape_.hidden));
  for (size_t i = 0; i < source.count; ++i) {
    require(std::isfinite(source.data[i]), std::string(name) + " has a value that is not finite");
  }
  std::memcpy(to, source.data, source.count * sizeof(float));
}

}  // namespace gpt
