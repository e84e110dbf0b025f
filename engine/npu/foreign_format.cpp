#include "foreign_format.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace anyzero {

namespace {

constexpr size_t kEnough = 64;
constexpr size_t kModelXml = 16;  // offset of the XML in a model serialised by OpenVINO's NPU plugin

template <class T>
T number(std::string_view bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool is_xml(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.starts_with("<?xml") || text.starts_with("<net") || text.starts_with("<!--");
}

std::string describe_elf(std::string_view bytes) {
  const auto machine = number<uint16_t>(bytes, offsetof(Elf64_Ehdr, e_machine));
  if (machine == EM_X86_64 || machine == EM_386 || machine == EM_AARCH64)
    return "an ELF file with code for a processor; a graph is created from a model: pass its OpenVINO IR";
  return "an ELF file, as a compiler for NPU hardware writes it; it runs on that hardware only: compile the model for this device "
         "again, from its OpenVINO IR";
}

std::string describe(std::string_view begin) {
  if (begin.starts_with(ELFMAG)) return describe_elf(begin);
  if (is_xml(begin))
    return "XML, perhaps an OpenVINO IR; pass it serialised together with its weights, with the format "
           "ZE_GRAPH_FORMAT_NGRAPH_LITE (in Python Context.graph(path) does that)";
  if (number<uint32_t>(begin, 4) == 2 && begin.size() > kModelXml && is_xml(begin.substr(kModelXml)))
    return "a serialised model that is not compiled; create the graph with the format ZE_GRAPH_FORMAT_NGRAPH_LITE";
  if (number<uint32_t>(begin, 0) == 0x07230203) return "SPIR-V, which holds kernels; zeModuleCreate of a compute device takes it";
  if (begin.starts_with("AZSEALED")) return "the beginning of an encrypted graph; the rest of it is missing";
  if (begin.substr(std::min<size_t>(begin.size(), 4)).starts_with("TFL3"))
    return "a TensorFlow Lite model; convert it to OpenVINO IR (ov.convert_model, ov.save_model)";
  if (begin.size() > 2 && begin[0] == 0x08 && begin[1] > 0 && begin[1] < 0x20 && (begin[2] == 0x12 || begin[2] == 0x3A))
    return "perhaps an ONNX model; convert it to OpenVINO IR (ov.convert_model, ov.save_model)";
  if (begin.starts_with("PK\x03\x04"))
    return "a ZIP archive, perhaps a PyTorch model; convert it to OpenVINO IR (ov.convert_model)";
  if (begin.starts_with("\x1F\x8B")) return "compressed with gzip; decompress it first";
  if (begin.find_first_not_of('\0') == begin.npos)
    return "nothing but zeros; the file was never written, or only its padding was read";
  return {};
}

}  // namespace

std::string describe_foreign_format(std::span<const unsigned char> bytes) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kEnough));
  const std::string found = begin.empty() ? std::string() : describe(begin);
  return found.empty() ? found : "this is " + found;
}

}  // namespace anyzero
