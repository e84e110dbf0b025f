#include "process.h"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "../system/thread.h"
#include "environment.h"
#include "interpreter.h"
#include "journal.h"
#include "spawn.h"

namespace anyzero {

namespace {

// Passed on the command line, so that an interpreter that cannot read our package can report it. The package is the one that this
// library belongs to, but its parent folder must not precede Python's own in the search path.
constexpr const char* kProgram = R"(
import importlib, os, sys, typing
try:
    sys.path.insert(0, sys.argv[1])
    import anyzero
    sys.path.append(sys.path.pop(0))
    from anyzero.driver import service
    if sys.version_info < (3, 11):
        raise ImportError("Python 3.11 or newer is needed")
except BaseException as error:
    text = f"{sys.executable} (Python {sys.version.split()[0]}) cannot load anyzero from {sys.argv[1]}: {type(error).__name__}: {error}"
    said = text.encode("utf-8", "replace")
    os.write(3, (1 << 32).to_bytes(8, "little") + len(said).to_bytes(8, "little") + said)
    os._exit(1)
service.serve(3)
)";

constexpr const char* kRemedy =
    "Set ANYZERO_PYTHON to the Python (3.11 or newer) of an environment that has anyzero's requirements, "
    "or install anyzero into one: pip install anyzero";

struct State {
  Mutex starting;   // held while a process is started
  Mutex books;      // guards the members below; never held during a wait, so that a fork can take it
  Journal journal;  // empty for a process whose requests are self-contained
  std::shared_ptr<Connection> line;
  std::atomic<Connection*> open{nullptr};  // the same, for the fork handler
};

// The planning process, and the one for the second stage. Leaked: programs build and destroy modules from exit handlers.
State& state() {
  static auto* state = new State;
  return *state;
}

State& second() {
  static auto* state = new State;
  return *state;
}

// A fork sees a consistent journal, which the child replays to its own planning process.
void before_fork() {
  state().books.lock();
  second().books.lock();
}
void after_fork() {
  second().books.unlock();
  state().books.unlock();
}
void in_child() {
  for (State* each : {&state(), &second()})
    if (Connection* line = each->open.exchange(nullptr)) line->abandon();
}
const bool watching_forks = (pthread_atfork(before_fork, after_fork, nullptr), at_fork_child(in_child), true);

std::string without_python(const std::string& why) { return "no Python to compile with: " + why + ". " + kRemedy; }

std::shared_ptr<Connection> start(State& my, std::string* reason) {
  std::string why;
  const std::string interpreter = find_interpreter(&why);
  const std::string& library = library_folder();
  const std::string package = library.substr(0, library.rfind('/'));
  const std::string around = package.substr(0, package.rfind('/'));
  std::shared_ptr<Connection> line;
  Journal known;
  {
    // A child that is forked meanwhile would inherit our end of the connection.
    std::lock_guard lock(my.books);
    pid_t process = 0;
    const int descriptor = interpreter.empty() ? -1
                                               : spawn_unnoticed({interpreter, "-I", "-c", kProgram, around},
                                                                 PlanningEnvironment().pointers(), &process, &why);
    if (descriptor < 0) {
      *reason = without_python(why);
      return nullptr;
    }
    line = std::make_shared<Connection>(descriptor, process, interpreter, planner_timeout_ms());
    my.open.store(line.get());
    known = my.journal;
  }
  known.repeat(*line);  // if that breaks, the first request notices
  std::lock_guard lock(my.books);
  my.line = line;
  return line;
}

// With `books` held.
void forget_line(State& my) {
  my.open.store(nullptr);
  my.line.reset();
}

std::shared_ptr<Connection> current(State& my) {
  std::lock_guard lock(my.books);
  return my.line;
}

std::shared_ptr<Connection> connect(State& my, std::string* reason) {
  if (auto line = current(my); line && line->alive()) return line;
  std::lock_guard lock(my.starting);
  if (auto line = current(my); line && line->alive()) return line;
  return start(my, reason);
}

// Cancellation is deferred until the thread has its answer: it would leave half an answer to the next thread.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

Connection::Outcome ask(State& my, const char* function, const std::string& request, std::string* answer, std::string* reason) {
  NoCancellation whole;
  auto line = connect(my, reason);
  if (!line) return Connection::Outcome::Useless;
  Connection::Outcome outcome = line->ask(function, request, answer, reason);
  if (outcome == Connection::Outcome::Unheard && (line = connect(my, reason)))
    outcome = line->ask(function, request, answer, reason);
  if (!line) return Connection::Outcome::Useless;
  if (outcome == Connection::Outcome::Answered) {
    std::lock_guard lock(my.books);
    my.journal.note(function, request, *answer);
  } else if (outcome == Connection::Outcome::Useless) {
    *reason = without_python(*reason);
    std::lock_guard lock(my.books);
    if (my.line == line) forget_line(my);
  }
  return outcome;
}

}  // namespace

bool has_planning_process() { return current(state()) != nullptr; }

Connection::Outcome ask_planning_process(const char* function, const std::string& request, std::string* answer,
                                         std::string* reason) {
  return ask(state(), function, request, answer, reason);
}

Connection::Outcome ask_second_process(const std::string& request, std::string* answer, std::string* reason) {
  return ask(second(), "improve", request, answer, reason);
}

}  // namespace anyzero
