# Runs PROGRAM with ARGUMENTS and compares what it prints with the file EXPECTED, to the byte.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS}
  RESULT_VARIABLE code OUTPUT_VARIABLE printed ERROR_VARIABLE errors)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT errors STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} ended with ${code}\n${errors}")
endif()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} printed\n${printed}\nbut ${EXPECTED} holds\n${expected}")
endif()
