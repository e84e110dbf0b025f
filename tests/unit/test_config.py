"""The environment: every variable, its default, its accepted forms and its refusals."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from anyzero import config
from anyzero.config import Config, ConfigError, DeviceSelector
from anyzero.driver import docs

ROOT = Path(__file__).resolve().parents[2]


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = config.read({})
    assert settings == Config()
    assert settings.devices is None
    assert settings.device is None
    assert settings.profile == "default"
    assert settings.threads == len(os.sched_getaffinity(0))
    assert settings.memory is None
    assert settings.kept_memory == 256 << 20
    assert (settings.spin_us, settings.inline_bytes) == (20, 16384)
    assert (settings.description, settings.loader, settings.log) == (None, "ours", "error")
    assert (settings.cache, settings.cache_dir, settings.cache_size) == (True, None, 1 << 30)
    assert (settings.lanes, settings.gathers, settings.opt_level, settings.target) == (None, None, None, None)
    assert (settings.kernel_timeout, settings.dump) == (0.0, None)


def test_auto_leaves_the_choice_to_the_compiler() -> None:
    words = {"ANYZERO_LANES": "auto", "ANYZERO_GATHERS": "auto", "ANYZERO_TARGET": "auto"}
    assert config.read(words) == Config()


def test_a_variable_set_to_nothing_counts_as_unset() -> None:
    assert config.read({"ANYZERO_THREADS": "", "ANYZERO_LOG": "  "}) == Config()


def test_every_variable_is_read() -> None:
    settings = config.read(
        {
            "ANYZERO_DEVICES": "cpu:tiles=2",
            "ANYZERO_DEVICE": "cpu:1.0",
            "ANYZERO_PROFILE": "intel-gpu",
            "ANYZERO_THREADS": "3",
            "ANYZERO_MEMORY": "4G",
            "ANYZERO_KEPT_MEMORY": "0",
            "ANYZERO_SPIN_US": "0",
            "ANYZERO_INLINE_BYTES": "64K",
            "ANYZERO_DESCRIPTION": "/some/file",
            "ANYZERO_PYTHON": "/some/python",
            "ANYZERO_LOADER": "system",
            "ANYZERO_LOG": "off",
            "ANYZERO_KERNEL_TIMEOUT": "2.5",
            "ANYZERO_STRICT": "1",
            "ANYZERO_CACHE": "off",
            "ANYZERO_CACHE_DIR": "/some/folder",
            "ANYZERO_CACHE_SIZE": "64M",
            "ANYZERO_NPU_CACHE_SIZE": "0",
            "ANYZERO_LANES": "16",
            "ANYZERO_GATHERS": "off",
            "ANYZERO_OPT_LEVEL": "3",
            "ANYZERO_DUMP": "/some/dump",
            "ANYZERO_TARGET": "x86-64-v3",
        }
    )
    assert settings == Config(
        devices="cpu:tiles=2",
        device=DeviceSelector("cpu", 1, 0),
        profile="intel-gpu",
        threads=3,
        memory=4 << 30,
        kept_memory=0,
        spin_us=0,
        inline_bytes=64 << 10,
        description="/some/file",
        python="/some/python",
        loader="system",
        log="off",
        kernel_timeout=2.5,
        strict=True,
        cache=False,
        cache_dir="/some/folder",
        cache_size=64 << 20,
        npu_cache_size=0,
        lanes=16,
        gathers=False,
        opt_level=3,
        dump="/some/dump",
        target="x86-64-v3",
    )


@pytest.mark.parametrize("loader", ["ours", "system", "/opt/lib/libze_loader.so.1", "./libze_loader.so.1"])
def test_a_loader_is_a_word_or_a_path(loader: str) -> None:
    assert config.read({"ANYZERO_LOADER": loader}).loader == loader


def test_a_part_can_be_read_while_another_is_wrong() -> None:
    environ = {"ANYZERO_LOADER": "system", "ANYZERO_THREADS": "many"}
    assert config.read(environ, only=["loader"]).loader == "system"
    with pytest.raises(ConfigError, match="ANYZERO_THREADS"):
        config.read(environ)


def test_the_process_environment_is_the_default_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_SPIN_US", "7")
    assert config.read().spin_us == 7


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().threads = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ANYZERO_THREADS", "0", "1 to 1024"),
        ("ANYZERO_THREADS", "-1", "not a whole number"),
        ("ANYZERO_THREADS", "two", "not a whole number"),
        ("ANYZERO_THREADS", "1_0", "not a whole number"),
        ("ANYZERO_MEMORY", "4X", "not a size"),
        ("ANYZERO_MEMORY", "0", "must not be zero"),
        ("ANYZERO_MEMORY", "-4G", "not a size"),
        ("ANYZERO_SPIN_US", "1.5", "microseconds"),
        ("ANYZERO_SPIN_US", "1000001", "out of range"),
        ("ANYZERO_INLINE_BYTES", "much", "not a size"),
        ("ANYZERO_LOADER", "theirs", "ours or system"),
        ("ANYZERO_LOG", "loud", "off, error"),
        ("ANYZERO_KERNEL_TIMEOUT", "-1", "not a decimal number"),
        ("ANYZERO_KERNEL_TIMEOUT", "inf", "not a decimal number"),
        ("ANYZERO_KERNEL_TIMEOUT", "1000001", "out of range"),
        ("ANYZERO_CACHE", "yes", "on or off"),
        ("ANYZERO_CACHE_SIZE", "0", "must not be zero"),
        ("ANYZERO_LANES", "2", "auto, 1, 4, 8, 16, 32"),
        ("ANYZERO_GATHERS", "maybe", "auto, on, off"),
        ("ANYZERO_OPT_LEVEL", "4", "out of range"),
        ("ANYZERO_TARGET", "znver4 -x", "not the name of a processor"),
        ("ANYZERO_DEVICE", "cpu0", "cpu:0.1"),
        ("ANYZERO_DEVICE", "cpu:", "cpu:0.1"),
        ("ANYZERO_DEVICE", "0.", "cpu:0.1"),
        ("ANYZERO_DEVICE", "-1", "cpu:0.1"),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_the_accepted_forms(variable: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.read({variable: value})
    assert isinstance(caught.value, ValueError)
    for part in (variable, repr(value), said, "Accepted:"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("65536", 65536),
        ("100B", 100),
        ("64K", 65536),
        ("64k", 65536),
        ("64KiB", 65536),
        ("64 kb", 65536),
        ("2M", 2 << 20),
        ("4G", 4 << 30),
        ("1T", 1 << 40),
    ],
)
def test_sizes_use_powers_of_1024(text: str, size: int) -> None:
    assert config.parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("0", DeviceSelector(None, 0, None)),
        ("12", DeviceSelector(None, 12, None)),
        ("0.1", DeviceSelector(None, 0, 1)),
        ("cpu", DeviceSelector("cpu", 0, None)),
        ("cpu:0", DeviceSelector("cpu", 0, None)),
        ("cuda:1.3", DeviceSelector("cuda", 1, 3)),
    ],
)
def test_a_device_selection_is_read_and_printed(text: str, selector: DeviceSelector) -> None:
    assert DeviceSelector.parse(text) == selector
    assert DeviceSelector.parse(str(selector)) == selector


def test_names_are_unique_and_carry_the_project_name() -> None:
    names = [row.name for _, row in config.variables()]
    assert len(set(names)) == len(names) == len(dataclasses.fields(Config))
    assert all(name.startswith("ANYZERO_") for name in names)


def test_the_documentation_of_the_environment_is_fresh() -> None:
    written = (ROOT / "docs" / "environment.md").read_text()
    assert written == docs.environment(), "run: python -m anyzero.driver --docs > docs/environment.md"
