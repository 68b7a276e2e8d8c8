# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-d2k-headers compiles each public header on its own, to show that it
# includes what it needs. With the analyser the target is built on request
# only, since MLIR's headers are slow; without it there are few headers and
# they are part of the default build.

function(d2k_add_header_check)
  set(components Support Fact Task Rubric Report Metrics Runner)
  set(all ALL)
  if(D2K_ANALYZER)
    list(APPEND components Dialect Frontend Analysis Properties Driver)
    set(all "")
  endif()
  set(sources "")
  foreach(component IN LISTS components)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS
      RELATIVE "${D2K_SOURCE_DIR}/include"
      "${D2K_SOURCE_DIR}/include/d2k/${component}/*.h")
    foreach(header IN LISTS headers)
      string(REGEX REPLACE "[^A-Za-z0-9]" "_" name "${header}")
      set(source "${D2K_BINARY_DIR}/headers/${name}.cpp")
      file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n")
      list(APPEND sources "${source}")
    endforeach()
  endforeach()
  add_library(D2KHeaders OBJECT EXCLUDE_FROM_ALL ${sources})
  d2k_set_warnings(D2KHeaders)
  target_link_libraries(D2KHeaders PRIVATE
    tl::expected nlohmann_json::nlohmann_json)
  if(D2K_ANALYZER)
    add_dependencies(D2KHeaders mlir-headers)
  endif()
  add_custom_target(check-d2k-headers ${all} DEPENDS D2KHeaders)
endfunction()
