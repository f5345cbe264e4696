/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ names (and kernels' names, which are C++ names) for people. Captures hold names as the compiler mangled them; who
 * shows one to a person calls demangle() right before it escapes and prints, never before it compares, groups or
 * stores:
 *
 *	char text[DEMANGLED_MAX];
 *
 *	demangle(name, len, text, sizeof(text));
 *	escape...(text)                              // it is still a stranger's text
 *
 * A name is what a stranger wrote into an ELF file: some hundred bytes may mean a text that no disk could hold, or none
 * at all after aeons of work. So work, depth and output are bounded. Whatever is no mangled name, is beyond the bounds,
 * or uses a part of the grammar that is not known here comes out as it went in, cut to the room there is.
 *
 * Understood are names of the Itanium C++ ABI ("_Z..."; a further '_' before it is passed over), with what a compiler
 * appends for a copy of a function (".isra.0": reported as "[clone .isra.0]"), and frames as captures report them:
 * "_ZN1a1bEv+0x1b" becomes "a::b()+0x1b". A name that was cut ("...") stays as it is.
 */
#ifndef GPUREC_REPLAY_DEMANGLE_DEMANGLE_H
#define GPUREC_REPLAY_DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLED_MAX 4096 /* with the final NUL: enough for nearly all; any other room may be given */

/*
 * Put `name` (`len` bytes, which need no NUL) into out[size] as people read it, NUL-terminated; size is at least 1.
 * True: it was demangled and is whole. False: `out` holds the name itself. Needs no memory but the stack (about 100
 * KiB) and can be called from any thread.
 */
bool demangle(const char *name, size_t len, char *out, size_t size);

#endif
