// The Python interpreter for the planning process, and the location of our package.
#pragma once

#include <string>

namespace anyzero {

// The folder of this library: .../anyzero/lib. Empty if unknown.
const std::string& library_folder();

// Sets the interpreter of the Python in this process, which is then the one to start.
void prefer_interpreter(const char* path);

// The interpreter to start: ANYZERO_PYTHON, else that of this process, else the one recorded beside the library, else the one whose
// site-packages contain the library. Empty, with the list of attempts, if there is none.
std::string find_interpreter(std::string* tried);

}  // namespace anyzero
