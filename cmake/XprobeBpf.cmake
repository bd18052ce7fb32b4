# bpf/NAME.bpf.c -> gen/NAME.skel.h, by clang and bpftool. A new BPF file needs no line here.
find_program(CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
# Ubuntu's /usr/sbin/bpftool is a wrapper that refuses when no tools of the running kernel are installed; any real one will do.
file(GLOB BPFTOOL_FOLDERS /usr/lib/linux-tools/* /usr/lib/linux-tools-*)
find_program(BPFTOOL NAMES bpftool HINTS ${BPFTOOL_FOLDERS} PATHS /usr/sbin /sbin /usr/local/sbin REQUIRED)

function(xp_bpf_skeletons OUT)
	file(GLOB BPF_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bpf/*.bpf.c)
	file(GLOB BPF_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bpf/*.h ${CMAKE_SOURCE_DIR}/wire/*.h)
	file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/gen)
	set(SKELETONS)
	foreach(SOURCE ${BPF_SOURCES})
		get_filename_component(NAME ${SOURCE} NAME)
		string(REPLACE ".bpf.c" "" NAME ${NAME})
		set(COMPILED ${CMAKE_BINARY_DIR}/gen/${NAME}.clang.o)
		set(OBJECT ${CMAKE_BINARY_DIR}/gen/${NAME}.bpf.o)
		set(SKELETON ${CMAKE_BINARY_DIR}/gen/${NAME}.skel.h)
		add_custom_command(OUTPUT ${SKELETON}
			COMMAND ${CLANG} -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 -Wall -Werror -I${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR}/bpf
				-I/usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu -c ${SOURCE} -o ${COMPILED}
			# Keeps BTF and drops DWARF, which is nine tenths of the object that the tool would carry.
			COMMAND ${BPFTOOL} gen object ${OBJECT} ${COMPILED}
			COMMAND ${BPFTOOL} gen skeleton ${OBJECT} name xp_${NAME} > ${SKELETON}
			DEPENDS ${SOURCE} ${BPF_HEADERS} VERBATIM)
		list(APPEND SKELETONS ${SKELETON})
	endforeach()
	set(${OUT} ${SKELETONS} PARENT_SCOPE)
endfunction()
