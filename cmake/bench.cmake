# The target `bench` builds every program of bench/ and runs them one after the other.
get_property(programs DIRECTORY bench PROPERTY BUILDSYSTEM_TARGETS)
set(commands "")
# Data sets are used where they lie beside the tree; see also BILEVEL_DATA in tests/CMakeLists.txt.
set(with_data "")
if(NOT DEFINED ENV{BILEVEL_DATA} AND EXISTS ${PROJECT_SOURCE_DIR}/../shared/data)
  set(with_data ${CMAKE_COMMAND} -E env BILEVEL_DATA=${PROJECT_SOURCE_DIR}/../shared/data)
endif()
foreach(program IN LISTS programs)
  list(APPEND commands COMMAND ${CMAKE_COMMAND} -E echo "== ${program}" COMMAND ${with_data} $<TARGET_FILE:${program}>)
endforeach()
add_custom_target(bench ${commands} USES_TERMINAL VERBATIM)
