#include "module.h"

#include <algorithm>

#include "../abi/error.h"
#include "../abi/properties.h"
#include "driver.h"
#include "module_build_log.h"
#include "text.h"

namespace anyzero {

namespace {

// The log for whoever asked for one, and the outcome with the log's beginning as this thread's error text.
ze_result_t conclude(const char* what, const Answer& answer, ze_module_build_log_handle_t* log) {
  if (log) *log = handle_of<ze_module_build_log_handle_t>(ModuleBuildLog::make(answer.log));
  if (answer.status == ZE_RESULT_SUCCESS) return answer.status;
  return fail(answer.status, "%s: %s", what, answer.log.c_str());
}

// Something that a module is made from; the caller's memory.
struct Input {
  std::string_view bytes;
  std::string_view flags;
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
  inputs->push_back({{reinterpret_cast<const char*>(bytes), size}, flags ? flags : "", constants});
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

// How many bytes a value has, by the constant's number; only types inside of the module tell.
using ConstantSizes = std::map<uint32_t, uint32_t>;

std::vector<ConstantSizes> constant_sizes(const std::vector<Input>& inputs) {
  std::vector<ConstantSizes> sizes(inputs.size());
  if (std::none_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.constants; })) return sizes;
  Question question;
  question.u32(static_cast<uint32_t>(inputs.size()));
  for (const Input& input : inputs) question.blob(input.constants ? input.bytes : std::string_view());
  Answer answer;
  ask_planner("constants", question, &answer);
  // Whatever keeps the planner from answering keeps it from building, and there it is told.
  if (answer.status != ZE_RESULT_SUCCESS) return sizes;
  for (ConstantSizes& each : sizes)
    for (uint32_t n = answer.count(2 * sizeof(uint32_t)); n > 0; --n) {
      const uint32_t number = answer.u32();
      each[number] = answer.u32();
    }
  return sizes;
}

void add_inputs(Question& question, ze_module_format_t format, const Device& device, const std::vector<Input>& inputs) {
  const std::vector<ConstantSizes> sizes = constant_sizes(inputs);
  question.u32(format);
  question.u32(device.pages_on_demand());
  question.u32(static_cast<uint32_t>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ze_module_constants_t* constants = inputs[i].constants;
    question.blob(inputs[i].bytes);
    question.blob(inputs[i].flags);
    question.u32(constants ? constants->numConstants : 0);
    for (uint32_t c = 0; constants && c < constants->numConstants; ++c) {
      auto known = sizes[i].find(constants->pConstantIds[c]);
      question.u32(constants->pConstantIds[c]);
      question.blob({static_cast<const char*>(constants->pConstantValues[c]), known == sizes[i].end() ? 0 : known->second});
    }
  }
}

void read_texts(Answer& answer, std::vector<std::string>* to) {
  for (uint32_t n = answer.count(sizeof(uint64_t)); n > 0; --n) to->push_back(answer.text());
}

Question about(const std::vector<uint64_t>& plans, Question question = {}) {
  question.u32(static_cast<uint32_t>(plans.size()));
  for (uint64_t plan : plans) question.u64(plan);
  return question;
}

}  // namespace

Module::~Module() {
  for (auto& [name, code] : *codes_.open()) code->release();
}

ze_result_t Module::create(Context& context, Device& device, const ze_module_desc_t* desc, ze_module_handle_t* handle,
                           ze_module_build_log_handle_t* log) {
  if (ze_result_t r = context.require(device)) return r;
  if (device.driver().type() == Driver::Type::Npu)
    return fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                "the NPU executes graphs and runs no kernels; create the module for a device of the compute driver");
  std::vector<Input> inputs;
  if (ze_result_t r = gather_inputs(*desc, &inputs)) return r;
  Question question;
  add_inputs(question, desc->format, device, inputs);
  Answer answer;
  ask_planner("build", question, &answer);
  if (ze_result_t r = conclude("the module cannot be built", answer, log)) return r;
  Ref<Module> module = Ref<Module>::adopt(make(context, device, std::make_shared<Plan>(answer.u64())));
  if (ze_result_t r = module->read(answer)) return r;
  module->retain();
  *handle = handle_of<ze_module_handle_t>(module.get());
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::read(Answer& answer) {
  read_texts(answer, &kernels_);
  read_texts(answer, &functions_);
  for (uint32_t n = answer.count(3 * sizeof(uint64_t)); n > 0; --n) {
    std::string name = answer.text();
    const uint64_t offset = answer.u64(), size = answer.u64();
    variables_[name] = {offset, size};
  }
  if (ze_result_t r = plan_->place_variables(*context_, device_, answer)) return r;
  std::vector<std::string> exports;
  read_texts(answer, &imports_);
  read_texts(answer, &exports);
  property_flags_ = answer.u32();
  if (!answer.good()) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer to a build is damaged");
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

std::vector<std::shared_ptr<Plan>> Module::reach() {
  std::lock_guard lock(links_mutex_);
  std::vector<std::shared_ptr<Plan>> found = links_;
  found.push_back(plan_);
  return found;
}

ze_result_t Module::dynamicLink(uint32_t count, Module* const* modules, ze_module_build_log_handle_t* log) {
  std::vector<uint64_t> plans;
  for (uint32_t i = 0; i < count; ++i) {
    if (modules[i]->context_.get() != modules[0]->context_.get())
      return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "module %u belongs to another context than the first", i);
    plans.push_back(modules[i]->plan_->id());
  }
  Answer answer;
  ask_planner("link", about(plans), &answer);
  if (ze_result_t r = conclude("the modules cannot be linked", answer, log)) return r;
  // Code takes what it needs from all of these, also where one of them was linked with others before.
  std::vector<std::shared_ptr<Plan>> reached;
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<std::shared_ptr<Plan>> more = modules[i]->reach();
    reached.insert(reached.end(), more.begin(), more.end());
  }
  std::sort(reached.begin(), reached.end());
  reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
  for (uint32_t i = 0; i < count; ++i) {
    if (modules[i]->imports_.empty()) continue;
    std::lock_guard lock(modules[i]->links_mutex_);
    // What has been linked stays as it is.
    if (modules[i]->links_.empty()) modules[i]->links_ = reached;
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::inspectLinkageExt(ze_linkage_inspection_ext_desc_t* desc, uint32_t count, Module* const* modules,
                                      ze_module_build_log_handle_t* log) {
  std::vector<uint64_t> plans;
  for (uint32_t i = 0; i < count; ++i) plans.push_back(modules[i]->plan_->id());
  Question question;
  question.u32(desc->flags);
  Answer answer;
  ask_planner("inspect", about(plans, std::move(question)), &answer);
  return conclude("the modules cannot be inspected", answer, log);
}

ze_result_t Module::getNativeBinary(size_t* size, uint8_t* binary) { return whole("native", native_, size, binary); }

ze_result_t Module::debug_info(size_t* size, uint8_t* elf) { return whole("debug", debug_info_, size, elf); }

ze_result_t Module::whole(const char* what, Guarded<std::string>& kept, size_t* size, uint8_t* to) {
  std::string bytes = std::exchange(*kept.open(), {});
  if (bytes.empty()) {
    Question question;
    question.u64(plan_->id());
    Answer answer;
    ask_planner(what, question, &answer);
    if (answer.status != ZE_RESULT_SUCCESS)
      return fail(answer.status, "the module cannot be had as %s: %s", what, answer.log.c_str());
    bytes = answer.text();
    if (!answer.good()) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer is damaged");
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
  auto found = variables_.find(std::string_view(name));
  if (found == variables_.end())
    return fail(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, "the module has no program-scope variable called %s", name);
  if (size) *size = found->second.size;
  if (pointer) *pointer = reinterpret_cast<void*>(plan_->variables() + found->second.offset);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::getKernelNames(uint32_t* count, const char** names) {
  const auto available = static_cast<uint32_t>(kernels_.size());
  if (!names || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) names[i] = kernels_[i].c_str();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::getProperties(ze_module_properties_t* properties) {
  properties->flags = property_flags_;
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
  const auto& names = kernel ? kernels_ : functions_;
  if (std::find(names.begin(), names.end(), name) == names.end())
    return fail(kernel ? ZE_RESULT_ERROR_INVALID_KERNEL_NAME : ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
                "the module has no %s called %s", kernel ? "kernel" : "callable function", name.c_str());
  {
    auto open = codes_.open();
    if (auto found = open->find({kind, name}); found != open->end()) {
      *code = found->second;
      return ZE_RESULT_SUCCESS;
    }
  }
  // No lock is held meanwhile: whoever compiles needs the interpreter, and whoever has that may be waiting for us.
  Code* made = nullptr;
  if (ze_result_t r = compile(name, kind, &made)) return r;
  auto [place, first] = codes_.open()->try_emplace({kind, name}, made);
  if (!first) made->release();
  *code = place->second;
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::compile(const std::string& name, CodeKind kind, Code** code) {
  Question question;
  question.u64(plan_->id());
  question.blob(name);
  question.u32(static_cast<uint32_t>(kind));
  Answer answer;
  ask_planner("compile", question, &answer);
  if (answer.status != ZE_RESULT_SUCCESS) return fail(answer.status, "%s cannot be compiled: %s", name.c_str(), answer.log.c_str());
  std::string_view container = answer.blob();
  auto linked = [&](uint64_t id, GlobalBlock* block) {
    for (const auto& plan : reach())
      if (plan->id() == id) {
        *block = global_block(plan);
        return true;
      }
    return false;
  };
  std::string reason;
  *code = Code::load(std::vector<unsigned char>(container.begin(), container.end()), global_block(plan_), linked, &reason);
  return *code ? ZE_RESULT_SUCCESS : fail(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "%s", reason.c_str());
}

}  // namespace anyzero
