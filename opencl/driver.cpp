// The Level Zero driver in this library's folder: its compute devices, and native binaries for them.
#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "objects.h"

namespace anyzero::opencl {

struct Driver {
  decltype(&zeInit) init;
  decltype(&zeDriverGet) drivers;
  decltype(&zeDeviceGet) devices;
  decltype(&zeDeviceGetProperties) properties;
  decltype(&zeContextCreate) create_context;
  decltype(&zeContextDestroy) destroy_context;
  decltype(&zeModuleCreate) create_module;
  decltype(&zeModuleDestroy) destroy_module;
  decltype(&zeModuleGetNativeBinary) native;
  decltype(&zeModuleBuildLogGetString) log_text;
  decltype(&zeModuleBuildLogDestroy) destroy_log;
};

namespace {

template <class F>
bool find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool load(Driver& d) {
  Dl_info self;
  if (!dladdr(&dispatch, &self)) return false;
  const std::string path = self.dli_fname;
  void* library = dlopen((path.substr(0, path.rfind('/') + 1) + "libze_anyzero.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  return library && find(library, d.init, "zeInit") && find(library, d.drivers, "zeDriverGet") &&
         find(library, d.devices, "zeDeviceGet") && find(library, d.properties, "zeDeviceGetProperties") &&
         find(library, d.create_context, "zeContextCreate") && find(library, d.destroy_context, "zeContextDestroy") &&
         find(library, d.create_module, "zeModuleCreate") && find(library, d.destroy_module, "zeModuleDestroy") &&
         find(library, d.native, "zeModuleGetNativeBinary") && find(library, d.log_text, "zeModuleBuildLogGetString") &&
         find(library, d.destroy_log, "zeModuleBuildLogDestroy");
}

ze_driver_handle_t first_driver(const Driver& d) {
  uint32_t one = 1;
  ze_driver_handle_t found = nullptr;
  if (d.init(ZE_INIT_FLAG_GPU_ONLY) != ZE_RESULT_SUCCESS || d.drivers(&one, &found) != ZE_RESULT_SUCCESS) return nullptr;
  return found;
}

struct Search {
  const char* name;
  std::string* folder;
  bool found = false;
};

int look(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  if (std::strncmp(slash ? slash + 1 : info->dlpi_name, search.name, std::strlen(search.name)) != 0) return 0;
  search.found = true;
  if (search.folder && slash) search.folder->assign(info->dlpi_name, slash);
  return 1;
}

}  // namespace

bool is_loaded(const char* name, std::string* folder) {
  Search search{name, folder};
  dl_iterate_phdr(look, &search);
  return search.found;
}

const Driver* driver() {
  static Driver functions;
  static const bool good = load(functions);
  return good ? &functions : nullptr;
}

std::vector<std::unique_ptr<Device>>& devices() {
  // Leaked: programs release objects at exit.
  static auto& found = *[] {
    auto* made = new std::vector<std::unique_ptr<Device>>;
    const Driver* d = driver();
    ze_driver_handle_t first = d ? first_driver(*d) : nullptr;
    uint32_t count = 0;
    if (!first || d->devices(first, &count, nullptr) != ZE_RESULT_SUCCESS) return made;
    std::vector<ze_device_handle_t> handles(count);
    if (d->devices(first, &count, handles.data()) != ZE_RESULT_SUCCESS) return made;
    for (ze_device_handle_t handle : handles) {
      auto device = std::make_unique<Device>();
      device->level_zero = handle;
      device->properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
      if (d->properties(handle, &device->properties) == ZE_RESULT_SUCCESS) made->push_back(std::move(device));
    }
    return made;
  }();
  return found;
}

bool translate(const Device& device, const std::string& spirv, std::vector<uint8_t>* binary, std::string* log) {
  const Driver* d = driver();
  ze_context_desc_t about = {};
  about.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ze_context_handle_t context = nullptr;
  ze_driver_handle_t first = first_driver(*d);
  if (d->create_context(first, &about, &context) != ZE_RESULT_SUCCESS) return false;
  ze_module_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  desc.inputSize = spirv.size();
  desc.pInputModule = reinterpret_cast<const uint8_t*>(spirv.data());
  ze_module_handle_t module = nullptr;
  ze_module_build_log_handle_t build_log = nullptr;
  const bool built = d->create_module(context, device.level_zero, &desc, &module, &build_log) == ZE_RESULT_SUCCESS;
  if (build_log) {
    size_t size = 0;
    if (!built && d->log_text(build_log, &size, nullptr) == ZE_RESULT_SUCCESS && size) {
      std::string text(size, '\0');
      if (d->log_text(build_log, &size, text.data()) == ZE_RESULT_SUCCESS) *log += text.c_str();
    }
    d->destroy_log(build_log);
  }
  size_t size = 0;
  bool good = built && d->native(module, &size, nullptr) == ZE_RESULT_SUCCESS;
  if (good) {
    binary->resize(size);
    good = d->native(module, &size, binary->data()) == ZE_RESULT_SUCCESS;
  }
  if (built) d->destroy_module(module);
  d->destroy_context(context);
  return good;
}

}  // namespace anyzero::opencl
