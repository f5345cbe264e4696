#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives a secret key without a passphrase one, in place: lock_key.py KEY PASSPHRASE

With the least limits of scrypt that libsodium takes (N 1024, r 8, p 1), so that opening it takes milliseconds where
gpukey's and minisign's own keys take seconds. The file's layout: keys/minisign.h.
"""
import base64
import hashlib
import os
import sys

OPSLIMIT, MEMLIMIT = 32768, 16777216  # crypto_pwhash_scryptsalsa208sha256_{OPS,MEM}LIMIT_MIN
N, R, P = 1024, 8, 1  # what libsodium makes of them


def main(path, passphrase):
    with open(path, encoding="ascii") as file:
        comment, text = file.read().splitlines()
    raw = base64.b64decode(text)
    assert len(raw) == 158 and raw[2:4] == b"\0\0", "no secret key without a passphrase"
    plain = raw[54:126]
    plain += hashlib.blake2b(raw[:2] + plain, digest_size=32).digest()
    salt = os.urandom(32)
    stream = hashlib.scrypt(passphrase.encode(), salt=salt, n=N, r=R, p=P, dklen=len(plain))
    limits = OPSLIMIT.to_bytes(8, "little") + MEMLIMIT.to_bytes(8, "little")
    locked = raw[:2] + b"ScB2" + salt + limits + bytes(a ^ b for a, b in zip(plain, stream))
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{comment}\n{base64.b64encode(locked).decode()}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
