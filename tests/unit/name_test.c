// SPDX-License-Identifier: MIT
/* Names of kernels and functions, as short as a table needs them. */
#include "view/names/name.h"
#include "base/text.h"
#include "tap.h"

static const char *fit(const char *name, unsigned int columns)
{
	static struct buf b;

	buf_reset(&b);
	name_fit(&b, name, columns);
	return buf_text(&b);
}

static const char *plain(const char *name)
{
	static struct buf b;

	buf_reset(&b);
	name_plain(&b, name);
	return buf_text(&b);
}

static const char reduce[] = "void a::reduce<512, a::Sum<float, 4> >(a::Sum<float, 4>, int)";

static void a_name_that_fits_is_left_as_it_is(void)
{
	CHECK_TEXT(fit(reduce, 0), reduce);
	CHECK_TEXT(fit(reduce, sizeof(reduce) - 1), reduce);
	CHECK_TEXT(fit("matmul", 6), "matmul");
}

static void what_tells_least_goes_first(void)
{
	CHECK_TEXT(fit(reduce, 60), "a::reduce<512, a::Sum<float, 4> >");
	CHECK_TEXT(fit(reduce, 33), "a::reduce<512, a::Sum<float, 4> >");
	CHECK_TEXT(fit(reduce, 32), "a::reduce<512, a::Sum<...> >");
	CHECK_TEXT(fit(reduce, 27), "a::reduce<512, a::Sum<.....");
	CHECK_TEXT(fit(reduce, 20), "a::reduce<512, a:...");
	CHECK_TEXT(fit(reduce, 13), "a::reduce<...");
	CHECK_TEXT(fit(reduce, 8), "a::re...");
}

static void a_cut_does_not_lose_the_end_of_a_name(void)
{
	static const char nested[] =
		"void Device<Policy<int, float>, Other<int> >::Kernel<42>(int*)";

	CHECK_TEXT(fit(nested, 50), "Device<Policy<...>, Other<...> >::Kernel<42>");
	CHECK_TEXT(fit("void k<4, impl<int, float>(Base&)::{lambda(int)#1}>(int)", 36),
		"k<4, impl<...>::{lambda#1}>");
	CHECK_TEXT(fit(nested, 43), "Device<...>::Kernel<...>");
}

static void parameters_and_arguments_are_told_from_other_brackets(void)
{
	CHECK_TEXT(plain(reduce), "a::reduce");
	CHECK_TEXT(plain("a::(anonymous namespace)::f(int)"), "a::f");
	CHECK_TEXT(plain("f(int)::{lambda(int)#1}::operator()(int) const"),
		"f::{lambda#1}::operator()");
	CHECK_TEXT(plain("S<int>::operator<<(char)"), "S::operator<<");
	CHECK_TEXT(plain("bool operator< <int>(A<int> const&)"), "operator<");
	CHECK_TEXT(plain("P<int>::operator->()"), "P::operator->");
	CHECK_TEXT(plain("auto_f<decltype(a->b)>(int)"), "auto_f");
	CHECK_TEXT(plain("<[u8; 4] as core::hash::Hash>::hash"),
		"<[u8; 4] as core::hash::Hash>::hash");
	CHECK_TEXT(plain("main"), "main");
	CHECK_TEXT(plain("(unreadable)"), "(unreadable)");
	CHECK_TEXT(plain(""), "");
}

static void names_that_do_not_close_their_brackets_end(void)
{
	CHECK_TEXT(plain("f<int(("), "f");
	CHECK_TEXT(plain("f>>)"), "f>>)");
	CHECK_TEXT(fit("f<<<<<<<<<<<<<<<<<<<<<<", 10), "f<<<<<<...");
	CHECK_TEXT(fit("f\x1b[31m<A>(int)", 0), "f\\x1b[31m<A>(int)");
}

/* Whatever the text, it fits. */
static void every_name_fits_in_every_width(void)
{
	static const char *const names[] = {reduce, "<<>>()(", "operator", "operator<",
		"a<b<c<d<e>>>>(f)", "\xc3\xa4<\xc3\xb6>(\xc3\xbc)", ")))>>>", "void ",
		"void (*)(int)"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned int columns = 1; columns < 70; columns++)
			CHECK(text_columns(fit(names[i], columns)) <= columns);
}

int main(void)
{
	RUN(a_name_that_fits_is_left_as_it_is);
	RUN(what_tells_least_goes_first);
	RUN(a_cut_does_not_lose_the_end_of_a_name);
	RUN(parameters_and_arguments_are_told_from_other_brackets);
	RUN(names_that_do_not_close_their_brackets_end);
	RUN(every_name_fits_in_every_width);
	return tap_end();
}
