// The sets of instructions that vector code is compiled for; included before Highway.
//
// On x86-64 there are two: SSE4.2 (every such processor since 2008) and AVX2. These loops wait for
// caches and memory, so wider vectors would add code paths and little speed. Each version of
// Highway knows more sets than the one before, so the two are named and everything else is left
// out.
#pragma once

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (~(HWY_SSE4 | HWY_AVX2))
#endif
