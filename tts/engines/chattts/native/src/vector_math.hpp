// What every kernel needs of vectors: exponentials, bfloat16, bytes with a scale.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace gpt {
namespace {

// e^x to about one part in 10^7, for x from -87 to 88; beyond, the value at the border, and for
// what is not a number none. The polynomial is that of Cephes' expf.
template <class S>
inline typename S::Floats exponential(typename S::Floats x) {
  // In this order of operands: max and min give the second one where either is not a number.
  x = S::minimum(S::all(88.0f), S::maximum(S::all(-87.0f), x));
  const auto n = S::round(S::multiply(x, S::all(1.44269504f)));
  auto r = S::multiply_add(n, S::all(-0.693359375f), x);
  r = S::multiply_add(n, S::all(2.12194440e-4f), r);
  auto p = S::all(1.9875691500e-4f);
  p = S::multiply_add(p, r, S::all(1.3981999507e-3f));
  p = S::multiply_add(p, r, S::all(8.3334519073e-3f));
  p = S::multiply_add(p, r, S::all(4.1665795894e-2f));
  p = S::multiply_add(p, r, S::all(1.6666665459e-1f));
  p = S::multiply_add(p, r, S::all(5.0000001201e-1f));
  p = S::multiply_add(p, S::multiply(r, r), S::add(r, S::all(1.0f)));
  return S::scale_by_power(p, n);
}

// x times the normal distribution's integral up to x, by its error function's approximation 7.1.26 of
// Abramowitz and Stegun, Handbook of Mathematical Functions: to 1.5e-7 of |x| / 2.
template <class S>
inline typename S::Floats gelu(typename S::Floats x) {
  const auto size = S::absolute(x);
  const auto z = S::multiply(size, S::all(0.70710678f));
  const auto one = S::all(1.0f);
  const auto t = S::divide(one, S::multiply_add(z, S::all(0.3275911f), one));
  auto p = S::all(1.061405429f);
  p = S::multiply_add(p, t, S::all(-1.453152027f));
  p = S::multiply_add(p, t, S::all(1.421413741f));
  p = S::multiply_add(p, t, S::all(-0.284496736f));
  p = S::multiply_add(p, t, S::all(0.254829592f));
  const auto beyond = S::multiply(S::multiply(p, t), exponential<S>(S::multiply(
                                                         S::subtract(S::zero(), z), z)));
  const auto rest = S::multiply(S::multiply(size, S::all(0.5f)), beyond);
  return S::subtract(S::maximum(S::zero(), x), rest);
}

// To nearest, ties to even; what is not a number stays so.
inline uint16_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float kByteLimit = 127.0f;
// Keeps the scale of a row of zeros finite.
constexpr float kLeastMagnitude = 1e-20f;

// Not a number if any of the values is none. Magnitudes are compared as whole numbers, which their
// bits are ordered as, with those of what is no number above infinity's: a maximum of floats keeps
// such a value only as its second operand, and could not both take it in and keep it.
template <class S>
inline float largest_magnitude(const float* values, int count) {
  auto most = S::bits(S::all(kLeastMagnitude));
  for (int i = 0; i < count; i += S::lanes) {
    most = S::maximum_ints(most, S::bits(S::absolute(S::load(values + i))));
  }
  const int32_t bits = S::largest_int(most);
  float magnitude;
  std::memcpy(&magnitude, &bits, sizeof magnitude);
  return magnitude;
}

// Bytes whose largest is 127, times the scale that is returned, are the values; `bias` takes the
// bytes' sum times -byte_bias, which a product of biased bytes has to start from. Values that are
// not all finite become zeros whose scale is not finite: no product of theirs is a number.
template <class S>
inline float quantise(const float* values, int count, typename S::ByteActivation* bytes,
                      int32_t* bias) {
  const float magnitude = largest_magnitude<S>(values, count);
  *bias = 0;
  if (!std::isfinite(magnitude)) {
    for (int i = 0; i < count; i += S::lanes) S::store_byte_activations(bytes + i, S::all_ints(0));
    return magnitude;
  }
  const auto factor = S::all(kByteLimit / magnitude);
  auto total = S::all_ints(0);
  for (int i = 0; i < count; i += S::lanes) {
    const auto rounded = S::to_ints(S::multiply(S::load(values + i), factor));
    total = S::add_ints(total, rounded);
    S::store_byte_activations(bytes + i, rounded);
  }
  *bias = -S::byte_bias * S::sum_ints(total);
  return magnitude / kByteLimit;
}

}  // namespace
}  // namespace gpt
