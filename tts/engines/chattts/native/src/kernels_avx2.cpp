// Compiled with AVX2 and FMA.
#include "instruction_sets.hpp"
#include "products.hpp"
#include "remembering.hpp"
#include "simd_avx2.hpp"

namespace gpt {

const WeightKernels avx2_weights[3] = {
    Products<Avx2, Fp32<Avx2>>::kernels(),
    Products<Avx2, WidenedBf16<Avx2>>::kernels(),
    Products<Avx2, Int8<Avx2>>::kernels(),
};

const CacheKernels avx2_caches[3] = {
    Remembering<Avx2, FloatCache<Avx2>>::kernels(),
    Remembering<Avx2, Bf16Cache<Avx2>>::kernels(),
    Remembering<Avx2, Int8Cache<Avx2>>::kernels(),
};

}  // namespace gpt
