// Contexts and programs: a program is built from source, and its binary is a native binary of the Level Zero driver.
#include <cstring>

#include "objects.h"

namespace anyzero::opencl {

namespace {

template <class T>
Status retain(T* object) {
  object->references.fetch_add(1, std::memory_order_relaxed);
  return kSuccess;
}

Status release_context(Context* context) {
  if (context->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete context;
  return kSuccess;
}

Status release_program(Program* program) {
  if (program->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return kSuccess;
  release_context(program->context);
  delete program;
  return kSuccess;
}

Context* create_context(const intptr_t*, uint32_t count, Device* const* devices, void*, void*, Status* status) {
  const bool good = count == 1 && devices && devices[0];
  auto* context = good ? new (std::nothrow) Context : nullptr;
  if (context) context->device = devices[0];
  if (status) *status = context ? kSuccess : good ? kOutOfHostMemory : kInvalidDevice;
  return context;
}

Status get_context_info(Context* context, uint32_t what, size_t size, void* to, size_t* needed) {
  using namespace context_info;
  switch (what) {
    case kReferences:
      return answer(context->references.load(), size, to, needed);
    case kDevices:
      return answer(context->device, size, to, needed);
    case kDeviceCount:
      return answer(uint32_t{1}, size, to, needed);
    default:
      return kInvalidValue;
  }
}

Program* create_program(Context* context, uint32_t count, const char** texts, const size_t* lengths, Status* status) {
  auto* program = context && count && texts ? new (std::nothrow) Program : nullptr;
  if (status) *status = program ? kSuccess : context ? kInvalidValue : kInvalidContext;
  if (!program) return nullptr;
  retain(context);
  program->context = context;
  for (uint32_t i = 0; i < count; ++i) program->source.append(texts[i], lengths && lengths[i] ? lengths[i] : std::strlen(texts[i]));
  return program;
}

Status build(Program* program, uint32_t, Device* const*, const char* options, void (*done)(Program*, void*), void* data) {
  program->options = options ? options : "";
  program->log.clear();
  program->binary.clear();
  std::string spirv;
  const bool good = compile(program->source, program->options, &spirv, &program->log) &&
                    translate(*program->context->device, spirv, &program->binary, &program->log);
  program->status = good ? build_info::kDone : build_info::kFailed;
  if (done) done(program, data);
  return good ? kSuccess : kBuildFailure;
}

Status get_program_info(Program* program, uint32_t what, size_t size, void* to, size_t* needed) {
  using namespace program_info;
  switch (what) {
    case kReferences:
      return answer(program->references.load(), size, to, needed);
    case kContext:
      return answer(program->context, size, to, needed);
    case kDeviceCount:
      return answer(uint32_t{1}, size, to, needed);
    case kDevices:
      return answer(program->context->device, size, to, needed);
    case kSource:
      return answer(program->source, size, to, needed);
    case kBinarySizes:
      return answer(program->binary.size(), size, to, needed);
    case kBinaries: {
      // The caller's array of output pointers, one for each device.
      if (needed) *needed = sizeof(void*);
      if (!to) return kSuccess;
      if (size < sizeof(void*)) return kInvalidValue;
      if (void* place = *static_cast<void**>(to)) std::memcpy(place, program->binary.data(), program->binary.size());
      return kSuccess;
    }
    default:
      return kInvalidValue;
  }
}

Status get_build_info(Program* program, Device*, uint32_t what, size_t size, void* to, size_t* needed) {
  using namespace build_info;
  switch (what) {
    case kStatus:
      return answer(program->status, size, to, needed);
    case kOptions:
      return answer(program->options, size, to, needed);
    case kLog:
      return answer(program->log, size, to, needed);
    default:
      return kInvalidValue;
  }
}

template <class F>
Function plain(F* function) {
  return reinterpret_cast<Function>(function);
}

}  // namespace

void fill_programs(Function* table) {
  table[CreateContext] = plain(create_context);
  table[RetainContext] = plain(retain<Context>);
  table[ReleaseContext] = plain(release_context);
  table[GetContextInfo] = plain(get_context_info);
  table[CreateProgramWithSource] = plain(create_program);
  table[RetainProgram] = plain(retain<Program>);
  table[ReleaseProgram] = plain(release_program);
  table[BuildProgram] = plain(build);
  table[GetProgramInfo] = plain(get_program_info);
  table[GetProgramBuildInfo] = plain(get_build_info);
}

}  // namespace anyzero::opencl
