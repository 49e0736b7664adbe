// How keys and values are kept in each precision, and what they are to a query.
//
// Each kind has `Query`, what a row's query is made before its products, and `block`, its products
// with one block of `lanes` keys, summed in ascending order of dimensions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels.hpp"
#include "vector_math.hpp"

namespace gpt {
namespace {

constexpr int kMostHeadSize = 512;

template <class S>
struct FloatCache {
  static constexpr Precision precision = Precision::fp32;
  static constexpr int key_group = 1;
  static constexpr bool scaled = false;
  using Key = float;
  using Value = float;
  using Sum = typename S::Floats;
  struct Query {
    const float* values;
  };

  static void ask(const float* query, int, Query& out) { out.values = query; }
  static Sum start(const Query&) { return S::zero(); }
  static Sum add(Sum sum, const Key* keys, const Query& query, int dimension) {
    return S::multiply_add(S::load(keys), S::all(query.values[dimension]), sum);
  }
  static typename S::Floats finish(Sum sum, const Query&, const float*, size_t) { return sum; }

  static typename S::Floats load_value(const Value* from) { return S::load(from); }
  static Key key(float value) { return value; }
  static Value value(float value) { return value; }
};

template <class S>
struct Bf16Cache {
  static constexpr Precision precision = Precision::bf16;
  static constexpr int key_group = 2;
  static constexpr bool scaled = false;
  using Key = uint16_t;
  using Value = uint16_t;
  using Sum = typename S::Floats;
  struct Query {
    const float* values;
  };

  static void ask(const float* query, int, Query& out) { out.values = query; }
  static Sum start(const Query&) { return S::zero(); }
  static Sum add(Sum sum, const Key* keys, const Query& query, int dimension) {
    sum = S::multiply_add(S::first_halves(keys), S::all(query.values[dimension]), sum);
    return S::multiply_add(S::second_halves(keys), S::all(query.values[dimension + 1]), sum);
  }
  static typename S::Floats finish(Sum sum, const Query&, const float*, size_t) { return sum; }

  static typename S::Floats load_value(const Value* from) { return S::load_halves(from); }
  static Key key(float value) { return to_bfloat16(value); }
  static Value value(float value) { return to_bfloat16(value); }
};

template <class S>
struct Int8Cache {
  static constexpr Precision precision = Precision::int8;
  static constexpr int key_group = S::byte_group;
  static constexpr bool scaled = true;
  using Key = uint8_t;
  using Value = int8_t;
  using Sum = typename S::Ints;
  struct Query {
    alignas(64) typename S::ByteActivation bytes[kMostHeadSize];
    float scale;
    int32_t offset;
  };

  static void ask(const float* query, int head_size, Query& out) {
    out.scale = quantise<S>(query, head_size, out.bytes, &out.offset);
  }
  static Sum start(const Query& query) { return S::all_ints(query.offset); }
  static Sum add(Sum sum, const Key* keys, const Query& query, int dimension) {
    return S::dot_bytes(sum, S::load_byte_weights(keys),
                        S::all_byte_inputs(query.bytes + dimension));
  }
  static typename S::Floats finish(Sum sum, const Query& query, const float* key_scales,
                                   size_t token) {
    const auto scaled = S::multiply(S::to_floats(sum), S::load(key_scales + token));
    return S::multiply(scaled, S::all(query.scale));
  }

  static typename S::Floats load_value(const Value* from) { return S::load_bytes(from); }
};

}  // namespace
}  // namespace gpt
