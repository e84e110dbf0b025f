// Which Python plans for a process that has none of its own, and where our package is.
#pragma once

#include <string>

namespace anyzero {

// Where this library lies: .../anyzero/lib. Empty where that cannot be found out.
const std::string& library_folder();

// The program that the Python of this process is, which then is the one to start.
void prefer_interpreter(const char* path);

// The interpreter to start: ANYZERO_PYTHON, else that of this process, else the one that was recorded beside the library, else the
// one whose site-packages we are in. Empty, with what was tried, when there is none.
std::string find_interpreter(std::string* tried);

}  // namespace anyzero
