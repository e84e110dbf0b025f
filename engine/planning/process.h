// The planning process, for programs without a Python of their own: a Python interpreter, started on first use.
#pragma once

#include <string>

#include "connection.h"

namespace anyzero {

// Sends a request to the planning process of this program. Useless also means that none could be started. A successor gets the
// module state of its predecessor. The caller holds no lock.
Connection::Outcome ask_planning_process(const char* function, const std::string& request, std::string* answer,
                                         std::string* reason);

// Sends a request to the process that compiles the second stage of kernels; the request describes the whole module.
Connection::Outcome ask_second_process(const std::string& request, std::string* answer, std::string* reason);

// From now on, modules are planned there.
bool has_planning_process();

}  // namespace anyzero
