/* A library for LD_PRELOAD that hides features of the CPU from a program: HIDDEN_CPU_FEATURES=amx,vnni. The kernel lets
   the instruction CPUID fault, and the signal's handler answers in its place. Threads inherit that from the one that
   starts them; exec ends it, and the new program begins with this constructor again. Where CPU or kernel cannot do it,
   the process ends with 77. What XGETBV tells is not hidden: programs that ask it ask CPUID, too.
   SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hidden_cpu_features.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

static const char *hidden = "";
static sigaction_function *set_handler;
static struct sigaction theirs; /* the program's own handler of other faults */

/* A fault of an address is none of CPUID's, and the instruction may be what cannot be read. */
static void on_fault(int number, siginfo_t *info, void *context) {
    if (info->si_code == SI_KERNEL && cpuid_execute(context, hidden))
        return;
    if (theirs.sa_flags & SA_SIGINFO)
        theirs.sa_sigaction(number, info, context);
    else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN)
        theirs.sa_handler(number);
    else
        set_handler(number, &theirs, NULL); /* it faults again */
}

/* The program's handler stays behind ours: Node.js has one, for WebAssembly. */
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction *next,
                                                     struct sigaction *before) {
    if (!set_handler)
        set_handler = (sigaction_function *)dlsym(RTLD_NEXT, "sigaction");
    if (number != SIGSEGV || !*hidden)
        return set_handler(number, next, before);
    if (before)
        *before = theirs;
    if (next)
        theirs = *next;
    return 0;
}

static void end(const char *name, int length, const char *what, int status) {
    fprintf(stderr, "HIDDEN_CPU_FEATURES: %.*s%s\n", length, name, what);
    _exit(status);
}

__attribute__((constructor)) static void hide(void) {
    enum { wrong = 2, unsupported = 77 };
    const char *list = getenv("HIDDEN_CPU_FEATURES");
    if (!list || !*list)
        return;
    for (const char *word = list; *word;) {
        const size_t length = strcspn(word, ",");
        if (!cpuid_feature_is_known(word, length))
            end(word, (int)length, " is no feature, allowed: avx2, avx512, vnni, amx", wrong);
        word += length + (word[length] == ',');
    }
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, NULL);
    hidden = list;
    if (cpuid_let_work(0) != 0)
        end("", 0, "this kernel cannot fault CPUID", unsupported);
}
