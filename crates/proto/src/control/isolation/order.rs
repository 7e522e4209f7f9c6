//! Order: a flow that changes queues must not overtake itself.

/// Counts the markers of two queues (P802.1Qcz, "Handling the potential out-of-order problem").
///
/// When a flow is moved, a marker enters both queues behind all that is there. The congesting queue is served up to
/// its marker and then waits until the other queue has been served up to the matching one; so every earlier frame of
/// the flow has left by then. Markers leave each queue in the order they entered both. So the first in the congesting
/// queue is matched by one that has left the other exactly while the congesting queue holds more of them; the two
/// counts are all there is to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// Markers in the congesting queue ("mark counter 1").
    congesting: u32,
    /// Markers in the monitored queue ("mark counter 2").
    monitored: u32,
}

impl Markers {
    /// A marker was put into both queues.
    #[inline]
    pub fn insert(&mut self) {
        self.congesting += 1;
        self.monitored += 1;
    }

    /// A marker reached the head of the monitored queue, or found it empty: it is taken out at once, paused or not.
    ///
    /// # Panics
    /// When there is none: the driver's queue and this count have come apart.
    #[inline]
    pub fn leave_monitored(&mut self) {
        self.monitored = self.monitored.checked_sub(1).expect("a marker that was never put in");
    }

    /// A marker is at the head of the congesting queue. Says whether it leaves; if not, the queue waits, and the driver
    /// asks again after a marker left the other.
    #[inline]
    pub fn leave_congesting(&mut self) -> bool {
        let matched = self.congesting > self.monitored;
        self.congesting -= u32::from(matched);
        matched
    }

    /// Markers in the congesting and in the monitored queue.
    pub fn counts(&self) -> (u32, u32) {
        (self.congesting, self.monitored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red and then purple are moved, as in the proposal's pictures.
    #[test]
    fn two_flows_are_moved_as_in_the_proposal() {
        let mut markers = Markers::default();
        markers.insert();
        assert_eq!(markers.counts(), (1, 1));
        assert!(!markers.leave_congesting(), "red waits");
        markers.insert();
        assert_eq!(markers.counts(), (2, 2));
        markers.leave_monitored();
        assert!(markers.leave_congesting(), "2 > 1");
        assert_eq!(markers.counts(), (1, 1));
        assert!(!markers.leave_congesting(), "purple waits");
        markers.leave_monitored();
        assert!(markers.leave_congesting(), "1 > 0");
        assert_eq!(markers.counts(), (0, 0));
    }

    #[test]
    #[should_panic(expected = "never put in")]
    fn a_marker_that_is_not_there_cannot_leave() {
        Markers::default().leave_monitored();
    }
}
