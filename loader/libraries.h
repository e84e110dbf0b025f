// All driver libraries of the process: ours, and what ZE_ENABLE_ALT_DRIVERS names.
#pragma once

#include <string>
#include <vector>

#include "library.h"

namespace anyzero::loader {

// Threading: any thread. Which libraries there are is settled when the first program part initializes. No lock is held while a
// driver initializes, because that may need a lock that another caller holds: the interpreter's, in a Python program.
class Libraries {
 public:
  // Loads them on first use; nullptr when there is none, which later calls try again.
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

  // Success when one of them succeeds; the failure of the first otherwise.
  template <class Init>
  ze_result_t any(Init init) const;
  template <class List>
  ze_result_t join(List list, uint32_t* count, ze_driver_handle_t* handles) const;

  // Decides, when its drivers are seen for the first time, whether calls can be told apart from those of other libraries.
  void judge(Library& library, const Drivers& drivers) const;
  size_t remaining() const;
  // From now on calls reach drivers.
  void open_for_calls() const;

  std::vector<Library*> members_;
};

}  // namespace anyzero::loader
