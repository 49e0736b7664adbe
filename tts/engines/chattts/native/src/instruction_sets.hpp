// The kernels that were compiled; which of them may be called is the processor's matter.
#pragma once

#include "kernels.hpp"

namespace gpt {

// Indexed by Precision.
extern const WeightKernels avx2_weights[3];
extern const CacheKernels avx2_caches[3];
extern const CacheKernels avx512_caches[3];

// Processors with VNNI but without BF16 instructions exist, so that these come one by one.
extern const WeightKernels avx512_fp32_weights;
extern const WeightKernels avx512_bf16_weights;
extern const WeightKernels avx512_int8_weights;

}  // namespace gpt
