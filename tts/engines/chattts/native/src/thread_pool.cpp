#include "thread_pool.hpp"

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gpt {

namespace {

using Clock = std::chrono::steady_clock;

// Between two steps of a busy engine there is less than this; a worker that waits longer sleeps.
constexpr std::chrono::microseconds kIdleSpin{60};
// Threads of one call meet every few microseconds. One that is kept waiting longer than this gives
// its core away, since the other may have lost its own to another process.
constexpr int kMeetingSpins = 2000;

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  try {
    workers_.reserve(static_cast<size_t>(threads - 1));
    for (int thread = 1; thread < threads; ++thread) {
      workers_.emplace_back([this, thread] { work(thread); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_.store(true, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::start(Call call, const void* context) {
  if (threads_ == 1) {
    call(context, 0);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    call_ = call;
    context_ = context;
    calls_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  call(context, 0);
  // The context is the caller's: nobody may still read it after this.
  wait_for_all();
}

void ThreadPool::work(int thread) {
  uint32_t last_call = 0;
  while (wait_for_call(last_call)) {
    ++last_call;
    call_(context_, thread);
    wait_for_all();
  }
}

// False when the pool stops.
bool ThreadPool::wait_for_call(uint32_t last_call) {
  const auto called = [&] { return calls_.load(std::memory_order_acquire) != last_call; };
  const auto stopped = [&] { return stopping_.load(std::memory_order_acquire); };
  const Clock::time_point sleep_at = Clock::now() + kIdleSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (called()) return true;
      pause();
    }
  } while (Clock::now() < sleep_at);
  std::unique_lock<std::mutex> lock(mutex_);
  wake_.wait(lock, [&] { return called() || stopped(); });
  return called();
}

void ThreadPool::wait_for_all() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == threads_ - 1) {
    // The last to arrive makes everything ready for the next tasks before it lets anyone go.
    arrived_.store(0, std::memory_order_relaxed);
    next_task_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
    if (spins < kMeetingSpins) {
      pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace gpt
