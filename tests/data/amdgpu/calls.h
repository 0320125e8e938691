/* SPDX-License-Identifier: MIT */
#define DEVICE __attribute__((device, always_inline)) static inline

namespace geometry
{
template <typename T> DEVICE T square(T a)
{
	return a * a;
}

template <typename T> DEVICE T square_sum(T a, T b)
{
	return square(a) + square(b) / 3.25f;
}
} // namespace geometry

DEVICE void add_atomically(float *out, int n)
{
	__atomic_fetch_add((int *)out + 1, n, __ATOMIC_RELAXED);
}
