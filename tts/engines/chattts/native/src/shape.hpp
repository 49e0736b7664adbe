// The model's dimensions, and the errors that leave this library as codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpt {

enum class Precision : int32_t { fp32 = 0, bf16 = 1, int8 = 2 };

// What the caller did wrong; becomes a return code and a message at the C boundary.
class InvalidArgument : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Depths of all matrices are padded to this many values, so that no kernel has a remainder.
constexpr int kDepthStep = 16;

constexpr size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

struct Shape {
  int32_t layers;
  int32_t hidden;
  int32_t heads;
  int32_t intermediate;
  int32_t outputs;  // columns of the logits
  float norm_epsilon;
  float rope_theta;

  bool operator==(const Shape& other) const {
    return layers == other.layers && hidden == other.hidden && heads == other.heads &&
           intermediate == other.intermediate && outputs == other.outputs &&
           norm_epsilon == other.norm_epsilon && rope_theta == other.rope_theta;
  }

  int head_size() const { return hidden / heads; }
  int padded_intermediate() const {
    return static_cast<int>(round_up(static_cast<size_t>(intermediate), kDepthStep));
  }
};

inline void require(bool holds, const std::string& message) {
  if (!holds) throw InvalidArgument(message);
}

inline void require_range(const char* name, int64_t value, int64_t least, int64_t most) {
  require(value >= least && value <= most,
          std::string(name) + " is " + std::to_string(value) + ", allowed are " +
              std::to_string(least) + " to " + std::to_string(most));
}

inline void validate(const Shape& shape) {
  require_range("layers", shape.layers, 1, 1024);
  require_range("hidden", shape.hidden, 16, 65536);
  require_range("heads", shape.heads, 1, shape.hidden);
  require(shape.hidden % shape.heads == 0 && shape.head_size() % 16 == 0,
          "hidden must be heads times a multiple of 16");
  require_range("head size", shape.head_size(), 16, 512);
  // An int8 product sums 128 * 127 a term: 2^17 terms still fit into 31 bits.
  require_range("intermediate", shape.intermediate, 1, 131072);
  require_range("outputs", shape.outputs, 1, 1 << 20);
  require(shape.norm_epsilon >= 0.0f && shape.norm_epsilon < 1.0f,
          "norm_epsilon must be from 0 to 1");
  require(shape.rope_theta >= 1.0f, "rope_theta must be at least 1");
}

}  // namespace gpt
