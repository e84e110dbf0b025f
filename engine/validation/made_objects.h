// Objects and memory that the program made while check mode is on, with the places that made them.
#pragma once

#include <string>

namespace anyzero {

// "; made by CALL, PLACE" for an address inside of an allocation or for an object; empty where that is not known.
std::string where_made(const void* object);

// Of contexts that the program has not destroyed.
void report_leaks_at_exit();

}  // namespace anyzero
