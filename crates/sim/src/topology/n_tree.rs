//! Fat trees of any depth from equal switches.

use super::{Line, Network};

/// The k-ary n-tree: `k^n` hosts under `n` levels of `k^(n-1)` switches, each with `k` ports down and, but for those on
/// top, `k` up (Petrini and Vanneschi 1997).
///
/// Number the switches of a level in base `k`. One of level `l` is joined to the `k` of the level above whose numbers
/// differ from its own in digit `l` at most, counted from the lowest. Hosts are `h1`…, switches `l1s1`… on the
/// lowest level and so on. Links are listed hosts first and then level by level, so the uplinks of a switch have its
/// highest port numbers, in order.
pub(super) fn n_tree(arity: u32, levels: u32, link: Line, trunk: Line) -> Network {
    let mut network = Network::default();
    let width = arity.pow(levels - 1);
    let switches: Vec<Vec<_>> = (1..=levels)
        .map(|level| (1..=width).map(|number| network.switch(format!("l{level}s{number}"))).collect())
        .collect();
    for number in 0..width * arity {
        let host = network.host(format!("h{}", number + 1));
        network.join(host, switches[0][(number / arity) as usize], link);
    }
    for level in 0..levels as usize - 1 {
        let step = arity.pow(level as u32);
        for number in 0..width {
            let without = number - number / step % arity * step;
            for digit in 0..arity {
                let above = (without + digit * step) as usize;
                network.join(switches[level][number as usize], switches[level + 1][above], trunk);
            }
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::plan::NodeId;
    use quell_proto::units::{Duration, Rate};

    const LINE: Line = Line { rate: Rate::from_gbps(10), delay: Duration::from_us(1) };

    #[test]
    fn a_tree_has_the_size_that_arity_and_levels_say() {
        for (arity, levels, hosts, switches) in
            [(4, 1, 4, 1), (4, 2, 16, 8), (4, 3, 64, 48), (4, 4, 256, 256), (2, 5, 32, 80)]
        {
            let network = n_tree(arity, levels, LINE, LINE);
            assert_eq!((network.hosts.len(), network.switches.len()), (hosts, switches));
            let mut ports = vec![0; switches];
            for end in network.links.iter().flat_map(|link| link.ends) {
                if let NodeId::Switch(switch) = end {
                    ports[switch.0 as usize] += 1;
                }
            }
            let top = switches - hosts / arity as usize;
            assert!(ports[..top].iter().all(|&count| count == 2 * arity), "{ports:?}");
            assert!(ports[top..].iter().all(|&count| count == arity), "{ports:?}");
        }
    }

    #[test]
    fn no_two_switches_are_joined_twice() {
        let network = n_tree(3, 4, LINE, LINE);
        let mut pairs: Vec<_> = network.links.iter().map(|link| link.ends).collect();
        pairs.sort_unstable();
        let all = pairs.len();
        pairs.dedup();
        assert_eq!(pairs.len(), all);
    }
}
