# gen/syscall_names.h: system call names from the kernel headers that the compiler sees.
function(xp_syscall_names OUT)
	set(HEADER ${CMAKE_BINARY_DIR}/gen/syscall_names.h)
	set(SCRIPT ${CMAKE_SOURCE_DIR}/cmake/syscall_names.cmake)
	file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
	add_custom_command(OUTPUT ${HEADER} COMMAND ${CMAKE_COMMAND} -DCOMPILER=${CMAKE_C_COMPILER} -DOUT=${HEADER} -P ${SCRIPT}
		DEPENDS ${SCRIPT} VERBATIM)
	set(${OUT} ${HEADER} PARENT_SCOPE)
endfunction()
