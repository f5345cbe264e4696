/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/utf8.h"

static bool is_surrogate(uint32_t cp)
{
	return cp >= 0xd800 && cp < 0xe000;
}

size_t utf8_decode(const char *text, size_t n, uint32_t *cp)
{
	static const uint32_t least[UTF8_BYTES + 1] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *p = (const uint8_t *)text;
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t v = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || is_surrogate(v))
		return 0;
	*cp = v;
	return len;
}

size_t utf8_encode(char out[UTF8_BYTES], uint32_t cp)
{
	size_t len = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
	static const uint8_t lead[UTF8_BYTES + 1] = {0, 0, 0xc0, 0xe0, 0xf0};

	if (cp > 0x10ffff || is_surrogate(cp))
		return 0;
	for (size_t i = len - 1; i > 0; i--, cp >>= 6)
		out[i] = (char)(0x80 | (cp & 0x3f));
	out[0] = (char)(lead[len] | cp);
	return len;
}

bool utf8_valid(const char *text, size_t n)
{
	uint32_t cp;

	for (size_t i = 0, len; i < n; i += len) {
		len = utf8_decode(text + i, n - i, &cp);
		if (len == 0)
			return false;
	}
	return true;
}
