#include "libraries.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <new>

#include "log.h"

namespace anyzero::loader {

namespace {

constexpr const char* kDriver = "libze_anyzero.so.1";

std::recursive_timed_mutex loading;
std::atomic<const Libraries*> loaded{nullptr};

// A child cannot recover from a half-loaded library, so a fork waits until loading is done. With a timeout: a glibc older than 2.36
// blocks the registration of fork handlers meanwhile, and the library that is being loaded may need one.
constexpr std::chrono::seconds kLongestLoad{1};
thread_local bool held_for_fork = false;

void before_fork() { held_for_fork = loading.try_lock_for(kLongestLoad); }

void after_fork() {
  if (held_for_fork) loading.unlock();
}

void in_child() { new (&loading) std::recursive_timed_mutex; }

const int prepared_for_fork = pthread_atfork(before_fork, after_fork, in_child);

// Resolved when this library is loaded: a relative path changes its meaning with the working directory.
const std::string* const folder = [] {
  Dl_info self{};
  char resolved[PATH_MAX];
  dladdr(reinterpret_cast<const void*>(&current), &self);
  std::string path = self.dli_fname && realpath(self.dli_fname, resolved) ? resolved : "";
  return new std::string(path.substr(0, path.rfind('/') + 1));
}();

std::vector<std::string> alternatives() {
  std::vector<std::string> paths;
  // A program with more privileges than its caller does not load libraries that the caller names.
  const char* named = secure_getenv("ZE_ENABLE_ALT_DRIVERS");
  const std::string text = named ? named : "";
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) paths.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

bool is_among(const std::vector<Library*>& libraries, const Library& library) {
  return std::any_of(libraries.begin(), libraries.end(), [&](const Library* each) { return each->same_file(library); });
}

std::vector<Library*> find() {
  std::vector<Library*> found;
  for (const std::string& path : alternatives()) {
    Library* library = Library::open(path);
    if (!library) continue;
    if (is_among(found, *library)) {
      trace("%s is named twice", path.c_str());
      delete library;
    } else {
      found.push_back(library);
    }
  }
  // Our driver comes first, unless its position among others was chosen.
  Library* own = Library::open(*folder + kDriver);
  if (own && !is_among(found, *own)) {
    found.insert(found.begin(), own);
  } else {
    delete own;
  }
  for (const Library* library : found) trace("driver library %s", library->path().c_str());
  return found;
}

template <class Handle>
void hand_out(const Drivers& found, uint32_t* count, Handle* handles) {
  const auto available = static_cast<uint32_t>(found.size());
  if (!handles || *count == 0) {
    *count = available;
    return;
  }
  *count = std::min(*count, available);
  std::copy_n(found.begin(), *count, handles);
}

}  // namespace

const Libraries* Libraries::load() {
  if (const Libraries* libraries = loaded.load(std::memory_order_acquire)) return libraries;
  std::lock_guard lock(loading);
  if (const Libraries* libraries = loaded.load(std::memory_order_relaxed)) return libraries;
  std::vector<Library*> found = find();
  if (found.empty()) {
    complain("no driver can be used; is %s beside the loader?", kDriver);
    return nullptr;
  }
  const auto* libraries = new Libraries(std::move(found));
  loaded.store(libraries, std::memory_order_release);
  return libraries;
}

const Libraries& Libraries::all() { return *loaded.load(std::memory_order_acquire); }

size_t Libraries::remaining() const {
  auto stays = [](const Library* library) { return library->standing() != Library::Standing::LeftOut; };
  return static_cast<size_t>(std::count_if(members_.begin(), members_.end(), stays));
}

void Libraries::judge(Library& library, const Drivers& drivers) const {
  if (members_.size() == 1 || drivers.empty() || library.standing() != Library::Standing::Unknown) return;
  bool told_apart = std::all_of(drivers.begin(), drivers.end(), [&](auto driver) { return library.leads_to_tables(driver); });
  if (told_apart || remaining() == 1) {
    library.stand(Library::Standing::Accepted);
  } else if (library.stand(Library::Standing::LeftOut)) {
    complain(
        "%s is skipped: with several drivers, calls are dispatched through tables at the beginning of every object "
        "(ZE_extension_driver_ddi_handles), which this driver does not provide",
        library.path().c_str());
  }
}

void Libraries::open_for_calls() const {
  const Functions* target = &by_handle;
  if (remaining() == 1)
    for (const Library* library : members_)
      if (library->standing() != Library::Standing::LeftOut) target = &library->functions();
  direct_calls_to(target);
}

template <class Init>
ze_result_t Libraries::any(Init init) const {
  bool succeeded = false;
  ze_result_t failure = ZE_RESULT_SUCCESS;
  for (Library* library : members_) {
    if (library->standing() == Library::Standing::LeftOut) continue;
    ze_result_t result = init(*library);
    if (result == ZE_RESULT_SUCCESS) {
      succeeded |= library->standing() != Library::Standing::LeftOut;
    } else if (failure == ZE_RESULT_SUCCESS) {
      failure = result;
    }
  }
  if (!succeeded) return failure ? failure : ZE_RESULT_ERROR_UNINITIALIZED;
  open_for_calls();
  return ZE_RESULT_SUCCESS;
}

ze_result_t Libraries::init(ze_init_flags_t flags) const {
  return any([&](Library& library) {
    if (ze_result_t result = library.init(flags)) return result;
    Drivers drivers;
    library.drivers(&drivers);
    judge(library, drivers);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t Libraries::init_drivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) const {
  // A single library gets the caller's arguments unchanged, so that the driver itself checks them and reports errors.
  if (members_.size() == 1 && first().has_init_drivers())
    return any([&](Library& library) { return library.init_drivers(count, handles, desc); });
  if (!count || !desc) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Drivers found;
  ze_result_t result = any([&](Library& library) {
    Drivers drivers;
    if (ze_result_t failed = library.init_drivers(desc, &drivers)) return failed;
    judge(library, drivers);
    if (library.standing() != Library::Standing::LeftOut) found.insert(found.end(), drivers.begin(), drivers.end());
    return ZE_RESULT_SUCCESS;
  });
  if (result == ZE_RESULT_SUCCESS) hand_out(found, count, handles);
  return result;
}

ze_result_t Libraries::init_sysman(zes_init_flags_t flags) const {
  return any([&](Library& library) {
    if (ze_result_t result = library.init_sysman(flags)) return result;
    // Only the core API has a query for the table behind a driver's handles.
    Drivers drivers;
    if (members_.size() > 1 && library.standing() == Library::Standing::Unknown && !library.init(0)) library.drivers(&drivers);
    judge(library, drivers);
    return ZE_RESULT_SUCCESS;
  });
}

template <class List>
ze_result_t Libraries::join(List list, uint32_t* count, ze_driver_handle_t* handles) const {
  if (!count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  Drivers found;
  bool succeeded = false;
  ze_result_t failure = ZE_RESULT_ERROR_UNINITIALIZED;
  for (const Library* library : members_) {
    if (library->standing() != Library::Standing::Accepted) continue;
    Drivers drivers;
    ze_result_t result = list(*library, &drivers);
    if (result) {
      failure = result;
      continue;
    }
    succeeded = true;
    found.insert(found.end(), drivers.begin(), drivers.end());
  }
  if (!succeeded) return failure;
  hand_out(found, count, handles);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Libraries::drivers(uint32_t* count, ze_driver_handle_t* handles) const {
  return join([](const Library& library, Drivers* found) { return library.drivers(found); }, count, handles);
}

ze_result_t Libraries::sysman_drivers(uint32_t* count, zes_driver_handle_t* handles) const {
  return join([](const Library& library, Drivers* found) { return library.sysman_drivers(found); }, count, handles);
}

}  // namespace anyzero::loader
