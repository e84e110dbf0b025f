// The only bridge to Python: it describes the devices at start-up, makes plans of modules and manifests of graphs.
#pragma once

#include <string>
#include <vector>

namespace anyzero {

// What the machine shows, as described by anyzero.driver.devices.boot: in the Python of this process where there is one that has
// our package, else in a Python that is started beside it, else by a file. False with a reason when that is wrong.
bool describe_machine(std::vector<unsigned char>* description, std::string* reason);

// Has the planner do something: calls anyzero.driver.modules.requests.`function`, or for "graphs.manifest" the function `manifest`
// of anyzero.driver.graphs.requests, with bytes, for bytes. False with a reason when there is no Python, or it has no such
// function. A module's later questions go to the Python that built it. Takes the interpreter's lock, so the caller must hold none
// of ours.
bool call_planner(const char* function, const std::string& request, std::string* reply, std::string* reason);

}  // namespace anyzero
