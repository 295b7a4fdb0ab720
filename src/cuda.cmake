# libbilevel-cuda: everything for GPUs, in a library of its own that libbilevel loads when it is asked
# for a GPU. CUDA's runtime is linked into it: at run time it needs the driver alone.
add_library(bilevel_cuda SHARED
  base/cuda/device.cu
  base/cuda/entry.cu
  base/cuda/vector_queue.cu
  kernels/cuda/cuda_elements.cu
  kernels/cuda/cuda_finish.cu
  kernels/cuda/cuda_kernels.cu
  kernels/cuda/cuda_one_score.cu
  kernels/cuda/cuda_plain.cu
  kernels/cuda/cuda_sparse.cu
  kernels/cuda/cuda_split.cu
  kernels/cuda/cuda_tensor.cu
  space/cuda/cuda_space.cu)
set_target_properties(bilevel_cuda PROPERTIES
  OUTPUT_NAME bilevel-cuda VERSION ${PROJECT_VERSION} SOVERSION ${BLV_SOVERSION}
  CUDA_VISIBILITY_PRESET hidden
  BUILD_RPATH "$ORIGIN")
target_include_directories(bilevel_cuda PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(bilevel_cuda PRIVATE -std=c++20 --extended-lambda -Xcompiler=-Wall,-Wextra)
target_link_libraries(bilevel_cuda PRIVATE bilevel)
