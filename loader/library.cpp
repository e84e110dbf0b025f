#include "library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include "layers.h"
#include "log.h"
#include "tables.h"

namespace anyzero::loader {

namespace {

// A library without the function has no such table; that is not an error.
template <class T>
ze_result_t fill(void* library, const char* getter, uint32_t version, T* table) {
  using Getter = ze_result_t (*)(ze_api_version_t, T*);
  auto* get = reinterpret_cast<Getter>(dlsym(library, getter));
  if (!get) return ZE_RESULT_SUCCESS;
  ze_result_t result = get(static_cast<ze_api_version_t>(version), table);
  if (result != ZE_RESULT_SUCCESS) {
    *table = T{};
    trace("%s returned %#x", getter, static_cast<unsigned>(result));
  }
  return result;
}

// A driver may link a loader, whose functions dlsym then finds as well; the tables are the driver's own.
bool belongs_to_loader(void* tables, void* init) {
  Dl_info of_tables{}, of_init{};
  return tables && init && dladdr(tables, &of_tables) && dladdr(init, &of_init) && of_tables.dli_fbase == of_init.dli_fbase;
}

// A driver older than this loader may refuse a version that it does not know.
uint32_t agreed_version(void* library) {
  uint32_t version = ZE_API_VERSION_CURRENT;
  ze_global_dditable_t global{};
  while (ZE_MINOR_VERSION(version) > 0 &&
         fill(library, "zeGetGlobalProcAddrTable", version, &global) == ZE_RESULT_ERROR_UNSUPPORTED_VERSION)
    --version;
  return version;
}

template <class Handle, class List>
ze_result_t list(List list, Drivers* found) {
  uint32_t count = 0;
  if (ze_result_t result = list(&count, static_cast<Handle*>(nullptr))) return result;
  found->resize(count);
  if (count == 0) return ZE_RESULT_SUCCESS;
  ze_result_t result = list(&count, found->data());
  found->resize(result == ZE_RESULT_SUCCESS ? count : 0);
  return result;
}

// The flags of zeInit that mean the same types of drivers.
ze_init_flags_t older_flags(ze_init_driver_type_flags_t types) {
  constexpr uint32_t both = ZE_INIT_DRIVER_TYPE_FLAG_GPU | ZE_INIT_DRIVER_TYPE_FLAG_NPU;
  if ((types & both) == ZE_INIT_DRIVER_TYPE_FLAG_GPU) return ZE_INIT_FLAG_GPU_ONLY;
  if ((types & both) == ZE_INIT_DRIVER_TYPE_FLAG_NPU) return ZE_INIT_FLAG_VPU_ONLY;
  return 0;
}

}  // namespace

Library* Library::open(const std::string& path) {
  // dlopen opens any file, and would block on a pipe without a writer.
  struct stat found;
  if (path.find('/') != path.npos && stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    complain("skipped: %s is not a regular file", path.c_str());
    return nullptr;
  }
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    complain("skipped: %s", why ? why : path.c_str());
    return nullptr;
  }
  // A loader among the drivers would recurse endlessly. It stays loaded, because it may have started threads.
  if (belongs_to_loader(dlsym(handle, "zeGetGlobalProcAddrTable"), dlsym(handle, "zeLoaderInit"))) {
    complain("%s is skipped: it is a loader, not a driver", path.c_str());
    return nullptr;
  }
  switch_checks_on_as_told(handle, path.c_str());
  auto* library = new Library(path, handle);
  if (library->fetch()) return library;
  complain("%s is skipped: it is not a Level Zero driver (zeInit or zeDriverGet is missing)", path.c_str());
  delete library;
  return nullptr;
}

bool Library::fetch() {
  Tables tables;
  const uint32_t version = agreed_version(handle_);
#define DRIVER_TABLE(place, getter, order_since) \
  if (version >= (order_since)) fill(handle_, getter, version, &tables.place);
#include "gen/driver_tables.inc"

#define FUNCTION(name, place, ...) \
  functions_.name = tables.place ? tables.place : Refuse<decltype(&::name), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE>::call;
#include "gen/functions.inc"

  has_init_drivers_ = tables.ze.Global.pfnInitDrivers;
  return tables.ze.Driver.pfnGet && tables.ze.Global.pfnInit;
}

ze_result_t Library::told(const char* function, ze_result_t result) const {
  if (result == ZE_RESULT_SUCCESS) return result;
  const char* text = nullptr;
  bool known = functions_.zerGetLastErrorDescription(&text) == ZE_RESULT_SUCCESS && text && *text;
  trace("%s: %s returned %#x: %s", path_.c_str(), function, static_cast<unsigned>(result), known ? text : "no reason given");
  return result;
}

ze_result_t Library::init(ze_init_flags_t flags) const { return told("zeInit", functions_.zeInit(flags)); }

ze_result_t Library::init_sysman(zes_init_flags_t flags) const { return told("zesInit", functions_.zesInit(flags)); }

ze_result_t Library::init_drivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) const {
  return told("zeInitDrivers", functions_.zeInitDrivers(count, handles, desc));
}

ze_result_t Library::init_drivers(ze_init_driver_type_desc_t* desc, Drivers* found) const {
  if (has_init_drivers_)
    return list<ze_driver_handle_t>([&](uint32_t* count, auto* handles) { return init_drivers(count, handles, desc); }, found);
  ze_result_t result = init(older_flags(desc->flags));
  return result ? result : drivers(found);
}

ze_result_t Library::drivers(Drivers* found) const { return list<ze_driver_handle_t>(functions_.zeDriverGet, found); }

ze_result_t Library::sysman_drivers(Drivers* found) const { return list<zes_driver_handle_t>(functions_.zesDriverGet, found); }

bool Library::leads_to_tables(ze_driver_handle_t driver) const {
  ze_driver_ddi_handles_ext_properties_t tables{};
  tables.stype = ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES;
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  properties.pNext = &tables;
  return functions_.zeDriverGetProperties(driver, &properties) == ZE_RESULT_SUCCESS &&
         (tables.flags & ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED);
}

}  // namespace anyzero::loader
