#include "module.h"

#include <algorithm>

#include "../abi/error.h"
#include "../abi/properties.h"
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

ze_result_t add_input(Question& question, const uint8_t* bytes, size_t size, const char* flags,
                      const ze_module_constants_t* constants) {
  if (size == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the module has no bytes");
  if (!bytes) return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pInputModule must not be null");
  question.blob({reinterpret_cast<const char*>(bytes), size});
  question.blob(flags ? flags : "");
  const uint32_t count = constants ? constants->numConstants : 0;
  if (count && (!constants->pConstantIds || !constants->pConstantValues))
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "pConstantIds and pConstantValues must not be null");
  question.u32(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (!constants->pConstantValues[i])
      return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "the value of specialization constant %u is null",
                  constants->pConstantIds[i]);
    question.u32(constants->pConstantIds[i]);
    question.u64(reinterpret_cast<uint64_t>(constants->pConstantValues[i]));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t add_inputs(Question& question, const ze_module_desc_t& desc) {
  question.u32(desc.format);
  auto* program = find_desc<ze_module_program_exp_desc_t>(desc.pNext, ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC);
  if (!program) {
    question.u32(1);
    return add_input(question, desc.pInputModule, desc.inputSize, desc.pBuildFlags, desc.pConstants);
  }
  if (program->count == 0) return fail(ZE_RESULT_ERROR_INVALID_SIZE, "the program has no input modules");
  if (!program->inputSizes || !program->pInputModules)
    return fail(ZE_RESULT_ERROR_INVALID_NULL_POINTER, "inputSizes and pInputModules must not be null");
  question.u32(program->count);
  for (uint32_t i = 0; i < program->count; ++i)
    if (ze_result_t r = add_input(question, program->pInputModules[i], program->inputSizes[i],
                                  program->pBuildFlags ? program->pBuildFlags[i] : nullptr,
                                  program->pConstants ? program->pConstants[i] : nullptr))
      return r;
  return ZE_RESULT_SUCCESS;
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
  Question question;
  if (ze_result_t r = add_inputs(question, *desc)) return r;
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
  answer.u32();  // bytes of debug information; there are none yet
  if (!answer.good()) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer to a build is damaged");
  return ZE_RESULT_SUCCESS;
}

ze_result_t Module::destroy() {
  retire();
  return ZE_RESULT_SUCCESS;
}

bool Module::unlinked() {
  std::lock_guard lock(links_mutex_);
  return !imports_.empty() && !linked_;
}

void Module::link_with(Module* const* modules, uint32_t count) {
  std::lock_guard lock(links_mutex_);
  // What has been linked stays as it is.
  if (std::exchange(linked_, true)) return;
  for (uint32_t i = 0; i < count; ++i)
    if (modules[i] != this) links_.push_back(modules[i]->plan_);
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
  for (uint32_t i = 0; i < count; ++i)
    if (!modules[i]->imports_.empty()) modules[i]->link_with(modules, count);
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

ze_result_t Module::getNativeBinary(size_t* size, uint8_t* binary) {
  Question question;
  question.u64(plan_->id());
  Answer answer;
  ask_planner("native", question, &answer);
  if (answer.status != ZE_RESULT_SUCCESS) return fail(answer.status, "no native binary: %s", answer.log.c_str());
  std::string_view bytes = answer.blob();
  if (!answer.good()) return fail(ZE_RESULT_ERROR_UNKNOWN, "the planner's answer is damaged");
  return copy_out(bytes.data(), bytes.size(), size, binary);
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
  if (unlinked())
    return fail(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, "the module imports %s%s; link it with zeModuleDynamicLink first",
                imports_[0].c_str(), imports_.size() > 1 ? " and more" : "");
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
    if (id == plan_->id()) {
      *block = global_block(plan_);
      return true;
    }
    std::lock_guard lock(links_mutex_);
    for (const auto& plan : links_)
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
