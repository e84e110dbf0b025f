// Native blobs: made, read where they lie, and refused with a reason when anything about them is wrong.
#include "../../engine/npu/blob.h"

#include <cassert>
#include <cstdio>
#include <cstring>
#include <random>

#include "../../engine/npu/checksum.h"
#include "graph_bytes.h"

using namespace graph_bytes;
using anyzero::BlobView;
using anyzero::MappedBlob;
using Raw = std::vector<unsigned char>;

namespace {

constexpr size_t kHead = 64, kChecksum = 12, kTotal = 16, kManifest = 24, kWeights = 32;

MappedBlob make(uint64_t weights_size, Graph graph = of_every_kind()) {
  graph.weights_size = weights_size;
  MappedBlob blob;
  std::string reason;
  auto fill = [](std::span<unsigned char> weights, std::string*) {
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<unsigned char>(i * 7 + i / 256);
    return true;
  };
  const bool made = anyzero::make_blob(manifest(graph), weights_size, fill, &blob, &reason);
  if (!made) std::fprintf(stderr, "not made: %s\n", reason.c_str());
  assert(made && reason.empty());
  return blob;
}

Raw copy(const MappedBlob& blob) { return {blob.view.all.begin(), blob.view.all.end()}; }

bool refused(std::span<const unsigned char> bytes, const char* because) {
  BlobView view;
  std::string reason;
  const bool good = anyzero::read_blob(bytes, &view, &reason);
  if (good || reason.find(because) == std::string::npos)
    std::fprintf(stderr, "refused for '%s', not '%s'\n", reason.c_str(), because);
  return !good && reason.find(because) != std::string::npos;
}

template <class T>
void put(Raw& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Makes the checksum agree again, as somebody would who changes a blob on purpose.
void seal(Raw& bytes) {
  put<uint32_t>(bytes, kChecksum, 0);
  put<uint32_t>(bytes, kChecksum, anyzero::checksum(bytes));
}

void what_is_made_can_be_read() {
  for (uint64_t size : {0, 1, 100, 4096, 5000, 3 << 20, 5 << 20}) {
    const MappedBlob blob = make(size);
    const Raw bytes = copy(blob);
    assert(reinterpret_cast<uintptr_t>(blob.view.all.data()) % 4096 == 0);
    assert((blob.view.weights.data() - blob.view.all.data()) % 4096 == 0 && blob.view.weights.size() == size);
    assert(blob.view.weights.data() + size == blob.view.all.data() + blob.view.all.size());
    BlobView view;
    std::string reason;
    assert(anyzero::read_blob(bytes, &view, &reason) && view.all.size() == bytes.size());
    assert(view.manifest.model_name == "tiny" && view.manifest.arguments.size() == 6);
    assert(view.weights.size() == size && std::memcmp(view.weights.data(), blob.view.weights.data(), size) == 0);
    assert(view.weights.data() >= bytes.data() && reinterpret_cast<const unsigned char*>(view.manifest.xml.data()) > bytes.data());
    for (uint64_t i = 0; i < size; i += 1 + size / 50) assert(view.weights[i] == static_cast<unsigned char>(i * 7 + i / 256));

    MappedBlob owned;
    assert(anyzero::copy_blob(view, &owned, &reason) && owned.view.all.size() == bytes.size());
    assert(std::memcmp(owned.view.all.data(), bytes.data(), bytes.size()) == 0 && owned.view.all.data() != bytes.data());
    assert(owned.view.manifest.xml == view.manifest.xml && owned.view.manifest.xml.data() != view.manifest.xml.data());
    assert(owned.view.weights.data() == owned.view.all.data() + (view.weights.data() - view.all.data()));
  }
}

void what_is_compiled_lies_behind_the_rest() {
  const std::vector<unsigned char> form(5000, 0xab);
  for (uint64_t size : {0, 1, 4096, 5000}) {
    const MappedBlob blob = make(size);
    MappedBlob extended;
    std::string reason;
    assert(blob.view.form.empty());
    assert(anyzero::extend_blob(blob.view, form, {7, 9}, &extended, &reason));
    BlobView view;
    const Raw bytes = copy(extended);
    assert(anyzero::read_blob(bytes, &view, &reason) && view.all.size() == bytes.size() && view.weights.size() == size);
    assert(std::equal(view.form.begin(), view.form.end(), form.begin(), form.end()) &&
           (view.form.data() - bytes.data()) % 4096 == 0);
    assert((view.form_identity == anyzero::ContentHash{7, 9}) && view.manifest.xml == blob.view.manifest.xml);
    assert(std::equal(view.weights.begin(), view.weights.end(), blob.view.weights.begin()));
    // Again without.
    assert(anyzero::extend_blob(view, {}, {}, &extended, &reason) && extended.view.all.size() == blob.view.all.size());
    Raw bad = bytes;
    put<uint64_t>(bad, 40, UINT64_MAX - 4000);
    seal(bad);
    assert(refused(bad, "inconsistent"));
  }
  // Blobs of the first version have no form.
  Raw old = copy(make(100));
  put<uint32_t>(old, 8, 1);
  seal(old);
  BlobView view;
  std::string reason;
  assert(anyzero::read_blob(old, &view, &reason) && view.form.empty());
}

// Copies keep the memory, whatever happens to the first.
void memory_lives_as_long_as_somebody_looks() {
  std::shared_ptr<const void> keeps;
  BlobView view;
  {
    MappedBlob blob = make(10'000);
    keeps = blob.memory;
    view = blob.view;
  }
  assert(view.weights[9999] == static_cast<unsigned char>(9999 * 7 + 9999 / 256) && view.manifest.xml.starts_with("<net"));
}

void the_same_makes_the_same() { assert(copy(make(777)) == copy(make(777))); }

void padding_is_harmless() {
  const Raw good = copy(make(100));
  for (size_t more : {1, 3996, 4096, 100'000}) {
    Raw padded = good;
    padded.resize(good.size() + more);
    BlobView view;
    std::string reason;
    assert(anyzero::read_blob(padded, &view, &reason) && view.all.size() == good.size());
    padded.back() = 1;
    assert(anyzero::read_blob(padded, &view, &reason) && view.all.size() == good.size());
  }
  // Any address will do.
  for (size_t shift = 1; shift < 9; ++shift) {
    Raw shifted(shift);
    shifted.insert(shifted.end(), good.begin(), good.end());
    BlobView view;
    std::string reason;
    assert(anyzero::read_blob(std::span(shifted).subspan(shift), &view, &reason) && view.weights[1] == 7);
  }
}

Raw beginning_with(std::string_view begin, size_t size = 5000) {
  Raw bytes(size, 'x');
  std::copy(begin.begin(), begin.end(), bytes.begin());
  return bytes;
}

// Each is told by its name, and with what to do instead.
void other_formats_are_named() {
  using namespace std::string_view_literals;
  Raw elf = beginning_with(
      "\x7F"
      "ELF\2\1\1");
  put<uint16_t>(elf, 18, 0x7777);
  assert(refused(elf, "compiler for NPU hardware") && refused(elf, "compile the model for this device again"));
  put<uint16_t>(elf, 18, 62);
  assert(refused(elf, "code for a processor"));
  for (auto xml : {"<?xml version=\"1.0\"?><net"sv, "<net name=\"x\""sv, "\xEF\xBB\xBF<net"sv})
    assert(refused(beginning_with(xml), "OpenVINO IR") && refused(beginning_with(xml), "ZE_GRAPH_FORMAT_NGRAPH_LITE"));
  const auto model = "\7\0\x1e\0\2\0\0\0\x10\0\0\0\0\0\0\0<net"sv;
  assert(refused(beginning_with(model), "not compiled") && refused(beginning_with(model), "ZE_GRAPH_FORMAT_NGRAPH_LITE"));
  assert(refused(beginning_with("\3\2\x23\7"sv), "zeModuleCreate"));
  assert(refused(beginning_with("AZSEALED"), "encrypted graph"));
  assert(refused(beginning_with("\x1c\0\0\0TFL3"sv), "TensorFlow Lite"));
  assert(refused(beginning_with("\x08\x0a\x12\x07pytorch"sv), "ONNX"));
  assert(refused(beginning_with("PK\3\4"), "ZIP"));
  assert(refused(beginning_with("\x1f\x8b"), "gzip"));
  // A name is told however little there is of it; of other bytes nothing is claimed.
  assert(refused(beginning_with("<net>", 5), "OpenVINO IR"));
  assert(refused(beginning_with("hello", 5), "not a native blob of anyzero"));
  assert(refused(beginning_with("AZG", 3), "too few"));
}

void reasons_are_clear() {
  const Raw good = copy(make(100));
  assert(refused({}, "too few"));
  assert(refused(std::span(good).first(63), "too few"));
  assert(refused(std::span(good).first(64), "truncated"));
  assert(refused(std::span(good).first(good.size() - 1), "truncated"));
  const Raw zeros(5000);
  assert(refused(zeros, "nothing but zeros"));
  Raw bad = good;
  bad[1] = 'y';
  assert(refused(bad, "not a native blob of anyzero"));
  bad = good;
  put<uint32_t>(bad, 8, 3);
  assert(refused(bad, "version 3"));
  bad = good;
  bad.back() ^= 1;
  assert(refused(bad, "checksum"));
  bad = good;
  put<uint64_t>(bad, kTotal, good.size() - 1);
  seal(bad);
  assert(refused(bad, "inconsistent"));
  for (size_t at : {kManifest, kWeights}) {
    for (uint64_t value : {uint64_t{5000}, uint64_t{1} << 46, UINT64_MAX, UINT64_MAX - 4095, uint64_t{1} << 63}) {
      bad = good;
      put(bad, at, value);
      seal(bad);
      assert(refused(bad, "inconsistent"));
    }
  }
  // Lengths that agree with each other, but not with the manifest.
  bad = good;
  put<uint64_t>(bad, kWeights, 99);
  put<uint64_t>(bad, kTotal, good.size() - 1);
  bad.pop_back();
  seal(bad);
  assert(refused(bad, "99"));
  bad = good;
  bad[kHead] = 9;
  seal(bad);
  assert(refused(bad, "manifest is damaged: it has version 9"));
}

void every_bit_matters() {
  Raw blob = copy(make(100));
  BlobView view;
  std::string reason;
  for (size_t i = 0; i < blob.size(); ++i) {
    for (unsigned char flip : {0x01, 0x80, 0xFF}) {
      blob[i] ^= flip;
      assert(!anyzero::read_blob(blob, &view, &reason) && !reason.empty());
      blob[i] ^= flip;
    }
  }
  assert(anyzero::read_blob(blob, &view, &reason));
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    const Raw cut(blob.begin(), blob.begin() + static_cast<ptrdiff_t>(random() % blob.size()));
    assert(!anyzero::read_blob(cut, &view, &reason));
  }
}

// Damage with a checksum that agrees: refused, or what is found lies inside. The sanitizers are the judges.
void lies_are_not_followed() {
  const Raw good = copy(make(100));
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    Raw bad = good;
    for (unsigned n = 1 + random() % 3; n > 0; --n)
      bad[8 + random() % 700] = static_cast<unsigned char>(random() % 3 ? random() : 0xFF);
    if (random() % 8 == 0) bad.resize(kHead + random() % (bad.size() - kHead));
    seal(bad);
    BlobView view;
    std::string reason;
    const bool read = anyzero::read_blob(bad, &view, &reason);
    assert(read || !reason.empty());
    if (!read) continue;
    ++accepted;
    assert(view.all.data() == bad.data() && view.all.size() <= bad.size());
    assert(view.weights.data() >= bad.data() && view.weights.data() + view.weights.size() <= bad.data() + bad.size());
  }
  assert(accepted > 20 && accepted < 4900);
}

void making_can_fail() {
  Graph graph;
  graph.weights_size = 10;
  MappedBlob blob;
  std::string reason;
  auto refuse = [](std::span<unsigned char>, std::string* why) {
    *why = "the constant is not there";
    return false;
  };
  assert(!anyzero::make_blob(manifest(graph), 10, refuse, &blob, &reason) && reason == "the constant is not there" && !blob.memory);
  assert(!anyzero::make_blob(manifest(graph), 11, refuse, &blob, &reason) && reason.find("11") != std::string::npos);
  graph.weights_size = uint64_t{1} << 60;
  assert(!anyzero::make_blob(manifest(graph), uint64_t{1} << 60, refuse, &blob, &reason) &&
         reason.find("not enough memory") != std::string::npos);
  assert(!anyzero::make_blob("", 0, refuse, &blob, &reason) && reason.find("damaged") != std::string::npos);
}

}  // namespace

int main() {
  what_is_made_can_be_read();
  what_is_compiled_lies_behind_the_rest();
  memory_lives_as_long_as_somebody_looks();
  the_same_makes_the_same();
  padding_is_harmless();
  reasons_are_clear();
  other_formats_are_named();
  every_bit_matters();
  lies_are_not_followed();
  making_can_fail();
  std::puts("blob_test: ok");
  return 0;
}
