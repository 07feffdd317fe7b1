# room(NAME [HOT] [WITHOUT ...] [SOURCES ...] [LIBS ...] [TEST_LIBS ...])
# The library of one folder, of every .cc in it but those of WITHOUT, and its tests (*_test.cc) in one binary, or in two
# where some need a GPU (*_gpu_test.cc): a new file is found by the next build. SOURCES: what else belongs to it. HOT: it
# has loops that a run waits for, as every room with tensors has.
#
# What builds without tensors has the label `plain` and is built by the target plain_tests, to run under sanitizers.
if(DRAFTLAB_TESTS)
  enable_testing()
  add_custom_target(gpu_tests)
  add_custom_target(plain_tests)
endif()

# Compiled in two thirds of the time that -O3 takes.
function(compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endfunction()

function(room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "HOT" "" "WITHOUT;SOURCES;LIBS;TEST_LIBS")
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
  list(REMOVE_ITEM sources ${ARG_WITHOUT})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(gpu_tests ${tests})
  list(FILTER tests EXCLUDE REGEX "_gpu_test\\.cc$")
  list(FILTER gpu_tests INCLUDE REGEX "_gpu_test\\.cc$")
  add_library(${name} STATIC ${sources} ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LIBS})
  reuse_precompiled(${name})
  uses_tensors(${name} tensors)
  if(NOT ARG_HOT AND NOT tensors)
    compile_quickly(${name})
  endif()
  if(DRAFTLAB_TESTS AND tests)
    set(label cpu)
    if(NOT tensors)
      set(label plain)
      add_dependencies(plain_tests ${name}_test)
    endif()
    room_test(${name}_test ${label} "${ARG_TEST_LIBS};${name}" ${tests})
  endif()
  if(DRAFTLAB_TESTS AND DRAFTLAB_CUDA AND gpu_tests)
    room_test(${name}_gpu_test gpu "${name};Libtorch::cuda" ${gpu_tests})
    add_dependencies(gpu_tests ${name}_gpu_test)
  endif()
endfunction()

function(room_test name label rooms)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${rooms} GTest::gmock GTest::gtest_main)
  reuse_precompiled(${name} test)
  compile_quickly(${name})
  # A process loads libtorch for longer than most tests run, so each runs a quarter of them. Side by
  # side they get one thread each: OpenMP's threads spin while others hold the cores. Tests of
  # threads ask for their own.
  set(shards 4)
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    add_test(NAME "${name} ${shard}/${shards}" COMMAND ${name} --gtest_brief=1)
    set_tests_properties("${name} ${shard}/${shards}" PROPERTIES LABELS ${label} TIMEOUT 900
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index};OMP_NUM_THREADS=1")
  endforeach()
endfunction()
