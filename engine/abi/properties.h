// Properties are data: images of the specification's structures, made by the planner at start-up and copied out on every query.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "chain.h"

namespace anyzero {

// The images of one driver or device, by structure type. Immutable after start-up, so any thread may read.
class Properties {
 public:
  struct Image {
    uint32_t stype;
    uint32_t count;
    uint32_t size;
    uint32_t extends;  // type of the structure whose pNext chain it extends; 0 if it is queried itself
    std::vector<unsigned char> bytes;
  };

  void add(Image image) { images_.push_back(std::move(image)); }
  const Image* find(uint32_t stype) const;

  // Element `index` as a T; nullptr if the planner described none.
  template <class T>
  const T* get(uint32_t stype, uint32_t index = 0) const {
    const Image* image = find(stype);
    if (!image || index >= image->count || image->size != sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(image->bytes.data() + size_t{index} * image->size);
  }

  // The mutable version, for start-up before any query.
  template <class T>
  T* edit(uint32_t stype, uint32_t index = 0) {
    return const_cast<T*>(get<T>(stype, index));
  }

  uint32_t count(uint32_t stype) const {
    const Image* image = find(stype);
    return image ? image->count : 0;
  }

  // Fills `structure`, read as `head_type` whatever its own stype says, and the extensions in its pNext chain, from element `index`
  // of each type's image. Other structures in the chain stay untouched. If the type has no extensions, the chain is not read.
  void fill(void* structure, uint32_t head_type, uint32_t index = 0) const;

  // The specification's two-call pattern: a null array requests the count, an array is filled up to its size.
  ze_result_t fill_array(uint32_t stype, uint32_t* count, void* array, size_t stride) const;

 private:
  bool extended(uint32_t head_type) const;
  std::vector<Image> images_;
};

// Two-call pattern for arrays of handles.
template <class Handle, class Range>
ze_result_t list_handles(const Range& objects, uint32_t* count, Handle* handles) {
  uint32_t available = static_cast<uint32_t>(objects.size());
  if (!handles || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  if (*count > available) *count = available;
  for (uint32_t i = 0; i < *count; ++i) handles[i] = reinterpret_cast<Handle>(&*objects[i]);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
