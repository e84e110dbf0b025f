// Compiles OpenCL C to SPIR-V by the front end of Intel's OpenCL runtime for processors. oneMKL's FFT requires that package, so it
// is installed wherever this code runs.
#include <dlfcn.h>

#include <mutex>

#include "objects.h"

namespace anyzero::opencl {

namespace {

constexpr char kFrontEnd[] = "libcommon_clang.so";

// Options for SPIR-V that any driver reads: typed pointers, and no extensions except sub-groups.
constexpr char kForm[] =
    " -emit-spirv --spirv-ext=-all,+SPV_INTEL_subgroups,+SPV_KHR_no_integer_wrap_decoration"
    " -cl-ext=+cl_khr_fp64,+cl_khr_fp16,+cl_intel_subgroups,+cl_intel_subgroups_short,+cl_khr_int64_base_atomics"
    " -D__SPIR64__ -Dcl_khr_fp64=1 -Dcl_khr_fp16=1 -Dcl_intel_subgroups=1 -Dcl_intel_subgroups_short=1";

// The front end's result object, with its virtual functions in this order. Not declared as a class with virtual functions: no class
// here derives from it, and the compiler would conclude that they are never called.
struct Result {
  struct Table {
    size_t (*size)(const Result*);
    const void* (*data)(const Result*);
    const char* (*name)(const Result*);
    int (*kind)(const Result*);
    const char* (*log)(const Result*);
    void (*release)(Result*);
  };
  const Table* table;
};

using Compile = int (*)(const char* source, const char** headers, unsigned count, const char** names, const char* precompiled,
                        size_t precompiled_size, const char* options, const char* more, const char* version, Result** result);

Compile front_end() {
  static const Compile found = [] {
    void* library = dlopen(kFrontEnd, RTLD_NOW | RTLD_LOCAL);
    for (const char* beside : {"libmkl_sycl_dft.so", "libsycl.so", "libOpenCL.so"}) {
      std::string folder;
      if (!library && is_loaded(beside, &folder)) library = dlopen((folder + "/" + kFrontEnd).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    return library ? reinterpret_cast<Compile>(dlsym(library, "Compile")) : nullptr;
  }();
  return found;
}

}  // namespace

bool compile(const std::string& source, const std::string& options, std::string* spirv, std::string* log) {
  const Compile run = front_end();
  if (!run) {
    *log = "libcommon_clang.so, the compiler of OpenCL C, was not found; pip install intel-opencl-rt";
    return false;
  }
  // The front end's flags are global to the process.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const bool named = options.find("-cl-std=") != std::string::npos;
  const std::string all = named ? options : options + " -cl-std=CL2.0";
  Result* result = nullptr;
  const int status = run(source.c_str(), nullptr, 0, nullptr, nullptr, 0, all.c_str(), kForm, "200", &result);
  if (!result) {
    *log = "the compiler of OpenCL C returned no result";
    return false;
  }
  const Result::Table& call = *result->table;
  if (const char* text = call.log(result)) *log = text;
  if (status == 0 && call.size(result)) spirv->assign(static_cast<const char*>(call.data(result)), call.size(result));
  call.release(result);
  return !spirv->empty();
}

}  // namespace anyzero::opencl
