// Objects and memory that the program made while check mode is on, with the calls that made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "../system/mutex.h"

namespace anyzero {

struct Made {
  const void* context;
  const void* parent;  // the object that it was made from and must not outlive, or nullptr
  size_t size;         // of memory; 0 for objects
  std::string what;
  std::string where;
  uint64_t place;
  bool managed;             // by the language of the program
  bool library;             // made by a library
  std::string freed_where;  // of memory that was freed: kept for reports about later uses of it
};

struct MadeObjects {
  std::map<uintptr_t, Made> objects;
  size_t freed = 0;                                                   // how many of them are freed memory
  std::map<std::pair<const void*, uint32_t>, uintptr_t> pool_places;  // the event at an index of a pool

  std::map<uintptr_t, Made>::iterator erase(std::map<uintptr_t, Made>::iterator at) {
    freed -= !at->second.freed_where.empty();
    return objects.erase(at);
  }
};

Guarded<MadeObjects>& made_objects();

// Each is called on the thread, and within the call, that made or freed it.
void note_made(const void* context, const void* parent, const void* object, size_t size, std::string what);
void note_freed(const void* memory);
void forget_made(const void* object);

// "; made by CALL, PLACE" for an address inside of an allocation or for an object, and "; freed by CALL, PLACE" for one that was
// freed lately; empty where nothing is known.
std::string where_made(const void* object);

}  // namespace anyzero
