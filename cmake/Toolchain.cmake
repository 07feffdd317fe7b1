set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -Wno-restrict: GCC 12 warns wrongly inside std::string (its bug 105651). Designated initializers leave
# fields to their defaults on purpose.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
# The same C++ gives the same bits on every x86-64, whichever clone of a kernel the CPU picks: a
# fused multiply-add would round differently where the instruction exists.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(DRAFTLAB_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# Programs are found together, libraries stay in their rooms.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
