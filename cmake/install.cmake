# Install rules: libraries, public headers, command with completion and manual, CMake package and
# pkg-config files. Everything that is installed finds everything else relative to itself, so the
# prefix can be moved.
option(BLV_INSTALL "Create install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT BLV_INSTALL)
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bilevel)

install(TARGETS bilevel bilevel_store EXPORT bilevelTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(BLV_HAS_CUDA)
  install(TARGETS bilevel_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
endif()
include(cmake/static.cmake)
install(TARGETS bilevel_static EXPORT bilevelStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bilevel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "mpi.h" EXCLUDE)
if(TARGET bilevel_mpi)
  install(TARGETS bilevel_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/include/bilevel/mpi.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/bilevel)
endif()

if(TARGET bilevel_command)
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(bilevel_command PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS bilevel_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  include(cmake/completion.cmake)
  install(FILES ${printed}/bilevel.bash RENAME bilevel
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${printed}/_bilevel DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  # The command finds them from where it is itself; the data are those of the quick forms.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/suites
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bilevel/bench FILES_MATCHING PATTERN "*.json")
  install(FILES ${PROJECT_SOURCE_DIR}/data/digits.csv.gz ${PROJECT_SOURCE_DIR}/data/README.md
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bilevel/data)
  install(DIRECTORY ${printed}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()

install(EXPORT bilevelTargets NAMESPACE bilevel:: DESTINATION ${package_dir})
install(EXPORT bilevelStaticTargets NAMESPACE bilevel:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/bilevelConfig.cmake.in
  ${PROJECT_BINARY_DIR}/bilevelConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/bilevelConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bilevelConfig.cmake
  ${PROJECT_BINARY_DIR}/bilevelConfigVersion.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_to_prefix}")
cmake_path(APPEND pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/bilevel.pc.in ${PROJECT_BINARY_DIR}/bilevel.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/bilevel-store.pc.in
  ${PROJECT_BINARY_DIR}/bilevel-store.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/bilevel.pc ${PROJECT_BINARY_DIR}/bilevel-store.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET bilevel_mpi) # compiled with mpicc, which knows where MPI is
  configure_file(${PROJECT_SOURCE_DIR}/cmake/bilevel-mpi.pc.in
    ${PROJECT_BINARY_DIR}/bilevel-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/bilevel-mpi.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
