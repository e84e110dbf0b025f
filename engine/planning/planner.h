// The only interface to Python, which describes the devices at start-up, and makes plans of modules and manifests of graphs.
#pragma once

#include <string>
#include <vector>

namespace anyzero {

// The description of the devices by anyzero.driver.devices.boot: by the Python of this process if it uses our package, else by a
// planning process, else from a file. False with a reason if it is invalid.
bool describe_machine(std::vector<unsigned char>* description, std::string* reason);

// Sends a request to the planner: calls anyzero.driver.modules.requests.`function`, or for "graphs.manifest" the function
// `manifest` of anyzero.driver.graphs.requests; request and reply are bytes. False with a reason if there is no Python, or no such
// function. Later requests about a module go to the Python that built it. Acquires the GIL, so the caller must hold no lock of the
// engine.
bool call_planner(const char* function, const std::string& request, std::string* reply, std::string* reason);

}  // namespace anyzero
