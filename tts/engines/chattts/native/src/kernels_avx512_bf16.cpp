// Compiled with AVX-512 F, BW, DQ, VL, VNNI and BF16.
#include "instruction_sets.hpp"
#include "products.hpp"
#include "simd_avx512.hpp"

namespace gpt {

namespace {

// bfloat16 on both sides, products of pairs summed in float32.
struct PairedBf16 {
  using S = Avx512;
  static constexpr Precision precision = Precision::bf16;
  static constexpr int group = 2;
  static constexpr int byte_bias = 0;
  using Weight = uint16_t;
  using Activation = uint16_t;
  using Sum = S::Floats;

  static Sum start(int32_t) { return S::zero(); }
  static S::Floats finish(Sum sum, const float*, size_t, float) { return sum; }

  static void activate(const float* values, int width, Activation* out, float*, int32_t*) {
    for (int i = 0; i < width; i += S::lanes) {
      const __m256bh halves = _mm512_cvtneps_pbh(S::load(values + i));
      std::memcpy(out + i, &halves, sizeof halves);
    }
  }

  template <int Rows>
  static void step(Sum (&sums)[Rows][2], const Weight* weights, const Activation* inputs,
                   size_t stride) {
    for (int k = 0; k < kDepthStep; k += group, weights += 2 * group * S::lanes) {
      const __m512bh left = pairs(_mm512_loadu_si512(weights));
      const __m512bh right = pairs(_mm512_loadu_si512(weights + group * S::lanes));
#pragma GCC unroll 12
      for (int row = 0; row < Rows; ++row) {
        int32_t pair;
        std::memcpy(&pair, inputs + static_cast<size_t>(row) * stride + k, sizeof pair);
        const __m512bh input = pairs(_mm512_set1_epi32(pair));
        sums[row][0] = _mm512_dpbf16_ps(sums[row][0], left, input);
        sums[row][1] = _mm512_dpbf16_ps(sums[row][1], right, input);
        keep_order(sums[row][0], sums[row][1]);
      }
    }
  }

 private:
  static __m512bh pairs(__m512i bits) { return reinterpret_cast<__m512bh>(bits); }
};

}  // namespace

const WeightKernels avx512_bf16_weights = Products<Avx512, PairedBf16>::kernels();

}  // namespace gpt
