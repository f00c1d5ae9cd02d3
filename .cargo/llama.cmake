# Read by llama.cpp's CMake project through CMAKE_PROJECT_INCLUDE (`config.toml` beside this file).

# llama-cpp-2 asks for llama.cpp's `common` library in every configuration. ragscope calls nothing in it,
# and it takes half of the time that llama.cpp takes to compile.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# 150 architectures, one short file each with the same large headers: compiled in batches they take a
# fraction of the time. The other files of the library have helpers of the same name and stay apart.
function(ragscope_compile_architectures_in_batches)
    if(NOT TARGET llama)
        return()
    endif()
    get_target_property(sources llama SOURCES)
    list(FILTER sources EXCLUDE REGEX "^models/|/models/")
    set_source_files_properties(${sources} TARGET_DIRECTORY llama PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set_target_properties(llama PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
endfunction()
cmake_language(DEFER CALL ragscope_compile_architectures_in_batches)
