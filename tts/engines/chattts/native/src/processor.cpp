// Which kernels this processor can run.
#include "instruction_sets.hpp"

namespace gpt {

namespace {

#if defined(__x86_64__)
// The compiler's check also asks whether the system saves the registers.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni") && has_avx2();
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
bool has_avx512_bf16() { return false; }
#endif

const WeightKernels* wide_weights(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return has_avx512() ? &avx512_fp32_weights : nullptr;
    case Precision::bf16:
      return has_avx512_bf16() ? &avx512_bf16_weights : nullptr;
    case Precision::int8:
      return has_avx512() ? &avx512_int8_weights : nullptr;
  }
  return nullptr;
}

}  // namespace

const WeightKernels* find_weight_kernels(Precision precision, InstructionSet set) {
  const WeightKernels* wide = set == InstructionSet::avx2 ? nullptr : wide_weights(precision);
  if (wide != nullptr || set == InstructionSet::avx512) return wide;
  return has_avx2() ? &avx2_weights[static_cast<int>(precision)] : nullptr;
}

const CacheKernels* find_cache_kernels(Precision precision, InstructionSet set) {
  const int index = static_cast<int>(precision);
  if (set != InstructionSet::avx2 && has_avx512()) return &avx512_caches[index];
  if (set != InstructionSet::avx512 && has_avx2()) return &avx2_caches[index];
  return nullptr;
}

}  // namespace gpt
