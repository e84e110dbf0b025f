// A program that does what init does: orphans of its descendants become its children. The planning process does not.
#include <sys/prctl.h>

#include "host.h"

static volatile sig_atomic_t children;
static void on_child(int number) {
  (void)number;
  ++children;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  struct sigaction action = {.sa_handler = on_child};
  sigaction(SIGCHLD, &action, NULL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int before = open_descriptors();
  setup_t s = set_up();
  prove(open_descriptors() == before + 1, "one descriptor more");
  prove(build_and_run(s, argv[1]), "the kernel ran");
  prove(wait(NULL) < 0 && errno == ECHILD, "wait() knows of no child");
  pid_t planner = 0;
  prove(planning_processes(&planner) == 1 && getsid(planner) != getsid(0), "there is a planning process in a session of its own");
  kill(planner, SIGKILL);
  while (planning_processes(NULL)) usleep(1000);
  prove(children == 0 && wait(NULL) < 0 && errno == ECHILD, "no SIGCHLD when it was killed, and still no child");
  prove(build_and_run(s, argv[1]) && planning_processes(NULL) == 1, "the next one works");
  pid_t mine = fork();
  if (mine == 0) _exit(7);
  int status = 0;
  prove(wait(&status) == mine && WEXITSTATUS(status) == 7 && children == 1, "children of our own are what they always were");
  return 0;
}
