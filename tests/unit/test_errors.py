"""Results become exceptions that say what happened and what to do."""

from __future__ import annotations

import builtins
import pickle

import pytest

from anyzero import errors, ze


def test_every_result_has_an_exception_with_its_facts() -> None:
    for result in ze.ze_result_t:
        if result == ze.ZE_RESULT_SUCCESS:
            continue
        error = errors.from_result(int(result), "zeSomething", "the reason")
        assert isinstance(error, errors.Error)
        assert error.result is result
        assert error.function == "zeSomething"
        assert error.detail == "the reason"
        first = str(error).splitlines()[0]
        assert first.startswith("zeSomething ")
        assert first.endswith(": the reason")


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (ze.ZE_RESULT_NOT_READY, errors.NotReady),
        (ze.ZE_RESULT_ERROR_DEVICE_LOST, errors.DeviceLost),
        (ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, errors.OutOfDeviceMemory),
        (ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, errors.OutOfHostMemory),
        (ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, errors.BuildError),
        (ze.ZE_RESULT_ERROR_UNINITIALIZED, errors.Unavailable),
        (ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, errors.InvalidHandle),
        (ze.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, errors.InvalidHandle),
        (ze.ZE_RESULT_ERROR_INVALID_SIZE, errors.InvalidArgument),
        (ze.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, errors.InvalidArgument),
        (ze.ZE_RESULT_ERROR_OVERLAPPING_REGIONS, errors.InvalidArgument),
        (ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, errors.UnsupportedFeature),
        (ze.ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, errors.UnsupportedFeature),
        (ze.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, errors.UnsupportedSize),
        (ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, errors.HandleInUse),
        (ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, errors.PermissionDenied),
        (ze.ZE_RESULT_ERROR_UNKNOWN, errors.Error),
    ],
)
def test_results_are_grouped_by_what_to_do(result: int, kind: type[errors.Error]) -> None:
    assert type(errors.from_result(result, "zeX")) is kind


def test_pythons_own_exceptions_catch_those_of_the_same_meaning() -> None:
    assert issubclass(errors.OutOfDeviceMemory, MemoryError)
    assert issubclass(errors.OutOfHostMemory, MemoryError)
    assert issubclass(errors.UnsupportedSize, MemoryError)
    assert issubclass(errors.UnsupportedSize, errors.UnsupportedFeature)
    assert issubclass(errors.InvalidArgument, ValueError)
    assert issubclass(errors.TimeoutError, builtins.TimeoutError)
    assert issubclass(errors.TimeoutError, errors.NotReady)
    assert issubclass(errors.DeviceNotFound, LookupError)
    assert issubclass(errors.PermissionDenied, PermissionError)


def test_an_unknown_result_is_named_by_its_number() -> None:
    error = errors.from_result(0x1234, "zeX", "why")
    assert "0x1234" in str(error)
    assert error.result is None


def test_the_remedy_is_a_line_of_its_own() -> None:
    error = errors.from_result(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", "8 GiB are too much")
    assert str(error).splitlines() == [
        "zeMemAllocDevice OUT_OF_DEVICE_MEMORY: 8 GiB are too much",
        errors.OutOfDeviceMemory.remedy,
    ]
    assert str(errors.InvalidArgument("bad", remedy="Do this.")) == "bad\nDo this."


def test_errors_survive_a_trip_to_another_process() -> None:
    error = errors.from_result(ze.ZE_RESULT_ERROR_DEVICE_LOST, "zeX", "a copy")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.result, again.function, again.detail) == (error.result, error.function, error.detail)


@pytest.mark.parametrize("kind", [getattr(errors, name) for name in errors.__all__ if name[0].isupper()])
def test_what_other_libraries_call_to_restore_an_error_works(kind: type[errors.Error]) -> None:
    # tblib, which Dask uses: MemoryError's __new__ refused, and a plain Exception arrived instead.
    again = kind.__new__(kind, "nothing left")
    assert type(again) is kind
    assert again.args == ("nothing left",)
