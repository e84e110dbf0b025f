#include "finding.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "../system/mutex.h"
#include "../system/new_file.h"
#include "../system/watched.h"
#include "host_line.h"
#include "report_file.h"

namespace anyzero {

constinit thread_local HostPlace host_place __attribute__((tls_model("initial-exec")));

namespace {

std::atomic<SourceLineReader> source_line_reader{nullptr};

struct SourceLine {
  char file[1024] = "";
  char function[256] = "";
  uint32_t line = 0;
  bool managed = false;

  SourceLine() {
    SourceLineReader read = source_line_reader.load();
    if (!read) return;
    line = read(file, function, sizeof function);
    managed = line & kManagedCall;
    line &= ~kManagedCall;
  }
};

struct Known {
  uint64_t count = 1;
  off_t count_at = -1;  // where the file has the count
};

struct Findings {
  std::map<std::pair<Rule, uint64_t>, std::shared_ptr<Known>> known;
  // By the source lines: compilers make several places of one line, as where they unroll a loop.
  std::map<std::string, std::shared_ptr<Known>> known_lines;
  ReportFile file;
  off_t end = 0;
  bool opened = false;  // or tried
};

Guarded<Findings>& findings() {
  static auto* all = new Guarded<Findings>;  // leaked: kernels may run while the process exits
  return *all;
}

// The folder for the findings of this process and its forked children, each in a file of its own; set once.
char report_folder[PATH_MAX];

void open_in_folder(Findings& all) {
  if (std::exchange(all.opened, true) || !*report_folder) return;
  make_own_file(report_folder, "jsonl", [&](const char* path) { return all.file.create(path); });
}

std::string quoted(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made += '\\';
      made += c;
    } else if (byte < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      made += code;
    } else {
      made += c;
    }
  }
  return made + '"';
}

constexpr size_t kCountWidth = 12;

std::string count_text(uint64_t count) {
  char text[kCountWidth + 1];
  std::snprintf(text, sizeof text, "%*llu", static_cast<int>(kCountWidth),
                static_cast<unsigned long long>(count % 1'000'000'000'000));
  return text;
}

void write_count(Findings& all, const Known& known) {
  // A count that is not written is only older than it should be.
  if (known.count_at >= 0) all.file.write(count_text(known.count), known.count_at);
}

// The place of the call in the program: a source line if it is known, else the function or the file that the code is in.
std::string caller_text(const SourceLine& source) {
  if (source.line)
    return std::string("File \"") + source.file + "\", line " + std::to_string(source.line) + ", in " + source.function;
  return code_place(host_place.caller);
}

// Whether the address lies in the executable file itself.
bool is_in_program(const void* address) {
  Dl_info program{}, here{};
  return dladdr(reinterpret_cast<const void*>(getauxval(AT_PHDR)), &program) && dladdr(address, &here) &&
         here.dli_fbase == program.dli_fbase;
}

// What makes two findings in kernels the same to a reader: rule, memory, and the lines of both parties.
std::string lines_of(const Finding& finding) {
  const size_t other = std::min(finding.other.find(", at File \""), finding.other.size());
  return std::string(text_of(finding.rule).name) + finding.kernel + finding.stack + "\n" + finding.memory + "\n" +
         finding.other.substr(other);
}

void print(const Finding& finding, const std::string& call, const std::string& caller) {
  const RuleText& rule = text_of(finding.rule);
  std::string text = std::string("anyzero check: ") + rule.name + ": " + finding.message + "\n";
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string("  ") + name + ": " + value + "\n";
  };
  line("work-item", finding.work_item);
  if (!finding.stack.empty()) text += finding.stack.substr(finding.stack.front() == '\n') + "\n";
  line("memory", finding.memory);
  line("other", finding.other);
  line("call", call);
  line("from", caller);
  line("rule", rule.says);
  line("fix", rule.fix);
  std::fputs(text.c_str(), stderr);
}

}  // namespace

void read_source_lines_by(SourceLineReader reader) { source_line_reader.store(reader); }
bool has_source_lines() { return source_line_reader.load(std::memory_order_relaxed) != nullptr; }

std::string code_place(const void* code) {
  Dl_info info{};
  if (!code || !dladdr(code, &info)) return "";
  char text[512];
  const auto at = reinterpret_cast<uintptr_t>(code);
  const size_t offset = at - reinterpret_cast<uintptr_t>(info.dli_fbase);
  if (info.dli_sname)
    std::snprintf(text, sizeof text, "%s+%#zx in %s+%#zx", info.dli_sname, at - reinterpret_cast<uintptr_t>(info.dli_saddr),
                  info.dli_fname ? info.dli_fname : "?", offset);
  else
    std::snprintf(text, sizeof text, "%s+%#zx", info.dli_fname ? info.dli_fname : "?", offset);
  return text;
}

CallPlace::CallPlace() {
  const SourceLine source;
  caller = caller_text(source);
  text = std::string(host_place.function ? host_place.function : "?") + (caller.empty() ? "" : ", " + caller);
  const uint64_t line =
      source.line ? std::hash<std::string_view>{}(source.file) * 31 + source.line : reinterpret_cast<uintptr_t>(host_place.caller);
  // A line may have several calls.
  number = line * 31 + reinterpret_cast<uintptr_t>(host_place.function);
  managed = source.managed;
  library = !source.line && !is_in_program(host_place.caller);
}

bool seen(Rule rule, uint64_t place) {
  host_place.told = true;
  auto all = findings().open();
  const auto found = all->known.find({rule, place});
  if (found == all->known.end()) return false;
  // Written now and then: a process that ends without stop_checks() has written at least half of the count.
  if (std::has_single_bit(++found->second->count)) write_count(*all, *found->second);
  return true;
}

bool is_known(Rule rule, uint64_t place) { return findings().open()->known.contains({rule, place}); }

void report(Finding&& finding) {
  host_place.told = true;
  const bool own = finding.call.empty() && host_place.function;
  const std::string call = own ? host_place.function : finding.call;
  const std::string caller = with_lines(own ? caller_text(SourceLine()) : finding.caller);
  finding.memory = with_lines(finding.memory);
  finding.other = with_lines(finding.other);
  finding.message = with_lines(finding.message);
  const RuleText& rule = text_of(finding.rule);
  std::string made = std::string("{\"rule\": ") + quoted(rule.name);
  const std::pair<const char*, std::string_view> fields[] = {
      {"message", finding.message},
      {"kernel", finding.kernel},
      {"work_item", finding.work_item},
      {"stack", finding.stack},
      {"memory", finding.memory},
      {"other", finding.other},
      {"call", call},
      {"caller", caller},
  };
  for (const auto& [name, value] : fields)
    if (!value.empty()) made += std::string(", \"") + name + "\": " + quoted(value);
  made += ", \"count\": ";
  {
    auto all = findings().open();
    std::shared_ptr<Known>& known = all->known[{finding.rule, finding.place}];
    if (!known && !finding.stack.empty()) {
      std::shared_ptr<Known>& same = all->known_lines[lines_of(finding)];
      if (!same) same = std::make_shared<Known>(Known{0});
      known = same;
    }
    if (!known) known = std::make_shared<Known>(Known{0});
    if (++known->count > 1) return;
    open_in_folder(*all);
    const off_t count_at = all->end + static_cast<off_t>(made.size());
    made += count_text(1) + "}\n";
    if (all->file.write(made, all->end)) {
      known->count_at = count_at;
      all->end += static_cast<off_t>(made.size());
    }
  }
  if (is_checked(kCheckPrint)) print(finding, call, caller);
}

bool start_checks(uint32_t kinds, const char* path) {
  auto all = findings().open();
  if (checks.load()) {
    errno = EBUSY;
    return false;
  }
  if (path) {
    if (!all->file.create(path)) return false;
    all->end = 0;
    all->opened = true;
  }
  all->known.clear();
  all->known_lines.clear();
  check_sessions.fetch_add(1);
  checks.store(kinds);
  watch(kChecked | (kinds & (kCheckRaces | kCheckInit) ? kNoted : 0));
  return true;
}

void stop_checks() {
  auto all = findings().open();
  checks.store(0);
  unwatch(kChecked | kNoted);
  for (const auto& [key, known] : all->known) write_count(*all, *known);
  all->file.close();
}

namespace {

// The bits of a list of checks; 0 where a word of it is unknown, which the planner reports when it reads its variables.
uint32_t kinds_of(std::string_view text) {
  constexpr uint32_t kUsual = kCheckMemory | kCheckSync | kCheckStrict;
  constexpr std::pair<std::string_view, uint32_t> words[] = {
      {"memory", kCheckMemory},
      {"sync", kCheckSync},
      {"strict", kCheckStrict},
      {"races", kCheckRaces},
      {"init", kCheckInit},
      {"stop", kCheckStop},
      {"on", kUsual},
      {"1", kUsual},
      {"off", 0},
      {"0", 0},
      {"all", kUsual | kCheckRaces | kCheckInit},
  };
  uint32_t kinds = 0;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    bool known = false;
    for (const auto& [name, bits] : words) {
      if (word != name) continue;
      known = true;
      kinds |= bits;
    }
    if (!known) return 0;
  }
  return kinds == kCheckStop ? kUsual | kCheckStop : kinds;
}

// Behind the destructors that still report: those without a number come first.
[[gnu::destructor(1000)]] void finish() {
  if (checks.load()) stop_checks();
}

}  // namespace

void check_as_told() {
  const char* wanted = secure_getenv("ANYZERO_CHECK");
  const uint32_t kinds = wanted ? kinds_of(wanted) : 0;
  if (!kinds) return;
  const char* folder = secure_getenv("ANYZERO_CHECK_REPORT");
  // The program, and its forked children, may go to another folder.
  if (folder && !realpath(folder, report_folder)) *report_folder = 0;
  start_checks(kinds | kCheckPrint, nullptr);
  // Also without a finding, the file shows that the process was checked.
  auto all = findings().open();
  open_in_folder(*all);
  if (*report_folder && !all->file)
    std::fprintf(stderr, "anyzero check: no report in %s: %s\n", report_folder, std::strerror(errno));
}

}  // namespace anyzero
