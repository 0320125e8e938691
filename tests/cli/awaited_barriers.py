# SPDX-License-Identifier: MIT
# How many barriers of a cubin's kernel stand between a BSSY and its BSYNC, where lanes that went another way wait:
#
#	awaited_barriers.py CUBIN KERNEL
#
# For code without branches back over such a pair.
import sys

from sass_words import words

BSSY, BSYNC, BAR = 0x945, 0x941, 0xB1D

waiting = barriers = 0
for low in words(sys.argv[1], sys.argv[2]):
    op = low & 0xFFF
    waiting += (op == BSSY) - (op == BSYNC)
    barriers += op == BAR and waiting > 0
print(barriers)
