// Calls of the program by their places: each is kept once, for reports that come later.
#pragma once

#include <cstdint>
#include <string>

namespace anyzero {

struct CallSite {
  std::string call;    // the function of the API
  std::string caller;  // where the program called it
  uint64_t number;     // for Finding::place

  std::string text() const { return caller.empty() ? call : call + ", " + caller; }
};

// Of the call that the calling thread is in. Lives as long as the process.
const CallSite* current_call_site();

}  // namespace anyzero
