// A module's plan: the planner's id of it, and the memory of its program-scope variables.
#pragma once

#include <cstdint>
#include <memory>

#include "../../abi/gen/ze_api.h"
#include "../../exec/code.h"
#include "../devices/context.h"

namespace anyzero {

struct BuildReply;

// Code that was compiled from it holds it, and so do modules that are linked with it. Threading: immutable once its variables are
// allocated.
class Plan {
 public:
  explicit Plan(uint64_t id) : id_(id) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  uint64_t id() const { return id_; }
  uintptr_t variables() const { return variables_; }

  // Allocates and initializes device memory for the variables.
  ze_result_t place_variables(Context& context, Device& device, const BuildReply& build);

 private:
  uint64_t id_;
  uintptr_t variables_ = 0;
};

inline GlobalBlock global_block(const std::shared_ptr<Plan>& plan) { return {plan->variables(), plan}; }

}  // namespace anyzero
