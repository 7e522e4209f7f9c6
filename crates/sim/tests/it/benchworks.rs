//! Work on which other simulators agree to the frame.

use crate::network::{add_flow, star, totals};
use quell_proto::units::{Bytes, Duration, Instant, Rate};
use quell_sim::scenario::plan::{Buffering, Pattern, QueueLimit};

#[test]
fn an_open_incast_delivers_and_drops_what_other_simulators_do() {
    let mut plan = star(9, Rate::from_gbps(10), Duration::from_us(1));
    plan.length = Duration::from_ms(100);
    plan.switches[0].buffering =
        Buffering::OutputQueued { memory: None, queue_limit: QueueLimit::Static(Bytes::new(150_000)) };
    for host in 0..8 {
        let start = Instant::START + Duration::from_ns(150 * u64::from(host));
        add_flow(&mut plan, host, 8, Pattern::Constant { interval: Duration::from_ns(1200) }, start);
    }
    let (outcome, totals) = totals(&plan, 1).unwrap();
    // Frames in flight at the end are counted differently by a few.
    assert!(totals.delivered().abs_diff(83_330) <= 10, "{}", totals.delivered());
    assert!(totals.lost().abs_diff(583_221) <= 10, "{}", totals.lost());
    assert!(outcome.frame_hops.abs_diff(749_990) <= 10, "{}", outcome.frame_hops);
}
