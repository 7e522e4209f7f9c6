//! Memory that is wanted soon, brought near while there is something else to do.
//!
//! With a thousand hosts the frames under way fill more than the caches, and the next one on a wire is known long before it
//! arrives. Asking for it in time takes an instruction that only the processor's own functions offer; they take a bare pointer. That
//! is all the unsafe code of this crate.

#![expect(unsafe_code, reason = "the processor's prefetch takes a bare pointer")]

/// Asks for the memory of a value, or of all values of a slice, without waiting. It changes nothing but the time that the next
/// look at them takes.
#[inline]
pub(crate) fn bring_near<T: ?Sized>(value: &T) {
    let Some(last) = size_of_val(value).checked_sub(1) else { return };
    let first = std::ptr::from_ref(value).cast::<i8>();
    for step in (0..last).step_by(LINE) {
        fetch(first.wrapping_add(step));
    }
    fetch(first.wrapping_add(last));
}

/// So many octets are a line of the cache, nearly everywhere.
const LINE: usize = 64;

#[inline]
fn fetch(place: *const i8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch neither reads nor writes what the program can see, nor can it fail, whatever the place.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
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
