# The target `bench` builds every program of bench/ and runs them one after the other.
get_property(programs DIRECTORY bench PROPERTY BUILDSYSTEM_TARGETS)
set(commands "")
foreach(program IN LISTS programs)
  list(APPEND commands COMMAND ${CMAKE_COMMAND} -E echo "== ${program}" COMMAND ${program})
endforeach()
add_custom_target(bench ${commands} USES_TERMINAL VERBATIM)
