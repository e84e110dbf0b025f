// What code of the first stage knows of the second: whether it has run long enough for better code to pay.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace anyzero {

class Code;

// Threading: any thread counts; the one that finds that it is enough puts the code in line, without a lock or memory.
struct Improvement {
  // Nanoseconds of work after which a kernel is worth compiling again. About what that takes: who runs for less is done before.
  static constexpr uint64_t kWorth = 20'000'000;
  // So often another process is asked, where one is killed or runs out of memory.
  static constexpr uint32_t kTries = 3;

  explicit Improvement(std::shared_ptr<const std::string> from) : build(std::move(from)) {}

  const std::shared_ptr<const std::string> build;  // the question that the module was made from
  std::atomic<uint64_t> worked{0};
  std::atomic<bool> asked{false};  // in line, or has been
  std::atomic<uint32_t> tries{0};
  Code* next = nullptr;  // in line behind it
};

// Code that waits to be compiled again. Each is held by whoever puts it there, and then by whoever takes it.
class ImprovementLine {
 public:
  void put(Code& code, Improvement& improvement);
  // Waits for one. For one thread.
  Code* take();
  // In a forked child: the parent's thread has what was there.
  void forget() { last_.store(nullptr, std::memory_order_relaxed); }

 private:
  std::atomic<Code*> last_{nullptr};
  std::atomic<uint32_t> bell_{0};
};

ImprovementLine& improvement_line();

}  // namespace anyzero
