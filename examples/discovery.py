"""Walk over drivers and devices, and pick a GPU."""

import anyzero as az

for driver in az.drivers():
    print(f"driver: Level Zero {driver.api_version}")
    for device in driver.devices:
        print(f"  device: {device.name}, {device.memory_total >> 30} GiB, {len(device.tiles)} tiles")

gpus = [device for device in az.devices() if device.type == "gpu"]
assert gpus, "no device of type GPU"
assert az.device() == az.devices()[0]
print(f"ok: {len(gpus)} device(s) of type GPU; az.device() is {az.device().name!r}")
