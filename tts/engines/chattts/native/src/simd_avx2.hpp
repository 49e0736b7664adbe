// Vectors of 8 floats, by AVX2 and FMA.
//
// Everything here and in the kernels is in an unnamed namespace: code compiled for an instruction
// set must never be merged by the linker with the same code compiled for another.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace gpt {
namespace {

struct Avx2 {
  using Floats = __m256;
  using Ints = __m256i;
  static constexpr int lanes = 8;
  // Accumulators that fit into the 16 registers beside two weights and a broadcast.
  static constexpr int product_rows = 6;
  // Independent sums that keep both multipliers busy.
  static constexpr int chains = 8;

  // There are no bytes dot products that cannot overflow: bytes are widened to 16 bits.
  using ByteActivation = int16_t;
  static constexpr int byte_group = 2;
  static constexpr int byte_bias = 0;
  using ByteWeights = Ints;
  using ByteInput = Ints;

  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats all(float value) { return _mm256_set1_ps(value); }
  static Floats load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Floats value) { _mm256_storeu_ps(to, value); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats divide(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  // `b` where either is not a number: what must stay one that is none has to be `b`.
  static Floats maximum(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats minimum(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  static Floats absolute(Floats a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static Floats round(Floats a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }

  static Ints all_ints(int32_t value) { return _mm256_set1_epi32(value); }
  static Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints maximum_ints(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
  static Ints bits(Floats a) { return _mm256_castps_si256(a); }
  static Ints to_ints(Floats a) { return _mm256_cvtps_epi32(a); }
  static Floats to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }

  // a * 2^n for whole n from -126 to 127.
  static Floats scale_by_power(Floats a, Floats n) {
    const Ints exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  }

  static float sum(Floats a) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float largest(Floats a) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }

  static int32_t sum_ints(Ints a) {
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }

  static int32_t largest_int(Ints a) {
    __m128i x = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    x = _mm_max_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }

  static Floats load_bytes(const int8_t* from) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  static void store_bytes(int8_t* to, Ints value) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
  }
  static void store_byte_activations(ByteActivation* to, Ints value) {
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), words);
  }

  // One group of each column, and one group of a row for all columns.
  static ByteWeights load_byte_weights(const void* from) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(from)));
  }
  static ByteInput all_byte_inputs(const ByteActivation* from) {
    int32_t pair;
    std::memcpy(&pair, from, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static Ints dot_bytes(Ints sum, ByteWeights weights, ByteInput input) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(weights, input));
  }

  static Floats load_halves(const uint16_t* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  // Of pairs of bfloat16, side by side: the first and the second of each.
  static Floats first_halves(const uint16_t* from) {
    const Ints pairs = _mm256_loadu_si256(reinterpret_cast<const Ints*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
  }
  static Floats second_halves(const uint16_t* from) {
    const Ints pairs = _mm256_loadu_si256(reinterpret_cast<const Ints*>(from));
    const Ints upper = _mm256_set1_epi32(static_cast<int32_t>(0xffff0000u));
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, upper));
  }
};

}  // namespace
}  // namespace gpt
