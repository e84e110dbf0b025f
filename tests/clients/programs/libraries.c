// Which libraries of Level Zero this process has loaded: "loaded NAME" for each, and the version of the loader.
#include <level_zero/loader/ze_loader.h>
#include <link.h>

#include "check.h"

static int show(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "libze_")) printf("loaded %s\n", info->dlpi_name);
  return 0;
}

int main(void) {
  setup_t s = set_up();
  dl_iterate_phdr(show, NULL);
  size_t count = 0;
  CHECK(zelLoaderGetVersions(&count, NULL));
  zel_component_version_t versions[16];
  prove(count >= 1 && count <= 16, "%zu components have a version", count);
  CHECK(zelLoaderGetVersions(&count, versions));
  for (size_t i = 0; i < count; ++i)
    printf("%s: %d.%d.%d for the API %u.%u\n", versions[i].component_name, versions[i].component_lib_version.major,
           versions[i].component_lib_version.minor, versions[i].component_lib_version.patch,
           ZE_MAJOR_VERSION(versions[i].spec_version), ZE_MINOR_VERSION(versions[i].spec_version));
  CHECK(zeContextDestroy(s.context));
}
