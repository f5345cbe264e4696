/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUREC_RECORD_WORDS_H
#define GPUREC_RECORD_WORDS_H

#include <stdint.h>

/* Why events were lost, in words for people: COUNTER_*. */
const char *loss_words(uint8_t counter);

#endif
