// What the planner knows of a module, and how it is asked: questions and answers are runs of bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../abi/gen/ze_api.h"
#include "../exec/code.h"
#include "context.h"

namespace anyzero {

// Numbers and texts, one behind the other.
class Question {
 public:
  void u32(uint32_t value) { raw(&value, sizeof value); }
  void u64(uint64_t value) { raw(&value, sizeof value); }
  void blob(std::string_view value) {
    u64(value.size());
    raw(value.data(), value.size());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void raw(const void* from, size_t size) { bytes_.append(static_cast<const char*>(from), size); }
  std::string bytes_;
};

// Read in the order it was written. What is not there reads as zero, and makes the answer a bad one.
class Answer {
 public:
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  std::string_view blob();
  std::string text() { return std::string(blob()); }
  // All that has not been read yet.
  std::string rest() { return bytes_.substr(std::min(at_, bytes_.size())); }
  // For a count of things that take at least `least` bytes each.
  uint32_t count(size_t least);
  bool good() const { return good_; }

  ze_result_t status = ZE_RESULT_ERROR_UNKNOWN;
  std::string log;

 private:
  friend void ask_planner(const char* function, const Question& question, Answer* answer);
  template <class T>
  T number();
  std::string bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

// Asks anyzero.driver.modules.requests.`function`, or of another package of anyzero.driver by `package.function`. The answer
// has a status and a log in any case; the rest only when the status is SUCCESS. The caller must hold no lock: this takes the
// interpreter's.
void ask_planner(const char* function, const Question& question, Answer* answer);

// A module's plan: its number with the planner, and the memory of its program-scope variables. Code that was made of it keeps it,
// and so do the modules that are linked with it. Threading: immutable once its variables are placed.
class Plan {
 public:
  explicit Plan(uint64_t id) : id_(id) {}
  // Does not call the planner, which may be gone: the next question tells it.
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  uint64_t id() const { return id_; }
  uintptr_t variables() const { return variables_; }

  // Takes device memory for the variables and fills it as the rest of a build's answer says.
  ze_result_t place_variables(Context& context, Device& device, Answer& answer);

 private:
  uint64_t id_;
  uintptr_t variables_ = 0;
};

inline GlobalBlock global_block(const std::shared_ptr<Plan>& plan) { return {plan->variables(), plan}; }

}  // namespace anyzero
