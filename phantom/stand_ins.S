/* The stand-ins, stripped, as bytes of the program: see stand_ins.hpp. The files are looked for in the folder
   that CMakeLists.txt gives with -I: a path as a macro would go through the preprocessor, which replaces words
   like "linux" in it. */
    .section .rodata.angio_stand_ins, "a", %progbits

    .macro embed name
    .globl angio_stand_in_\name\()_begin
    .globl angio_stand_in_\name\()_end
    .hidden angio_stand_in_\name\()_begin
    .hidden angio_stand_in_\name\()_end
    .balign 16
angio_stand_in_\name\()_begin:
    .incbin "\name\().so"
angio_stand_in_\name\()_end:
    .byte 0
    .endm

    embed cudart12
    embed cudart13
    embed nvml
    embed net

    .section .note.GNU-stack, "", %progbits
