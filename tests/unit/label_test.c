// SPDX-License-Identifier: MIT
/* What frames are called where there is little room. */
#include "tap.h"
#include "view/names/label.h"

static const char *brief(const char *label, int level)
{
	static struct buf b;

	buf_reset(&b);
	label_brief(label, strlen(label), level, &b);
	return buf_text(&b);
}

static void arguments_and_the_type_of_the_result_go_first(void)
{
	CHECK_TEXT(brief("void at::native::reduce_kernel<512, at::Op<float, (int)4> >(float*, int)",
			   1),
		"at::native::reduce_kernel");
	CHECK_TEXT(brief("at::native::(anonymous namespace)::softmax<float>(float*)", 1),
		"at::native::softmax");
	CHECK_TEXT(brief("ns::vec<int>::at(unsigned long) const", 1), "ns::vec::at");
	CHECK_TEXT(brief("f(int) [clone .1]", 1), "f");
	CHECK_TEXT(brief("load(float const*, int) (kernel.cu:5)", 1), "load");
	CHECK_TEXT(brief("[waiting: I/O]", 1), "I/O");
	CHECK_TEXT(brief("[waiting for the GPU]", 1), "GPU");
	CHECK_TEXT(brief("<alloc::vec::Vec<T> as core::Drop>::drop", 1), "");
	CHECK_TEXT(brief("<alloc::vec::Vec<T> as core::Drop>::drop", 2), "drop");
	CHECK_TEXT(brief("auto_f<decltype(a->b)>(int)", 1), "auto_f");
}

static void then_what_a_name_is_qualified_by(void)
{
	CHECK_TEXT(
		brief("void at::native::reduce_kernel<512>(float*)", 2), "native::reduce_kernel");
	CHECK_TEXT(brief("void at::native::reduce_kernel<512>(float*)", 3), "reduce_kernel");
	CHECK_TEXT(brief("void at::native::reduce_kernel<512>(float*)", 4), "");
	CHECK_TEXT(brief("a::b::c", 2), "b::c");
	CHECK_TEXT(brief("a::b::c", 3), "c");
	CHECK_TEXT(brief("a::b::", 3), "");
}

static void a_word_that_says_nothing_alone_keeps_what_it_calls(void)
{
	static const char operation[] =
		"at::_ops::addmm::call(at::Tensor const&, at::Tensor const&)";

	CHECK_TEXT(brief(operation, 1), "at::_ops::addmm::call");
	CHECK_TEXT(brief(operation, 3), "addmm::call");
	CHECK_TEXT(brief(operation, 4), "");
	CHECK_TEXT(brief("ns::Functor::operator()(int) const", 2), "Functor::operator()");
	CHECK_TEXT(brief("ns::Functor::operator()(int) const", 3), "");
}

static void operators_keep_their_signs(void)
{
	CHECK_TEXT(brief("ns::operator<<(std::ostream&, int)", 1), "ns::operator<<");
	CHECK_TEXT(brief("ns::f::operator()(int) const", 1), "ns::f::operator()");
	CHECK_TEXT(brief("ns::f<int>::operator->(int)", 3), "operator->");
	CHECK_TEXT(brief("bool operator< <int>(A<int> const&)", 1), "operator<");
	CHECK_TEXT(brief("void ns::operator_of(int)", 1), "ns::operator_of");
	CHECK_TEXT(brief("s<int>::operator bool() const", 1), "s::operator bool() const");
}

static void paths_keep_their_last_part(void)
{
	CHECK_TEXT(brief("/home/u/src/kernels", 1), ".../kernels");
	CHECK_TEXT(brief("/home/u/src/kernels", 2), "");
	CHECK_TEXT(brief("/a", 1), "");
}

static void what_would_not_be_shorter_stays_as_it_is(void)
{
	CHECK_TEXT(brief("gemm", 1), "");
	CHECK_TEXT(brief("gemm", 2), "");
	CHECK_TEXT(brief("", 2), "");
	CHECK_TEXT(brief("a::b", 1), "");
	CHECK_TEXT(brief("f(", 1), "f");
	CHECK_TEXT(brief("f)>", 1), "");
}

int main(void)
{
	RUN(arguments_and_the_type_of_the_result_go_first);
	RUN(then_what_a_name_is_qualified_by);
	RUN(a_word_that_says_nothing_alone_keeps_what_it_calls);
	RUN(operators_keep_their_signs);
	RUN(paths_keep_their_last_part);
	RUN(what_would_not_be_shorter_stays_as_it_is);
	return tap_end();
}
