// Everything that can be asked about drivers and devices, as a program that lists them does.
#include "check.h"

static void show_memory(ze_device_handle_t device) {
  uint32_t count = 0;
  CHECK(zeDeviceGetMemoryProperties(device, &count, NULL));
  prove(count >= 1, "%u kinds of memory", count);
  ze_device_memory_properties_t memory[8] = {{.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES}};
  for (uint32_t i = 0; i < 8; ++i) memory[i].stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  CHECK(zeDeviceGetMemoryProperties(device, &count, memory));
  for (uint32_t i = 0; i < count; ++i)
    prove(memory[i].totalSize > 0, "  %s: %lu bytes", memory[i].name, (unsigned long)memory[i].totalSize);
  ze_device_memory_access_properties_t access = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES};
  CHECK(zeDeviceGetMemoryAccessProperties(device, &access));
  prove(access.hostAllocCapabilities & access.deviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW,
        "  host and device allocations can be read and written");
  count = 0;
  CHECK(zeDeviceGetCacheProperties(device, &count, NULL));
  ze_device_external_memory_properties_t external = {.stype = ZE_STRUCTURE_TYPE_DEVICE_EXTERNAL_MEMORY_PROPERTIES};
  CHECK(zeDeviceGetExternalMemoryProperties(device, &external));
  printf("  %u caches; exports memory as %#x\n", count, external.memoryAllocationExportTypes);
}

static void show_queues(ze_device_handle_t device) {
  ze_command_queue_group_properties_t groups[8];
  uint32_t count = 0, compute = 0;
  CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, NULL));
  prove(count >= 1 && count <= 8, "%u groups of queues", count);
  for (uint32_t i = 0; i < count; ++i)
    groups[i] = (ze_command_queue_group_properties_t){.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
  CHECK(zeDeviceGetCommandQueueGroupProperties(device, &count, groups));
  for (uint32_t i = 0; i < count; ++i) {
    printf("  group %u: flags %#x, %u queues, patterns of up to %zu bytes\n", i, groups[i].flags, groups[i].numQueues,
           groups[i].maxMemoryFillPatternSize);
    compute += (groups[i].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
  }
  prove(compute >= 1, "  one of them computes");
}

static void show_device(ze_device_handle_t device) {
  ze_device_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  CHECK(zeDeviceGetProperties(device, &properties));
  prove(properties.type == ZE_DEVICE_TYPE_GPU && properties.name[0], "device %s", properties.name);
  prove(properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice * properties.numThreadsPerEU > 0,
        "%u slices of %u subslices of %u units of %u threads", properties.numSlices, properties.numSubslicesPerSlice,
        properties.numEUsPerSubslice, properties.numThreadsPerEU);
  // The unit of this number depends on the version of the structure.
  ze_device_properties_t in_hertz = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2};
  CHECK(zeDeviceGetProperties(device, &in_hertz));
  prove(properties.timerResolution * in_hertz.timerResolution == 1000000000, "a tick is %lu ns, %lu ticks are a second",
        (unsigned long)properties.timerResolution, (unsigned long)in_hertz.timerResolution);

  ze_device_compute_properties_t compute = {.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  CHECK(zeDeviceGetComputeProperties(device, &compute));
  prove(compute.maxTotalGroupSize > 0 && compute.numSubGroupSizes > 0,
        "groups of up to %u, sub-groups of %u, %u bytes of local memory", compute.maxTotalGroupSize, compute.subGroupSizes[0],
        compute.maxSharedLocalMemory);
  ze_float_atomic_ext_properties_t atomics = {.stype = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES};
  ze_device_module_properties_t modules = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, .pNext = &atomics};
  CHECK(zeDeviceGetModuleProperties(device, &modules));
  prove(modules.spirvVersionSupported >= ZE_MAKE_VERSION(1, 2), "SPIR-V up to %u.%u",
        ZE_MAJOR_VERSION(modules.spirvVersionSupported), ZE_MINOR_VERSION(modules.spirvVersionSupported));
  printf("  arguments of up to %u bytes; float atomics %#x\n", modules.maxArgumentsSize, atomics.fp32Flags);
  ze_device_image_properties_t images = {.stype = ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES};
  CHECK(zeDeviceGetImageProperties(device, &images));
  prove(images.maxImageDims2D > 0 && images.maxSamplers > 0, "images of up to %u x %u", images.maxImageDims2D,
        images.maxImageDims2D);
  show_queues(device);
  show_memory(device);

  uint32_t tiles = 0;
  CHECK(zeDeviceGetSubDevices(device, &tiles, NULL));
  ze_bool_t peer = false;
  CHECK(zeDeviceCanAccessPeer(device, device, &peer));
  ze_device_p2p_properties_t p2p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES};
  CHECK(zeDeviceGetP2PProperties(device, device, &p2p));
  printf("%u tiles; %s its own memory as a peer's\n", tiles, peer ? "reaches" : "does not reach");
  CHECK(zeDeviceGetStatus(device));
}

int main(void) {
  CHECK(zeInit(0));
  uint32_t count = 0;
  CHECK(zeDriverGet(&count, NULL));
  prove(count >= 1, "%u drivers", count);
  ze_driver_handle_t drivers[8];
  CHECK(zeDriverGet(&count, drivers));
  for (uint32_t i = 0; i < count; ++i) {
    ze_api_version_t version = ZE_API_VERSION_1_0;
    CHECK(zeDriverGetApiVersion(drivers[i], &version));
    prove(version >= ZE_API_VERSION_CURRENT, "driver %u speaks %u.%u, this program %u.%u", i, ZE_MAJOR_VERSION(version),
          ZE_MINOR_VERSION(version), ZE_MAJOR_VERSION(ZE_API_VERSION_CURRENT), ZE_MINOR_VERSION(ZE_API_VERSION_CURRENT));
    ze_driver_properties_t properties = {.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES};
    CHECK(zeDriverGetProperties(drivers[i], &properties));
    ze_driver_ipc_properties_t ipc = {.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
    CHECK(zeDriverGetIpcProperties(drivers[i], &ipc));
    prove(ipc.flags & ZE_IPC_PROPERTY_FLAG_MEMORY, "version %#x, shares memory between processes", properties.driverVersion);
    uint32_t extensions = 0;
    CHECK(zeDriverGetExtensionProperties(drivers[i], &extensions, NULL));
    ze_driver_extension_properties_t* names = calloc(extensions, sizeof *names);
    CHECK(zeDriverGetExtensionProperties(drivers[i], &extensions, names));
    for (uint32_t e = 0; e < extensions; ++e) prove(names[e].name[0] && names[e].version, "  %s", names[e].name);
    free(names);

    uint32_t devices = 0;
    CHECK(zeDeviceGet(drivers[i], &devices, NULL));
    ze_device_handle_t handles[8];
    CHECK(zeDeviceGet(drivers[i], &devices, handles));
    for (uint32_t d = 0; d < devices; ++d) show_device(handles[d]);
  }
}
