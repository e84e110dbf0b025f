// Findings of check mode: each mistake is reported once for each place, then counted; as text on stderr and as JSON in a file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "gen/rules.h"

namespace anyzero {

inline constexpr uint32_t kCheckMemory = static_cast<uint32_t>(CheckKind::Memory);
inline constexpr uint32_t kCheckSync = static_cast<uint32_t>(CheckKind::Sync);
inline constexpr uint32_t kCheckStrict = static_cast<uint32_t>(CheckKind::Strict);
inline constexpr uint32_t kCheckRaces = static_cast<uint32_t>(CheckKind::Races);
inline constexpr uint32_t kCheckInit = static_cast<uint32_t>(CheckKind::Init);
inline constexpr uint32_t kCheckStop = 1u << 16;   // a kernel ends at its first mistake
inline constexpr uint32_t kCheckPrint = 1u << 17;  // findings go to stderr, too

// The enabled checks, a bit each. A module that is built while they change may have the old or the new ones.
inline constinit std::atomic<uint32_t> checks{0};

inline bool is_checked(uint32_t kinds) { return checks.load(std::memory_order_relaxed) & kinds; }

struct Finding {
  Rule rule;
  uint64_t place;           // findings of one rule at one place are one finding
  std::string message;      // what happened, in one sentence without its full stop
  std::string kernel;       // its name, or empty
  std::string work_item;    // which one, in words
  std::string stack;        // source lines, as source_stack() prints them
  std::string memory;       // the allocation, in words
  std::string other;        // the other party: a command, an object, a place
  std::string call = {};    // the function of the API, where it is not the calling thread's
  std::string caller = {};  // and where the program called it
};

// Counts a finding that is known already, for which no text needs to be made. False for a new one: report it.
bool seen(Rule rule, uint64_t place);
bool is_known(Rule rule, uint64_t place);  // the same without counting it
void report(Finding&& finding);

// The calling thread's entry into the API, for findings about calls.
struct HostPlace {
  const char* function = nullptr;
  const void* caller = nullptr;
  bool told = false;  // a finding is about this call
};
extern constinit thread_local HostPlace host_place __attribute__((tls_model("initial-exec")));
// Where languages with lines of their own say which line the calling thread's call comes from: writes the names of file and
// function, and returns the line, or 0 where it is none of theirs. kManagedCall is set where the language destroys what the call
// makes by itself.
inline constexpr uint32_t kManagedCall = 1u << 31;
using SourceLineReader = uint32_t (*)(char* file, char* function, size_t size);
void read_source_lines_by(SourceLineReader reader);
bool has_source_lines();

// The calling thread's call and where it comes from. Asks the program's language once.
struct CallPlace {
  CallPlace();
  std::string text;      // in words
  std::string caller;    // its end: where it comes from, or empty
  uint64_t number;       // for Finding::place
  bool managed = false;  // the language destroys what the call makes by itself
  bool library = false;  // the call comes from a library, and from none of the language's lines
};

// A place in code: its function, if it has a name, and the file.
std::string code_place(const void* code);

// The number of times that checks were started.
inline constinit std::atomic<uint64_t> check_sessions{0};

// Findings go to a new file from now on. False with errno set: EBUSY where checks are on already.
bool start_checks(uint32_t kinds, const char* path);
void stop_checks();
// Starts them if ANYZERO_CHECK says so.
void check_as_told();

}  // namespace anyzero
