// A log of the requests that changed a planning process's state, to be replayed to its successor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "connection.h"

namespace anyzero {

// Threading: under the lock of its owner.
class Journal {
 public:
  // Records an answered request; most need not be kept.
  void note(std::string_view function, std::string_view request, std::string_view answer);

  // Replays all of them; false if the connection broke meanwhile.
  bool repeat(Connection& connection) const;

 private:
  std::map<uint64_t, std::string> builds_;    // by plan
  std::vector<std::vector<uint64_t>> links_;  // plans, in the order in which they were linked
};

}  // namespace anyzero
