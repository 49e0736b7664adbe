// Threads that compute one call together, and sleep between calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace gpt {

// The caller of `run` is thread 0, so a pool of one starts no thread. Calls of `run` must not
// overlap.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // throws std::system_error when a thread cannot be started
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(thread) on every thread at once and returns when all have finished. It must not
  // throw, and every thread must make the same calls of `share`.
  template <class Body>
  void run(const Body& body) {
    start([](const void* context, int thread) { (*static_cast<const Body*>(context))(thread); },
          &body);
  }

  // Within `run`: task(0) .. task(count - 1), each once, on whichever thread is free. All are done
  // when it returns.
  template <class Task>
  void share(int count, const Task& task) {
    if (threads_ == 1) {
      for (int i = 0; i < count; ++i) task(i);
      return;
    }
    for (int i; (i = next_task_.fetch_add(1, std::memory_order_relaxed)) < count;) task(i);
    wait_for_all();
  }

  // As `share`, but each thread knows what it will do next: task(i, next), or task(i, -1) for its
  // last one.
  template <class Task>
  void share_ahead(int count, const Task& task) {
    const auto claim = [&] { return next_task_.fetch_add(1, std::memory_order_relaxed); };
    if (threads_ == 1) {
      for (int i = 0; i < count; ++i) task(i, i + 1 < count ? i + 1 : -1);
      return;
    }
    for (int i = claim(), next; i < count; i = next) {
      next = claim();
      task(i, next < count ? next : -1);
    }
    wait_for_all();
  }

 private:
  using Call = void (*)(const void* context, int thread);

  void start(Call call, const void* context);
  void work(int thread);
  void wait_for_all();
  bool wait_for_call(uint32_t last_call);
  void stop();

  const int threads_;
  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  const void* context_ = nullptr;

  std::mutex mutex_;
  std::condition_variable wake_;
  // Written under the mutex, so that no sleeper misses them; read without it while spinning.
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> stopping_{false};

  alignas(64) std::atomic<int> next_task_{0};
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
};

}  // namespace gpt
