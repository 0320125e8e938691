// SPDX-License-Identifier: MIT
/* Stacks of all kinds that C++ makes; see truth.h. Says "done" at the end. */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "truth.h"

/* The truth about a function, also when an exception ends it. */
struct Truth {
	__attribute__((always_inline)) explicit Truth(const char *name) { truth_enter(name); }
	__attribute__((always_inline)) ~Truth() { truth_leave(); }
};

/* ---- before and after main ---- */

struct Global {
	KNOWN Global()
	{
		Truth start("~start"), t("Global::Global()");
		truth_spin();
	}
	KNOWN ~Global()
	{
		Truth start("~start"), t("Global::~Global()");
		truth_spin();
	}
};

static Global global;

/* ---- calls that are looked up ---- */

struct Base {
	virtual ~Base() = default;
	virtual int work(int x) = 0;
};

struct Derived : Base {
	KNOWN int work(int x) override
	{
		Truth t("Derived::work(int)");
		truth_point();
		return x;
	}
};

struct Left : Base {
	long padding = 1;
};

/* Called through a pointer to its second base: by way of a thunk. */
struct Both : Left, Derived {
	KNOWN int work(int x) override
	{
		Truth thunk("?non-virtual thunk to Both::work(int)"), t("Both::work(int)");
		truth_point();
		return x;
	}
};

KNOWN int call_virtual(Base *b)
{
	Truth t("call_virtual(Base*)");
	return b->work(1) + 1;
}

template <typename T> KNOWN T call_template(T x)
{
	Truth t("double call_template<double>(double)");
	truth_point();
	return x + 1;
}

KNOWN int call_pointer_to_member(Derived *d, int (Derived::*f)(int))
{
	Truth t("call_pointer_to_member(Derived*, int (Derived::*)(int))");
	return (d->*f)(2) + 1;
}

/* ---- the library between ---- */

KNOWN void in_function(int x)
{
	Truth glue("~glue"), t("in_function(int)");
	truth_point();
}

KNOWN void call_function(const std::function<void(int)> &f)
{
	Truth t("call_function(std::function<void (int)> const&)!");
	f(1);
}

KNOWN bool compare(int a, int b)
{
	static int times;
	Truth glue("~glue"), t("compare(int, int)");
	if (times++ == 5)
		truth_point();
	return a < b;
}

KNOWN void sort_numbers()
{
	Truth t("sort_numbers()!");
	std::vector<int> numbers;
	for (int i = 0; i < 40; i++)
		numbers.push_back(i * 7919 % 41);
	std::sort(numbers.begin(), numbers.end(), compare);
}

KNOWN void run_lambda()
{
	Truth t("run_lambda()!");
	int n = 3;
	auto lambda = [&](int x) KNOWN {
		Truth inner("run_lambda()::{lambda(int)#1}::operator()(int) const|run_lambda()::$_0::operator()(int) const!");
		n += x;
		truth_point();
	};
	lambda(4);
}

/* ---- exceptions ---- */

struct Guard {
	KNOWN ~Guard()
	{
		Truth t("Guard::~Guard()");
		truth_point();
	}
};

struct Thrown {
	bool last = false;
	Thrown() = default;
	Thrown(const Thrown &) = delete;
	Thrown(Thrown &&other) : last(true) { other.last = false; }
	KNOWN ~Thrown()
	{
		if (!last)
			return;
		Truth glue("~glue"), t("Thrown::~Thrown()");
		truth_point();
	}
};

KNOWN void throw_it(int depth)
{
	Truth t("throw_it(int)!");
	if (depth)
		throw_it(depth - 1);
	else
		throw std::runtime_error("thrown");
}

KNOWN void guarded()
{
	Truth t("guarded()!");
	Guard guard;
	throw_it(3);
}

KNOWN void catch_it()
{
	Truth t("catch_it()!");
	try {
		guarded();
	} catch (const std::exception &e) {
		truth_point();
	}
	truth_point();
}

KNOWN void throw_again()
{
	Truth t("throw_again()!");
	try {
		throw_it(1);
	} catch (...) {
		truth_point();
		throw;
	}
}

KNOWN void catch_again()
{
	Truth t("catch_again()!");
	try {
		throw_again();
	} catch (const std::exception &e) {
		/* Another one, while this one is handled. */
		try {
			throw 5;
		} catch (int) {
			truth_point();
		}
	}
}

KNOWN void drop_thrown()
{
	Truth t("drop_thrown()!");
	try {
		Thrown thrown;
		throw std::move(thrown);
	} catch (Thrown &) {
	}
}

/* ---- threads ---- */

KNOWN void in_thread(int x)
{
	Truth thread("~thread"), glue("~glue"), t("in_thread(int)!");
	truth_point();
}

KNOWN void run_thread()
{
	Truth t("run_thread()!");
	std::thread thread(in_thread, 1);
	thread.join();
}

int main()
{
	Truth start("~start"), t("main!");
	Derived derived;
	Both both;

	truth_begin();
	call_virtual(&derived);
	call_virtual(static_cast<Derived *>(&both));
	call_template(1.5);
	call_pointer_to_member(&derived, &Derived::work);
	call_function(in_function);
	sort_numbers();
	run_lambda();
	catch_it();
	catch_again();
	drop_thrown();
	run_thread();
	std::puts("done");
	return 0;
}
