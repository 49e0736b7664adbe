// A frame among its neighbours: a convolution over time, channel by channel, and a layer norm.
#pragma once

#include <math.h>

#include <cstddef>

#include "kernels.hpp"

namespace gpt {
namespace {

// One channel past the whole vectors.
inline float mixed_channel(const FrameSource& source, int channel) {
  float sum = source.bias[channel];
  for (int tap = 0; tap < source.width; ++tap) {
    const size_t at = static_cast<size_t>(tap);
    sum += source.frames[at * source.stride + static_cast<size_t>(channel)] *
           source.taps[at * static_cast<size_t>(source.channels) + static_cast<size_t>(channel)];
  }
  return sum;
}

template <class S>
inline void convolve(const FrameSource& source, float* out) {
  int channel = 0;
  for (; channel + S::lanes <= source.channels; channel += S::lanes) {
    auto sum = S::load(source.bias + channel);
    for (int tap = 0; tap < source.width; ++tap) {
      const size_t at = static_cast<size_t>(tap);
      sum = S::multiply_add(
          S::load(source.frames + at * source.stride + channel),
          S::load(source.taps + at * static_cast<size_t>(source.channels) + channel), sum);
    }
    S::store(out + channel, sum);
  }
  for (; channel < source.channels; ++channel) out[channel] = mixed_channel(source, channel);
}

// The mean of f(value) over the channels.
template <class S, class Function, class Tail>
inline float mean_of(const float* values, int count, const Function& vectors, const Tail& tail) {
  auto sum = S::zero();
  int i = 0;
  for (; i + S::lanes <= count; i += S::lanes) sum = S::add(sum, vectors(S::load(values + i)));
  float total = S::sum(sum);
  for (; i < count; ++i) total += tail(values[i]);
  return total / static_cast<float>(count);
}

template <class S>
void mix(const FrameSource& source, float* out) {
  convolve<S>(source, out);
  const int count = source.channels;
  const float mean = mean_of<S>(
      out, count, [](auto value) { return value; }, [](float value) { return value; });
  const auto means = S::all(mean);
  const float variance = mean_of<S>(
      out, count,
      [&](auto value) {
        const auto off = S::subtract(value, means);
        return S::multiply(off, off);
      },
      [&](float value) { return (value - mean) * (value - mean); });
  // Nothing is added to a variance that is a number; the infinite one of squares that overflowed
  // would make zeros of the whole frame, as if it were a quiet one.
  const float factor = 1.0f / sqrtf(variance + source.epsilon) + (variance - variance);
  int i = 0;
  for (; i + S::lanes <= count; i += S::lanes) {
    S::store(out + i, S::multiply(S::subtract(S::load(out + i), means), S::all(factor)));
  }
  for (; i < count; ++i) out[i] = (out[i] - mean) * factor;
}

}  // namespace
}  // namespace gpt
