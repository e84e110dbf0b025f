// Taking the client's models apart: both envelopes, and what is said about those that are broken.
#include "../../engine/npu/serialized_model.h"

#include <cassert>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "graph_bytes.h"

using anyzero::ModelSerializer;
using anyzero::SerializedModel;
using Raw = std::vector<unsigned char>;

namespace {

constexpr std::string_view kXml = "<net name=\"m\" version=\"11\"></net>";

Raw raw(const std::string& text) { return {text.begin(), text.end()}; }

Raw whole(std::string_view xml = kXml, std::string_view weights = "weights!!") {
  anyzero::ByteWriter bytes;
  bytes.u32(7 | 27 << 16);
  bytes.u32(2);
  bytes.text(xml);
  bytes.text(weights);
  return raw(bytes.bytes());
}

Raw pointing(uint64_t constants_size = 0) {
  anyzero::ByteWriter bytes;
  for (uint64_t value : {uint64_t{48}, uint64_t{4}, uint64_t{52}, constants_size, 52 + constants_size, uint64_t{kXml.size()}})
    bytes.u64(value);
  bytes.u32(7 | 27 << 16);
  return raw(bytes.bytes() + std::string(constants_size, 'c') + std::string(kXml));
}

bool refused(const Raw& input, const char* because) {
  SerializedModel model;
  std::string reason;
  const bool good = SerializedModel::split(input, &model, &reason);
  if (good || reason.find(because) == std::string::npos)
    std::fprintf(stderr, "refused for '%s', not '%s'\n", reason.c_str(), because);
  return !good && reason.find(because) != std::string::npos && model.xml.empty() && model.weights.empty();
}

SerializedModel split(const Raw& input) {
  SerializedModel model;
  std::string reason;
  if (!SerializedModel::split(input, &model, &reason)) std::fprintf(stderr, "refused for '%s'\n", reason.c_str());
  assert(reason.empty());
  return model;
}

void both_envelopes_are_read() {
  const Raw first = whole();
  SerializedModel model = split(first);
  assert(model.serializer == ModelSerializer::Whole && model.xml == kXml);
  assert(model.weights.size() == 9 && std::memcmp(model.weights.data(), "weights!!", 9) == 0);
  assert(model.weights.data() + 9 == first.data() + first.size() && first.size() == 24 + kXml.size() + 9);
  const Raw light = whole(kXml, "");
  assert(split(light).weights.empty());

  const Raw second = pointing();
  model = split(second);
  assert(model.serializer == ModelSerializer::Pointing && model.xml == kXml && model.weights.empty());
  const Raw third = pointing(5);
  model = split(third);
  assert(model.xml == kXml && model.weights.size() == 5 && model.weights[0] == 'c');
  assert(static_cast<uint32_t>(ModelSerializer::Whole) == 1 && static_cast<uint32_t>(ModelSerializer::Pointing) == 2);
}

template <class T>
Raw with(Raw bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

void reasons_are_clear() {
  SerializedModel model;
  std::string reason;
  assert(!SerializedModel::split({}, &model, &reason) && reason.find("there is none") != std::string::npos);
  assert(refused({1, 2, 3}, "3 bytes and no header"));
  assert(refused(with<uint32_t>(whole(), 4, 3), "3 parts instead of 2"));
  assert(refused(raw(std::string(kXml)), "together with its weights"));
  assert(refused(raw("AZGRAPH\n and so on"), "native blob of anyzero"));
  assert(refused(raw("\x7F"
                     "ELF and so on and so on"),
                 "ELF"));
  assert(refused(whole(""), "XML is empty"));
  assert(refused(with<uint64_t>(whole(), 8, 1000), "its XML should have 1000 bytes, and 50 are left"));
  assert(refused(with<uint64_t>(whole(), 8, UINT64_MAX), "its XML should have"));
  assert(refused(with<uint64_t>(whole(), 16 + kXml.size(), 10), "its weights should have 10 bytes, and 9 are left"));
  assert(refused(with<uint64_t>(whole(), 16 + kXml.size(), 8), "1 bytes follow its weights"));
  assert(refused(with<uint64_t>(pointing(), 8, 5), "version of the compiler"));
  assert(refused(with<uint64_t>(pointing(5), 16, UINT64_MAX - 2), "constants lie outside"));
  assert(refused(with<uint64_t>(pointing(5), 24, 1u << 20), "constants lie outside"));
  assert(refused(with<uint64_t>(pointing(), 32, 0), "XML lies outside"));
  assert(refused(with<uint64_t>(pointing(), 32, UINT64_MAX), "XML lies outside"));
  assert(refused(with<uint64_t>(pointing(), 40, kXml.size() + 1), "XML lies outside"));
  assert(refused(with<uint64_t>(pointing(), 40, UINT64_MAX), "XML lies outside"));
  assert(refused(with<uint64_t>(pointing(), 40, 0), "XML is empty"));
}

// Cut or damaged anywhere: refused, or parts that lie inside. The sanitizers are the judges.
void damage_is_survived() {
  std::mt19937 random(4);
  for (const Raw& good : {whole(), pointing(), pointing(40)}) {
    for (size_t size = 0; size < good.size(); ++size) {
      const Raw cut(good.begin(), good.begin() + static_cast<ptrdiff_t>(size));
      SerializedModel model;
      std::string reason;
      assert(!SerializedModel::split(cut, &model, &reason) && !reason.empty());
    }
    for (int i = 0; i < 5000; ++i) {
      Raw bad = good;
      for (unsigned n = 1 + random() % 3; n > 0; --n)
        bad[random() % 60] = static_cast<unsigned char>(random() % 3 ? random() : 0xFF);
      SerializedModel model;
      std::string reason;
      if (!SerializedModel::split(bad, &model, &reason)) {
        assert(!reason.empty());
        continue;
      }
      const auto* xml = reinterpret_cast<const unsigned char*>(model.xml.data());
      assert(xml >= bad.data() && xml + model.xml.size() <= bad.data() + bad.size() && !model.xml.empty());
      if (model.weights.empty()) continue;
      assert(model.weights.data() >= bad.data() && model.weights.data() + model.weights.size() <= bad.data() + bad.size());
    }
  }
}

}  // namespace

int main() {
  both_envelopes_are_read();
  reasons_are_clear();
  damage_is_survived();
  std::puts("serialized_model_test: ok");
  return 0;
}
