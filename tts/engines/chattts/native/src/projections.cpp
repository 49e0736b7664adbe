#include "projections.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "packing.hpp"

namespace gpt {

namespace {

constexpr size_t kMostWidth = 1 << 17;

// Calls part(first, count) for parts of `rows`, one after another: of nearly the same height, since
// the weights are read anew for each.
template <class Part>
void in_parts(size_t rows, const Part& part) {
  const size_t parts = (rows + kMostRows - 1) / kMostRows;
  const size_t height = parts == 0 ? 0 : (rows + parts - 1) / parts;
  for (size_t first = 0; first < rows; first += height) {
    part(first, static_cast<int>(std::min(rows - first, height)));
  }
}

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

const Projections::Entry& Projections::entry_of(int index) const {
  require_range("projection", index, 0, static_cast<int64_t>(entries_.size()) - 1);
  return entries_[static_cast<size_t>(index)];
}

void Projections::multiply(int index, FloatArray inputs, float* outputs, size_t count) {
  const Entry& entry = entry_of(index);
  const size_t in = static_cast<size_t>(entry.inputs), out = static_cast<size_t>(entry.outputs);
  const size_t rows = inputs.count / in;
  require(inputs.count == rows * in && count == rows * out, "inputs and outputs do not match");
  require(rows == 0 || (inputs.data != nullptr && outputs != nullptr), "an array is missing");
  in_parts(rows, [&](size_t first, int some) {
    part(entry, inputs.data + first * in, outputs + first * out, some);
  });
}

void Projections::prepare(const Entry& entry, const float* values, int row, int thread) {
  const int depth = entry.matrix.depth;
  if (entry.inputs != depth) {
    float* scratch = scratch_ + static_cast<size_t>(thread) * static_cast<size_t>(depth_);
    std::copy(values, values + entry.inputs, scratch);
    std::fill(scratch + entry.inputs, scratch + depth, 0.0f);
    values = scratch;
  }
  kernels_->prepare({values, nullptr, 0.0f, depth, nullptr}, rows_, row);
}

void Projections::multiply(const Entry& entry, float* const* outputs, int rows, int columns,
                           Epilogue epilogue) {
  const Product product{&entry.matrix, &rows_, outputs, rows, columns, epilogue, entry.bias};
  pool_.share_ahead(entry.matrix.panels,
                    [&](int panel, int next) { kernels_->multiply(product, panel, next); });
}

void Projections::part(const Entry& entry, const float* inputs, float* outputs, int rows) {
  float* starts[kMostRows];
  for (int row = 0; row < rows; ++row) {
    starts[row] = outputs + static_cast<size_t>(row) * static_cast<size_t>(entry.outputs);
  }
  pool_.run([&](int thread) {
    pool_.share(rows, [&](int row) {
      const size_t first = static_cast<size_t>(row) * static_cast<size_t>(entry.inputs);
      prepare(entry, inputs + first, row, thread);
    });
    multiply(entry, starts, rows, entry.outputs, Epilogue::store);
  });
}

int Projections::add_block(const BlockSource& source) {
  const Entry &wide = entry_of(source.wide), &narrow = entry_of(source.narrow);
  const size_t channels = source.bias.count;
  require(channels == static_cast<size_t>(wide.inputs) && wide.outputs == narrow.inputs &&
              narrow.outputs == wide.inputs,
          "the block's matrices do not match its channels");
  require_range("dilation", source.dilation, 1, kMostWidth);
  const size_t width = source.taps.count / channels;
  require(source.taps.data != nullptr && source.bias.data != nullptr && width % 2 == 1 &&
              width <= kMostWidth && source.taps.count == width * channels,
          "taps must be of an odd width, and of all channels");
  Block block{};
  Arena measure;
  measure.take<float>(source.taps.count);
  measure.take<float>(channels);
  block.arena = Arena(measure.used());
  float* taps = block.arena.take<float>(source.taps.count);
  float* bias = block.arena.take<float>(channels);
  std::copy(source.taps.data, source.taps.data + source.taps.count, taps);
  std::copy(source.bias.data, source.bias.data + channels, bias);
  block.taps = taps;
  block.bias = bias;
  block.width = static_cast<int>(width);
  block.channels = static_cast<int>(channels);
  block.dilation = source.dilation;
  block.epsilon = source.epsilon;
  block.wide = static_cast<size_t>(source.wide);
  block.narrow = static_cast<size_t>(source.narrow);
  reserve_hidden(wide);
  blocks_.push_back(std::move(block));
  return static_cast<int>(blocks_.size()) - 1;
}

void Projections::reserve_hidden(const Entry& wide) {
  // Mixed frames, which are as wide as the matrix's inputs, lie there first.
  const int columns = std::max(wide.matrix.panels * kernels_->layout.columns(), wide.matrix.depth);
  const size_t stride = row_bytes(columns) / sizeof(float);
  if (stride <= hidden_stride_) return;
  Arena measure;
  measure.take<float>(kMostRows * stride);
  Arena arena(measure.used());
  hidden_ = arena.take<float>(kMostRows * stride);
  hidden_arena_ = std::move(arena);
  hidden_stride_ = stride;
}

void Projections::run_block(int index, FloatArray frames, float* outputs, size_t count) {
  require_range("block", index, 0, static_cast<int64_t>(blocks_.size()) - 1);
  const Block& block = blocks_[static_cast<size_t>(index)];
  const size_t channels = static_cast<size_t>(block.channels);
  const size_t rows = count / channels, all = frames.count / channels;
  require(count == rows * channels && frames.count == all * channels &&
              all >= 2 * block.margin() && rows <= all - 2 * block.margin(),
          "frames and outputs do not match");
  require(rows == 0 || (frames.data != nullptr && outputs != nullptr), "an array is missing");
  in_parts(rows, [&](size_t first, int some) {
    block_part(block, frames.data + first * channels, outputs + first * channels, some);
  });
}

void Projections::block_part(const Block& block, const float* frames, float* outputs, int rows) {
  const Entry &wide = entries_[block.wide], &narrow = entries_[block.narrow];
  const size_t channels = static_cast<size_t>(block.channels);
  float *hidden[kMostRows], *starts[kMostRows];
  for (int row = 0; row < rows; ++row) {
    hidden[row] = hidden_ + static_cast<size_t>(row) * hidden_stride_;
    starts[row] = outputs + static_cast<size_t>(row) * channels;
  }
  pool_.run([&](int thread) {
    pool_.share(rows, [&](int row) {
      const float* first = frames + static_cast<size_t>(row) * channels;
      const size_t stride = static_cast<size_t>(block.dilation) * channels;
      const FrameSource source{first,      stride,     block.width,  block.channels,
                               block.taps, block.bias, block.epsilon};
      // The rows between the matrices are not needed yet.
      kernels_->mix(source, hidden[row]);
      prepare(wide, hidden[row], row, thread);
      const float* middle = first + block.margin() * channels;
      std::copy(middle, middle + channels, starts[row]);
    });
    multiply(wide, hidden, rows, wide.outputs, Epilogue::gelu);
    pool_.share(rows, [&](int row) { prepare(narrow, hidden[row], row, thread); });
    multiply(narrow, starts, rows, narrow.outputs, Epilogue::add);
  });
}

size_t Projections::bytes() const {
  size_t bytes = arena_.capacity() + hidden_arena_.capacity();
  for (const Entry& entry : entries_) bytes += entry.arena.capacity();
  for (const Block& block : blocks_) bytes += block.arena.capacity();
  return bytes;
}

}  // namespace gpt
