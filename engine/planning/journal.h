// What a planning process knows by now, so that another one can be told.
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
  // A question that was answered, in the bytes that the planner speaks; most say nothing that has to be kept.
  void note(std::string_view function, std::string_view request, std::string_view answer);

  // Tells everything; false when the line broke meanwhile.
  bool repeat(Connection& connection) const;

 private:
  std::map<uint64_t, std::string> builds_;    // by plan
  std::vector<std::vector<uint64_t>> links_;  // plans, in the order in which they were linked
};

}  // namespace anyzero
