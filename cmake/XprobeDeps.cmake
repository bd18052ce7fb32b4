# Libraries of design 6. xp_deps is what the tool links.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBBPF REQUIRED libbpf)
pkg_check_modules(LIBELF REQUIRED libelf)
pkg_check_modules(JANSSON REQUIRED jansson)
pkg_check_modules(PCRE2 REQUIRED libpcre2-8)
pkg_check_modules(ZLIB REQUIRED zlib)
pkg_check_modules(LZMA REQUIRED liblzma)
find_library(ZYDIS_LIBRARY NAMES Zydis REQUIRED)
find_path(ZYDIS_INCLUDE Zydis/Zydis.h REQUIRED)
find_library(IBERTY_LIBRARY NAMES iberty REQUIRED)
find_path(IBERTY_INCLUDE libiberty/demangle.h REQUIRED)

add_library(xp_deps INTERFACE)
if(XPROBE_STATIC)
	# Zydis is packaged as a shared library only; `make dist` ships it beside the tool.
	target_link_libraries(xp_deps INTERFACE -Wl,-Bstatic bpf elf jansson pcre2-8 lzma zstd z iberty -Wl,-Bdynamic ${ZYDIS_LIBRARY} m)
else()
	target_link_libraries(xp_deps INTERFACE ${LIBBPF_LINK_LIBRARIES} ${LIBELF_LINK_LIBRARIES} ${JANSSON_LINK_LIBRARIES}
		${PCRE2_LINK_LIBRARIES} ${ZLIB_LINK_LIBRARIES} ${LZMA_LINK_LIBRARIES} ${ZYDIS_LIBRARY} ${IBERTY_LIBRARY} m)
endif()
target_include_directories(xp_deps SYSTEM INTERFACE ${ZYDIS_INCLUDE} ${IBERTY_INCLUDE})
