#include "projections.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "packing.hpp"

namespace gpt {

namespace {

constexpr size_t kMostWidth = 1 << 17;

}  // namespace

Projections::Projections(Precision precision, InstructionSet set, int threads)
    : kernels_(find_weight_kernels(precision, set)), pool_(threads) {
  require(kernels_ != nullptr, "this processor lacks the instructions that were asked for");
}

int Projections::add(FloatArray weights, FloatArray bias, int inputs) {
  require(bias.count <= kMostWidth, "too many outputs");
  const int outputs = static_cast<int>(bias.count);
  require_range("outputs", outputs, 1, kMostWidth);
  require_range("inputs", inputs, 1, kMostWidth);
  require(weights.data != nullptr && bias.data != nullptr &&
              weights.count == bias.count * static_cast<size_t>(inputs),
          "weights has " + std::to_string(weights.count) + " values, expected outputs * inputs");
  Entry entry{{}, nullptr, outputs, inputs, {}};
  Arena measure;
  allocate(measure, entry);
  entry.arena = Arena(measure.used());
  allocate(entry.arena, entry);
  require(pack(kernels_->layout, weights.data, outputs, inputs, Columns::plain, entry.matrix),
          "weights has a value that is not finite");
  std::copy(bias.data, bias.data + bias.count, entry.bias);
  reserve(entry.matrix.depth);
  entries_.push_back(std::move(entry));
  return static_cast<int>(entries_.size()) - 1;
}

void Projections::allocate(Arena& arena, Entry& entry) const {
  const PanelLayout& layout = kernels_->layout;
  entry.matrix = allocate_matrix(arena, layout, entry.outputs, entry.inputs, Columns::plain);
  const int padded = entry.matrix.panels * layout.columns();
  entry.bias = arena.take<float>(static_cast<size_t>(padded));
}

void Projections::reserve(int depth) {
  if (depth <= depth_) return;
  const size_t width = static_cast<size_t>(depth);
  const auto take = [&](Arena& arena) {
    // No kind of activation is wider than a float.
    rows_ = {arena.take<unsigned char>(kMostRows * row_bytes(depth)), row_bytes(depth),
             arena.take<float>(kMostRows), arena.take<int32_t>(kMostRows)};
    scratch_ = arena.take<float>(static_cast<size_t>(pool_.threads()) * width);
  };
  Arena measure;
  take(measure);
  Arena arena(measure.used());
  take(arena);
  arena_ = std::move(arena);
  depth_ = depth;
}

void Projections::multiply(int index, FloatArray inputs, float* outputs, size_t count) {
  require_range("projection", index, 0, static_cast<int64_t>(entries_.size()) - 1);
  const Entry& entry = entries_[static_cast<size_t>(index)];
  const size_t in = static_cast<size_t>(entry.inputs), out = static_cast<size_t>(entry.outputs);
  const size_t rows = inputs.count / in;
  require(inputs.count == rows * in && count == rows * out, "inputs and outputs do not match");
  require(rows == 0 || (inputs.data != nullptr && outputs != nullptr), "an array is missing");
  for (size_t first = 0; first < rows; first += kMostRows) {
    const size_t some = std::min(rows - first, static_cast<size_t>(kMostRows));
    part(entry, inputs.data + first * in, outputs + first * out, static_cast<int>(some));
  }
}

void Projections::part(const Entry& entry, const float* inputs, float* outputs, int rows) {
  float* starts[kMostRows];
  for (int row = 0; row < rows; ++row) {
    starts[row] = outputs + static_cast<size_t>(row) * static_cast<size_t>(entry.outputs);
  }
  const int depth = entry.matrix.depth;
  const size_t width = static_cast<size_t>(entry.inputs);
  const Product product{&entry.matrix, &rows_, starts, rows, entry.outputs, Epilogue::store,
                        entry.bias};
  pool_.run([&](int thread) {
    float* scratch = scratch_ + static_cast<size_t>(thread) * static_cast<size_t>(depth_);
    pool_.share(rows, [&](int row) {
      const float* values = inputs + static_cast<size_t>(row) * width;
      if (entry.inputs != depth) {
        std::memcpy(scratch, values, width * sizeof(float));
        std::fill(scratch + width, scratch + depth, 0.0f);
        values = scratch;
      }
      kernels_->prepare({values, nullptr, 0.0f, depth, nullptr}, rows_, row);
    });
    pool_.share_ahead(entry.matrix.panels,
                      [&](int panel, int next) { kernels_->multiply(product, panel, next); });
  });
}

size_t Projections::bytes() const {
  size_t bytes = arena_.capacity();
  for (const Entry& entry : entries_) bytes += entry.arena.capacity();
  return bytes;
}

}  // namespace gpt
