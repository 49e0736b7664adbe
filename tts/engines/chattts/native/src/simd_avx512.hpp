// Vectors of 16 floats, by AVX-512 with VNNI. See simd_avx2.hpp for what each operation is.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace gpt {
namespace {

struct Avx512 {
  using Floats = __m512;
  using Ints = __m512i;
  static constexpr int lanes = 16;
  static constexpr int product_rows = 12;
  static constexpr int chains = 8;

  using ByteActivation = int8_t;
  static constexpr int byte_group = 4;
  // vpdpbusd multiplies unsigned by signed bytes: weights and keys are the unsigned ones.
  static constexpr int byte_bias = 128;
  using ByteWeights = Ints;
  using ByteInput = Ints;

  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats all(float value) { return _mm512_set1_ps(value); }
  static Floats load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Floats value) { _mm512_storeu_ps(to, value); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats maximum(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats minimum(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  static Floats absolute(Floats a) { return _mm512_abs_ps(a); }
  static Floats round(Floats a) { return _mm512_roundscale_ps(a, 0); }

  static Ints all_ints(int32_t value) { return _mm512_set1_epi32(value); }
  static Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints maximum_ints(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
  static Ints bits(Floats a) { return _mm512_castps_si512(a); }
  static Ints to_ints(Floats a) { return _mm512_cvtps_epi32(a); }
  static Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }

  static Floats scale_by_power(Floats a, Floats n) { return _mm512_scalef_ps(a, n); }

  static float sum(Floats a) { return _mm512_reduce_add_ps(a); }
  static float largest(Floats a) { return _mm512_reduce_max_ps(a); }

  static int32_t sum_ints(Ints a) { return _mm512_reduce_add_epi32(a); }

  static int32_t largest_int(Ints a) { return _mm512_reduce_max_epi32(a); }

  static Floats load_bytes(const int8_t* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }
  static void store_bytes(int8_t* to, Ints value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtsepi32_epi8(value));
  }
  static void store_byte_activations(ByteActivation* to, Ints value) { store_bytes(to, value); }

  static ByteWeights load_byte_weights(const void* from) { return _mm512_loadu_si512(from); }
  static ByteInput all_byte_inputs(const ByteActivation* from) {
    int32_t four;
    std::memcpy(&four, from, sizeof four);
    return _mm512_set1_epi32(four);
  }
  static Ints dot_bytes(Ints sum, ByteWeights weights, ByteInput input) {
    return _mm512_dpbusd_epi32(sum, weights, input);
  }

  static Floats load_halves(const uint16_t* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static Floats first_halves(const uint16_t* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(from), 16));
  }
  static Floats second_halves(const uint16_t* from) {
    const Ints upper = _mm512_set1_epi32(static_cast<int32_t>(0xffff0000u));
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(from), upper));
  }
};

}  // namespace
}  // namespace gpt
