#include "properties.h"

#include <algorithm>

namespace anyzero {

namespace {

constexpr size_t kBase = sizeof(ze_base_properties_t);

void copy_body(void* structure, const Properties::Image& image, uint32_t index) {
  if (index >= image.count || image.size <= kBase) return;
  const unsigned char* source = image.bytes.data() + size_t{index} * image.size;
  std::memcpy(static_cast<unsigned char*>(structure) + kBase, source + kBase, image.size - kBase);
}

}  // namespace

const Properties::Image* Properties::find(uint32_t stype) const {
  for (const Image& image : images_)
    if (image.stype == stype) return &image;
  return nullptr;
}

bool Properties::extended(uint32_t head_type) const {
  return std::any_of(images_.begin(), images_.end(), [&](const Image& image) { return image.extends == head_type; });
}

void Properties::fill(void* structure, uint32_t head_type, uint32_t index) const {
  auto* head = static_cast<ze_base_desc_t*>(structure);
  // The only structure with two types; they differ in the unit of a member.
  const bool second = head_type == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES && type_of(*head) == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (const Image* image = find(second ? uint32_t{ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2} : head_type))
    copy_body(structure, *image, index);
  if (!head->pNext || !extended(head_type)) return;
  for (const ze_base_desc_t& next : Chain(head->pNext)) {
    const Image* extra = find(type_of(next));
    if (extra && extra->extends == head_type)
      copy_body(const_cast<ze_base_desc_t*>(&next), *extra, std::min(index, extra->count - 1));
  }
}

ze_result_t Properties::fill_array(uint32_t stype, uint32_t* count, void* array, size_t stride) const {
  uint32_t available = this->count(stype);
  if (!array || *count == 0) {
    *count = available;
    return ZE_RESULT_SUCCESS;
  }
  *count = std::min(*count, available);
  for (uint32_t i = 0; i < *count; ++i) fill(static_cast<unsigned char*>(array) + i * stride, stype, i);
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
