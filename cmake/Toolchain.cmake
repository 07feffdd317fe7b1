set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -Wno-restrict, -Wno-stringop-overflow: GCC 12 warns wrongly inside std::string (its bug 105651). Designated
# initializers leave fields to their defaults on purpose.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow>)
# A square root that sets errno would keep its loop from being vectorized, and nothing here reads errno after one.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno>)
# The same C++ gives the same bits on every x86-64, whichever clone of a kernel the CPU picks: a
# fused multiply-add would round differently where the instruction exists.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# scripts/test turns it on. GCC 12 warns wrongly inside std::string here, too, and where a room uses -O3.
option(DRAFTLAB_WERROR "Make warnings of our own files errors" OFF)
if(DRAFTLAB_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=array-bounds>)
endif()

# Compiled files are shared between checkouts, and files with a precompiled header are kept at all: ccache goes by
# the sum that cmake/PrecompiledHeaders.cmake writes beside each, since no two compilations of one are alike.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
endif()

# Where #include "source_dir.h" finds this checkout.
configure_file(${PROJECT_SOURCE_DIR}/cmake/source_dir.h.in ${PROJECT_BINARY_DIR}/generated/source_dir.h)
include_directories(${PROJECT_BINARY_DIR}/generated)

# Programs are found together, libraries stay in their rooms.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
