/* What CPUID answers on a CPU that lacks features: a pure function, and what executes the instruction with it. For
   hidden_cpu_features.c and the test in tests/jit; C11 and C++17. SPDX-License-Identifier: Apache-2.0 */
#ifndef OCTET_TESTS_HIDDEN_CPU_FEATURES_H
#define OCTET_TESTS_HIDDEN_CPU_FEATURES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum cpuid_register { cpuid_eax, cpuid_ebx, cpuid_ecx, cpuid_edx, cpuid_registers };

#define CPUID_BIT(n) (UINT32_C(1) << (n))

/* A row for each word of CPUID in which a feature has bits. */
struct cpuid_bits {
    const char *feature;
    uint32_t leaf, subleaf;
    enum cpuid_register where;
    uint32_t bits;
};

static const struct cpuid_bits cpuid_table[] = {
    /* FMA: nobody takes AVX2 without it. */
    {"avx2", 1, 0, cpuid_ecx, CPUID_BIT(12)},
    {"avx2", 7, 0, cpuid_ebx, CPUID_BIT(5)},
    /* F, DQ, IFMA, PF, ER, CD, BW, VL */
    {"avx512", 7, 0, cpuid_ebx,
     CPUID_BIT(16) | CPUID_BIT(17) | CPUID_BIT(21) | CPUID_BIT(26) | CPUID_BIT(27) | CPUID_BIT(28) |
         CPUID_BIT(30) | CPUID_BIT(31)},
    /* VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
    {"avx512", 7, 0, cpuid_ecx, CPUID_BIT(1) | CPUID_BIT(6) | CPUID_BIT(11) | CPUID_BIT(12) | CPUID_BIT(14)},
    /* 4VNNIW, 4FMAPS, VP2INTERSECT, FP16 */
    {"avx512", 7, 0, cpuid_edx, CPUID_BIT(2) | CPUID_BIT(3) | CPUID_BIT(8) | CPUID_BIT(23)},
    /* BF16; AVX10 */
    {"avx512", 7, 1, cpuid_eax, CPUID_BIT(5)},
    {"avx512", 7, 1, cpuid_edx, CPUID_BIT(19)},
    /* AVX512-VNNI; AVX-VNNI; AVX-VNNI-INT8, AVX-VNNI-INT16, AVX10 */
    {"vnni", 7, 0, cpuid_ecx, CPUID_BIT(11)},
    {"vnni", 7, 1, cpuid_eax, CPUID_BIT(4)},
    {"vnni", 7, 1, cpuid_edx, CPUID_BIT(4) | CPUID_BIT(10) | CPUID_BIT(19)},
    /* BF16, TILE, INT8; FP16; COMPLEX */
    {"amx", 7, 0, cpuid_edx, CPUID_BIT(22) | CPUID_BIT(24) | CPUID_BIT(25)},
    {"amx", 7, 1, cpuid_eax, CPUID_BIT(21)},
    {"amx", 7, 1, cpuid_edx, CPUID_BIT(8)},
};
enum { cpuid_rows = sizeof cpuid_table / sizeof *cpuid_table };

/* Whether `name` of this length is one of the list "amx,vnni". */
static inline int cpuid_list_has(const char *list, const char *name, size_t length) {
    while (*list) {
        const size_t word = strcspn(list, ",");
        if (word == length && memcmp(list, name, length) == 0)
            return 1;
        list += word + (list[word] == ',');
    }
    return 0;
}

static inline int cpuid_feature_is_known(const char *name, size_t length) {
    for (size_t i = 0; i < cpuid_rows; i++)
        if (cpuid_list_has(cpuid_table[i].feature, name, length))
            return 1;
    return 0;
}

/* Turns what a CPU answers about a leaf into the answer of one that lacks the features in the list. */
static inline void cpuid_hide(const char *hidden, uint32_t leaf, uint32_t subleaf,
                              uint32_t answer[cpuid_registers]) {
    const int has_subleaves = leaf != 1;
    for (size_t i = 0; i < cpuid_rows; i++) {
        const struct cpuid_bits *row = &cpuid_table[i];
        if (row->leaf == leaf && (!has_subleaves || row->subleaf == subleaf) &&
            cpuid_list_has(hidden, row->feature, strlen(row->feature)))
            answer[row->where] &= ~row->bits;
    }
}

/* Lets CPUID work or fault in this thread and in those that it starts. 0, or -1 where that cannot be chosen. */
static inline long cpuid_let_work(int works) {
    enum { arch_set_cpuid = 0x1012 };
    return syscall(SYS_arch_prctl, arch_set_cpuid, (long)works);
}

/* Executes the instruction at the context, which a signal has interrupted, if it is CPUID: 1 then. */
static inline int cpuid_execute(ucontext_t *context, const char *hidden) {
    greg_t *r = context->uc_mcontext.gregs;
    static const unsigned char encoding[] = {0x0f, 0xa2};
    if (memcmp((const void *)r[REG_RIP], encoding, sizeof encoding) != 0)
        return 0;
    const uint32_t leaf = (uint32_t)r[REG_RAX], subleaf = (uint32_t)r[REG_RCX];
    uint32_t answer[cpuid_registers];
    cpuid_let_work(1);
    __asm__ volatile("cpuid"
                     : "=a"(answer[cpuid_eax]), "=b"(answer[cpuid_ebx]), "=c"(answer[cpuid_ecx]),
                       "=d"(answer[cpuid_edx])
                     : "a"(leaf), "c"(subleaf));
    cpuid_let_work(0);
    cpuid_hide(hidden, leaf, subleaf, answer);
    r[REG_RAX] = answer[cpuid_eax];
    r[REG_RBX] = answer[cpuid_ebx];
    r[REG_RCX] = answer[cpuid_ecx];
    r[REG_RDX] = answer[cpuid_edx];
    r[REG_RIP] += sizeof encoding;
    return 1;
}

#endif
