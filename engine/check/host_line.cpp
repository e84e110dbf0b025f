#include "host_line.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "../system/mutex.h"

extern char** environ;

namespace anyzero {

namespace {

using Place = std::pair<std::string, uint64_t>;

Guarded<std::map<Place, std::string>>& known_lines() {
  static auto* all = new Guarded<std::map<Place, std::string>>;  // leaked: reports come until the process ends
  return *all;
}

std::string first_line_of(int from) {
  std::string text;
  char part[512];
  for (;;) {
    const ssize_t size = read(from, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(part, static_cast<size_t>(size));
  }
  return text.substr(0, text.find('\n'));
}

// As sanitizers do: a program of the system reads the debug information. Empty without it, or without the program.
std::string ask_addr2line(const Place& place) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  // A call returns behind itself.
  char address[24];
  std::snprintf(address, sizeof address, "%#llx", static_cast<unsigned long long>(place.second - 1));
  std::string file = place.first;
  char name[] = "addr2line", option[] = "-pfe";
  char* const arguments[] = {name, option, file.data(), address, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, name, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string line = failed ? "" : first_line_of(ends[0]);
  close(ends[0]);
  if (!failed)
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  // "FUNCTION at FILE:LINE", where "??" and 0 are unknown; a discriminator may follow in brackets.
  const size_t at = line.find(" at "), colon = line.rfind(':');
  if (at == line.npos || colon == line.npos || colon < at) return "";
  const int number = std::atoi(line.c_str() + colon + 1);
  if (number <= 0) return "";
  return "File \"" + line.substr(at + 4, colon - at - 4) + "\", line " + std::to_string(number) + ", in " + line.substr(0, at);
}

std::string line_of(const Place& place) {
  {
    auto all = known_lines().open();
    if (const auto found = all->find(place); found != all->end()) return found->second;
  }
  std::string line = ask_addr2line(place);
  return (*known_lines().open())[place] = std::move(line);
}

}  // namespace

std::string with_lines(const std::string& text) {
  std::string made;
  size_t done = 0;
  for (size_t plus = text.find("+0x"); plus != text.npos; plus = text.find("+0x", plus + 1)) {
    const size_t begin = text.find_last_of(' ', plus) + 1;  // also where there is none
    size_t end = plus + 3;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end]))) ++end;
    std::string file = text.substr(begin, plus - begin);
    if (end == plus + 3 || access(file.c_str(), R_OK) != 0) continue;
    const std::string line = line_of({std::move(file), std::strtoull(text.c_str() + plus + 3, nullptr, 16)});
    made += text.substr(done, end - done) + (line.empty() ? "" : ", " + line);
    done = end;
  }
  return made + text.substr(done);
}

}  // namespace anyzero
