// All driver libraries of the process: ours, and those in ZE_ENABLE_ALT_DRIVERS.
#pragma once

#include <string>
#include <vector>

#include "library.h"

namespace anyzero::loader {

// Threading: any thread. The set of libraries is fixed at the first initialization. No lock is held while a driver initializes,
// because that may need a lock that another caller holds: the GIL, in a Python program.
class Libraries {
 public:
  // Loads the libraries on first use; nullptr if there is none, and later calls try again.
  static const Libraries* load();
  // The loaded libraries; only for calls that come after initialization.
  static const Libraries& all();

  ze_result_t init(ze_init_flags_t flags) const;
  ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* handles, ze_init_driver_type_desc_t* desc) const;
  ze_result_t init_sysman(zes_init_flags_t flags) const;

  ze_result_t drivers(uint32_t* count, ze_driver_handle_t* handles) const;
  ze_result_t sysman_drivers(uint32_t* count, zes_driver_handle_t* handles) const;

  const Library& first() const { return *members_.front(); }

 private:
  explicit Libraries(std::vector<Library*> members) : members_(std::move(members)) {}

  // Success if one library succeeds; otherwise the failure of the first.
  template <class Init>
  ze_result_t any(Init init) const;
  template <class List>
  ze_result_t join(List list, uint32_t* count, ze_driver_handle_t* handles) const;

  // Decides, when the library's drivers are listed for the first time, whether its calls can be dispatched by handle.
  void judge(Library& library, const Drivers& drivers) const;
  size_t remaining() const;
  // Dispatches calls to the drivers from now on.
  void open_for_calls() const;

  std::vector<Library*> members_;
};

}  // namespace anyzero::loader
