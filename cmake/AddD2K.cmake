# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The project's target functions. Two families:
#
#   add_d2k_core_library, add_d2k_core_tool, add_d2k_core_unittest
#     code without LLVM; builds with -DD2K_ANALYZER=OFF too.
#   add_d2k_library, add_d2k_tool, add_d2k_unittest, add_d2k_dialect,
#   add_d2k_doc
#     code on LLVM and MLIR.
#
# All of them take sources first and then
#
#   LINK_LIBS [PUBLIC|PRIVATE] ...  our own libraries, and MLIR's by their
#                                   component name (MLIRIR, MLIRPass, ...);
#                                   any of the latter becomes libMLIR.so
#   LINK_COMPONENTS ...             LLVM's components (Support, Option, ...);
#                                   they become libLLVM.so; LLVM family only
#   DEPENDS ...                     targets that generate sources or headers
#
# From LLVM we link three shared objects and nothing else: libMLIR.so,
# libLLVM.so and libclang-cpp.so. d2k_check_link enforces it.

include_guard(GLOBAL)
include(D2KCheckLink)

# Warning flags of our own code.
function(d2k_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-unused-parameter)
    if(D2K_WERROR)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  else()
    # g++ 12 reports the members of LLVM's tagged unions as uninitialised.
    target_compile_options(${target} PRIVATE
      -Wno-unused-parameter -Wno-maybe-uninitialized)
  endif()
  target_include_directories(${target} PRIVATE
    "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}")
endfunction()

# Links `target` against a LINK_LIBS list; MLIR components go through MLIR's
# own function, which replaces them by libMLIR.so.
function(d2k_link_libs target)
  set(scope PUBLIC)
  foreach(item IN LISTS ARGN)
    if(item MATCHES "^(PUBLIC|PRIVATE|INTERFACE)$")
      set(scope ${item})
    elseif(item MATCHES "^MLIR[A-Z]")
      if(NOT D2K_ANALYZER)
        message(FATAL_ERROR "${target} links ${item}, but D2K_ANALYZER is OFF")
      endif()
      mlir_target_link_libraries(${target} ${scope} ${item})
    elseif(item MATCHES "^(LLVM|clang)[A-Z]")
      message(FATAL_ERROR
        "${target} links the archive ${item}; name LLVM's components after "
        "LINK_COMPONENTS, and Clang as clang-cpp")
    else()
      target_link_libraries(${target} ${scope} ${item})
    endif()
  endforeach()
endfunction()

# Common parsing; results in ARG_SOURCES, ARG_LINK_LIBS, ARG_LINK_COMPONENTS
# and ARG_DEPENDS of the caller.
macro(d2k_parse_target)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;LINK_COMPONENTS;DEPENDS" ${ARGN})
  set(ARG_SOURCES ${ARG_UNPARSED_ARGUMENTS})
endmacro()

#===-- Without LLVM --------------------------------------------------------===#

function(d2k_core_target target)
  if(ARG_LINK_COMPONENTS)
    message(FATAL_ERROR "${target} is a core target and cannot link LLVM")
  endif()
  d2k_set_warnings(${target})
  target_link_libraries(${target} PUBLIC tl::expected Threads::Threads)
  # nlohmann/json reports through exceptions; only sources of core targets may
  # include it, because the LLVM family compiles without exceptions and the
  # two variants of its inline functions must not meet in one program.
  target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
  d2k_link_libs(${target} ${ARG_LINK_LIBS})
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
endfunction()

# add_d2k_core_library(D2KFoo a.cpp ... [LINK_LIBS ...] [DEPENDS ...])
function(add_d2k_core_library name)
  d2k_parse_target(${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  d2k_core_target(${name})
endfunction()

# add_d2k_core_tool(d2k-foo a.cpp ...): an executable in <build>/bin.
function(add_d2k_core_tool name)
  d2k_parse_target(${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  d2k_core_target(${name})
  set_property(GLOBAL APPEND PROPERTY D2K_TOOLS ${name})
endfunction()

# add_d2k_core_unittest(D2KFooTests a.cpp ...): lit finds the binary by the
# suffix "Tests"; without the analyser ctest runs it.
function(add_d2k_core_unittest name)
  d2k_parse_target(${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  d2k_core_target(${name})
  target_link_libraries(${name} PRIVATE default_gtest_main default_gtest)
  d2k_finish_unittest(${name})
endfunction()

function(d2k_finish_unittest name)
  if(NOT name MATCHES "^D2K.*Tests$")
    message(FATAL_ERROR "unit test ${name} must be named D2K<Component>Tests")
  endif()
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE D2KTestPaths)
  add_dependencies(D2KUnitTests ${name})
  if(NOT D2K_ANALYZER)
    add_test(NAME ${name} COMMAND ${name})
  endif()
endfunction()

#===-- On LLVM and MLIR ----------------------------------------------------===#

if(D2K_ANALYZER)
  # add_d2k_library(D2KFoo a.cpp ... [LINK_LIBS ...] [LINK_COMPONENTS ...])
  function(add_d2k_library name)
    d2k_parse_target(${ARGN})
    # Generated dialect headers must exist before anything that may include
    # them compiles.
    add_llvm_library(${name} STATIC BUILDTREE_ONLY PARTIAL_SOURCES_INTENDED
      ${ARG_SOURCES}
      DEPENDS mlir-headers ${ARG_DEPENDS}
      LINK_COMPONENTS ${ARG_LINK_COMPONENTS})
    d2k_set_warnings(${name})
    d2k_link_libs(${name} ${ARG_LINK_LIBS})
  endfunction()

  # add_d2k_tool(d2k-foo a.cpp ...): an executable in <build>/bin.
  function(add_d2k_tool name)
    d2k_parse_target(${ARGN})
    set(LLVM_LINK_COMPONENTS ${ARG_LINK_COMPONENTS})
    add_llvm_executable(${name} PARTIAL_SOURCES_INTENDED ${ARG_SOURCES}
      DEPENDS mlir-headers ${ARG_DEPENDS})
    d2k_set_warnings(${name})
    d2k_link_libs(${name} PRIVATE ${ARG_LINK_LIBS})
    set_property(GLOBAL APPEND PROPERTY D2K_TOOLS ${name})
  endfunction()

  # add_d2k_unittest(D2KFooTests a.cpp ...)
  function(add_d2k_unittest name)
    d2k_parse_target(${ARGN})
    set(LLVM_LINK_COMPONENTS ${ARG_LINK_COMPONENTS})
    # add_unittest turns RTTI off unless told; ours follows the package, as
    # everything else does.
    set(LLVM_REQUIRES_RTTI ${LLVM_ENABLE_RTTI})
    add_unittest(D2KUnitTests ${name} PARTIAL_SOURCES_INTENDED ${ARG_SOURCES}
      DEPENDS mlir-headers ${ARG_DEPENDS})
    d2k_set_warnings(${name})
    d2k_link_libs(${name} PRIVATE ${ARG_LINK_LIBS})
    d2k_finish_unittest(${name})
  endfunction()

  # add_d2k_fuzzer(ptx-parser-fuzzer a.cpp ...): a libFuzzer program, in
  # test/Fuzz. The name ends in -fuzzer; scripts/fuzz runs it.
  function(add_d2k_fuzzer name)
    if(NOT name MATCHES "-fuzzer$")
      message(FATAL_ERROR "fuzz target ${name} must be named <what>-fuzzer")
    endif()
    d2k_parse_target(${ARGN})
    set(LLVM_LINK_COMPONENTS ${ARG_LINK_COMPONENTS})
    add_llvm_executable(${name} PARTIAL_SOURCES_INTENDED ${ARG_SOURCES}
      DEPENDS mlir-headers ${ARG_DEPENDS})
    d2k_set_warnings(${name})
    d2k_link_libs(${name} PRIVATE ${ARG_LINK_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(D2KFuzzers ${name})
  endfunction()

  # add_d2k_dialect(Kern kern): Kern.td in the current folder to KernDialect,
  # KernTypes and Kern {.h,.cpp}.inc, and its reference page to
  # <build>/docs/Dialects/Kern.md.
  function(add_d2k_dialect dialect namespace)
    add_mlir_dialect(${dialect} ${namespace})
    add_d2k_doc(${dialect} ${dialect} Dialects/
      -gen-dialect-doc -dialect=${namespace})
  endfunction()

  # add_d2k_doc(File Output Folder/ -gen-...-doc ...)
  function(add_d2k_doc file output folder command)
    add_mlir_doc(${file} ${output} ${folder} ${command} ${ARGN})
  endfunction()
endif()

#===-- Both ----------------------------------------------------------------===#

# Adds each named subfolder that has a CMakeLists.txt, in the order given, so
# that a new component needs no edit here beyond its own folder.
function(d2k_add_existing)
  foreach(folder IN LISTS ARGN)
    if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()
