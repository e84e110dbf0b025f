// Planning for programs without a Python of their own: a Python beside them, started when it is first needed.
#pragma once

#include <string>

#include "connection.h"

namespace anyzero {

// Asks the planning process of this program. Useless also means that none could be started. Whatever an earlier one knew of
// modules, one that takes its place is told. The caller holds no lock.
Connection::Outcome ask_planning_process(const char* function, const std::string& request, std::string* answer,
                                         std::string* reason);

// Asks another one, which compiles kernels for the second time and has nothing else to do; the question says all about the module.
Connection::Outcome ask_second_process(const std::string& request, std::string* answer, std::string* reason);

// Once modules are planned there, they stay there.
bool has_planning_process();

}  // namespace anyzero
