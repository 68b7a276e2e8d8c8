# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds the distribution's LLVM, MLIR and Clang and prepares their CMake
# modules. The order of the steps matters: lit's path before AddLLVM, the
# dylib switch before any mlir_target_link_libraries, the definitions before
# HandleLLVMOptions.

if(NOT CMAKE_PREFIX_PATH AND EXISTS /usr/lib/llvm-22)
  # With several LLVMs installed the packages are not found, or an old Clang
  # is, unless the folder is named.
  list(APPEND CMAKE_PREFIX_PATH /usr/lib/llvm-22)
endif()

# The package's lit is bin/lit; LLVM's default is bin/llvm-lit, which it
# does not ship.
find_program(D2K_LIT lit
  HINTS ${CMAKE_PREFIX_PATH} PATH_SUFFIXES bin
  NO_DEFAULT_PATH REQUIRED DOC "lit of the LLVM that is built against")
set(LLVM_EXTERNAL_LIT "${D2K_LIT}" CACHE FILEPATH "lit" FORCE)

find_package(MLIR REQUIRED CONFIG)
find_package(Clang REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR
    "found LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}, need 22; "
    "pass -DCMAKE_PREFIX_PATH=/usr/lib/llvm-22")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}: ${LLVM_DIR}")
message(STATUS "MLIR: ${MLIR_DIR}")
message(STATUS "Clang: ${Clang_DIR}")

# MLIRConfig.cmake does not export this; without it every MLIR library would
# be linked from its archive, beside the copy in libMLIR.so.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_TABLEGEN_EXE "${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen")
set(LLVM_RUNTIME_OUTPUT_INTDIR "${D2K_TOOLS_DIR}")
set(LLVM_LIBRARY_OUTPUT_INTDIR "${D2K_BINARY_DIR}/lib")
set(MLIR_BINARY_DIR "${D2K_BINARY_DIR}")
set(LLVM_BUILD_TESTS ON)

separate_arguments(d2k_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${d2k_llvm_definitions})

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)

# SYSTEM, so that -Werror judges only our own code.
include_directories(SYSTEM
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
link_directories(${LLVM_BUILD_LIBRARY_DIR})
