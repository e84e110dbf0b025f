// A thread's run of groups, for profiles.
#pragma once

#include "../profile/sampler.h"
#include "code.h"

namespace anyzero {

// A fault leaves without the destructor. The next run says what the thread does then; until it comes, nothing of the code runs.
class SampledRun {
 public:
  // Without code, nothing is sampled.
  SampledRun(const Code* code, Worker& worker) {
    worker.counters = ignored_counters;
    if (is_profiled() && code) [[unlikely]]
      enter(*code, worker);
  }
  ~SampledRun() {
    if (entered_) [[unlikely]]
      leave_sampled_code();
  }
  SampledRun(const SampledRun&) = delete;
  SampledRun& operator=(const SampledRun&) = delete;

 private:
  [[gnu::noinline, gnu::cold]] void enter(const Code& code, Worker& worker) {
    const uint32_t number = code.number_in_profile();
    enter_sampled_code(number, code.text());
    if (code.facts().counters)
      if (unsigned char* counters = thread_counters(number, code.facts().counters)) worker.counters = counters;
    entered_ = true;
  }

  bool entered_ = false;
};

}  // namespace anyzero
