// A thread's run of groups, for profiles.
#pragma once

#include "../profile/sampler.h"
#include "code.h"

namespace anyzero {

// A fault leaves without the destructor. The next run says what the thread does then; until it comes, nothing of the code runs.
class SampledRun {
 public:
  // Without code, nothing is sampled.
  explicit SampledRun(const Code* code) {
    if (is_profiled() && code) [[unlikely]]
      enter(*code);
  }
  ~SampledRun() {
    if (entered_) [[unlikely]]
      leave_sampled_code();
  }
  SampledRun(const SampledRun&) = delete;
  SampledRun& operator=(const SampledRun&) = delete;

 private:
  [[gnu::noinline, gnu::cold]] void enter(const Code& code) {
    enter_sampled_code(code.number_in_profile(), code.text());
    entered_ = true;
  }

  bool entered_ = false;
};

}  // namespace anyzero
