// SPDX-License-Identifier: MIT
// Stacks of all kinds that Rust makes; see truth.h. Says "done" at the end.
use std::ffi::CStr;
use std::os::raw::c_char;

extern "C" {
    fn truth_begin();
    fn truth_enter(name: *const c_char);
    fn truth_leave();
    fn truth_point();
}

// The truth about a function, also when a panic ends it.
struct Truth;

impl Truth {
    #[inline(always)]
    fn new(name: &'static [u8]) -> Truth {
        unsafe { truth_enter(CStr::from_bytes_with_nul_unchecked(name).as_ptr()) };
        Truth
    }
}

impl Drop for Truth {
    #[inline(always)]
    fn drop(&mut self) {
        unsafe { truth_leave() };
    }
}

#[inline(never)]
fn point() {
    let _t = Truth::new(b"chains::point\0");
    unsafe { truth_point() };
}

// ---- calls that are looked up ----

trait Work {
    fn work(&self, x: i32) -> i32;
}

struct Plain;

impl Work for Plain {
    #[inline(never)]
    fn work(&self, x: i32) -> i32 {
        let _t = Truth::new(b"<chains::Plain as chains::Work>::work\0");
        point();
        x + 1
    }
}

#[inline(never)]
fn call_object(w: &dyn Work) -> i32 {
    let _t = Truth::new(b"chains::call_object\0");
    w.work(1) + 1
}

#[inline(never)]
fn generic<T: Work>(w: &T) -> i32 {
    let _t = Truth::new(b"chains::generic\0");
    w.work(2) + 1
}

// ---- closures and iterators, with the library between ----

#[inline(never)]
fn in_closure(x: i32) -> i32 {
    let _t = Truth::new(b"chains::in_closure\0");
    point();
    x * 2
}

#[inline(never)]
fn call_closure(f: &dyn Fn(i32) -> i32) -> i32 {
    let _t = Truth::new(b"chains::call_closure!\0");
    let _g = Truth::new(b"~glue\0");
    f(3) + 1
}

#[inline(never)]
fn iterate(n: i32) -> i32 {
    let _t = Truth::new(b"chains::iterate!\0");
    let _g = Truth::new(b"~glue\0");
    (0..n).map(|x| in_closure(x)).sum()
}

#[inline(never)]
fn compare(a: &i32, b: &i32) -> std::cmp::Ordering {
    let _g = Truth::new(b"~glue\0");
    let _t = Truth::new(b"chains::compare\0");
    if *a == 7 && *b != 7 {
        point();
    }
    a.cmp(b)
}

#[inline(never)]
fn sort() {
    let _t = Truth::new(b"chains::sort!\0");
    let mut numbers = vec![3, 7, 1];
    numbers.sort_by(compare);
}

// ---- panics ----

struct Guard;

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        let _t = Truth::new(b"<chains::Guard as core::ops::drop::Drop>::drop\0");
        point();
    }
}

#[inline(never)]
fn panics(depth: i32) {
    let _t = Truth::new(b"chains::panics!\0");
    if depth == 0 {
        std::panic::panic_any(5);
    }
    panics(depth - 1);
}

#[inline(never)]
fn guarded() {
    let _t = Truth::new(b"chains::guarded!\0");
    let _g = Truth::new(b"~glue\0");
    let _guard = Guard;
    panics(2);
}

#[inline(never)]
fn catches() {
    let _t = Truth::new(b"chains::catches!\0");
    let _g = Truth::new(b"~glue\0");
    let _ = std::panic::catch_unwind(|| guarded());
    point();
}

// ---- threads ----

#[inline(never)]
fn in_thread(x: i32) -> i32 {
    let _s = Truth::new(b"~thread\0");
    let _g = Truth::new(b"~glue\0");
    let _t = Truth::new(b"chains::in_thread!\0");
    point();
    x
}

#[inline(never)]
fn run_thread() {
    let _t = Truth::new(b"chains::run_thread!\0");
    let _ = std::thread::spawn(|| in_thread(1)).join();
}

fn main() {
    let _s = Truth::new(b"~start\0");
    let _m = Truth::new(b"?main\0");
    let _g = Truth::new(b"~glue\0");
    let _t = Truth::new(b"chains::main!\0");
    std::panic::set_hook(Box::new(|_| {}));
    unsafe { truth_begin() };
    call_object(&Plain);
    generic(&Plain);
    call_closure(&|x| in_closure(x));
    iterate(2);
    sort();
    catches();
    run_thread();
    println!("done");
}
