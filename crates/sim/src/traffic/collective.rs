//! Collectives: transfers that wait for each other, as training of neural networks makes them.
//!
//! A collective is a list of transfers, each with the ones that must have arrived before it may start. They are data:
//! whoever drives a network starts what waits for nothing, and counts down the rest.

use crate::scenario::plan::HostId;
use quell_proto::units::Bytes;
use std::collections::BTreeMap;

/// One transfer of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// How much.
    pub size: Bytes,
    /// Transfers that must have arrived before, by their place in the list; all of them stand before this one.
    pub after: Vec<u32>,
    /// Which iteration it belongs to, from 0 on.
    pub iteration: u32,
}

/// A ring all-reduce of `size` octets held by each member, so many times in a row.
///
/// Of n members each holds n pieces. In each of `2(n - 1)` rounds each sends one piece to the next in the ring: what it
/// received in the round before, with its own added during the first half, as it is during the second. So a transfer
/// waits for the one that brought its piece, and in the first round of a later iteration for the last of the one before.
/// Pieces are rounded up to whole octets.
pub fn ring_all_reduce(members: &[HostId], size: Bytes, iterations: u32) -> Vec<Transfer> {
    let count = members.len();
    let mut transfers: Vec<Transfer> = Vec::new();
    if count < 2 {
        return transfers;
    }
    let piece = Bytes::new(size.get().div_ceil(count as u64));
    for iteration in 0..iterations {
        for _ in 0..2 * (count - 1) {
            let round = transfers.len();
            for place in 0..count {
                // What the member before sent in the round before.
                let brought = round.checked_sub(count).map(|before| before + (place + count - 1) % count);
                transfers.push(Transfer {
                    from: members[place],
                    to: members[(place + 1) % count],
                    size: piece,
                    after: brought.map(index).into_iter().collect(),
                    iteration,
                });
            }
        }
    }
    transfers
}

/// An all-to-all: each member sends `size` octets to every other, so many times in a row. A member begins an iteration
/// when all that is meant for it in the one before has arrived, and then sends to everyone at once, the next in the list
/// first.
pub fn all_to_all(members: &[HostId], size: Bytes, iterations: u32) -> Vec<Transfer> {
    let count = members.len();
    let mut transfers: Vec<Transfer> = Vec::new();
    let each = count * count.saturating_sub(1);
    for iteration in 0..iterations {
        for place in 0..count {
            let after: Vec<u32> = match transfers.len().checked_sub(each + place * count.saturating_sub(1)) {
                Some(before) if iteration > 0 => {
                    let range = before..before + each;
                    range.filter(|it| transfers[*it].to == members[place]).map(index).collect()
                }
                _ => Vec::new(),
            };
            for step in 1..count {
                let to = members[(place + step) % count];
                transfers.push(Transfer { from: members[place], to, size, after: after.clone(), iteration });
            }
        }
    }
    transfers
}

/// What one pair of members has in a collective: all its transfers, in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// Octets of each transfer.
    pub size: Bytes,
    /// How many there are.
    pub transfers: u32,
    /// How many of them make an iteration.
    pub per_iteration: u32,
    /// Transfer n begins when transfer n - 1 of each of these parts has arrived; they all lead to `from`.
    pub after: Vec<u32>,
}

/// The transfers of a collective by who sends them to whom.
///
/// # Panics
/// When a transfer waits for something else than the transfers of the number before to its sender: not so in any
/// collective here.
pub fn parts(transfers: &[Transfer]) -> Vec<Part> {
    let mut numbers: BTreeMap<(HostId, HostId), u32> = BTreeMap::new();
    let mut parts: Vec<Part> = Vec::new();
    // Of each transfer, its part and which one of it it is.
    let mut places: Vec<(u32, u32)> = Vec::new();
    for transfer in transfers {
        let Transfer { from, to, size, iteration, .. } = *transfer;
        let number = *numbers.entry((from, to)).or_insert_with(|| {
            parts.push(Part { from, to, size, transfers: 0, per_iteration: 0, after: Vec::new() });
            index(parts.len() - 1)
        });
        let part = &mut parts[number as usize];
        places.push((number, part.transfers));
        part.transfers += 1;
        part.per_iteration += u32::from(iteration == 0);
    }
    for (transfer, (number, nth)) in transfers.iter().zip(&places) {
        let mut after: Vec<u32> = Vec::new();
        for before in &transfer.after {
            let (other, place) = places[*before as usize];
            assert!(
                place + 1 == *nth && parts[other as usize].to == transfer.from,
                "{transfer:?} waits for more"
            );
            after.push(other);
        }
        after.sort_unstable();
        let part = &mut parts[*number as usize];
        match nth {
            0 => assert!(after.is_empty(), "{transfer:?} waits before it began"),
            1 => part.after = after,
            _ => assert_eq!(part.after, after, "{transfer:?} waits for others than the one before it"),
        }
    }
    parts
}

fn index(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 transfers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn members(count: u32) -> Vec<HostId> {
        (0..count).map(|it| HostId(10 + it)).collect()
    }

    /// Carries a collective out: what starts when everything takes one unit of time. Checks that nothing waits for
    /// what comes later in the list.
    fn rounds(transfers: &[Transfer]) -> Vec<u32> {
        let mut done = Vec::new();
        for (place, transfer) in transfers.iter().enumerate() {
            assert!(
                transfer.after.iter().all(|it| (*it as usize) < place),
                "a transfer waits for a later one"
            );
            let start = transfer.after.iter().map(|it| done[*it as usize]).max().unwrap_or(0);
            done.push(start + 1);
        }
        done
    }

    #[test]
    fn a_ring_of_n_takes_two_n_less_two_rounds_of_an_nth() {
        for count in [2, 3, 8] {
            let transfers = ring_all_reduce(&members(count), Bytes::new(1_000_000), 3);
            let per_iteration = 2 * (count - 1);
            assert_eq!(transfers.len() as u32, 3 * per_iteration * count);
            let done = rounds(&transfers);
            assert_eq!(done.iter().max(), Some(&(3 * per_iteration)));
            let sent: u64 = transfers.iter().filter(|it| it.from == HostId(10)).map(|it| it.size.get()).sum();
            assert!(
                sent.abs_diff(3 * 2 * 1_000_000 * u64::from(count - 1) / u64::from(count)) < 100,
                "{sent}"
            );
        }
    }

    /// Every member ends up with every other's part of every piece: the pieces are sets of who is summed up in them.
    #[test]
    fn a_ring_reduces_everything_everywhere() {
        let count = 5usize;
        let transfers = ring_all_reduce(&members(5), Bytes::new(5_000), 1);
        // What each member holds of each piece.
        let mut held: Vec<Vec<BTreeSet<usize>>> =
            (0..count).map(|it| vec![BTreeSet::from([it]); count]).collect();
        for (place, transfer) in transfers.iter().enumerate() {
            let (round, sender) = (place / count, place % count);
            let piece = (sender + 2 * count - round % count) % count;
            assert_eq!(transfer.from, HostId(10 + sender as u32));
            let sum = held[sender][piece].clone();
            let receiver = (sender + 1) % count;
            if round < count - 1 {
                held[receiver][piece].extend(sum);
            } else {
                held[receiver][piece] = sum;
            }
        }
        let all: BTreeSet<usize> = (0..count).collect();
        assert!(held.iter().flatten().all(|it| *it == all), "{held:?}");
    }

    #[test]
    fn everyone_sends_to_everyone_and_waits_for_everyone() {
        let transfers = all_to_all(&members(4), Bytes::new(700), 2);
        assert_eq!(transfers.len(), 2 * 12);
        let mut pairs = BTreeMap::new();
        for transfer in &transfers {
            *pairs.entry((transfer.from, transfer.to)).or_insert(0) += 1;
        }
        assert_eq!(pairs.len(), 12);
        assert!(pairs.iter().all(|((from, to), count)| from != to && *count == 2));
        let done = rounds(&transfers);
        assert!(transfers.iter().zip(done).all(|(transfer, done)| done == transfer.iteration + 1));
        for transfer in transfers.iter().filter(|it| it.iteration == 1) {
            assert_eq!(transfer.after.len(), 3);
            let awaited = transfer.after.iter().map(|it| &transfers[*it as usize]);
            assert!(awaited.clone().all(|it| it.to == transfer.from && it.iteration == 0));
        }
    }

    #[test]
    fn a_member_alone_has_nothing_to_do() {
        assert!(ring_all_reduce(&members(1), Bytes::new(1), 1).is_empty());
        assert!(all_to_all(&members(1), Bytes::new(1), 2).is_empty());
        assert!(all_to_all(&[], Bytes::new(1), 2).is_empty());
    }

    #[test]
    fn a_ring_is_a_part_for_each_member_that_waits_for_the_one_before() {
        let parts = parts(&ring_all_reduce(&members(4), Bytes::new(4000), 3));
        assert_eq!(parts.len(), 4);
        for (number, part) in parts.iter().enumerate() {
            assert_eq!((part.transfers, part.per_iteration, part.size), (18, 6, Bytes::new(1000)));
            assert_eq!(part.after, [index((number + 3) % 4)]);
        }
    }

    #[test]
    fn an_all_to_all_is_a_part_for_each_pair_that_waits_for_all_to_its_sender() {
        let parts = parts(&all_to_all(&members(4), Bytes::new(1000), 5));
        assert_eq!(parts.len(), 12);
        for part in &parts {
            assert_eq!((part.transfers, part.per_iteration), (5, 1));
            let after: BTreeSet<HostId> = part.after.iter().map(|it| parts[*it as usize].to).collect();
            assert_eq!((part.after.len(), after), (3, BTreeSet::from([part.from])));
        }
    }
}
