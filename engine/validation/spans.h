// Memory of the program that a command reads or writes: it has to lie inside of one allocation.
#pragma once

#include "../abi/gen/ze_api.h"

namespace anyzero {

// Each refuses a command that leaves the allocation in which it begins, or uses memory that has been freed.
ze_result_t check_reads(ze_command_list_handle_t list, const void* from, uint64_t bytes);
ze_result_t check_writes(ze_command_list_handle_t list, const void* to, uint64_t bytes);

// The bytes of `memory` up to the last one that a copy to or from a region of the image touches; 0 if the call is refused anyway.
uint64_t span_of_image(ze_image_handle_t image, const ze_image_region_t* region, uint32_t row_pitch, uint32_t slice_pitch);

}  // namespace anyzero
