# Third-party libraries as imported targets: Boost, OpenSSL, PCRE2 from Debian; libtorch from the wheel.
find_package(Boost 1.81 REQUIRED COMPONENTS json program_options)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Threads REQUIRED)
if(DRAFTLAB_TESTS)
  find_package(GTest REQUIRED)
endif()
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)

# Libtorch::cpu and, with DRAFTLAB_CUDA, Libtorch::cuda. find_package(Torch) would need the whole CUDA
# toolkit even for a CPU build, and rewrites CMAKE_CUDA_FLAGS and CMAKE_CUDA_ARCHITECTURES.
set(DEPENDENCIES_DIR ${PROJECT_SOURCE_DIR}/build/deps/python CACHE PATH
  "Where scripts/dependencies unpacked the wheels")
set(LIBTORCH_ROOT ${DEPENDENCIES_DIR}/torch CACHE PATH "Folder with libtorch's include/ and lib/")
if(NOT EXISTS ${LIBTORCH_ROOT}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no libtorch in ${LIBTORCH_ROOT}: run scripts/dependencies, or set LIBTORCH_ROOT")
endif()
file(SHA256 ${LIBTORCH_ROOT}/include/torch/headeronly/version.h LIBTORCH_VERSION)

function(import_libtorch name)
  add_library(Libtorch::${name} SHARED IMPORTED GLOBAL)
  set_target_properties(Libtorch::${name} PROPERTIES IMPORTED_LOCATION ${LIBTORCH_ROOT}/lib/lib${name}.so)
endfunction()

import_libtorch(c10)
import_libtorch(torch_cpu)
add_library(Libtorch::cpu INTERFACE IMPORTED GLOBAL)
target_link_libraries(Libtorch::cpu INTERFACE Libtorch::torch_cpu Libtorch::c10)
# at::parallel_for is a loop on one thread unless its caller is compiled for OpenMP. The runtime is the
# wheel's own, by path, so that there is one pool of threads: ours is MKL's.
target_compile_options(Libtorch::cpu INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_libraries(Libtorch::cpu INTERFACE ${LIBTORCH_ROOT}/lib/libgomp.so.1)
target_include_directories(Libtorch::cpu SYSTEM INTERFACE
  ${LIBTORCH_ROOT}/include ${LIBTORCH_ROOT}/include/torch/csrc/api/include)
# The linker follows libtorch's own dependencies: the CUDA runtime wheels beside it.
file(GLOB NVIDIA_LIBRARY_DIRS ${DEPENDENCIES_DIR}/nvidia/*/lib)
foreach(dir ${NVIDIA_LIBRARY_DIRS})
  target_link_options(Libtorch::cpu INTERFACE -Wl,-rpath-link,${dir})
endforeach()

if(DRAFTLAB_CUDA)
  import_libtorch(c10_cuda)
  import_libtorch(torch_cuda)
  add_library(Libtorch::cuda INTERFACE IMPORTED GLOBAL)
  target_link_options(Libtorch::cuda INTERFACE -Wl,-rpath-link,${CUDAToolkit_LIBRARY_DIR})
  # Nothing calls libtorch_cuda by name, so a linker that defaults to --as-needed would drop it.
  target_link_libraries(Libtorch::cuda INTERFACE Libtorch::cpu Libtorch::c10_cuda
    -Wl,--no-as-needed Libtorch::torch_cuda -Wl,--as-needed CUDA::cudart)
endif()
