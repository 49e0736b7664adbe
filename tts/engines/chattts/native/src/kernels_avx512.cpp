// Compiled with AVX-512 F, BW, DQ, VL and VNNI.
#include "instruction_sets.hpp"
#include "products.hpp"
#include "remembering.hpp"
#include "simd_avx512.hpp"

namespace gpt {

const WeightKernels avx512_fp32_weights = Products<Avx512, Fp32<Avx512>>::kernels();
const WeightKernels avx512_int8_weights = Products<Avx512, Int8<Avx512>>::kernels();

const CacheKernels avx512_caches[3] = {
    Remembering<Avx512, FloatCache<Avx512>>::kernels(),
    Remembering<Avx512, Bf16Cache<Avx512>>::kernels(),
    Remembering<Avx512, Int8Cache<Avx512>>::kernels(),
};

}  // namespace gpt
