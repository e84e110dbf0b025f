#include "container.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "../layouts/bytes.h"
#include "../layouts/gen/kernel.h"

namespace anyzero {

namespace {

constexpr uint32_t kMostLanes = 64;
constexpr uint32_t kMostArguments = 1u << 16;
constexpr uint32_t kMostArgumentBytes = 1u << 20;
constexpr uint32_t kLargestAlignment = 128;

// CRC-32, with the polynomial of zlib.
constexpr std::array<uint32_t, 256> kRemainders = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xEDB88320 : 0);
  }
  return table;
}();

uint64_t checksum(const unsigned char* bytes, size_t size) {
  uint32_t rest = UINT32_MAX;
  for (size_t i = 0; i < size; ++i) rest = rest >> 8 ^ kRemainders[(rest ^ bytes[i]) & 0xFF];
  return ~rest;
}

bool good_argument(const ContainerArgument& record, uint32_t args_bytes) {
  const auto kind = static_cast<ArgumentKind>(record.kind);
  if (!is_known(kind) || record.access > (kind == ArgumentKind::Image ? 2 : ArgumentUse::kAll)) return false;
  if (record.alignment == 0 || record.alignment > kLargestAlignment || (record.alignment & (record.alignment - 1))) return false;
  if (record.kind != static_cast<uint32_t>(ArgumentKind::Value) && record.size != 8) return false;
  return record.size <= args_bytes && record.offset <= args_bytes - record.size && record.offset % record.alignment == 0;
}

// The number of counters that these places name; false if they are none.
bool count_counters(std::string_view places, uint32_t* counters) {
  ByteReader reader(places);
  while (!reader.rest().empty()) {
    const auto place = reader.record<CounterPlace>();
    if (!reader.good() || place.counter >= kMostCounters) return false;
    *counters = std::max(*counters, place.counter + 1);
  }
  return true;
}

}  // namespace

bool KernelFacts::same_to_callers(const KernelFacts& other) const {
  constexpr uint32_t kTurns = KernelFlag::kConstantTurns | KernelFlag::kTurnsByArguments;
  return (flags & kTurns) == (other.flags & kTurns) && arguments == other.arguments && same_to_launches(other);
}

bool KernelFacts::same_to_launches(const KernelFacts& other) const {
  if ((flags & KernelFlag::kSubGroups) && lanes != other.lanes) return false;
  // Flags about its execution may differ, and so may trip counts, which may depend on the group size.
  constexpr uint32_t kOwn = KernelFlag::kFlat | KernelFlag::kSharesRows | KernelFlag::kFitsGroups | KernelFlag::kConstantTurns |
                            KernelFlag::kTurnsByArguments | KernelFlag::kLanesAlongY | KernelFlag::kLanesAlongZ |
                            KernelFlag::kDividesIds;
  auto alike = [](const Argument& one, const Argument& two) {
    return one.kind == two.kind && one.size == two.size && one.offset == two.offset && one.alignment == two.alignment;
  };
  return name == other.name && (flags | kOwn) == (other.flags | kOwn) && args_bytes == other.args_bytes &&
         args_alignment == other.args_alignment && images == other.images && samplers == other.samplers &&
         local_bytes == other.local_bytes && std::equal(required_group, required_group + 3, other.required_group) &&
         max_group_items == other.max_group_items &&
         std::equal(arguments.begin(), arguments.end(), other.arguments.begin(), other.arguments.end(), alike);
}

bool read_container(const std::vector<unsigned char>& bytes, KernelFacts* facts, std::string_view* object, std::string* reason) {
  auto damaged = [&](const char* what) {
    *reason = std::string("the compiled kernel is damaged: ") + what;
    return false;
  };
  ByteReader reader(bytes);
  const auto head = reader.record<ContainerHead>();
  if (std::string_view(head.magic, sizeof head.magic) != kContainerMagic) return damaged("it has no header");
  if (head.total_bytes != bytes.size()) return damaged("its size does not match its header");
  constexpr size_t kCovered = offsetof(ContainerHead, checksum) + sizeof head.checksum;
  if (head.checksum != checksum(bytes.data() + kCovered, bytes.size() - kCovered)) return damaged("its checksum does not match");
  if (head.lanes == 0 || head.lanes > kMostLanes) return damaged("it has an impossible number of lanes");
  if (head.n_args > kMostArguments || head.args_bytes > kMostArgumentBytes || head.n_links > kMostArguments)
    return damaged("it has too many arguments");

  *facts = {};
  facts->lanes = head.lanes;
  facts->flags = head.flags;
  facts->args_bytes = head.args_bytes;
  facts->local_bytes = head.local_bytes;
  facts->private_bytes = head.private_bytes;
  facts->spill_bytes = head.spill_bytes;
  facts->scratch_fixed = head.scratch_fixed;
  facts->scratch_per_vector = head.scratch_per_vector;
  std::copy_n(head.required_group, 3, facts->required_group);
  facts->max_group_items = head.max_group_items;
  facts->required_sub_groups = head.required_sub_groups;
  facts->required_sub_group_size = head.required_sub_group_size;
  std::copy_n(head.kernel_uuid, 16, facts->kernel_uuid);
  std::copy_n(head.module_uuid, 16, facts->module_uuid);

  std::vector<uint32_t> name_bytes;
  for (uint32_t i = 0; i < head.n_args; ++i) {
    const auto record = reader.record<ContainerArgument>();
    if (!reader.good()) return damaged("it ends within its arguments");
    if (!good_argument(record, head.args_bytes)) return damaged("an argument lies outside the block or has no known kind");
    auto kind = static_cast<ArgumentKind>(record.kind);
    uint32_t place = kind == ArgumentKind::Image ? facts->images++ : kind == ArgumentKind::Sampler ? facts->samplers++ : 0;
    uint32_t access = record.access;
    if (is_pointer(kind)) {
      if (access & ArgumentUse::kSeparateWrites) facts->separate_writes.push_back(record.offset);
      if (access & ArgumentUse::kSeparateReads) facts->separate_reads.push_back(record.offset);
      // The stages of a kernel differ in these, while its arguments are the same.
      access &= ~(ArgumentUse::kSeparateWrites | ArgumentUse::kSeparateReads);
      if (record.leading_writes) facts->leading_writes.push_back({record.offset, record.leading_writes});
    }
    if (kind == ArgumentKind::Value && access & ArgumentUse::kLeadingBelow) {
      if (record.size != 4 && record.size != 8) return damaged("the number of leading work-items is no integer");
      facts->leading_below.push_back({record.offset, record.size});
      access &= ~ArgumentUse::kLeadingBelow;
    }
    facts->arguments.push_back({kind, record.size, record.offset, record.alignment, access, place, {}});
    facts->args_alignment = std::max(facts->args_alignment, record.alignment);
    name_bytes.push_back(record.name_bytes);
  }
  for (uint32_t i = 0; i < head.n_args; ++i) facts->arguments[i].name = reader.c_string(name_bytes[i]);
  if (!reader.good()) return damaged("it ends within the names of its arguments");
  for (uint32_t i = 0; i < head.n_links && reader.good(); ++i) facts->links.push_back(reader.u64());
  if (!reader.good()) return damaged("it ends within its links");
  facts->name = reader.c_string(head.name_bytes);
  facts->entry = reader.c_string(head.entry_bytes);
  facts->attributes = reader.c_string(head.attributes_bytes);
  if (!reader.good()) return damaged("it ends within its texts");
  const std::string_view lines = reader.take(head.lines_bytes);
  if (!reader.good() || !facts->lines.read(lines)) return damaged("its line table is invalid");
  facts->counter_places = reader.take(head.counters_bytes);
  if (!reader.good() || !count_counters(facts->counter_places, &facts->counters)) return damaged("its counters are invalid");
  *object = reader.rest();
  if (object->size() != head.object_bytes) return damaged("the size of its code does not match its header");
  return true;
}

}  // namespace anyzero
