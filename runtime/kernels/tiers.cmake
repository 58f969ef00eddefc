# tiers.cmake - the flags of the files that are built for one instruction set.
#
# Each tier's flags stay within its own files. The scalar kernels and the packer must give the same
# bits from every compiler, so nothing may be fused there.
set(kernels ${CMAKE_CURRENT_LIST_DIR})

set_source_files_properties(${kernels}/kernels_scalar.c ${kernels}/matrix.c
  PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  file(GLOB avx2 CONFIGURE_DEPENDS ${kernels}/kernels_avx2*.c)
  set_source_files_properties(${avx2}
    PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-ffp-contract=off")
  set_source_files_properties(${kernels}/kernels_avxvnni_quant.c
    PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mavxvnni;-ffp-contract=off")
  file(GLOB avx512 CONFIGURE_DEPENDS ${kernels}/kernels_avx512*.c)
  set_source_files_properties(${avx512} PROPERTIES COMPILE_OPTIONS
    "-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-ffp-contract=off")
  set_source_files_properties(${kernels}/kernels_avx512_bf16.c PROPERTIES COMPILE_OPTIONS
    "-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mavx512bf16;-ffp-contract=off")
  set_source_files_properties(${kernels}/limits_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(${kernels}/limits_avxvnni.c
    PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mavxvnni")
  # What a loop needs beyond its tier is asked of the CPU before it runs.
  set_source_files_properties(${kernels}/limits_avx512.c PROPERTIES COMPILE_OPTIONS
    "-mavx2;-mfma;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mavx512bf16")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set_source_files_properties(${kernels}/kernels_neon.c
    PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
  set_source_files_properties(${kernels}/kernels_neon_dotprod.c
    PROPERTIES COMPILE_OPTIONS "-march=armv8.2-a+dotprod;-ffp-contract=off")
  set_source_files_properties(${kernels}/kernels_neon_i8mm.c
    PROPERTIES COMPILE_OPTIONS "-march=armv8.2-a+dotprod+i8mm;-ffp-contract=off")
endif()

# gcc keeps a block of sums in registers only when it unrolls the loops over it, which it does from -O3
# on: a build with -O2 would encode at a third of the speed. Debugging and sanitizers keep their level.
if(NOT OCELLI_SANITIZE)
  file(GLOB tier_files CONFIGURE_DEPENDS ${kernels}/kernels_*.c ${kernels}/limits_*.c)
  set_property(SOURCE ${tier_files} APPEND PROPERTY COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>")
endif()
