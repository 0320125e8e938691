// SPDX-License-Identifier: MIT
/*
 * Operands as gcc and clang write them for x86-64, in AT&T's syntax:
 *
 *	$5  %rax  %ah  (%rbp)  -40(%rbp)  8(%rax,%rdx,8)  (,%rcx,4)
 *
 * Not read, as its place would have to be looked up: a symbol ("counter+8(%rip)"), memory of the
 * thread ("%fs:16"), registers of floating point.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/usdt.h"

/* By DWARF's numbers (the x86-64 psABI, figure 3.36): names of 64, 32, 16 and 8 bits. */
static const char names[USDT_REGISTERS][4][6] = {
	{"rax", "eax", "ax", "al"},
	{"rdx", "edx", "dx", "dl"},
	{"rcx", "ecx", "cx", "cl"},
	{"rbx", "ebx", "bx", "bl"},
	{"rsi", "esi", "si", "sil"},
	{"rdi", "edi", "di", "dil"},
	{"rbp", "ebp", "bp", "bpl"},
	{"rsp", "esp", "sp", "spl"},
	{"r8", "r8d", "r8w", "r8b"},
	{"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"},
	{"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"},
	{"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"},
	{"r15", "r15d", "r15w", "r15b"},
};

/* Those of the second lowest byte: of the first four registers. */
static const char high[4][3] = {"ah", "dh", "ch", "bh"};

static bool is_named(const char *name, const char *text, size_t size)
{
	return strlen(name) == size && !memcmp(name, text, size);
}

/* At the '%' of a register. Its number, and whether it is one that addresses are made of. */
static bool take_register(const char **at, uint8_t *ret, uint8_t *ret_shift, bool *ret_whole)
{
	const char *name = *at + 1;
	size_t size = strcspn(name, " ,)");

	if (**at != '%')
		return false;
	*at = name + size;
	*ret_shift = 0;
	*ret_whole = false;
	for (uint8_t i = 0; i < USDT_REGISTERS; i++)
		for (int width = 0; width < 4; width++)
			if (is_named(names[i][width], name, size)) {
				*ret = i;
				*ret_whole = !width;
				return true;
			}
	for (uint8_t i = 0; i < 4; i++)
		if (is_named(high[i], name, size)) {
			*ret = i;
			*ret_shift = 8;
			return true;
		}
	return false;
}

static bool take_address_register(const char **at, uint8_t *ret)
{
	uint8_t shift;
	bool whole;

	return take_register(at, ret, &shift, &whole) && whole;
}

/* A number, decimal or "0x..."; large unsigned ones are taken for their bits. */
static bool take_number(const char **at, int64_t *ret)
{
	const char *digits = *at + (**at == '-');
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*ret = (int64_t)strtoull(digits, &end, 0);
	if (errno)
		return false;
	if (digits != *at)
		*ret = (int64_t) - (uint64_t)*ret;
	*at = end;
	return true;
}

/* "(base,index,scale)", of which base, or index and scale, may be missing. */
static bool take_address(const char **at, struct usdt_argument *a)
{
	int64_t scale = 1;

	if (*(*at)++ != '(')
		return false;
	if (**at == '%' && !take_address_register(at, &a->base))
		return false;
	if (**at == ',') {
		++*at;
		if (!take_address_register(at, &a->index))
			return false;
		if (**at == ',') {
			++*at;
			if (!take_number(at, &scale))
				return false;
		}
		if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
			return false;
		a->scale = (uint8_t)scale;
	}
	if (a->base == USDT_NO_REGISTER && a->index == USDT_NO_REGISTER)
		return false;
	return *(*at)++ == ')';
}

static bool take_operand(const char **at, struct usdt_argument *a)
{
	bool whole;

	if (**at == '$') {
		a->kind = USDT_CONSTANT;
		++*at;
		return take_number(at, &a->value);
	}
	if (**at == '%') {
		a->kind = USDT_REGISTER;
		return take_register(at, &a->base, &a->shift, &whole);
	}
	a->kind = USDT_MEMORY;
	if (**at != '(' && !take_number(at, &a->value))
		return false;
	return take_address(at, a);
}

bool usdt_read_operand(const char *text, struct usdt_argument *ret)
{
	struct usdt_argument a = {.base = USDT_NO_REGISTER, .index = USDT_NO_REGISTER};
	const char *at = text;
	int64_t size;

	if (!take_number(&at, &size) || *at++ != '@' || size < -8)
		return false;
	a.is_signed = size < 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	a.size = (uint8_t)size;
	if (!take_operand(&at, &a) || (*at && *at != ' '))
		return false;
	*ret = a;
	return true;
}
