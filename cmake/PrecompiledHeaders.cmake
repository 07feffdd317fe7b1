# What nearly every file includes and is slow to parse, parsed once: Boost.JSON takes 2 CPU seconds, GoogleMock 2,
# ATen 16. Nothing of ours is in it, so touching one of our headers rebuilds what includes it and no more.
# Sources still name what they use: with -DDRAFTLAB_PCH=OFF everything compiles the same.
option(DRAFTLAB_PCH "Precompile the headers of the standard library, Boost.JSON, ATen and GoogleMock" ON)

set(plain_headers <algorithm> <boost/json.hpp> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <optional>
  <set> <string> <string_view> <utility> <vector>)

# A target that does nothing but precompile: precompiled(NAME "LIBS" HEADER ...). The flags are those of its users.
function(precompiled name libs)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ${libs})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  # What ccache takes for the precompiled header's content: whatever may change it.
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum CONTENT
    "${ARGN} ${CMAKE_CXX_COMPILER_VERSION} ${Boost_VERSION} ${GTest_VERSION} ${LIBTORCH_VERSION}\n")
endfunction()

if(DRAFTLAB_PCH)
  precompiled(plain_pch Boost::json ${plain_headers})
  precompiled(tensor_pch "Boost::json;Libtorch::cpu" ${plain_headers} <ATen/ATen.h>)
  if(DRAFTLAB_TESTS)
    precompiled(plain_test_pch "Boost::json;GTest::gmock" ${plain_headers} <gmock/gmock.h>)
    precompiled(tensor_test_pch "Boost::json;Libtorch::cpu;GTest::gmock" ${plain_headers} <ATen/ATen.h> <gmock/gmock.h>)
  endif()
endif()

# Whether a target, or a room that it links, includes ATen.
function(uses_tensors target result)
  set(found FALSE)
  get_target_property(libs ${target} LINK_LIBRARIES)
  foreach(lib ${libs})
    if(lib STREQUAL Libtorch::cpu)
      set(found TRUE)
    elseif(TARGET ${lib} AND NOT lib MATCHES "::")
      uses_tensors(${lib} found)
    endif()
    if(found)
      break()
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# reuse_precompiled(TARGET [test])
function(reuse_precompiled target)
  if(NOT DRAFTLAB_PCH)
    return()
  endif()
  uses_tensors(${target} tensors)
  set(kind plain)
  if(tensors)
    set(kind tensor)
  endif()
  if(ARGN)
    string(APPEND kind _test)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${kind}_pch)
endfunction()
