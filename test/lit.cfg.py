# What every lit test may rely on.
#
# Substitutions: the tools by name, FileCheck, not, count, split-file,
# %python, %cmake, %cxx, %tasks, %rubrics, %guidance, %source (the checkout),
# %build, %llvm (the prefix of the LLVM that is built against), and, where the
# feature of the same name is there, %ptxas %nvcc %nvdisasm %cuobjdump.
#
# Features: ptxas, ptxas-sm_<N> for each target that ptxas accepts, nvcc,
# nvdisasm, cuobjdump, clang-format (version 22), cuda-gpu and cuda-sm<N> for
# the devices of this machine. A target (ptxas-sm_90a) and a device (cuda-sm90)
# are independent of each other.

import os
import platform
import shutil
import sys

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

sys.path.insert(0, os.path.join(config.d2k_source_dir, "test", "Config"))
import cuda_tools
import gpu_detection

config.name = "D2K"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ptx", ".cu", ".test"]
config.excludes = [
    "Unit",
    "Fuzz",
    "Inputs",
    "CMakeLists.txt",
    "lit.cfg.py",
    "lit.site.cfg.py.in",
]
config.test_source_root = os.path.dirname(__file__)

config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
# Whatever the person running the tests prefers, tools write plain text.
config.environment["LC_ALL"] = "C.UTF-8"
if "Address" in config.llvm_use_sanitizer:
    config.available_features.add("asan")
    # LLVM's shared objects are not instrumented: they allocate from arenas and
    # grow containers that our code, which inlines the same headers, poisons.
    config.environment["ASAN_OPTIONS"] = ":".join(
        [
            "allow_user_poisoning=0",
            "detect_container_overflow=0",
            os.environ.get("ASAN_OPTIONS", ""),
        ]
    ).strip(":")
if "Undefined" in config.llvm_use_sanitizer:
    config.available_features.add("ubsan")
llvm_config.with_system_environment(
    ["HOME", "TMPDIR", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CUDA_PATH"]
)

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.d2k_tools_dir, append_path=True)

# One entry a tool that this build has; "" when there is none yet.
tools = [
    ToolSubst(name, unresolved="fatal") for name in config.d2k_tools if name
]
tools += ["FileCheck", "not", "count", "split-file"]
llvm_config.add_tool_substitutions(
    tools, [config.d2k_tools_dir, config.llvm_tools_dir]
)

# Precompiled headers are kept there between tests.
config.environment["XDG_CACHE_HOME"] = os.path.join(
    config.test_exec_root, "user-cache"
)
config.environment.pop("D2K_CACHE", None)

for name, value in (
    ("%python", config.python),
    ("%cmake", config.cmake),
    ("%cxx", config.cxx),
    ("%source", config.d2k_source_dir),
    ("%build", config.d2k_binary_dir),
    ("%llvm", os.path.dirname(config.llvm_tools_dir)),
    ("%tasks", os.path.join(config.d2k_source_dir, "tasks")),
    ("%rubrics", os.path.join(config.d2k_source_dir, "rubrics")),
    ("%guidance", os.path.join(config.d2k_source_dir, "guidance")),
):
    config.substitutions.append((name, value))

for name in ("nvcc", "ptxas", "nvdisasm", "cuobjdump"):
    path = getattr(config, name)
    if not path:
        continue
    config.available_features.add(name)
    config.substitutions.append(("%" + name, path))
    folder = os.path.dirname(path)
    if folder not in config.environment["PATH"].split(os.pathsep):
        llvm_config.with_environment("PATH", folder, append_path=True)
if config.ptxas:
    for target in cuda_tools.ptxasTargets(config.ptxas):
        config.available_features.add("ptxas-" + target)

# %cuda-include is the folder of the toolkit's headers.
if config.cuda_include:
    config.available_features.add("cuda-include")
    config.substitutions.append(("%cuda-include", config.cuda_include))

# %fake-cuda runs a program with the fake CUDA of test/FakeCuda and the tasks of
# test/Runner/Inputs/root.
fake = os.path.join(config.d2k_binary_dir, "lib", "libD2KFakeCuda.so")
if os.path.exists(fake):
    memory = os.path.join(config.test_exec_root, "fake-cuda-memory")
    os.makedirs(memory, exist_ok=True)
    test_root = config.test_source_root
    variables = {
        "D2K_ROOT": os.path.join(test_root, "Runner", "Inputs", "root"),
        "D2K_NVCC": os.path.join(test_root, "FakeCuda", "fake-nvcc"),
        "D2K_FAKE_CXX": config.cxx,
        "D2K_FAKE_CUDA_INCLUDE": config.cuda_include,
        "D2K_CUDA_DRIVER": fake,
        "D2K_CUPTI": fake,
        "D2K_NVML": os.path.join(memory, "no-nvml.so"),
        "D2K_FAKE_CUDA_MEMORY": memory,
        "D2K_DEVICE_PATHS": memory,
        "D2K_CACHE": os.path.join(config.test_exec_root, "d2k-cache"),
    }
    setting = " ".join("%s=%s" % pair for pair in variables.items())
    config.substitutions.append(("%fake-cuda", "env " + setting))
    config.available_features.add("fake-cuda")
    if shutil.which("bwrap"):
        config.available_features.add("bubblewrap")
    config.available_features.add("host-" + platform.machine())

    # %host-nvcc compiles CUDA for the CPU, %host-tasks checks a task there.
    host_variables = {
        "D2K_HOST_CUDA_BUILD": config.d2k_binary_dir,
        "D2K_HOST_CUDA_INCLUDE": config.cuda_include,
        "D2K_FAKE_CUDA_MEMORY": memory,
    }
    setting = " ".join("%s=%s" % pair for pair in host_variables.items())
    config.substitutions += [
        (
            "%host-nvcc",
            "env %s %s/HostCuda/host-nvcc" % (setting, config.test_source_root),
        ),
        (
            "%launch-check",
            os.path.join(config.d2k_binary_dir, "bin", "d2k-launch-check"),
        ),
        (
            "%host-tasks",
            "env %s %s/scripts/host-tasks --tools %s"
            % (setting, config.d2k_source_dir, config.d2k_binary_dir),
        ),
    ]
    # Fibers and the sanitizers do not know of each other.
    if shutil.which("g++") and not config.llvm_use_sanitizer:
        config.available_features.add("host-cuda")

# %client-python has the packages of scripts/lib/requirements-clients.txt.
environment = os.path.join(config.d2k_source_dir, ".venv")
if os.path.exists(os.path.join(environment, "d2k-requirements-clients.txt")):
    config.substitutions.append(
        ("%client-python", os.path.join(environment, "bin", "python"))
    )
    config.available_features.add("python-clients")

if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")

for major, minor in gpu_detection.detect():
    config.available_features.add("cuda-gpu")
    config.available_features.add("cuda-sm%d%d" % (major, minor))
