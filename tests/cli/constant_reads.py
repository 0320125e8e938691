# SPDX-License-Identifier: MIT
# How many instructions of a cubin's kernel read the constant bank of the module at an offset:
#
#	constant_reads.py CUBIN KERNEL OFFSET
#
# For GPUs up to sm_90, as docs/gpu-code.md has them: the lowest 12 bits say what it is and in which form, a form with a
# constant has its bank in bits 54 to 58 and its offset, in words, in bits 40 to 53.
import sys

from sass_words import words

LOADS = (0xB82, 0xAB9)  # LDC, ULDC
FORMS = (3, 5)  # with a constant as an operand
MODULE_BANK = 3

path, kernel, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3])
reads = 0
for low in words(path, kernel):
    op, bank, offset = low & 0xFFF, low >> 54 & 0x1F, (low >> 40 & 0x3FFF) * 4
    if (op in LOADS or op >> 9 in FORMS) and bank == MODULE_BANK and offset == wanted:
        reads += 1
print(reads)
