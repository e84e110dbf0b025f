// A driver library: its functions, and the state of its drivers.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "dispatch.h"

namespace anyzero::loader {

using Drivers = std::vector<ze_driver_handle_t>;

// Threading: any thread. Created once and never freed, because programs call from exit handlers.
class Library {
 public:
  // Whether calls can be dispatched to it beside others. Unknown until its drivers have been listed.
  enum class Standing { Unknown, Accepted, LeftOut };

  // nullptr, with a message on stderr, if it is not a driver.
  static Library* open(const std::string& path);

  bool same_file(const Library& other) const { return handle_ == other.handle_; }
  const std::string& path() const { return path_; }
  const Functions& functions() const { return functions_; }
  bool has_init_drivers() const { return has_init_drivers_; }

  Standing standing() const { return standing_.load(std::memory_order_acquire); }
  // True for the thread that changes the state.
  bool stand(Standing standing) { return standing_.exchange(standing, std::memory_order_acq_rel) != standing; }

  ze_result_t init(ze_init_flags_t flags) const;
  ze_result_t init_sysman(zes_init_flags_t flags) const;
  ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) const;

  // The drivers of the types in `desc`; for a library older than zeInitDrivers, by the older functions.
  ze_result_t init_drivers(ze_init_driver_type_desc_t* desc, Drivers* found) const;
  ze_result_t drivers(Drivers* found) const;
  ze_result_t sysman_drivers(Drivers* found) const;

  // Whether all objects of this driver begin with tables that a loader can dispatch through.
  bool leads_to_tables(ze_driver_handle_t driver) const;

 private:
  Library(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}

  bool fetch();
  // Traces a failure, with the library's own description.
  ze_result_t told(const char* function, ze_result_t result) const;

  std::string path_;
  void* handle_;
  Functions functions_{};
  bool has_init_drivers_ = false;
  std::atomic<Standing> standing_{Standing::Unknown};
};

}  // namespace anyzero::loader
