// A graph as a DOT file: a box for each command, an arrow for each dependence.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "../../abi/error.h"
#include "../../exec/code.h"
#include "capture.h"
#include "graph.h"

namespace anyzero {

namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Declared type and name of an argument, and its value in bytes.
std::string argument_text(const Argument& argument, const unsigned char* args) {
  static constexpr const char* kKinds[] = {"value", "global", "constant", "local", "image", "sampler"};
  std::string text = argument.name.empty() ? kKinds[static_cast<uint32_t>(argument.kind)] : argument.name;
  char value[24];
  uint64_t number = 0;
  if (argument.size <= sizeof number) {
    std::memcpy(&number, args + argument.offset, argument.size);
    std::snprintf(value, sizeof value, " = %#llx", static_cast<unsigned long long>(number));
    return text + value;
  }
  text += " = ";
  for (uint32_t i = 0; i < argument.size && i < 64; ++i) {
    std::snprintf(value, sizeof value, "%02x", args[argument.offset + i]);
    text += value;
  }
  return argument.size > 64 ? text + "…" : text;
}

std::string label_of(const Packet& packet, bool detailed) {
  char text[512];
  describe(packet, text, sizeof text);
  std::string label = escaped(text);
  if (!detailed || packet.op != Op::Launch) return label;
  for_each_launch(static_cast<const LaunchPacket&>(packet), [&](const Launch& launch) {
    if (static_cast<const LaunchPacket&>(packet).count > 1) label += "\\l" + escaped(launch.code->facts().name);
    for (const Argument& argument : launch.code->facts().arguments)
      label += "\\l" + escaped(argument_text(argument, launch.args()));
  });
  return label + "\\l";
}

void write_branch(std::FILE* file, uint32_t index, Program& program, bool detailed) {
  std::fprintf(file, "  subgraph cluster_%u {\n    label=\"command list %u\";\n", index, index);
  std::string edges;
  char line[128];
  Cursor at{program.stream().first()};
  for (uint64_t i = 0; i < program.count(); ++i) {
    const Packet& packet = at.packet();
    const unsigned long long number = i;
    std::fprintf(file, "    c%u_%llu [label=\"%s\"];\n", index, number, label_of(packet, detailed).c_str());
    if (i) {
      std::snprintf(line, sizeof line, "  c%u_%llu -> c%u_%llu;\n", index, number - 1, index, number);
      edges += line;
    }
    for (uint32_t k = 0; k < packet.n_waits; ++k) {
      if (!GraphPlace::is_awaited_by(packet.waits()[k])) continue;
      const GraphPlace from = GraphPlace::of(packet.waits()[k]);
      std::snprintf(line, sizeof line, "  c%u_%llu -> c%u_%llu [style=dashed];\n", from.branch,
                    static_cast<unsigned long long>(from.command), index, number);
      edges += line;
    }
    at.advance(packet);
  }
  std::fprintf(file, "  }\n%s", edges.c_str());
}

}  // namespace

ze_result_t Graph::dumpContentsExt(const char* path, const void* next) {
  const auto* desc = find_desc<ze_record_replay_graph_ext_dump_desc_t>(next, ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXT_DUMP_DESC);
  if (desc && desc->mode > ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE)
    return fail(ZE_RESULT_ERROR_INVALID_ENUMERATION, "dump mode %u is unknown", static_cast<unsigned>(desc->mode));
  const bool detailed = !desc || desc->mode == ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_DETAILED;
  std::lock_guard lock(Capture::mutex());
  if (state() == State::Capturing) return refuse_unless_complete();
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "we"), std::fclose);
  if (!file) return fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "cannot write %s: %s", path, std::strerror(errno));
  std::fputs("digraph graph {\n  node [shape=box];\n", file.get());
  for (uint32_t i = 0; i < branches_.size(); ++i) write_branch(file.get(), i, *branches_[i]->program, detailed);
  std::fputs("}\n", file.get());
  if (std::fflush(file.get())) return fail(ZE_RESULT_ERROR_UNKNOWN, "cannot write %s: %s", path, std::strerror(errno));
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyzero
