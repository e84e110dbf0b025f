// What a machine shows when there is no Python to describe it.
#pragma once

#include <string>
#include <vector>

namespace anyzero {

// A description that somebody has written to a file. False when it cannot be opened.
bool describe_by_file(const std::string& path, std::vector<unsigned char>* description);

// The description that was made with the library, with this machine's threads and memory in it. `reason` says on entry why there is
// no Python, and after a failure what that keeps us from doing.
bool describe_without_python(std::vector<unsigned char>* description, std::string* reason);

}  // namespace anyzero
