#include "api.hpp"

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "decoder.hpp"
#include "projections.hpp"
#include "shape.hpp"
#include "weights.hpp"

struct gpt_weights {
  std::shared_ptr<gpt::Weights> weights;
};

struct gpt_decoder {
  std::unique_ptr<gpt::Decoder> decoder;
};

struct gpt_projections {
  std::unique_ptr<gpt::Projections> projections;
};

namespace {

constexpr int kMostSlots = 65536;
constexpr int kMostPositions = 1 << 20;
constexpr int kMostThreads = 1024;

// Fixed, so that running out of memory can still be told.
thread_local char message[512];

void say(const char* text) noexcept {
  size_t i = 0;
  for (; text[i] != '\0' && i + 1 < sizeof message; ++i) message[i] = text[i];
  message[i] = '\0';
}

template <class Action>
int32_t guarded(const Action& action) noexcept {
  try {
    action();
    return GPT_OK;
  } catch (const gpt::InvalidArgument& error) {
    say(error.what());
    return GPT_INVALID;
  } catch (const std::bad_alloc&) {
    say("not enough memory");
    return GPT_NO_MEMORY;
  } catch (const std::exception& error) {
    say(error.what());
    return GPT_FAILED;
  } catch (...) {
    say("an unknown failure");
    return GPT_FAILED;
  }
}

gpt::Precision to_precision(int32_t value) {
  gpt::require_range("precision", value, 0, 2);
  return static_cast<gpt::Precision>(value);
}

gpt::InstructionSet to_set(int32_t value) {
  gpt::require_range("instruction set", value, 0, 2);
  return static_cast<gpt::InstructionSet>(value);
}

gpt::FloatArray to_array(gpt_array array) { return {array.data, array.count}; }

void require_pointer(const void* pointer, const char* name) {
  gpt::require(pointer != nullptr, std::string(name) + " is missing");
}

void require_count(const char* name, size_t count, size_t wanted) {
  gpt::require(count == wanted, std::string(name) + " has " + std::to_string(count) +
                                    " values, the rows need " + std::to_string(wanted));
}

}  // namespace

const char* gpt_message(void) { return message; }

int32_t gpt_supports(int32_t precision, int32_t instruction_set) {
  if (precision < 0 || precision > 2 || instruction_set < 0 || instruction_set > 2) return 0;
  const gpt::WeightKernels* kernels =
      gpt::find_weight_kernels(to_precision(precision), to_set(instruction_set));
  if (kernels == nullptr) return 0;
  return static_cast<int32_t>(kernels->layout.lanes == 16 ? gpt::InstructionSet::avx512
                                                          : gpt::InstructionSet::avx2);
}

int32_t gpt_weights_create(const gpt_shape* shape, int32_t precision, int32_t instruction_set,
                           int32_t first, int32_t layers, int32_t output, gpt_weights** created) {
  return guarded([&] {
    require_pointer(shape, "shape");
    require_pointer(created, "created");
    const gpt::Shape wanted{shape->layers,       shape->hidden,  shape->heads,
                            shape->intermediate, shape->outputs, shape->norm_epsilon,
                            shape->rope_theta};
    gpt::validate(wanted);
    auto handle = std::make_unique<gpt_weights>();
    handle->weights =
        std::make_shared<gpt::Weights>(wanted, to_precision(precision), to_set(instruction_set),
                                       gpt::Extent{first, layers, output != 0});
    *created = handle.release();
  });
}

int32_t gpt_weights_layer(gpt_weights* weights, int32_t index, const gpt_layer* layer) {
  return guarded([&] {
    require_pointer(weights, "weights");
    require_pointer(layer, "layer");
    weights->weights->pack_layer(
        index, {to_array(layer->input_norm), to_array(layer->qkv), to_array(layer->attention),
                to_array(layer->output_norm), to_array(layer->gate_up), to_array(layer->down)});
  });
}

int32_t gpt_weights_output(gpt_weights* weights, gpt_array norm, gpt_array heads) {
  return guarded([&] {
    require_pointer(weights, "weights");
    weights->weights->pack_output(to_array(norm), to_array(heads));
  });
}

int32_t gpt_weights_join(const gpt_weights* const* parts, size_t count, gpt_weights** joined) {
  return guarded([&] {
    require_pointer(parts, "parts");
    require_pointer(joined, "joined");
    std::vector<std::shared_ptr<const gpt::Weights>> own;
    for (size_t i = 0; i < count; ++i) {
      require_pointer(parts[i], "a part");
      own.push_back(parts[i]->weights);
    }
    auto handle = std::make_unique<gpt_weights>();
    handle->weights = std::make_shared<gpt::Weights>(own);
    *joined = handle.release();
  });
}

size_t gpt_weights_bytes(const gpt_weights* weights) {
  return weights == nullptr ? 0 : weights->weights->bytes();
}

void gpt_weights_free(gpt_weights* weights) { delete weights; }

int32_t gpt_decoder_create(const gpt_weights* weights, int32_t cache_precision, int32_t slots,
                           int32_t positions, int32_t threads, gpt_decoder** created) {
  return guarded([&] {
    require_pointer(weights, "weights");
    require_pointer(created, "created");
    gpt::require_range("slots", slots, 1, kMostSlots);
    gpt::require_range("positions", positions, 1, kMostPositions);
    gpt::require_range("threads", threads, 1, kMostThreads);
    auto handle = std::make_unique<gpt_decoder>();
    handle->decoder = std::make_unique<gpt::Decoder>(
        weights->weights, to_precision(cache_precision), slots, positions, threads);
    *created = handle.release();
  });
}

int32_t gpt_decoder_forward(gpt_decoder* decoder, gpt_array inputs, const int32_t* slots,
                            const int32_t* positions, size_t rows, size_t heads, float* hidden,
                            size_t hidden_count, float* logits, size_t logits_count) {
  return guarded([&] {
    require_pointer(decoder, "decoder");
    gpt::Decoder& own = *decoder->decoder;
    gpt::require(rows <= (size_t{1} << 20) && heads <= rows, "too many rows or heads");
    require_count("inputs", inputs.count, rows * static_cast<size_t>(own.shape().hidden));
    require_count("hidden", hidden_count, inputs.count);
    require_count("logits", logits_count, heads * static_cast<size_t>(own.shape().outputs));
    own.forward({inputs.data, slots, positions, static_cast<int>(rows), static_cast<int>(heads),
                 hidden, logits});
  });
}

size_t gpt_decoder_cache_bytes(const gpt_decoder* decoder) {
  return decoder == nullptr ? 0 : decoder->decoder->cache().bytes();
}

void gpt_decoder_free(gpt_decoder* decoder) { delete decoder; }

int32_t gpt_projections_create(int32_t precision, int32_t instruction_set, int32_t threads,
                               gpt_projections** created) {
  return guarded([&] {
    require_pointer(created, "created");
    gpt::require_range("threads", threads, 1, kMostThreads);
    auto handle = std::make_unique<gpt_projections>();
    handle->projections = std::make_unique<gpt::Projections>(to_precision(precision),
                                                             to_set(instruction_set), threads);
    *created = handle.release();
  });
}

int32_t gpt_projections_add(gpt_projections* projections, gpt_array weights, gpt_array bias,
                            int32_t inputs, int32_t* index) {
  return guarded([&] {
    require_pointer(projections, "projections");
    require_pointer(index, "index");
    *index = projections->projections->add(to_array(weights), to_array(bias), inputs);
  });
}

int32_t gpt_projections_multiply(gpt_projections* projections, int32_t index, gpt_array inputs,
                                 float* outputs, size_t count) {
  return guarded([&] {
    require_pointer(projections, "projections");
    projections->projections->multiply(index, to_array(inputs), outputs, count);
  });
}

int32_t gpt_projections_add_block(gpt_projections* projections, gpt_array taps, gpt_array bias,
                                  int32_t dilation, float epsilon, int32_t wide, int32_t narrow,
                                  int32_t* index) {
  return guarded([&] {
    require_pointer(projections, "projections");
    require_pointer(index, "index");
    *index = projections->projections->add_block(
        {to_array(taps), to_array(bias), dilation, epsilon, wide, narrow});
  });
}

int32_t gpt_projections_run_block(gpt_projections* projections, int32_t index, gpt_array frames,
                                  float* outputs, size_t count) {
  return guarded([&] {
    require_pointer(projections, "projections");
    projections->projections->run_block(index, to_array(frames), outputs, count);
  });
}

size_t gpt_projections_bytes(const gpt_projections* projections) {
  return projections == nullptr ? 0 : projections->projections->bytes();
}

void gpt_projections_free(gpt_projections* projections) { delete projections; }
