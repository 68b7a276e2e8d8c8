# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The link rule of the project: from LLVM three shared objects and nothing
# else. Kept apart so that a test can run it on a small project.

include_guard(GLOBAL)

# Fails the configuration when an executable or a shared library of this
# project would link a static archive of LLVM, MLIR or Clang. Such a mix
# links and even runs, with a second copy of every registry and TypeID.
# Called last in the top-level CMakeLists.txt.
function(d2k_check_link)
  d2k_collect_targets(targets "${D2K_SOURCE_DIR}")
  set(faults "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY")
      continue()
    endif()
    set(seen "")
    set(todo ${target})
    while(todo)
      list(POP_FRONT todo item)
      if(item IN_LIST seen)
        continue()
      endif()
      list(APPEND seen ${item})
      if(item MATCHES "^\\$<LINK_ONLY:(.*)>$")
        list(APPEND todo ${CMAKE_MATCH_1})
        continue()
      endif()
      if(NOT TARGET ${item})
        # A plain path or a -l flag.
        if(item MATCHES "(lib|-l)(MLIR|LLVM|clang)[A-Z][A-Za-z0-9]*(\\.a)?$")
          list(APPEND faults "${target}: ${item}")
        endif()
        continue()
      endif()
      get_target_property(real ${item} ALIASED_TARGET)
      if(real)
        list(APPEND todo ${real})
        continue()
      endif()
      get_target_property(item_type ${item} TYPE)
      if(item MATCHES "^(MLIR|LLVM|clang)[A-Z]" AND
         item_type STREQUAL "STATIC_LIBRARY")
        list(APPEND faults "${target}: ${item}")
        continue()
      endif()
      set(properties INTERFACE_LINK_LIBRARIES)
      if(NOT item_type STREQUAL "INTERFACE_LIBRARY")
        list(APPEND properties LINK_LIBRARIES)
      endif()
      foreach(property IN LISTS properties)
        get_target_property(libraries ${item} ${property})
        if(libraries)
          list(APPEND todo ${libraries})
        endif()
      endforeach()
    endwhile()
  endforeach()
  if(faults)
    list(REMOVE_DUPLICATES faults)
    list(JOIN faults "\n  " faults)
    message(FATAL_ERROR
      "static archives of LLVM, MLIR or Clang are linked beside the shared "
      "libraries:\n  ${faults}\nlink MLIR through LINK_LIBS of the add_d2k_ "
      "functions, LLVM through LINK_COMPONENTS, Clang as clang-cpp")
  endif()
endfunction()

# All targets defined at or below `directory`.
function(d2k_collect_targets out directory)
  get_property(found DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    d2k_collect_targets(below "${folder}")
    list(APPEND found ${below})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
