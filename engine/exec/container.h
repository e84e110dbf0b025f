// The container of one compiled kernel, as it comes from the planner: properties for launches, and a relocatable object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../layouts/gen/container.h"
#include "../layouts/gen/container_head.h"
#include "line_table.h"

namespace anyzero {

inline bool is_pointer(ArgumentKind kind) { return kind == ArgumentKind::Global || kind == ArgumentKind::Constant; }

struct Argument {
  ArgumentKind kind;
  uint32_t size;
  uint32_t offset;  // in the block of arguments
  uint32_t alignment;
  uint32_t access;   // of an image: 0 read, 1 write, 2 both; of others: ArgumentUse
  uint32_t place;    // of an image or sampler: its index among arguments of the same kind
  std::string name;  // type in OpenCL C, a blank, and the name

  bool operator==(const Argument&) const = default;
  bool counts_turns() const { return kind != ArgumentKind::Image && (access & ArgumentUse::kCountsTurns); }
  // May the kernel write through the pointer? Known only for kernels that note their accesses.
  bool written() const { return kind != ArgumentKind::Image && (access & ArgumentUse::kMayWrite); }
  bool pointer() const { return is_pointer(kind); }
};

// The place of an argument that is an integer of 4 or 8 bytes.
struct IntegerArgument {
  uint32_t offset;
  uint32_t size;
};

struct LeadingWrites {
  uint32_t offset;  // of the pointer
  uint32_t bytes;
};

struct KernelFacts {
  std::string name;
  std::string entry;  // the symbol to call
  std::string attributes;
  uint32_t lanes = 1;
  uint32_t flags = 0;  // KernelFlag
  uint32_t args_bytes = 0;
  uint32_t args_alignment = 8;
  uint32_t images = 0;
  uint32_t samplers = 0;
  uint32_t local_bytes = 0;
  uint32_t private_bytes = 0;
  uint32_t spill_bytes = 0;
  uint32_t scratch_fixed = 0;
  uint32_t scratch_per_vector = 0;
  uint32_t required_group[3] = {};
  uint32_t max_group_items = 0;
  uint32_t required_sub_groups = 0;
  uint32_t required_sub_group_size = 0;
  uint8_t kernel_uuid[16] = {};
  uint8_t module_uuid[16] = {};
  std::vector<Argument> arguments;
  // Offsets of arguments, for code that has a version for unaliased launches: see ArgumentUse.
  std::vector<uint32_t> separate_writes;
  std::vector<uint32_t> separate_reads;
  // Pointers through which the leading work-items write so many bytes each, and the numbers that limit their count: see
  // ContainerArgument.
  std::vector<LeadingWrites> leading_writes;
  std::vector<IntegerArgument> leading_below;
  LineTable lines;
  std::string_view counter_places;  // CounterPlaces, of kernels that count their lanes
  uint32_t counters = 0;            // that the kernel adds to
  std::vector<uint64_t> links;      // plans of the modules whose global variables are az_globals.1, az_globals.2 …

  // May code with these facts replace code with the others without a visible change to programs and recorded launches?
  bool same_to_callers(const KernelFacts& other) const;
  // The same for code that only launches run, while queries use the other code: lanes may differ, unless they are sub-groups.
  bool same_to_launches(const KernelFacts& other) const;
};

// Parses `bytes`; `object`, the line table and the counters' places point into them. Returns false with a reason: the bytes may
// come from a file, so nothing in them is trusted.
bool read_container(const std::vector<unsigned char>& bytes, KernelFacts* facts, std::string_view* object, std::string* reason);

}  // namespace anyzero
