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

void Properties::fill(void* structure, uint32_t head_type, uint32_t index) const {
  auto* head = static_cast<ze_base_properties_t*>(structure);
  // The one structure with two types, which differ in the unit of a member.
  const bool second = head_type == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES && head->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (second) head_type = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  if (const Image* image = find(head_type)) copy_body(structure, *image, index);
  for (auto* next = static_cast<ze_base_properties_t*>(head->pNext); next; next = static_cast<ze_base_properties_t*>(next->pNext))
    if (const Image* extra = find(static_cast<uint32_t>(next->stype))) copy_body(next, *extra, std::min(index, extra->count - 1));
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
