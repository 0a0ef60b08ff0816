# Warnings, sanitizers and defaults of every target of the project.
if(NOT CMAKE_BUILD_TYPE AND NOT SANITIZE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_compile_options(
  $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wpedantic>
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion> $<$<COMPILE_LANGUAGE:CXX>:-Wsign-conversion>
  $<$<COMPILE_LANGUAGE:CXX>:-Wshadow> $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> $<$<COMPILE_LANGUAGE:CXX>:-Werror>
  -fno-omit-frame-pointer)
# g++ 12 warns of overlapping copies inside std::string's operator+ when it optimises (its
# bug 105651), of writes out of bounds inside std::vector's insert (its bug 105329), of copies of no
# bytes from nowhere, and of uninitialised values in moves of a variant whose index excludes them.
# clang and the sanitizers stand guard there.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
if(BOR_BATCHES)
  # A file that includes sources (cmake/batches.py) is no header.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow> $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overread>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-nonnull> $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()
add_compile_definitions(_GLIBCXX_ASSERTIONS)

# Hardening (spec 10), as hardening-check of Debian's devscripts looks for it; PIE is the compiler's default. No
# path of the machine that builds is in a program, so that each build of a commit gives the same bytes.
if(NOT SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -fno-plt
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
  # The start files of Debian 12 lack the mark that a program keeps to -fcf-protection, which takes it from every
  # program. Those without compiled contracts, which do not keep to it, get it back.
  set(CONTROL_FLOW_MARK LINKER:-z,ibt,-z,shstk)
endif()

if(SANITIZE)
  add_compile_options(-fsanitize=${SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SANITIZE})
  # A coroutine's frame is freed for the sanitizers to see, not kept for the next one. And clang 16
  # keeps the address of a thread_local over a suspension (llvm-project issue 63022): a coroutine
  # that goes on in another thread would take frames from the first one's store.
  add_compile_definitions(BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING)
endif()
if(BOR_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
