//! Memory that is wanted soon, brought near while there is something else to do.
//!
//! With a thousand hosts the frames under way fill more than the caches, and the next one on a wire is known long before it
//! arrives. Asking for it in time takes an instruction that only the processor's own functions offer; they take a bare pointer. That
//! is all the unsafe code of this crate.

#![expect(unsafe_code, reason = "the processor's prefetch takes a bare pointer")]

/// Asks for the memory of a value, two lines of the cache at most, without waiting. It changes nothing but the time that the
/// next look at it takes.
#[inline]
pub(crate) fn bring_near<T>(value: &T) {
    const { assert!(size_of::<T>() > 0 && size_of::<T>() <= 65, "it lies in two lines at most") };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(value).cast::<i8>();
        // SAFETY: both point into the value; and a prefetch neither reads nor writes what the program can see, nor can it fail.
        unsafe {
            let last = first.add(size_of::<T>() - 1);
            _mm_prefetch::<_MM_HINT_T0>(first);
            _mm_prefetch::<_MM_HINT_T0>(last);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_brought_near_stays_as_it_is() {
        let (small, large) = (7u8, [3u64; 8]);
        bring_near(&small);
        bring_near(&large);
        assert_eq!((small, large), (7, [3; 8]));
    }
}
