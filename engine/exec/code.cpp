#include "code.h"

#include <algorithm>
#include <charconv>

#include "../layouts/gen/kernel.h"
#include "../profile/sampler.h"
#include "line_symbols.h"

namespace anyzero {

namespace {

// "az_globals" is 0, "az_globals.2" is 2.
bool global_block_number(const std::string& name, size_t* number) {
  constexpr std::string_view kOwn = "az_globals";
  *number = 0;
  if (name == kOwn) return true;
  if (name.compare(0, kOwn.size(), kOwn) != 0 || name.size() < kOwn.size() + 2 || name[kOwn.size()] != '.') return false;
  auto [end, error] = std::from_chars(name.data() + kOwn.size() + 1, name.data() + name.size(), *number);
  return error == std::errc() && end == name.data() + name.size() && *number > 0;
}

std::vector<uint16_t> address_words_of(const KernelFacts& facts) {
  std::vector<uint16_t> words;
  constexpr size_t kWord = sizeof(uint64_t);
  for (const Argument& argument : facts.arguments) {
    // A value may be a structure with pointers.
    if (!argument.pointer() && argument.kind != ArgumentKind::Value) continue;
    const size_t last = std::min<size_t>((argument.offset + argument.size) / kWord, kCheckedWords);
    for (size_t word = (argument.offset + kWord - 1) / kWord; word < last; ++word) words.push_back(static_cast<uint16_t>(word));
  }
  return words;
}

}  // namespace

Code* Code::load(std::vector<unsigned char> container, const GlobalBlock& globals, const FindLinked& linked, std::string* reason) {
  auto let_go = [](Code* code) { code->release(); };
  std::unique_ptr<Code, decltype(let_go)> code(new Code, let_go);
  code->container_ = std::move(container);
  if (!read_container(code->container_, &code->facts_, &code->binary_, reason)) return nullptr;
  if (code->watched()) code->address_words_ = address_words_of(code->facts_);
  code->globals_.push_back(globals);
  for (uint64_t plan : code->facts_.links) {
    GlobalBlock block;
    if (!linked(plan, &block)) {
      *reason = "kernel " + code->facts_.name + " needs variables of a module that it is not linked with";
      return nullptr;
    }
    code->globals_.push_back(std::move(block));
  }
  auto resolve = [&](const std::string& name, uintptr_t* address) {
    if (size_t number; global_block_number(name, &number)) {
      if (number >= code->globals_.size()) return false;
      *address = code->globals_[number].address;
      return true;
    }
    *address = find_offered(name);
    return *address != 0;
  };
  std::vector<std::string> functions{code->facts_.entry};
  if (code->has_version_for_rows()) functions.emplace_back(kRowLengths);
  code->object_ = LoadedObject::load(code->binary_, functions, resolve, reason);
  if (!code->object_) {
    *reason = "kernel " + code->facts_.name + " cannot be loaded: " + *reason;
    return nullptr;
  }
  code->show_to_debuggers();
  return code.release();
}

void Code::show_to_debuggers() {
  std::string symbols = object_->take_symbols();
  // Symbols are made from line tables only if a debugger is attached: most kernels have lines.
  if (symbols.empty() && is_debugger_attached())
    symbols = line_symbols(facts_.lines, facts_.name, object_->text(), object_->text_bytes());
  if (!symbols.empty()) debugger_entry_ = std::make_unique<DebuggerEntry>(std::move(symbols));
}

Code::~Code() {
  auto let_go = [](std::atomic<Code*>& place) {
    if (Code* code = place.load(std::memory_order_acquire)) code->release();
  };
  let_go(better_);
  if (improvements_)
    for (Improvement& each : improvements_->sizes) let_go(each.fitting);
}

bool Code::publish_at(std::atomic<Code*>& place, Code* better, bool same) {
  if (same) {
    if (pace()) better->learn_pace(pace());
    Code* none = nullptr;
    if (place.compare_exchange_strong(none, better, std::memory_order_acq_rel)) return true;
  }
  better->release();
  return false;
}

bool Code::publish(Code* better) { return publish_at(better_, better, better->facts_.same_to_callers(facts_)); }

bool Code::publish_for(Improvement& size, Code* better) {
  return publish_at(size.fitting, better, better->facts_.same_to_launches(facts_));
}

template <typename Wanted>
const Code* Code::find(Wanted wanted) const {
  if (wanted(*this)) return this;
  if (&current() != this && wanted(current())) return &current();
  if (!improvements_) return nullptr;
  for (const Improvement& each : improvements_->sizes)
    if (const Code* fitting = each.fitting.load(std::memory_order_acquire); fitting && wanted(*fitting)) return fitting;
  return nullptr;
}

bool Code::offset_of(uintptr_t instruction, size_t* offset, const Code** holder) const {
  const Code* found = find([&](const Code& code) { return code.object_->contains(instruction); });
  if (!found) return false;
  *offset = instruction - found->object_->text();
  if (holder) *holder = found;
  return true;
}

bool Code::holds(uintptr_t address) const {
  return find([&](const Code& code) { return code.object_->holds(address); });
}

uint32_t Code::number_in_profile() const {
  if (profile_number.load(std::memory_order_acquire) == kProfileAwaited) sample_as_told();
  const uint32_t profile = profile_number.load(std::memory_order_acquire);
  uint64_t known = profiled_.load(std::memory_order_relaxed);
  if (known >> 32 != profile) {
    // Two threads that ask at once may both add it: the reader takes codes of one name together.
    known = uint64_t{profile} << 32 |
            add_sampled_code(profile, {facts_.name, facts_.lines.bytes(), facts_.counter_places, text(), facts_.lanes});
    profiled_.store(known, std::memory_order_relaxed);
  }
  return static_cast<uint32_t>(known);
}

uint64_t Code::mark_of(const TurnsSource& launch) const {
  TurnsMark mark;
  for (const uint32_t* three : {launch.group_count, launch.group_size, launch.offset}) mark.add(three);
  for (const Argument& argument : facts_.arguments)
    if (argument.counts_turns()) mark.add(launch.args + argument.offset, argument.size);
  return mark.value();
}

}  // namespace anyzero
