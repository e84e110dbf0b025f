// The description of a machine without Python.
#pragma once

#include <string>
#include <vector>

namespace anyzero {

// A description that somebody has written to a file. False, with the path and what is wrong with it, when it cannot be read, is no
// regular file or larger than any description.
bool describe_by_file(const std::string& path, std::vector<unsigned char>* description, std::string* reason);

// The description that was made with the library, with this machine's threads and memory in it. `reason` says on entry why there is
// no Python, and after a failure what that keeps us from doing.
bool describe_without_python(std::vector<unsigned char>* description, std::string* reason);

}  // namespace anyzero
