//! Recordings made up by a few lines of arithmetic, so that pages can be looked at without a simulator: a
//! star whose last host is slow for a while, with or without something like QCN.

use quell_proto::units::Instant;
use quell_record::claim::{Across, Bound, Claim, FigureKind, FigureSpec, Measure, Metric, Reduce, Window};
use quell_record::{
    Catalog, Entity, EntityId, EntityKind, Event, EventKind, FlowTotals, Memory, Quantity, Recording,
    Selector, Sink,
};

pub(crate) const MS: u64 = 1_000_000_000;
const LINE: f64 = 10e9;
/// When the last host is slow.
pub(crate) const HOT: Window = Window { from_ps: 100 * MS, to_ps: 400 * MS };

/// One star.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Star {
    /// Senders; one more host receives.
    pub(crate) senders: usize,
    pub(crate) length_ms: u64,
    /// Whether sources react.
    pub(crate) reacts: bool,
    /// The slow host's rate.
    pub(crate) hot_bps: f64,
}

impl Default for Star {
    fn default() -> Star {
        Star { senders: 4, length_ms: 600, reacts: true, hot_bps: 2e9 }
    }
}

impl Star {
    pub(crate) fn catalog(&self) -> Catalog {
        let sink = format!("h{}", self.senders + 1);
        let port = |node: &str, peer: &str, of_switch| Entity {
            name: format!("{node}->{peer}"),
            kind: EntityKind::Port { node: node.into(), peer: peer.into(), rate_bps: LINE as u64, of_switch },
        };
        let mut entities = vec![port("s1", &sink, true)];
        let hosts: Vec<String> = (1..=self.senders).map(|it| format!("h{it}")).collect();
        entities.extend(hosts.iter().map(|host| port(host, "s1", false)));
        entities.extend(hosts.iter().map(|host| Entity {
            name: format!("s1<-{host}"),
            kind: EntityKind::Input { node: "s1".into(), peer: host.clone(), capacity_bytes: Some(150_000) },
        }));
        entities.extend(hosts.iter().map(|host| Entity {
            name: format!("{host}->{sink}"),
            kind: EntityKind::Flow {
                from: host.clone(),
                to: sink.clone(),
                priority: 0,
                demand_bps: Some((8e9 / self.senders as f64) as u64),
                frame_bytes: 1500,
                message: None,
            },
        }));
        Catalog { entities, overhead_bytes: 0 }
    }

    fn port(&self) -> EntityId {
        EntityId(0)
    }

    fn sender(&self, index: usize) -> EntityId {
        EntityId(1 + index as u32)
    }

    fn input(&self, index: usize) -> EntityId {
        EntityId((1 + self.senders + index) as u32)
    }

    fn flow(&self, index: usize) -> EntityId {
        EntityId((1 + 2 * self.senders + index) as u32)
    }

    pub(crate) fn run(&self, seed: u64) -> Recording {
        let mut dice = Lcg(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut memory = Memory::new(self.catalog());
        let demand = 8e9 / self.senders as f64;
        let mut limits = vec![LINE; self.senders];
        let mut backlog = vec![0.0_f64; self.senders];
        let mut totals = vec![FlowTotals::default(); self.senders];
        let mut queue = 0.0_f64;
        let mut held = false;
        let full = 140_000.0 * self.senders as f64;
        let step = 1e-3;
        for ms in 0..self.length_ms {
            let at = Instant::from_ps((ms + 1) * MS);
            let hot = ms * MS >= HOT.from_ps && ms * MS < HOT.to_ps;
            let service = if hot { self.hot_bps } else { LINE };
            if ms * MS == HOT.from_ps || ms * MS == HOT.to_ps {
                let value = service as i64;
                let kind = EventKind::Service;
                memory.event(Event {
                    at: Instant::from_ps(ms * MS),
                    entity: self.port(),
                    kind,
                    flow: None,
                    value,
                    cause: None,
                });
            }
            let mut sent = vec![0.0; self.senders];
            let mut arriving = 0.0;
            for index in 0..self.senders {
                backlog[index] += demand * step / 8.0;
                let can = limits[index].min(LINE) * step / 8.0;
                sent[index] =
                    if held { service * step / 8.0 / self.senders as f64 } else { backlog[index].min(can) };
                backlog[index] -= sent[index];
                arriving += sent[index];
            }
            let before = queue;
            let carried = (queue + arriving).min(service * step / 8.0);
            queue = (queue + arriving - carried).min(full);
            let mut cnms = vec![0_i64; self.senders];
            for index in 0..self.senders {
                let excess = (queue - 33_000.0) / 33_000.0;
                if self.reacts && hot && excess > 0.0 {
                    cnms[index] = 1 + (dice.unit() * 3.0) as i64;
                    limits[index] = (limits[index] * (1.0 - 0.25 * excess.min(1.0) * dice.unit())).max(10e6);
                } else if self.reacts {
                    limits[index] = (limits[index] * (1.0 + 0.06 * dice.unit()) + 5e6).min(LINE);
                }
            }
            held = !self.reacts && queue >= full * 0.9;
            let peak = before.max(queue) * (1.0 + 0.2 * dice.unit());
            memory.begin_samples(at);
            let mean = f64::midpoint(before, queue);
            memory.sample(self.port(), Quantity::QueueMeanBytes, mean as i64);
            memory.sample(self.port(), Quantity::QueuePeakBytes, peak as i64);
            memory.sample(self.port(), Quantity::TxBytes, carried as i64);
            memory.sample(self.port(), Quantity::TxFrames, (carried / 1500.0) as i64);
            memory.sample(self.port(), Quantity::ServiceBytes, (service * step / 8.0) as i64);
            memory.sample(self.port(), Quantity::CnmsSent, cnms.iter().sum());
            memory.sample(self.port(), Quantity::DroppedFrames, 0);
            let paused =
                |index: usize| if held { (0.6 + 0.4 * ((index % 3) as f64 / 2.0)) * 1e9 } else { 0.0 };
            for (index, octets) in sent.iter().enumerate() {
                memory.sample(self.sender(index), Quantity::QueueMeanBytes, backlog[index] as i64);
                memory.sample(self.sender(index), Quantity::TxBytes, *octets as i64);
                memory.sample(self.sender(index), Quantity::PausedPs, paused(index) as i64);
            }
            for index in 0..self.senders {
                memory.sample(
                    self.input(index),
                    Quantity::QueueMeanBytes,
                    (mean / self.senders as f64) as i64,
                );
                memory.sample(
                    self.input(index),
                    Quantity::QueuePeakBytes,
                    (peak / self.senders as f64) as i64,
                );
                memory.sample(self.input(index), Quantity::StoppedPs, paused(index) as i64);
            }
            for index in 0..self.senders {
                let delivered = if arriving > 0.0 { carried * sent[index] / arriving } else { 0.0 };
                let flow = self.flow(index);
                memory.sample(flow, Quantity::OfferedBytes, (demand * step / 8.0) as i64);
                memory.sample(flow, Quantity::SentBytes, sent[index] as i64);
                memory.sample(flow, Quantity::DeliveredBytes, delivered as i64);
                memory.sample(flow, Quantity::DeliveredFrames, (delivered / 1500.0) as i64);
                memory.sample(flow, Quantity::LimitBps, limits[index] as i64);
                memory.sample(flow, Quantity::CnmsReceived, cnms[index]);
                let total = &mut totals[index];
                total.offered_bytes += (demand * step / 8.0) as u64;
                total.sent_bytes += sent[index] as u64;
                total.delivered_bytes += delivered as u64;
                total.delivered_frames += (delivered / 1500.0) as u64;
                total.cnms_received += cnms[index] as u64;
                total.latency_sum_ps += (delivered / 1500.0 * (5e6 + queue * 8.0 / service * 1e12)) as u64;
                total.latency_max_ps = total.latency_max_ps.max((5e6 + queue * 8.0 / service * 1e12) as u64);
            }
        }
        for (index, total) in totals.into_iter().enumerate() {
            memory.flow(self.flow(index), total);
        }
        memory.finish(true)
    }
}

/// A claim with the usual rest.
pub(crate) fn claim(text: &str, configurations: &[&str], metric: Metric, reduce: Reduce, of: &str) -> Claim {
    Claim {
        text: text.to_owned(),
        configurations: configurations.iter().map(|&it| it.to_owned()).collect(),
        measure: Measure {
            metric,
            reduce,
            of: Selector(of.to_owned()),
            over: vec![Window { from_ps: 250 * MS, to_ps: 400 * MS }],
            relative_to: None,
            against: None,
        },
        across: Across::Every,
        bound: None,
        line: 40,
    }
}

pub(crate) fn bounded(claim: Claim, across: Across, bound: Bound) -> Claim {
    Claim { across, bound: Some(bound), line: claim.line + 1, ..claim }
}

pub(crate) fn figure(
    title: &str,
    kind: FigureKind,
    of: &str,
    configurations: &[String],
    overlay: bool,
) -> FigureSpec {
    FigureSpec {
        title: title.to_owned(),
        shows: None,
        kind,
        of: Selector(of.to_owned()),
        configurations: configurations.to_vec(),
        overlay,
        beside: None,
        first_run: false,
        over: None,
        pairing: None,
    }
}

/// Numbers that look random and are not.
struct Lcg(u64);

impl Lcg {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
