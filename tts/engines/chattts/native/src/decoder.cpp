#include "decoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace gpt {

namespace {

const CacheKernels& require_cache(const Weights& weights, Precision precision) {
  const CacheKernels* kernels = find_cache_kernels(precision, weights.instruction_set());
  require(kernels != nullptr, "this processor lacks the instructions that were asked for");
  return *kernels;
}

std::shared_ptr<const Weights> require_complete(std::shared_ptr<const Weights> weights) {
  require(weights->complete(), "some of the weights have not been given");
  return weights;
}

// In float32 as transformers does, so that far positions turn by the same angle.
void fill_rotations(const Shape& shape, int positions, float* cosines, float* sines) {
  const int half = shape.head_size() / 2;
  for (int i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(shape.head_size());
    const float power = static_cast<float>(std::pow(static_cast<double>(shape.rope_theta),
                                                    static_cast<double>(exponent)));
    const float frequency = 1.0f / power;
    for (int position = 0; position < positions; ++position) {
      const double angle = static_cast<float>(position) * frequency;
      const size_t at = static_cast<size_t>(position) * static_cast<size_t>(half) +
                        static_cast<size_t>(i);
      cosines[at] = static_cast<float>(std::cos(angle));
      sines[at] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Weights> weights, Precision cache_precision, int slots,
                 int positions, int threads)
    : weights_(require_complete(std::move(weights))),
      cache_(weights_->shape(), require_cache(*weights_, cache_precision), slots, positions),
      pool_(threads) {
  runs_.reserve(kMostRows);
  final_row_.resize(kMostRows);
  logits_.resize(kMostRows);
  Arena measure;
  allocate(measure);
  arena_ = Arena(measure.used());
  allocate(arena_);
  fill_rotations(shape(), positions, cosines_, sines_);
}

void Decoder::allocate(Arena& arena) {
  const int hidden = shape().hidden;
  const int intermediate = shape().padded_intermediate();
  residual_ = take_rows(arena, hidden);
  qkv_ = take_rows(arena, 3 * hidden);
  attended_ = take_rows(arena, hidden);
  gated_ = take_rows(arena, intermediate);
  narrow_ = take_activations(arena, hidden);
  wide_ = take_activations(arena, intermediate);
  final_ = take_activations(arena, hidden);
  const size_t threads = static_cast<size_t>(pool_.threads());
  scratch_stride_ = static_cast<size_t>(std::max(hidden, intermediate));
  scratch_ = arena.take<float>(threads * scratch_stride_);
  score_stride_ = round_up(static_cast<size_t>(cache_.positions()), kPositionStep);
  scores_ = arena.take<float>(threads * kTileRows * score_stride_);
  const size_t half = static_cast<size_t>(shape().head_size() / 2);
  cosines_ = arena.take<float>(static_cast<size_t>(cache_.positions()) * half);
  sines_ = arena.take<float>(static_cast<size_t>(cache_.positions()) * half);
}

Decoder::Rows Decoder::take_rows(Arena& arena, int width) {
  Rows rows{nullptr, row_bytes(width) / sizeof(float), {}};
  rows.values = arena.take<float>(kMostRows * rows.stride);
  if (rows.values == nullptr) return rows;  // only measured
  rows.starts.resize(kMostRows);
  for (size_t i = 0; i < kMostRows; ++i) rows.starts[i] = rows.values + i * rows.stride;
  return rows;
}

Activations Decoder::take_activations(Arena& arena, int width) {
  Activations rows{nullptr, row_bytes(width), nullptr, nullptr};
  rows.data = arena.take<unsigned char>(kMostRows * rows.stride);
  rows.scales = arena.take<float>(kMostRows);
  rows.offsets = arena.take<int32_t>(kMostRows);
  return rows;
}

void Decoder::validate(const Call& call) const {
  require(call.inputs != nullptr && call.slots != nullptr && call.positions != nullptr &&
              call.hidden != nullptr && (call.heads == 0 || call.logits != nullptr),
          "an array is missing");
  require_range("heads", call.heads, 0, call.rows);
}

void Decoder::forward(const Call& call) {
  require_range("rows", call.rows, 0, 1 << 20);
  if (call.rows == 0) return;
  validate(call);
  const std::vector<Row> rows =
      order_rows(call.slots, call.positions, call.rows, cache_.slots(), cache_.positions());
  // In order of position, so that a part finds the keys of those before it.
  for (int first = 0; first < call.rows; first += kMostRows) {
    compute(call, rows.data() + first, std::min(kMostRows, call.rows - first));
  }
}

void Decoder::compute(const Call& call, const Row* rows, int count) {
  rows_ = rows;
  count_ = count;
  find_runs(rows, count, runs_);
  load(call);
  pool_.run([&](int thread) {
    for (int i = 0; i < shape().layers; ++i) layer(weights_->layer(i), i, thread);
    output(call, thread);
  });
}

void Decoder::load(const Call& call) {
  const size_t width = static_cast<size_t>(shape().hidden);
  int with_logits = 0;
  for (int i = 0; i < count_; ++i) {
    const size_t index = static_cast<size_t>(rows_[i].index);
    std::memcpy(residual_.starts[static_cast<size_t>(i)], call.inputs + index * width,
                width * sizeof(float));
    if (rows_[i].index < call.heads) {
      logits_[static_cast<size_t>(with_logits)] =
          call.logits + index * static_cast<size_t>(shape().outputs);
      final_row_[static_cast<size_t>(i)] = with_logits++;
    }
  }
  int without_logits = with_logits;
  for (int i = 0; i < count_; ++i) {
    if (rows_[i].index >= call.heads) final_row_[static_cast<size_t>(i)] = without_logits++;
  }
}

void Decoder::layer(const Layer& layer, int index, int thread) {
  const int hidden = shape().hidden;
  const int intermediate = shape().padded_intermediate();
  const WeightKernels& kernels = weights_->kernels();
  activate(residual_, layer.input_norm, hidden, narrow_, kernels, thread);
  multiply(layer.qkv, narrow_, qkv_.starts.data(), count_, 3 * hidden, Epilogue::store, kernels);
  attention(index, thread);
  activate(attended_, nullptr, hidden, narrow_, kernels, thread);
  multiply(layer.attention, narrow_, residual_.starts.data(), count_, hidden, Epilogue::add,
           kernels);
  activate(residual_, layer.output_norm, hidden, narrow_, kernels, thread);
  multiply(layer.gate_up, narrow_, gated_.starts.data(), count_, intermediate, Epilogue::swiglu,
           kernels);
  activate(gated_, nullptr, intermediate, wide_, kernels, thread);
  multiply(layer.down, wide_, residual_.starts.data(), count_, hidden, Epilogue::add, kernels);
}

void Decoder::attention(int index, int thread) {
  const int runs = static_cast<int>(runs_.size());
  pool_.share_ahead(runs * shape().heads,
                    [&](int task, int next) { attend(index, task, next, thread); });
}

void Decoder::output(const Call& call, int thread) {
  const size_t width = static_cast<size_t>(shape().hidden);
  const WeightKernels& kernels = weights_->head_kernels();
  pool_.share(count_, [&](int i) {
    const int row = final_row_[static_cast<size_t>(i)];
    const RowSource source{residual_.starts[static_cast<size_t>(i)], weights_->norm(),
                           shape().norm_epsilon, shape().hidden,
                           scratch_ + static_cast<size_t>(thread) * scratch_stride_};
    kernels.prepare(source, final_, row);
    std::memcpy(call.hidden + static_cast<size_t>(rows_[i].index) * width,
                final_.data + static_cast<size_t>(row) * final_.stride, width * sizeof(float));
  });
  int with_logits = 0;
  for (int i = 0; i < count_; ++i) with_logits += rows_[i].index < call.heads ? 1 : 0;
  multiply(weights_->heads(), final_, logits_.data(), with_logits, shape().outputs,
           Epilogue::store, kernels);
}

void Decoder::activate(const Rows& source, const float* norm, int width, Activations& to,
                       const WeightKernels& kernels, int thread) {
  pool_.share(count_, [&](int row) {
    const RowSource one{source.starts[static_cast<size_t>(row)], norm, shape().norm_epsilon, width,
                        scratch_ + static_cast<size_t>(thread) * scratch_stride_};
    kernels.prepare(one, to, row);
  });
}

void Decoder::multiply(const Matrix& matrix, const Activations& inputs, float* const* outputs,
                       int rows, int columns, Epilogue epilogue, const WeightKernels& kernels) {
  const Product product{&matrix, &inputs, outputs, rows, columns, epilogue};
  pool_.share_ahead(matrix.panels,
                    [&](int panel, int next) { kernels.multiply(product, panel, next); });
}

HeadCache Decoder::head_cache(int index, int task) const {
  const Run& run = runs_[static_cast<size_t>(task / shape().heads)];
  return cache_.head(index, rows_[run.first].slot, task % shape().heads);
}

void Decoder::remember(int row, int head, const HeadCache& cache) {
  const size_t hidden = static_cast<size_t>(shape().hidden);
  const size_t half = static_cast<size_t>(shape().head_size() / 2);
  const int position = rows_[row].position;
  float* query = qkv_.starts[static_cast<size_t>(row)] + head * shape().head_size();
  const size_t turn = static_cast<size_t>(position) * half;
  const NewToken token{query,         query + hidden, query + 2 * hidden, cosines_ + turn,
                       sines_ + turn, position,       shape().head_size()};
  cache_.kernels().remember(token, cache);
}

void Decoder::attend(int index, int task, int next, int thread) {
  const Run& run = runs_[static_cast<size_t>(task / shape().heads)];
  const int head = task % shape().heads;
  const HeadCache cache = head_cache(index, task);
  const int end = run.first + run.rows;
  // All keys before any query: rows of one slot see each other.
  for (int row = run.first; row < end; ++row) remember(row, head, cache);

  AttentionTile tile{};
  tile.head_size = shape().head_size();
  tile.scores = scores_ + static_cast<size_t>(thread) * kTileRows * score_stride_;
  tile.score_stride = score_stride_;
  for (int first = run.first; first < end; first += kTileRows) {
    tile.rows = std::min(kTileRows, end - first);
    for (int i = 0; i < tile.rows; ++i) {
      const size_t row = static_cast<size_t>(first + i);
      tile.queries[i] = qkv_.starts[row] + head * shape().head_size();
      tile.outputs[i] = attended_.starts[row] + head * shape().head_size();
      tile.counts[i] = rows_[row].position + 1;
    }
    const bool last = first + kTileRows >= end && next >= 0;
    tile.next_keys = last ? head_cache(index, next).keys : cache.keys;
    cache_.kernels().attend(tile, cache);
  }
}

}  // namespace gpt
