/* safetensors_cases.h - small safetensors files, sound and not, for test_safetensors.c: the length
 * field, the bytes of the header (' stands for " in them), how many bytes of data follow, and what
 * must happen. Expectations follow the description of the format: integers only, no duplicates, no
 * holes, no overlap, the data covered to the last byte. */
#ifndef OC_TESTS_SAFETENSORS_CASES_H
#define OC_TESTS_SAFETENSORS_CASES_H

#include <stddef.h>
#include <stdint.h>

typedef enum safetensors_expectation { REFUSE, ACCEPT } safetensors_expectation;

typedef struct safetensors_case {
    const char *what;
    safetensors_expectation expect;
    uint64_t length; /* the field, whatever the header's true length */
    const char *header;
    size_t header_size;
    size_t data_size;    /* zeros behind it */
    const char *tensors; /* accepted: "name dtype shape offset-in-file bytes;" by offset; or NULL */
} safetensors_case;

#define TEXT(literal) (literal), sizeof(literal) - 1

/* clang-format off */
static const safetensors_case safetensors_cases[] = {
    {"valid", ACCEPT, 112u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, "a F32 [2, 2] 120 16;b F16 [4] 136 8;"},
    {"valid_metadata", ACCEPT, 150u, TEXT("{'__metadata__':{'format':'pt','x':''},'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, "a F32 [2, 2] 158 16;b F16 [4] 174 8;"},
    {"unaligned_header", ACCEPT, 57u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]}}"), 16, "a F32 [2, 2] 65 16;"},
    {"empty_tensor", ACCEPT, 110u, TEXT("{'e':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]}}"), 16, "e F32 [0] 118 0;a F32 [2, 2] 118 16;"},
    {"scalar", ACCEPT, 53u, TEXT("{'s':{'dtype':'F32','shape':[],'data_offsets':[0,4]}}"), 4, "s F32 [] 61 4;"},
    {"order_swapped", ACCEPT, 112u, TEXT("{'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]},'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]}}"), 24, "a F32 [2, 2] 120 16;b F16 [4] 136 8;"},
    {"only_metadata", ACCEPT, 32u, TEXT("{'__metadata__':{'format':'pt'}}"), 0, NULL},
    {"all_dtypes", ACCEPT, 377u, TEXT("{'a':{'dtype':'BOOL','shape':[1],'data_offsets':[0,1]},'b':{'dtype':'I8','shape':[1],'data_offsets':[1,2]},'c':{'dtype':'U8','shape':[2],'data_offsets':[2,4]},'d':{'dtype':'I16','shape':[2],'data_offsets':[4,8]},'e':{'dtype':'I32','shape':[1],'data_offsets':[8,12]},'f':{'dtype':'I64','shape':[1],'data_offsets':[12,20]},'g':{'dtype':'BF16','shape':[2],'data_offsets':[20,24]}}"), 24, "a BOOL [1] 385 1;b I8 [1] 386 1;c U8 [2] 387 2;d I16 [2] 389 4;e I32 [1] 393 4;f I64 [1] 397 8;g BF16 [2] 405 4;"},
    {"rank_8", ACCEPT, 67u, TEXT("{'a':{'dtype':'U8','shape':[1,2,1,2,1,1,1,1],'data_offsets':[0,4]}}"), 4, NULL},
    {"name_utf8", ACCEPT, 59u, TEXT("{'gr\303\266\303\237e':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"ws_inside", ACCEPT, 69u, TEXT("{ 'a' :\n\t{ 'dtype':'U8', 'shape' : [ 4 ] ,\015\n'data_offsets':[0 ,4] } }"), 4, NULL},
    {"hlen_2p63", REFUSE, 0x8000000000000000u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}\000\001\002\003\004\005\006\007\010\t\n\013\014\015\016\017\020\021\022\023\024\025\026\027"), 0, NULL},
    {"hlen_2p64m8", REFUSE, 0xfffffffffffffff8u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}\000\001\002\003\004\005\006\007\010\t\n\013\014\015\016\017\020\021\022\023\024\025\026\027"), 0, NULL},
    {"hlen_2p32", REFUSE, 0x100000000u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}\000\001\002\003\004\005\006\007\010\t\n\013\014\015\016\017\020\021\022\023\024\025\026\027"), 0, NULL},
    {"hlen_1e8", REFUSE, 100000000u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}\000\001\002\003\004\005\006\007\010\t\n\013\014\015\016\017\020\021\022\023\024\025\026\027"), 0, NULL},
    {"hlen_plus1_eof", REFUSE, 113u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 0, NULL},
    {"hlen_short", REFUSE, 111u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}"), 25, NULL},
    {"hlen_zero", REFUSE, 0u, TEXT(""), 24, NULL},
    {"hlen_one", REFUSE, 1u, TEXT("{"), 0, NULL},
    {"gguf", REFUSE, 0x346554747u, TEXT("\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"), 0, NULL},
    {"cut_data", REFUSE, 112u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 23, NULL},
    {"cut_all_data", REFUSE, 112u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 0, NULL},
    {"json_array", REFUSE, 5u, TEXT("[1,2]"), 24, NULL},
    {"json_string", REFUSE, 5u, TEXT("'abc'"), 24, NULL},
    {"json_number", REFUSE, 2u, TEXT("12"), 24, NULL},
    {"json_trailing_garbage", REFUSE, 113u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}x"), 24, NULL},
    {"json_trailing_comma", REFUSE, 113u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]},}"), 24, NULL},
    {"json_unclosed", REFUSE, 111u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}"), 24, NULL},
    {"json_comment", REFUSE, 117u, TEXT("/*x*/{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, NULL},
    {"json_bom", REFUSE, 115u, TEXT("\357\273\277{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, NULL},
    {"json_leading_nul", REFUSE, 113u, TEXT("\000{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, NULL},
    {"json_nul_padding", REFUSE, 116u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}\000\000\000\000"), 24, NULL},
    {"json_leading_space", REFUSE, 113u, TEXT(" {'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}"), 24, NULL},
    {"name_bad_utf8", REFUSE, 55u, TEXT("{'a\377\376':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"name_lone_surrogate", REFUSE, 59u, TEXT("{'a\\ud800':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"name_escape_nul", REFUSE, 60u, TEXT("{'a\\u0000b':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"name_short_u", REFUSE, 57u, TEXT("{'a\\u12':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"dup_name", REFUSE, 105u, TEXT("{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]},'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"dup_name_escaped", REFUSE, 110u, TEXT("{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]},'\\u0061':{'dtype':'U8','shape':[4],'data_offsets':[4,8]}}"), 8, NULL},
    {"dup_field", REFUSE, 67u, TEXT("{'a':{'dtype':'F32','dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"metadata_number", REFUSE, 76u, TEXT("{'__metadata__':{'x':1},'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"metadata_string", REFUSE, 72u, TEXT("{'__metadata__':'x','a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]}}"), 4, NULL},
    {"missing_dtype", REFUSE, 43u, TEXT("{'a':{'shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"null_dtype", REFUSE, 56u, TEXT("{'a':{'dtype':null,'shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"null_shape", REFUSE, 56u, TEXT("{'a':{'dtype':'F32','shape':null,'data_offsets':[0,16]}}"), 16, NULL},
    {"missing_data_offsets", REFUSE, 35u, TEXT("{'a':{'dtype':'F32','shape':[2,2]}}"), 16, NULL},
    {"extra_field", ACCEPT, 67u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16],'extra':1}}"), 16, NULL},
    {"entry_number", REFUSE, 7u, TEXT("{'a':5}"), 0, NULL},
    {"entry_null", REFUSE, 10u, TEXT("{'a':null}"), 0, NULL},
    {"dtype_F128", REFUSE, 58u, TEXT("{'a':{'dtype':'F128','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dtype_empty", REFUSE, 54u, TEXT("{'a':{'dtype':'','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dtype_F32_sp", REFUSE, 58u, TEXT("{'a':{'dtype':'F32 ','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dtype_FLOAT", REFUSE, 59u, TEXT("{'a':{'dtype':'FLOAT','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dtype_BF16X", REFUSE, 59u, TEXT("{'a':{'dtype':'BF16X','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dtype_f8", ACCEPT, 60u, TEXT("{'a':{'dtype':'F8_E4M3','shape':[16],'data_offsets':[0,16]}}"), 16, NULL},
    {"size_small", REFUSE, 57u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,12]}}"), 12, NULL},
    {"size_dtype", REFUSE, 57u, TEXT("{'a':{'dtype':'F16','shape':[2,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"size_zero", REFUSE, 56u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_2p32x2p32", REFUSE, 74u, TEXT("{'a':{'dtype':'F32','shape':[4294967296,4294967296],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_2p63x2", REFUSE, 74u, TEXT("{'a':{'dtype':'F32','shape':[9223372036854775808,2],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_2p62p4_times4_is_16", REFUSE, 73u, TEXT("{'a':{'dtype':'F32','shape':[4611686018427387908],'data_offsets':[0,16]}}"), 16, NULL},
    {"wrap_2p64m1", REFUSE, 73u, TEXT("{'a':{'dtype':'F32','shape':[18446744073709551615],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_four", REFUSE, 76u, TEXT("{'a':{'dtype':'F32','shape':[65536,65536,65536,65536],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_zero_then_huge", REFUSE, 94u, TEXT("{'a':{'dtype':'F32','shape':[0,9223372036854775808,9223372036854775808],'data_offsets':[0,0]}}"), 0, NULL},
    {"wrap_1e25", REFUSE, 79u, TEXT("{'a':{'dtype':'F32','shape':[10000000000000000000000000],'data_offsets':[0,0]}}"), 0, NULL},
    {"dim_neg", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':[-4,-1],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_float", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':[2.5,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_string", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':['4',2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_null", REFUSE, 60u, TEXT("{'a':{'dtype':'F32','shape':[null,2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_nested", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':[[4],2],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_leading_zero", REFUSE, 56u, TEXT("{'a':{'dtype':'F32','shape':[04],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_plus", REFUSE, 56u, TEXT("{'a':{'dtype':'F32','shape':[+4],'data_offsets':[0,16]}}"), 16, NULL},
    {"dim_minus_zero", REFUSE, 55u, TEXT("{'a':{'dtype':'F32','shape':[-0],'data_offsets':[0,0]}}"), 0, NULL},
    {"dim_2p64", REFUSE, 73u, TEXT("{'a':{'dtype':'F32','shape':[18446744073709551616],'data_offsets':[0,0]}}"), 0, NULL},
    {"shape_string", REFUSE, 57u, TEXT("{'a':{'dtype':'F32','shape':'2,2','data_offsets':[0,16]}}"), 16, NULL},
    {"shape_object", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':{'0':4},'data_offsets':[0,16]}}"), 16, NULL},
    {"off_begin_after_end", REFUSE, 57u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[16,0]}}"), 16, NULL},
    {"off_end_2p64m1", REFUSE, 75u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,18446744073709551615]}}"), 16, NULL},
    {"off_both_huge", REFUSE, 94u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[18446744073709551600,18446744073709551616]}}"), 16, NULL},
    {"off_neg_begin", REFUSE, 58u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[-16,0]}}"), 16, NULL},
    {"off_neg_end", REFUSE, 57u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,-1]}}"), 16, NULL},
    {"off_float_half", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16.5]}}"), 16, NULL},
    {"off_strings", REFUSE, 61u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':['0','16']}}"), 16, NULL},
    {"off_three", REFUSE, 59u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,8,16]}}"), 16, NULL},
    {"off_none", REFUSE, 53u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[]}}"), 16, NULL},
    {"off_number", REFUSE, 53u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':16}}"), 16, NULL},
    {"off_null", REFUSE, 60u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[null,16]}}"), 16, NULL},
    {"off_starts_at_4", REFUSE, 57u, TEXT("{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[4,20]}}"), 20, NULL},
    {"off_2p64_wrap", REFUSE, 73u, TEXT("{'a':{'dtype':'F32','shape':[4],'data_offsets':[0,18446744073709551632]}}"), 16, NULL},
    {"overlap", REFUSE, 109u, TEXT("{'a':{'dtype':'F32','shape':[4],'data_offsets':[0,16]},'b':{'dtype':'F32','shape':[4],'data_offsets':[8,24]}}"), 24, NULL},
    {"overlap_same", REFUSE, 109u, TEXT("{'a':{'dtype':'F32','shape':[4],'data_offsets':[0,16]},'b':{'dtype':'F32','shape':[4],'data_offsets':[0,16]}}"), 16, NULL},
    {"gap", REFUSE, 109u, TEXT("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},'b':{'dtype':'F32','shape':[3],'data_offsets':[12,24]}}"), 24, NULL},
    {"gap_begin", REFUSE, 55u, TEXT("{'a':{'dtype':'F32','shape':[4],'data_offsets':[8,24]}}"), 24, NULL},
};
/* clang-format on */

#endif
