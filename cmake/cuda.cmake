# Finds nvcc, where libbilevel-cuda is wanted: sets BLV_HAS_CUDA. The code is for Hopper GPUs, and as
# PTX for later ones; -DCMAKE_CUDA_ARCHITECTURES chooses others, 90 at the least.
set(BLV_HAS_CUDA OFF)
if(BLV_CUDA STREQUAL "OFF" OR (BLV_CUDA STREQUAL "auto" AND (BLV_SANITIZE OR BLV_TSAN OR
   BLV_COVERAGE OR BLV_FUZZ OR CMAKE_C_COMPILER_ID MATCHES Clang)))
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a-real 90-virtual)
  endif()
  enable_language(CUDA)
  set(BLV_HAS_CUDA ON)
elseif(NOT BLV_CUDA STREQUAL "auto")
  message(FATAL_ERROR "BLV_CUDA=${BLV_CUDA}, but there is no nvcc")
endif()
