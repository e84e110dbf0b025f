// The state of first-stage code that may be compiled again: how long it has run, and the queue of code that has run long enough.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace anyzero {

class Code;

// Threading: any thread counts; the one that passes the limit queues the code, without a lock or an allocation.
struct Improvement {
  // Nanoseconds of work after which a kernel is compiled again: about the cost of that. Kernels that run for less end before.
  static constexpr uint64_t kWorth = 20'000'000;
  // Attempts, where the process that compiles is killed or runs out of memory.
  static constexpr uint32_t kTries = 3;

  explicit Improvement(std::shared_ptr<const std::string> from) : build(std::move(from)) {}

  const std::shared_ptr<const std::string> build;  // the request that the module was built from
  std::atomic<uint64_t> worked{0};
  std::atomic<bool> asked{false};  // queued now or earlier
  std::atomic<uint32_t> tries{0};
  Code* next = nullptr;  // in the queue
};

// The queue of code to compile again. It holds a reference to each, which the thread that takes it releases.
class ImprovementLine {
 public:
  void put(Code& code, Improvement& improvement);
  // Waits for one. For one thread.
  Code* take();
  // In a forked child: the parent's thread compiles what is queued.
  void forget() { last_.store(nullptr, std::memory_order_relaxed); }

 private:
  std::atomic<Code*> last_{nullptr};
  std::atomic<uint32_t> bell_{0};
};

ImprovementLine& improvement_line();

}  // namespace anyzero
