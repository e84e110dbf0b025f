#include "build.h"

#include <unistd.h>

#include <string_view>

#include "../abi/error.h"

namespace anyzero {

namespace {

void read_texts(Answer& answer, std::vector<std::string>* to) {
  for (uint32_t n = answer.count(sizeof(uint64_t)); n > 0; --n) to->push_back(answer.text());
}

}  // namespace

Build::~Build() {
  for (auto& [name, code] : *codes.open()) code->release();
}

ze_result_t Build::read(Context& context, Device& device, Answer& answer) {
  log = answer.log;
  plan = std::make_shared<Plan>(answer.u64());
  read_texts(answer, &kernels);
  read_texts(answer, &functions);
  for (uint32_t n = answer.count(3 * sizeof(uint64_t)); n > 0; --n) {
    std::string name = answer.text();
    const uint64_t offset = answer.u64(), size = answer.u64();
    variables[name] = {offset, size};
  }
  if (ze_result_t r = plan->place_variables(context, device, answer)) return r;
  std::vector<std::string> exports;
  read_texts(answer, &imports);
  read_texts(answer, &exports);
  property_flags = answer.u32();
  shareable = answer.u32() != 0;
  if (!answer.good()) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer to a build is damaged");
  return ZE_RESULT_SUCCESS;
}

Recent<Build>& recent_builds() {
  static auto* builds = new Recent<Build>;  // leaked: modules are created and destroyed from exit handlers
  return *builds;
}

std::string build_question(const Question& question) {
  Question all;
  for (char* const* each = environ; each && *each; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("ANYZERO_")) all.blob(variable);
  }
  all.blob(question.bytes());
  return all.bytes();
}

}  // namespace anyzero
