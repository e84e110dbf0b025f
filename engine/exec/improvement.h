// Better code for hot kernels: the time that each has run, and the queue of kernels that are worth compiling again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace anyzero {

class Code;

// One improvement of a kernel: final code in the place of first-stage code, or code for groups of one size.
//
// Threading: any thread counts; the one that passes the limit queues the improvement, without a lock or an allocation.
struct Improvement {
  // Nanoseconds of work after which a kernel is compiled again: about the time that this takes.
  static constexpr uint64_t kWorth = 20'000'000;
  // The same for groups of one size. The gain is smaller (a fifth to a half of the time), so it takes longer to pay.
  static constexpr uint64_t kWorthFitting = 100'000'000;
  // Attempts, if the compiling process is killed or runs out of memory.
  static constexpr uint32_t kTries = 3;

  Code* code = nullptr;
  std::atomic<uint64_t> group{0};  // the size of its groups, packed; 0: any size
  std::atomic<uint64_t> worked{0};
  std::atomic<bool> asked{false};  // queued now or earlier
  std::atomic<uint32_t> tries{0};
  std::atomic<Code*> fitting{nullptr};  // for groups of that size
  Improvement* next = nullptr;          // in the queue
};

// All improvements of one kernel's code.
struct Improvements {
  static constexpr size_t kSizes = 8;  // different group sizes; launches with further sizes run the general code

  const std::shared_ptr<const std::string> build;  // the request that the module was built from
  const bool provisional;                          // the code is of the first stage
  const bool fits;                                 // code for one size of groups may be faster
  Improvement final;
  std::array<Improvement, kSizes> sizes;

  Improvements(Code& code, std::shared_ptr<const std::string> build, bool provisional, bool fits);

  // 0 for sizes that cannot be packed; these get no special code.
  static uint64_t packed(const uint32_t* size) {
    constexpr uint32_t kBits = 21;
    if ((size[0] | size[1] | size[2]) >> kBits) return 0;
    return size[0] | uint64_t{size[1]} << kBits | uint64_t{size[2]} << 2 * kBits;
  }
  static std::array<uint32_t, 3> unpacked(uint64_t group);

  // Code for groups of this size; nullptr if there is none yet.
  Code* fitting(const uint32_t* size) const {
    const uint64_t group = packed(size);
    for (const Improvement& each : sizes) {
      const uint64_t known = each.group.load(std::memory_order_relaxed);
      if (known == group) return each.fitting.load(std::memory_order_acquire);
      if (!known) break;
    }
    return nullptr;
  }

  // Adds the working time of a launch with groups of this size.
  void note_work(uint64_t nanoseconds, const uint32_t* size);
};

// The queue of improvements. It holds a reference to the code of each, which the thread that takes it releases.
class ImprovementLine {
 public:
  void put(Improvement& improvement);
  // Waits for the next one. For a single thread.
  Improvement* take();
  // In a forked child: empties the queue, which the parent's thread works on.
  void forget() { last_.store(nullptr, std::memory_order_relaxed); }

 private:
  std::atomic<Improvement*> last_{nullptr};
  std::atomic<uint32_t> bell_{0};
};

ImprovementLine& improvement_line();

}  // namespace anyzero
