# Golden data: what the reference computed, compared with ours stage by stage.
set(golden ${CMAKE_CURRENT_LIST_DIR})
add_executable(golden_runner
  ${golden}/golden_runner.c ${golden}/golden_case.c ${golden}/golden_case_media.c
  ${golden}/golden_media.c ${golden}/golden_public.c ${golden}/golden_chat.c ${golden}/golden_data.c
  ${golden}/golden_functions.c ${golden}/golden_positions.c ${golden}/golden_tokenizer.c
  ${golden}/golden_vocabulary.c ${golden}/golden_gguf.c ${golden}/golden_trace.c ${golden}/golden_report.c
  ${golden}/npy.c)
target_link_libraries(golden_runner PRIVATE ocelli_inside)
# 16 cases, 9 functions, 2 files of tokenisations, 22 renderings. Text beyond ASCII needs utf8proc.
if(UTF8PROC_FOUND)
  add_test(NAME golden_qwen3vl COMMAND golden_runner ${golden}/qwen3vl --least 49)
else()
  add_test(NAME golden_qwen3vl COMMAND golden_runner ${golden}/qwen3vl --least 26
    --only "functions|cases/c(01|02|03|04|05|06|08|10|11|12|13|14|16)|chat_template/(user|system|two)")
endif()
# 17 cases, 8 functions, 16 renderings, 3 files of tokenisations; one case of a family to come.
if(UTF8PROC_FOUND)
  add_test(NAME golden_siblings COMMAND golden_runner ${golden}/siblings --least 44)
else()
  add_test(NAME golden_siblings COMMAND golden_runner ${golden}/siblings --least 30
    --only "functions|cases/(a0[1245789]|a1[023]|b|c)|chat_template/(user|no|empty|system|two|video)")
endif()
# 15 tensor types, 16-bit codes, 24 runs, a file of tokenisations.
if(UTF8PROC_FOUND)
  add_test(NAME golden_gguf COMMAND golden_runner ${golden}/gguf --least 41)
else()
  add_test(NAME golden_gguf COMMAND golden_runner ${golden}/gguf --least 40 --only "blocks|runs/t[0-9]")
endif()
add_test(NAME golden_notices COMMAND ${golden}/notices.sh $<TARGET_FILE:golden_runner>
  ${golden}/qwen3vl)

add_executable(npy_check ${golden}/npy_check.c ${golden}/npy.c)
target_link_libraries(npy_check PRIVATE ocelli_inside)
add_test(NAME npy_check COMMAND npy_check)

# The same answer however the work is cut: chunks and threads.
add_executable(golden_chunks ${golden}/golden_chunks.c)
target_link_libraries(golden_chunks PRIVATE ocelli_inside)
foreach(model t1_f32 t2_sharded_bf16 t3_bf16)
  add_test(NAME golden_chunks_${model} COMMAND golden_chunks ${golden}/qwen3vl/models/${model}
    ${golden}/qwen3vl/media/odd77x91.png ${golden}/qwen3vl/media/tall190x60.png)
endforeach()
foreach(model q25a_bf16 q25b_sharded_bf16 q2a_bf16)
  add_test(NAME golden_chunks_${model} COMMAND golden_chunks ${golden}/siblings/models/${model}
    ${golden}/siblings/media/o77x91.png ${golden}/siblings/media/w30x140.png)
endforeach()
add_test(NAME golden_chunks_sample COMMAND golden_chunks ${PROJECT_SOURCE_DIR}/samples/model
  ${PROJECT_SOURCE_DIR}/samples/pictures/picture01.png
  ${PROJECT_SOURCE_DIR}/samples/pictures/picture03.jpg)
# Long prompts of many pictures, a long clip, and the far end of the cache; by hand up to 262144 tokens.
add_executable(golden_long ${golden}/golden_long.c)
target_link_libraries(golden_long PRIVATE ocelli ocelli_flags)
add_test(NAME golden_long COMMAND ${golden}/long.sh $<TARGET_FILE:golden_long>
  ${golden}/qwen3vl/models/t1_f32 12000 ${golden}/qwen3vl/media/odd77x91.png
  ${golden}/qwen3vl/media/tall190x60.png)
set_tests_properties(golden_long PROPERTIES TIMEOUT 900)
set_tests_properties(golden_qwen3vl golden_notices golden_chunks_sample golden_chunks_t1_f32
  golden_chunks_t2_sharded_bf16 golden_chunks_t3_bf16 golden_siblings golden_gguf PROPERTIES TIMEOUT 900)
