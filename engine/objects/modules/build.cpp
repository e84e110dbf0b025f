#include "build.h"

#include <unistd.h>

#include <string_view>

#include "../../abi/error.h"
#include "../../planning/request.h"

namespace anyzero {

Build::~Build() {
  for (auto& [name, code] : *codes.open()) code->release();
}

ze_result_t Build::read(Context& context, Device& device, Reply& reply) {
  BuildReply found;
  if (!reply.read(&found)) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's reply to a build is damaged");
  log = reply.log;
  plan = std::make_shared<Plan>(found.plan);
  kernels.assign(found.kernels.begin(), found.kernels.end());
  functions.assign(found.functions.begin(), found.functions.end());
  for (const ModuleVariable& each : found.variables) variables[std::string(each.name)] = {each.offset, each.size};
  imports.assign(found.imports.begin(), found.imports.end());
  property_flags = found.property_flags;
  shareable = found.shareable != 0;
  return plan->place_variables(context, device, found);
}

Recent<Build>& recent_builds() {
  static auto* builds = new Recent<Build>;  // leaked: modules are created and destroyed from exit handlers
  return *builds;
}

BuildKey::BuildKey(const BuildRequest& request) {
  ByteWriter bytes;
  size_t size = 256;  // an estimate of fields that are not counted
  for (const ModuleInput& input : request.inputs) size += input.data.size() + input.flags.size();
  bytes.reserve(size);
  for (char* const* each = environ; each && *each; ++each) {
    const std::string_view variable = *each;
    if (variable.starts_with("ANYZERO_")) bytes.blob(variable);
  }
  request_ = bytes.bytes().size();
  encode(bytes, request);
  bytes_ = bytes.done();
}

}  // namespace anyzero
