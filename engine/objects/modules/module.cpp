#include "module.h"

#include <algorithm>

#include "../../abi/error.h"
#include "../../abi/properties.h"
#include "../../check/build_flags.h"
#include "../../planning/request.h"
#include "../../profile/sampler.h"
#include "../devices/driver.h"
#include "module_build_log.h"
#include "second_stage.h"
#include "text.h"

namespace anyzero {

namespace {

void hand_out(const std::string& text, ze_module_build_log_handle_t* log) {
  if (log) *log = handle_of<ze_module_build_log_handle_t>(ModuleBuildLog::make(text));
}

// Returns the log if the caller wants it, and the result with the beginning of the log as this thread's error text.
ze_result_t conclude(const char* what, const Reply& reply, ze_module_build_log_handle_t* log) {
  hand_out(reply.log, log);
  if (reply.status == ZE_RESULT_SUCCESS) return reply.status;
  return fail(reply.status, "%s: %s", what, reply.log.c_str());
}

// An input of a module, in the caller's memory.
struct Input {
  std::string_view bytes;
  std::string flags;
  const ze_module_constants_t* constants;
};

ze_result_t add_input(std::vector<Input>* inputs, const uint8_t* bytes, size_t size, const char* flags,
                      const ze_module_constants_t* constants) {
  if (size == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the module has no bytes");
  if (!bytes) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pInputModule must not be null");
  if (constants && !constants->numConstants) constants = nullptr;
  if (constants && (!constants->pConstantIds || !constants->pConstantValues))
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pConstantIds and pConstantValues must not be null");
  for (uint32_t i = 0; constants && i < constants->numConstants; ++i)
    if (!constants->pConstantValues[i])
      return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "the value of specialization constant %u is null",
                  constants->pConstantIds[i]);
  inputs->push_back({{reinterpret_cast<const char*>(bytes), size},
                     (flags ? flags : "") + check_flags() + std::string(profile_flags()),
                     constants});
  return ZE_RESULT_SUCCESS;
}

ze_result_t gather_inputs(const ze_module_desc_t& desc, std::vector<Input>* inputs) {
  auto* program = find_desc<ze_module_program_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
  if (!program) return add_input(inputs, desc.pInputModule, desc.inputSize, desc.pBuildFlags, desc.pConstants);
  if (program->count == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the program has no input modules");
  if (!program->inputSizes || !program->pInputModules)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "inputSizes and pInputModules must not be null");
  for (uint32_t i = 0; i < program->count; ++i)
    if (ze_result_t r = add_input(inputs, program->pInputModules[i], program->inputSizes[i],
                                  program->pBuildFlags ? program->pBuildFlags[i] : nullptr,
                                  program->pConstants ? program->pConstants[i] : nullptr))
      return r;
  return ZE_RESULT_SUCCESS;
}

// The sizes of each input's specialization constants in bytes, by number; only the module's types have them.
using Sizes = std::vector<std::map<uint32_t, uint32_t>>;

Sizes constant_sizes(const std::vector<Input>& inputs) {
  static auto* recent = new Recent<Sizes>;  // leaked: modules are created from exit handlers
  Sizes sizes(inputs.size());
  if (std::none_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.constants; })) return sizes;
  ConstantsRequest request;
  for (const Input& input : inputs) request.modules.push_back(input.constants ? input.bytes : std::string_view());
  std::string asked = encoded(request);
  if (std::shared_ptr<Sizes> known = recent->find(asked)) return *known;
  Reply reply;
  ask_planner("constants", asked, &reply);
  ConstantsReply found;
  // An error of the planner here would occur in the build as well, which reports it.
  if (reply.status != ZE_RESULT_SUCCESS || !reply.read(&found) || found.modules.size() != sizes.size()) return sizes;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (const ConstantSize& each : found.modules[i].sizes) sizes[i][each.number] = each.size;
  recent->keep(std::move(asked), std::make_shared<Sizes>(sizes));
  return sizes;
}

BuildRequest build_request(ze_module_format_t format, const Device& device, const std::vector<Input>& inputs) {
  const Sizes sizes = constant_sizes(inputs);
  BuildRequest request{static_cast<uint32_t>(format), device.pages_on_demand(), {}};
  request.inputs.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ze_module_constants_t* constants = inputs[i].constants;
    ModuleInput& input = request.inputs.emplace_back(inputs[i].bytes, inputs[i].flags);
    for (uint32_t c = 0; constants && c < constants->numConstants; ++c) {
      auto known = sizes[i].find(constants->pConstantIds[c]);
      const size_t size = known == sizes[i].end() ? 0 : known->second;
      input.constants.push_back({constants->pConstantIds[c], {static_cast<const char*>(constants->pConstantValues[c]), size}});
    }
  }
  return request;
}

}  // namespace

ze_result_t Module::create(Context& context, Device& device, const ze_module_desc_t* desc, ze_module_handle_t* handle,
                           ze_module_build_log_handle_t* log) {
  if (ze_result_t r = context.require(device)) return r;
  if (device.driver().kind() == DriverKind::Npu)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "the NPU executes graphs and runs no kernels; create the module for a device of the compute driver");
  std::vector<Input> inputs;
  if (ze_result_t r = gather_inputs(*desc, &inputs)) return r;
  BuildKey key(build_request(desc->format, device, inputs));
  std::shared_ptr<Build> build = recent_builds().find(key.bytes());
  if (build) {
    hand_out(build->log, log);
  } else {
    Reply reply;
    ask_planner("build", key.request(), &reply);
    if (ze_result_t r = conclude("the module cannot be built", reply, log)) return r;
    build = std::make_shared<Build>();
    if (ze_result_t r = build->read(context, device, reply)) return r;
    constexpr size_t kMost = size_t{16} << 20;
    if (key.request().size() <= kMost) build->request = std::make_shared<const std::string>(key.request());
    if (build->shareable) recent_builds().keep(key.bytes(), build);
  }
  *handle = handle_of<ze_module_handle_t>(make(context, device, std::move(build)));
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

std::vector<std::shared_ptr<Plan>> Module::reach() {
  std::lock_guard lock(links_mutex_);
  std::vector<std::shared_ptr<Plan>> found = links_;
  found.push_back(build_->plan);
  return found;
}

ze_result_t Module::dynamicLink(uint32_t count, Module* const* modules, ze_module_build_log_handle_t* log) {
  LinkRequest request;
  for (uint32_t i = 0; i < count; ++i) {
    if (modules[i]->context_.get() != modules[0]->context_.get())
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "module %u belongs to another context than the first", i);
    request.plans.push_back(modules[i]->build_->plan->id());
  }
  Reply reply;
  ask_planner("link", encoded(request), &reply);
  if (ze_result_t r = conclude("the modules cannot be linked", reply, log)) return r;
  // Code uses variables of all linked modules, also of those that one of them was linked with before.
  std::vector<std::shared_ptr<Plan>> reached;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<std::shared_ptr<Plan>> more = modules[i]->reach();
    reached.insert(reached.end(), more.begin(), more.end());
  }
  std::sort(reached.begin(), reached.end());
  reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
  for (uint32_t i = 0; i < count; ++i) {
    if (modules[i]->build_->imports.empty()) continue;
    std::lock_guard lock(modules[i]->links_mutex_);
    // Links that exist stay as they are.
    if (modules[i]->links_.empty()) modules[i]->links_ = reached;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::inspectLinkageExt(ze_linkage_inspection_ext_desc_t* desc, uint32_t count, Module* const* modules,
                                      ze_module_build_log_handle_t* log) {
  InspectRequest request{desc->flags, {}};
  for (uint32_t i = 0; i < count; ++i) request.plans.push_back(modules[i]->build_->plan->id());
  Reply reply;
  ask_planner("inspect", encoded(request), &reply);
  return conclude("the modules cannot be inspected", reply, log);
}

ze_result_t Module::getNativeBinary(size_t* size, uint8_t* binary) { return whole("native", native_, size, binary); }

ze_result_t Module::debug_info(size_t* size, uint8_t* elf) { return whole("debug", debug_info_, size, elf); }

ze_result_t Module::whole(const char* what, Guarded<std::string>& kept, size_t* size, uint8_t* to) {
  std::string bytes = std::exchange(*kept.open(), {});
  if (bytes.empty()) {
    Reply reply;
    ask_planner(what, encoded(PlanRequest{build_->plan->id()}), &reply);
    if (reply.status != ZE_RESULT_SUCCESS)
      return fail(reply.status, "the module cannot be converted to %s: %s", what, reply.log.c_str());
    BytesReply made;
    if (!reply.read(&made)) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's reply is damaged");
    bytes = made.data;
  }
  const bool all = to && *size >= bytes.size();
  const ze_result_t result = copy_out(bytes.data(), bytes.size(), size, to);
  if (!all) *kept.open() = std::move(bytes);
  return result;
}

ze_result_t ToolsModule::getDebugInfo(Module& module, zet_module_debug_info_format_t, size_t* size, uint8_t* elf) {
  return module.debug_info(size, elf);
}

ze_result_t Module::getGlobalPointer(const char* name, size_t* size, void** pointer) {
  auto found = build_->variables.find(std::string_view(name));
  if (found == build_->variables.end())
    return fail(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, "the module has no program-scope variable called %s", name);
  if (size) *size = found->second.size;
  if (pointer) *pointer = reinterpret_cast<void*>(build_->plan->variables() + found->second.offset);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::getKernelNames(uint32_t* count, const char** names) {
  const auto available = static_cast<uint32_t>(build_->kernels.size());
  if (!names || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) names[i] = build_->kernels[i].c_str();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::getProperties(ze_module_properties_t* properties) {
  properties->flags = build_->property_flags;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::getFunctionPointer(const char* name, void** function) {
  Code* found = nullptr;
  if (ze_result_t r = code(name, CodeKind::Function, &found)) return r;
  *function = reinterpret_cast<void*>(found->address());
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::code(const std::string& name, CodeKind kind, Code** code) {
  const bool kernel = kind == CodeKind::Kernel;
  const auto& names = kernel ? build_->kernels : build_->functions;
  if (std::find(names.begin(), names.end(), name) == names.end())
    return fail(kernel ? ZE_RESULT_ERROR_INVALID_KERNEL_NAME : ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
                "the module has no %s called %s", kernel ? "kernel" : "callable function", name.c_str());
  {
    auto open = build_->codes.open();
    if (auto found = open->find({kind, name}); found != open->end()) {
      *code = found->second;
      return ZE_RESULT_SUCCESS;
    }
  }
  // No lock is held meanwhile: compiling needs the interpreter, and the thread that holds it may be waiting for this one.
  Code* made = nullptr;
  if (ze_result_t r = compile(name, kind, build_->request && can_improve(), &made)) return r;
  auto [place, first] = build_->codes.open()->try_emplace({kind, name}, made);
  if (!first) made->release();
  *code = place->second;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::compile(const std::string& name, CodeKind kind, bool soon, Code** code) {
  Reply reply;
  ask_planner("compile", encoded(CompileRequest{build_->plan->id(), name, static_cast<uint32_t>(kind), soon}), &reply, name);
  if (reply.status != ZE_RESULT_SUCCESS) return fail(reply.status, "%s cannot be compiled: %s", name.c_str(), reply.log.c_str());
  CompileReply made;
  reply.read(&made);  // a damaged reply has an empty container, which is refused
  auto linked = [&](uint64_t id, GlobalBlock* block) {
    for (const auto& plan : reach())
      if (plan->id() == id) {
        *block = global_block(plan);
        return true;
      }
    return false;
  };
  std::string reason;
  *code = Code::load(std::vector<unsigned char>(made.container.begin(), made.container.end()), global_block(build_->plan), linked,
                     &reason);
  if (!*code) return fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "%s", reason.c_str());
  if (soon && (made.provisional || made.fits)) improve_when_it_pays(**code, build_->request, made.provisional, made.fits);
  return ZE_RESULT_SUCCESS;
}

void Module::complete(Code& code) {
  if (!code.improvements() || !code.improvements()->provisional || &code.current() != &code) return;
  Code* better = nullptr;
  if (compile(code.facts().name, CodeKind::Kernel, false, &better) == ZE_RESULT_SUCCESS) code.publish(better);
}

}  // namespace anyzero
