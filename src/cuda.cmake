# libbilevel-cuda: everything for GPUs, in a library of its own that libbilevel loads when it is asked
# for a GPU. CUDA's runtime is linked into it: at run time it needs the driver alone, and for networks
# cuBLAS, which it loads itself.
add_library(bilevel_cuda SHARED
  base/cuda/device.cu
  base/cuda/entry.cu
  base/cuda/vector_queue.cu
  base/random.c
  kernels/cuda/cuda_elements.cu
  kernels/cuda/cuda_finish.cu
  kernels/cuda/cuda_kernels.cu
  kernels/cuda/cuda_one_score.cu
  kernels/cuda/cuda_plain.cu
  kernels/cuda/cuda_sparse.cu
  kernels/cuda/cuda_split.cu
  kernels/cuda/cuda_tensor.cu
  nn/cuda/cuda_network.cu
  space/cuda/cuda_later.cu
  space/cuda/cuda_space.cu)
set_target_properties(bilevel_cuda PROPERTIES
  OUTPUT_NAME bilevel-cuda VERSION ${PROJECT_VERSION} SOVERSION ${BLV_SOVERSION}
  CUDA_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
  BUILD_RPATH "$ORIGIN")
target_include_directories(bilevel_cuda PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(bilevel_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--extended-lambda;-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
target_link_libraries(bilevel_cuda PRIVATE bilevel)
