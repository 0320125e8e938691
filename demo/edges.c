// SPDX-License-Identifier: MIT
/*
 * The workload of ./demo.sh --opencl: finds edges in pictures, on the first OpenCL device there is.
 * Each picture is written to the device, blurred, searched for edges, counted, and the counts are
 * read back. Where the only device is the CPU (PoCL), that is the GPU of the demo.
 */
#include "opencl_api.h"

enum { WIDTH = 512, HEIGHT = 512, PICTURES = 40, BINS = 64, BLURS = 3 };

static const char kernels[] =
	"__kernel void blur(__global const uchar *in, __global uchar *out) {"
	" int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = "
	"get_global_size(1), sum = 0, n = 0;"
	" for (int j = -2; j <= 2; j++) for (int i = -2; i <= 2; i++) {"
	"  int u = clamp(x + i, 0, w - 1), v = clamp(y + j, 0, h - 1); sum += in[v * w + u]; n++; }"
	" out[y * w + x] = sum / n; }\n"
	"__kernel void edges(__global const uchar *in, __global uchar *out) {"
	" int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0), h = "
	"get_global_size(1);"
	" int l = max(x - 1, 0), r = min(x + 1, w - 1), u = max(y - 1, 0), d = min(y + 1, h - 1);"
	" int gx = in[y * w + r] - in[y * w + l], gy = in[d * w + x] - in[u * w + x];"
	" out[y * w + x] = min((int)sqrt((float)(gx * gx + gy * gy)) * 4, 255); }\n"
	"__kernel void histogram(__global const uchar *in, __global int *bins) {"
	" int n = get_global_id(0), count = 0;"
	" for (int i = 0; i < 262144; i++) count += in[i] / 4 == n; bins[n] = count; }\n";

static void *queue, *blur, *edges, *histogram, *bins;
static unsigned char picture[WIDTH * HEIGHT];

STEP static void draw(int seed)
{
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			picture[y * WIDTH + x] = (unsigned char)((x * y / 64 + seed * 7) ^ (x + y));
}

STEP static void upload(void)
{
	check("write", cl.clEnqueueWriteBuffer(
			       queue, buffer, 0, 0, sizeof(picture), picture, 0, NULL, NULL));
}

static void set_buffers(void *kernel, void *from, void *to)
{
	check("argument", clSetKernelArg(kernel, 0, sizeof(from), &from));
	check("argument", clSetKernelArg(kernel, 1, sizeof(to), &to));
}

static void launch(void *kernel, uint32_t dimensions, size_t width, size_t height)
{
	const size_t items[2] = {width, height};

	check("launch", cl.clEnqueueNDRangeKernel(
				queue, kernel, dimensions, NULL, items, NULL, 0, NULL, NULL));
}

STEP static void smooth(void)
{
	for (int n = 0; n < BLURS; n++) {
		set_buffers(blur, n % 2 ? other : buffer, n % 2 ? buffer : other);
		launch(blur, 2, WIDTH, HEIGHT);
	}
}

STEP static void find_edges(void)
{
	set_buffers(edges, other, buffer);
	launch(edges, 2, WIDTH, HEIGHT);
}

STEP static int count_edges(void)
{
	int counts[BINS], strong = 0;

	set_buffers(histogram, buffer, bins);
	launch(histogram, 1, BINS, 1);
	check("read",
		cl.clEnqueueReadBuffer(queue, bins, 1, 0, sizeof(counts), counts, 0, NULL, NULL));
	for (int n = BINS / 2; n < BINS; n++)
		strong += counts[n];
	return strong;
}

STEP static int look_at(int number)
{
	draw(number);
	upload();
	smooth();
	find_edges();
	return count_edges();
}

int main(void)
{
	int strong = 0;

	begin(kernels);
	queue = make_queue(0);
	blur = made("blur", cl.clCreateKernel(program, "blur", NULL));
	edges = made("edges", cl.clCreateKernel(program, "edges", NULL));
	histogram = made("histogram", cl.clCreateKernel(program, "histogram", NULL));
	bins = made("buffer", clCreateBuffer(context, 1, BINS * sizeof(int), NULL, NULL));
	for (int n = 0; n < PICTURES; n++)
		strong += look_at(n);
	check("finish", cl.clFinish(queue));
	printf("%d pictures, %d strong edges\n", PICTURES, strong);
	return 0;
}
