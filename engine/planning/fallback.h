// The description of a machine without Python.
#pragma once

#include <string>
#include <vector>

namespace anyzero {

// Reads a description from a file. False, with the path and the reason, if it cannot be read, is no regular file, or is too large.
bool describe_by_file(const std::string& path, std::vector<unsigned char>* description, std::string* reason);

// The description that was built with the library, with this machine's threads and memory filled in. `reason` says on entry why
// there is no Python, and after a failure what is impossible without it.
bool describe_without_python(std::vector<unsigned char>* description, std::string* reason);

}  // namespace anyzero
