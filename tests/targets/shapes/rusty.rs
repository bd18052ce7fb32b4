// SPDX-License-Identifier: Apache-2.0
// Rust: a mangled function, an exported one, and one that panics in a third of its calls.
use std::io::{stdin, stdout, BufRead, Write};
use std::panic::catch_unwind;

// What std::hint::black_box does, which Debian 12's compiler does not have yet.
#[inline(always)]
fn opaque(value: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&value) }
}

#[inline(never)]
pub fn mangled(value: u64) -> u64 {
    opaque(value) * 3
}

#[inline(never)]
#[no_mangle]
pub extern "C" fn rust_exported(value: u64) -> u64 {
    if opaque(value) % 2 == 0 {
        return opaque(mangled(value));
    }
    value + 1
}

#[inline(never)]
pub fn panics_some(value: u64) -> u64 {
    if opaque(value) % 3 == 0 {
        panic!("a third");
    }
    mangled(value) + 1
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    println!("ready");
    stdout().flush().unwrap();
    let mut lines = stdin().lock().lines();
    lines.next();
    let mut sum = 0;
    for i in 0..1009 {
        sum += catch_unwind(|| panics_some(i)).unwrap_or(0) + rust_exported(i);
    }
    println!("done {}", sum > 0);
    stdout().flush().unwrap();
    lines.next();
}
