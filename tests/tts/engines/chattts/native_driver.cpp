// Uses the decoder's C interface as Python does, for the sanitizers: all precisions and sets of
// instructions, several threads, several decoders at once, and what must be refused.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "api.hpp"

namespace {

// Uneven on purpose: no width fills the panels of any set of instructions.
constexpr gpt_shape kShape{2, 96, 2, 102, 37, 1e-6f, 10000.0f};
constexpr int kSlots = 3, kPositions = 45, kLength = 41;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s (%s)\n", what, gpt_message());
  std::exit(1);
}

std::vector<float> random_values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.2f, 0.2f);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

gpt_array array(const std::vector<float>& values) { return {values.data(), values.size()}; }

// Of every layer, and of the output.
struct Values {
  const size_t h = static_cast<size_t>(kShape.hidden), f = static_cast<size_t>(kShape.intermediate);
  const std::vector<float> norm = random_values(h, 1), qkv = random_values(3 * h * h, 2);
  const std::vector<float> attention = random_values(h * h, 3);
  const std::vector<float> gate_up = random_values(2 * f * h, 4), down = random_values(h * f, 5);
  const std::vector<float> heads = random_values(static_cast<size_t>(kShape.outputs) * h, 6);

  gpt_layer layer() const {
    return {array(norm), array(qkv), array(attention), array(norm), array(gate_up), array(down)};
  }
};

gpt_weights* make_weights(int32_t precision, int32_t set) {
  gpt_weights* weights = nullptr;
  require(gpt_weights_create(&kShape, precision, set, 0, kShape.layers, 1, &weights) == GPT_OK, "create weights");
  const Values values;
  const gpt_layer layer = values.layer();
  gpt_decoder* early = nullptr;
  require(gpt_decoder_create(weights, precision, 1, 1, 1, &early) == GPT_INVALID, "incomplete");
  for (int i = 0; i < kShape.layers; ++i) {
    require(gpt_weights_layer(weights, i, &layer) == GPT_OK, "pack a layer");
  }
  require(gpt_weights_layer(weights, kShape.layers, &layer) == GPT_INVALID, "one layer too many");
  gpt_layer shorter = layer;
  shorter.down.count -= 1;
  require(gpt_weights_layer(weights, 0, &shorter) == GPT_INVALID, "a matrix too short");
  require(gpt_weights_output(weights, array(values.norm), array(values.heads)) == GPT_OK,
          "pack the output");
  require(gpt_weights_bytes(weights) > 0, "weights have bytes");
  return weights;
}

// The same model of two parts: the second layer with the output, then the first one.
gpt_weights* make_joined(int32_t precision, int32_t set) {
  const Values values;
  const gpt_layer layer = values.layer();
  gpt_weights *upper = nullptr, *lower = nullptr, *joined = nullptr;
  require(gpt_weights_create(&kShape, precision, set, 1, 1, 1, &upper) == GPT_OK &&
              gpt_weights_create(&kShape, precision, set, 0, 1, 0, &lower) == GPT_OK,
          "create parts");
  require(gpt_weights_create(&kShape, precision, set, 1, 2, 0, &joined) == GPT_INVALID &&
              gpt_weights_create(&kShape, precision, set, 0, 0, 0, &joined) == GPT_INVALID,
          "no such layers");
  require(gpt_weights_layer(upper, 1, &layer) == GPT_OK &&
              gpt_weights_output(upper, array(values.norm), array(values.heads)) == GPT_OK &&
              gpt_weights_layer(lower, 0, &layer) == GPT_OK,
          "pack parts");
  require(gpt_weights_layer(upper, 0, &layer) == GPT_INVALID, "another part's layer");
  require(gpt_weights_output(lower, array(values.norm), array(values.heads)) == GPT_INVALID,
          "no output here");
  const gpt_weights* twice[] = {upper, lower, upper};
  require(gpt_weights_join(twice, 3, &joined) == GPT_INVALID, "a part twice");
  require(gpt_weights_join(twice, 0, &joined) == GPT_INVALID, "no parts");
  require(gpt_weights_join(twice, 1, &joined) == GPT_OK, "join a part alone");
  gpt_decoder* early = nullptr;
  require(gpt_decoder_create(joined, precision, 1, 1, 1, &early) == GPT_INVALID, "a layer short");
  gpt_weights_free(joined);
  require(gpt_weights_join(twice, 2, &joined) == GPT_OK, "join");
  require(gpt_weights_bytes(joined) == gpt_weights_bytes(upper) + gpt_weights_bytes(lower),
          "the bytes of both");
  gpt_weights_free(upper);
  gpt_weights_free(lower);
  return joined;
}

struct Answer {
  std::vector<float> hidden, logits;
};

Answer forward(gpt_decoder* decoder, const std::vector<float>& inputs,
               const std::vector<int32_t>& slots, const std::vector<int32_t>& positions) {
  Answer answer;
  answer.hidden.resize(inputs.size());
  answer.logits.resize(slots.size() * static_cast<size_t>(kShape.outputs));
  require(gpt_decoder_forward(decoder, array(inputs), slots.data(), positions.data(), slots.size(),
                              slots.size(), answer.hidden.data(), answer.hidden.size(),
                              answer.logits.data(), answer.logits.size()) == GPT_OK,
          "forward");
  return answer;
}

// Two sequences in one call, in descending order of position; the same is expected of each alone.
void check_rows(const gpt_weights* weights, int32_t cache, int threads) {
  gpt_decoder *together = nullptr, *alone = nullptr;
  require(gpt_decoder_create(weights, cache, kSlots, kPositions, threads, &together) == GPT_OK &&
              gpt_decoder_create(weights, cache, 1, kPositions, 1, &alone) == GPT_OK,
          "create decoders");
  const size_t h = static_cast<size_t>(kShape.hidden);
  const auto inputs = random_values(2 * kLength * h, 7);
  std::vector<int32_t> slots, positions;
  for (int i = 0; i < 2 * kLength; ++i) {
    slots.push_back(i % 2 == 0 ? 2 : 0);
    positions.push_back(kLength - 1 - i / 2);
  }
  const Answer batch = forward(together, inputs, slots, positions);
  for (int32_t position = 0; position < kLength; ++position) {
    const size_t row = static_cast<size_t>(2 * (kLength - 1 - position));
    const std::vector<float> input(inputs.begin() + static_cast<long>(row * h),
                                   inputs.begin() + static_cast<long>((row + 1) * h));
    const Answer one = forward(alone, input, {0}, {position});
    require(std::memcmp(one.hidden.data(), &batch.hidden[row * h], h * sizeof(float)) == 0,
            "a row is the same alone");
  }
  require(gpt_decoder_cache_bytes(together) > gpt_decoder_cache_bytes(alone), "cache has bytes");
  gpt_decoder_free(together);
  gpt_decoder_free(alone);
}

// Parts of a model compute what the whole does.
void check_same(const gpt_weights* whole, const gpt_weights* joined, int32_t cache) {
  gpt_decoder* decoders[2] = {nullptr, nullptr};
  const gpt_weights* both[2] = {whole, joined};
  Answer answers[2];
  const auto input = random_values(static_cast<size_t>(kShape.hidden), 9);
  for (int i = 0; i < 2; ++i) {
    require(gpt_decoder_create(both[i], cache, 1, 1, 1, &decoders[i]) == GPT_OK, "create");
    answers[i] = forward(decoders[i], input, {0}, {0});
    gpt_decoder_free(decoders[i]);
  }
  require(answers[0].hidden == answers[1].hidden && answers[0].logits == answers[1].logits,
          "parts compute what the whole does");
}

void check_refusals(const gpt_weights* weights, int32_t cache) {
  gpt_decoder* decoder = nullptr;
  require(gpt_decoder_create(weights, cache, 0, 1, 1, &decoder) == GPT_INVALID, "no slots");
  require(gpt_decoder_create(weights, 3, 1, 1, 1, &decoder) == GPT_INVALID, "no such precision");
  require(gpt_decoder_create(weights, cache, 65536, 1 << 20, 1, &decoder) == GPT_NO_MEMORY,
          "too much memory");
  require(gpt_decoder_create(nullptr, cache, 1, 1, 1, &decoder) == GPT_INVALID, "no weights");
  require(gpt_decoder_create(weights, cache, kSlots, kPositions, 2, &decoder) == GPT_OK, "create");
  const size_t h = static_cast<size_t>(kShape.hidden);
  std::vector<float> input = random_values(h, 8), hidden(h);
  const auto refused = [&](int32_t slot, int32_t position, size_t hidden_count) {
    return gpt_decoder_forward(decoder, array(input), &slot, &position, 1, 0, hidden.data(),
                               hidden_count, nullptr, 0) == GPT_INVALID;
  };
  require(refused(kSlots, 0, h) && refused(-1, 0, h), "slot out of range");
  require(refused(0, kPositions, h) && refused(0, -1, h), "position out of range");
  require(refused(0, 0, h - 1), "hidden too short");
  input[3] = std::numeric_limits<float>::quiet_NaN();
  const int32_t first = 0;
  require(gpt_decoder_forward(decoder, array(input), &first, &first, 1, 0, hidden.data(), h, nullptr,
                              0) == GPT_OK && std::isnan(hidden[0]),
          "not a number stays none");
  gpt_decoder_free(decoder);
}

// A block of uneven widths, growing or shrinking between its matrices, of more frames than are
// computed at once.
template <int32_t kChannels, int32_t kHidden>
void check_blocks(int32_t precision, int32_t set, int threads) {
  constexpr int32_t kWidth = 7, kDilation = 2, kFrames = 70;
  constexpr int32_t kMargin = kDilation * (kWidth / 2);
  gpt_projections* projections = nullptr;
  require(gpt_projections_create(precision, set, threads, &projections) == GPT_OK, "projections");
  const auto wide = random_values(kHidden * kChannels, 9), narrow = wide;
  const auto hidden_bias = random_values(kHidden, 10), bias = random_values(kChannels, 11);
  const auto taps = random_values(kWidth * kChannels, 12);
  int32_t first = 0, second = 0, block = 0;
  require(gpt_projections_add(projections, array(wide), array(hidden_bias), kChannels, &first) ==
                  GPT_OK &&
              gpt_projections_add(projections, array(narrow), array(bias), kHidden, &second) ==
                  GPT_OK,
          "add matrices");
  require(gpt_projections_add_block(projections, array(taps), array(bias), kDilation, 1e-6f, second,
                                    first, &block) == GPT_INVALID,
          "matrices the wrong way round");
  require(gpt_projections_add_block(projections, array(taps), array(bias), kDilation, 1e-6f, first,
                                    second, &block) == GPT_OK,
          "add a block");
  const auto frames = random_values((kFrames + 2 * kMargin) * kChannels, 13);
  std::vector<float> whole(kFrames * kChannels), last(kChannels);
  require(gpt_projections_run_block(projections, block, array(frames), whole.data(),
                                    whole.size()) == GPT_OK,
          "run a block");
  const size_t start = (kFrames - 1) * kChannels;
  const gpt_array end{frames.data() + start, frames.size() - start};
  require(gpt_projections_run_block(projections, block, end, last.data(), last.size()) == GPT_OK &&
              std::memcmp(last.data(), &whole[start], kChannels * sizeof(float)) == 0,
          "a frame is the same alone");
  require(gpt_projections_run_block(projections, block, end, whole.data(), 2 * kChannels) ==
              GPT_INVALID,
          "more frames than there are");
  gpt_projections_free(projections);
}

}  // namespace

int main() {
  int checked = 0;
  for (int32_t set = 1; set <= 2; ++set) {
    for (int32_t precision = 0; precision < 3; ++precision) {
      if (gpt_supports(precision, set) == 0) continue;
      gpt_weights* weights = make_weights(precision, set);
      check_refusals(weights, precision);
      std::vector<std::thread> users;
      for (int threads = 1; threads <= 3; ++threads) {
        users.emplace_back([=] { check_rows(weights, precision, threads); });
      }
      for (std::thread& user : users) user.join();
      gpt_weights* joined = make_joined(precision, set);
      check_same(weights, joined, precision);
      check_rows(joined, precision, 2);
      gpt_weights_free(joined);
      gpt_weights_free(weights);
      for (int threads = 1; threads <= 3; ++threads) {
        check_blocks<21, 50>(precision, set, threads);
        check_blocks<1500, 16>(precision, set, threads);
      }
      ++checked;
    }
  }
  std::printf("%d kinds of weights\n", checked);
  return 0;
}
