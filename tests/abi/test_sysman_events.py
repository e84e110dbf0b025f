"""Events of system management: registering, listening, and listeners that block no other call."""

from __future__ import annotations

import threading
from ctypes import byref, c_uint32, c_void_p

import pytest

from tests.abi.calls import INVALID_ARGUMENT, INVALID_ENUMERATION, NOT_READY, UNSUPPORTED_FEATURE, Calls
from tests.abi.sysman import Sysman, new, value


@pytest.fixture(scope="module")
def sysman(az: Calls) -> Sysman:
    return Sysman()


def listen(sysman: Sysman, az: Calls, timeout: int, name: str = "zesDriverEventListen") -> tuple[int, int, int]:
    """The result, how many devices had events, and which."""
    devices, sources, events = (c_void_p * 1)(az.device), c_uint32(9), (c_uint32 * 1)(9)
    return sysman.call(name, az.driver, timeout, 1, devices, byref(sources), events), sources.value, events[0]


@pytest.mark.parametrize("name", ["zesDriverEventListen", "zesDriverEventListenEx"])
def test_without_events_listening_ends_with_the_time(sysman: Sysman, az: Calls, name: str) -> None:
    for timeout in (0, 1, 20):
        assert listen(sysman, az, timeout, name) == (NOT_READY, 0, 0)


def test_every_event_can_be_registered_and_unknown_ones_are_refused(sysman: Sysman, az: Calls) -> None:
    names = ("DEVICE_DETACH", "TEMP_CRITICAL", "RAS_CORRECTABLE_ERRORS", "DEVICE_RESET_REQUIRED")
    for name in names:
        sysman.ok("zesDeviceEventRegister", az.device, value(f"ZES_EVENT_TYPE_FLAG_{name}"))
        assert listen(sysman, az, 0) == (NOT_READY, 0, 0)
    assert sysman.call("zesDeviceEventRegister", az.device, 1 << 30) == INVALID_ENUMERATION
    sysman.ok("zesDeviceEventRegister", az.device, 0)


def test_devices_of_another_driver_are_refused(sysman: Sysman, az: Calls) -> None:
    """With one driver, listening without devices returns after a short wait."""
    drivers = az.several("zeDriverGet")
    sources, events = c_uint32(9), (c_uint32 * 1)()
    for driver in drivers:
        if driver.value != az.driver.value:
            devices = (c_void_p * 1)(az.device)
            args = (driver, 0, 1, devices, byref(sources), events)
            assert sysman.call("zesDriverEventListen", *args) == INVALID_ARGUMENT
    none = (c_void_p * 1)()
    assert sysman.call("zesDriverEventListen", az.driver, 0xFFFFFFFF, 0, none, byref(sources), events) == NOT_READY
    assert sources.value == 0


def test_a_listener_holds_no_lock(sysman: Sysman, az: Calls) -> None:
    """Other queries are answered while a thread listens; registering wakes it, and it continues to listen."""
    answers: list[tuple[int, int, int]] = []
    listener = threading.Thread(target=lambda: answers.append(listen(sysman, az, 300)))
    listener.start()
    while listener.is_alive() and not answers:
        sysman.ok("zesDeviceEventRegister", az.device, value("ZES_EVENT_TYPE_FLAG_TEMP_CRITICAL"))
        for name in ("EngineGroups", "MemoryModules", "TemperatureSensors", "Fans", "RasErrorSets"):
            sysman.several(f"zesDeviceEnum{name}", az.device)
        assert listen(sysman, az, 0) == (NOT_READY, 0, 0)
    listener.join()
    assert answers == [(NOT_READY, 0, 0)]
    sysman.ok("zesDeviceEventRegister", az.device, 0)


def test_a_temperature_threshold_is_kept_and_a_distant_one_is_no_event(sysman: Sysman, az: Calls) -> None:
    sensors = sysman.several("zesDeviceEnumTemperatureSensors", az.device)
    if not sensors:
        pytest.skip("NOT TESTED: this machine reports no temperatures; sysman_board_test.cpp has made-up ones")
    for sensor in sensors:
        config = new("zes_temp_config_t")
        config.threshold1.enableLowToHigh, config.threshold1.threshold = 1, -200.0
        sysman.ok("zesTemperatureSetConfig", sensor, byref(config))
        kept = new("zes_temp_config_t")
        sysman.ok("zesTemperatureGetConfig", sensor, byref(kept))
        assert (kept.threshold1.enableLowToHigh, kept.threshold1.threshold) == (1, -200.0)
        sysman.ok("zesDeviceEventRegister", az.device, value("ZES_EVENT_TYPE_FLAG_TEMP_THRESHOLD1"))
        assert listen(sysman, az, 0) == (NOT_READY, 0, 0)
        sysman.ok("zesTemperatureSetConfig", sensor, byref(new("zes_temp_config_t")))
    sysman.ok("zesDeviceEventRegister", az.device, 0)


def test_what_a_processor_does_not_let_do_is_said(sysman: Sysman, az: Calls) -> None:
    domains = c_uint32(7)
    sysman.ok("zesDeviceGetOverclockDomains", az.device, byref(domains))
    assert domains.value == 0
    assert sysman.call("zesDeviceSetOverclockWaiver", az.device) == UNSUPPORTED_FEATURE
    assert "overclock" in az.last_error()
    assert sysman.call("zesDeviceReset", az.device, 1) == UNSUPPORTED_FEATURE
    assert "cannot be reset" in az.last_error()
    power = c_void_p(1)
    assert sysman.call("zesDeviceGetCardPowerDomain", az.device, byref(power)) == UNSUPPORTED_FEATURE
    assert not power.value
    available = bool(sysman.several("zesDeviceEnumRasErrorSets", az.device))
    state = sysman.query("zesDeviceGetEccState", "zes_device_ecc_properties_t", az.device)
    assert state.currentState == value(f"ZES_DEVICE_ECC_STATE_{'ENABLED' if available else 'UNAVAILABLE'}")
