//! From a plan to its fluid model, where there is one.

use quell_proto::control::ecm::ReactionConfig;
use quell_proto::units::Rate;
use quell_record::EntityKind;
use quell_record::claim::FigureKind;
use quell_sim::scenario::plan::{Change, FlowId, HostId, NodeId, Pattern, Placement, Plan, Scheme, What};
use quell_theory::model::Detail;
use quell_theory::trace::{Service, Start};
use quell_theory::{Dcqcn, Ecm, Model, Outside, Path, Qcn, Trace};

/// The fluid model of one port of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Fluid {
    /// The model.
    pub(crate) model: Model,
    /// The port whose queue it is.
    pub(crate) port: String,
    /// The flows through it.
    pub(crate) flows: Vec<String>,
    /// How the queue's service changes.
    pub(crate) services: Vec<Service>,
    /// Seconds that the plan runs for.
    pub(crate) span: f64,
}

impl Fluid {
    /// The model of a plan's port, or of its most overloaded one; else why there is none, as half a sentence.
    pub(crate) fn of(plan: &Plan, port: Option<&str>) -> Result<Fluid, String> {
        let build = builder(plan)?;
        if plan.switches.len() != 1 {
            return Err(format!("it has {} switches, and the model has one queue", plan.switches.len()));
        }
        let hot = Hot::find(plan, port)?;
        let rate = hot.demand(plan)?;
        let services = hot.services(plan)?;
        let link = &plan.links[hot.link];
        let wire = link.rate.bps() as f64;
        let slowest = services.iter().map(|it| it.capacity).fold(wire, f64::min);
        let frame = hot.frame(plan)?;
        // What a frame takes on the wire beyond its own octets does not count for a limiter.
        let useful = frame / (frame + plan.overhead.get() as f64);
        let path = Path {
            flows: u32::try_from(hot.flows.len()).unwrap_or(u32::MAX),
            capacity: slowest * useful,
            line: rate.min(wire),
            delay: hot.delay(plan, frame, plan.scheme.messages().map_or(0.0, |it| it.frame.get() as f64))?,
            frame,
        };
        let model = build(path, link.rate);
        model.check().map_err(|why| why.to_string())?;
        let useful_service = |it: &Service| Service { capacity: it.capacity * useful, ..*it };
        Ok(Fluid {
            model,
            port: hot.name,
            flows: hot.flows.iter().map(|flow| plan.flows[flow.0 as usize].name.clone()).collect(),
            services: std::iter::once(Service { from: 0.0, capacity: wire })
                .chain(services)
                .map(|it| useful_service(&it))
                .collect(),
            span: plan.length.ps() as f64 / 1e12,
        })
    }

    /// What it does in the time of the plan, all sources at full rate to begin with.
    pub(crate) fn trace(&self) -> Result<Trace, Outside> {
        Trace::with_service(&self.model, Start::full(&self.model), self.span, &self.services)
    }

    /// The second half of the time at which the queue is served slowest, within the first `span` seconds.
    pub(crate) fn late(&self, span: f64) -> (f64, f64) {
        let ends = self.services.iter().skip(1).map(|it| it.from).chain([f64::INFINITY]);
        let spells = self.services.iter().zip(ends).filter(|(it, _)| it.from < span);
        let slowest = spells.min_by(|(a, _), (b, _)| a.capacity.total_cmp(&b.capacity));
        let (from, to) = slowest.map_or((0.0, span), |(it, end)| (it.from, end.min(span)));
        (f64::midpoint(from, to), to)
    }

    /// Whether a figure of this kind shows something the model has, among entities of these names.
    pub(crate) fn is_in(&self, kind: FigureKind, names: &[&str]) -> bool {
        match kind {
            FigureKind::Queue => names.contains(&self.port.as_str()),
            FigureKind::Throughput | FigureKind::Limit => {
                self.flows.iter().any(|flow| names.contains(&flow.as_str()))
            }
            _ => false,
        }
    }
}

/// What makes a model of a path and the rate of its ports.
type Builder = Box<dyn Fn(Path, Rate) -> Model>;

/// What makes models of a plan's scheme, or why nothing does.
fn builder(plan: &Plan) -> Result<Builder, String> {
    match plan.scheme {
        Scheme::Qcn(qcn) if qcn.placement == Placement::Input => {
            Err("its congestion points are at inputs, and the model's is at an output".to_owned())
        }
        Scheme::Qcn(qcn) => Ok(Box::new(move |path, _| {
            let plain = Qcn::of(path, &qcn.congestion, &qcn.reaction);
            Model::Qcn(Qcn { detail: Detail::Mechanism, ..plain })
        })),
        Scheme::Ecm(ecm) => Ok(Box::new(move |path, max_rate| {
            let reaction = ReactionConfig { max_rate, ..ecm.reaction };
            Model::Ecm(Ecm::of(path, &ecm.congestion, &reaction))
        })),
        Scheme::Dcqcn(dcqcn) => {
            let marking = plan.switches.iter().find_map(|switch| switch.marking);
            let curve = marking.ok_or("its switch marks nothing")?.curve;
            if dcqcn.reaction.byte_reset.is_none() {
                return Err("its senders count no octets, and the model's do".to_owned());
            }
            Ok(Box::new(move |path, _| {
                Model::Dcqcn(Dcqcn::of(path, &curve, &dcqcn.notification, &dcqcn.reaction))
            }))
        }
        Scheme::None => Err("it has no congestion control".to_owned()),
        _ => Err("of the schemes that can be simulated, fluid models know QCN, ECM and DCQCN".to_owned()),
    }
}

/// The port towards a host, and who sends there.
struct Hot {
    name: String,
    link: usize,
    flows: Vec<FlowId>,
}

impl Hot {
    fn find(plan: &Plan, port: Option<&str>) -> Result<Hot, String> {
        let switch = plan.switches[0].name.as_str();
        let mut candidates: Vec<Hot> = Vec::new();
        for (link, it) in plan.links.iter().enumerate() {
            let Some(host) = it.ends.iter().find_map(|end| match end {
                NodeId::Host(host) => Some(*host),
                NodeId::Switch(_) => None,
            }) else {
                continue;
            };
            let to_it = plan.flows.iter().zip(0..).filter(|(flow, _)| flow.to == host);
            let name = format!("{switch}->{}", plan.name(NodeId::Host(host)));
            candidates.push(Hot { name, link, flows: to_it.map(|(_, id)| FlowId(id)).collect() });
        }
        if let Some(port) = port {
            return candidates
                .into_iter()
                .find(|it| it.name == port)
                .ok_or_else(|| format!("`{port}` is not one of its ports towards hosts"));
        }
        let overload = |it: &Hot| {
            let served = it.services(plan).unwrap_or_default();
            let wire = plan.links[it.link].rate.bps() as f64;
            let least = served.iter().map(|it| it.capacity).fold(wire, f64::min);
            let offered: f64 = it.demands(plan).iter().map(|rate| rate.min(wire)).sum();
            if least > 0.0 { offered / least } else { 0.0 }
        };
        // A port that a model can follow comes first; of one that none can, the caller learns why.
        let key = |it: &Hot| (it.demand(plan).is_ok() && it.services(plan).is_ok(), overload(it));
        let overloaded = candidates.into_iter().map(|it| (key(&it), it)).filter(|(key, _)| key.1 > 1.0);
        let hottest = overloaded.max_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let none = || "no port towards a host is sent more than it can carry".to_owned();
        hottest.map(|(_, hot)| hot).ok_or_else(none)
    }

    /// Bits per second that each of its flows has to send; infinite if it takes what it can get.
    fn demands(&self, plan: &Plan) -> Vec<f64> {
        let catalog = plan.catalog();
        let first = catalog.len() - plan.flows.len();
        let of = |flow: &FlowId| match catalog.entities[first + flow.0 as usize].kind {
            EntityKind::Flow { demand_bps, .. } => demand_bps.map_or(f64::INFINITY, |it| it as f64),
            _ => 0.0,
        };
        self.flows.iter().map(of).collect()
    }

    /// What each flow has to send, in bits per second, if that is the same for all; else why there is no such number.
    fn demand(&self, plan: &Plan) -> Result<f64, String> {
        let demands = self.demands(plan);
        let (least, most) =
            demands.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), it| (l.min(*it), m.max(*it)));
        if self.flows.is_empty() {
            return Err(format!("nothing is sent to `{}`", self.name));
        }
        if least.is_finite() && most > least * 1.01 {
            return Err(format!(
                "the flows to `{}` have different demands, and the model's are equal",
                self.name
            ));
        }
        for source in plan.sources.iter().filter(|it| it.flows.iter().any(|flow| self.flows.contains(flow))) {
            let is_steady = !matches!(source.pattern, Pattern::OnOff { .. })
                && source.message.is_none()
                && source.start.ps() == 0
                && source.stop.ps() >= plan.length.ps();
            if !is_steady {
                return Err(format!("flows to `{}` come and go, and the model's stay", self.name));
            }
        }
        Ok(most)
    }

    fn frame(&self, plan: &Plan) -> Result<f64, String> {
        let sources = plan.sources.iter().filter(|it| it.flows.iter().any(|flow| self.flows.contains(flow)));
        let mut frames = sources.map(|it| it.frame.get());
        let first = frames.next().unwrap_or(1500);
        match frames.all(|it| it == first) {
            true => Ok(first as f64),
            false => Err("its sources send frames of different lengths".to_owned()),
        }
    }

    /// Seconds from this queue to a source and back: both wires, the notification, the frame that carries the answer,
    /// and what the adapter takes.
    fn delay(&self, plan: &Plan, frame: f64, cnm: f64) -> Result<f64, String> {
        let delay_of = |host: HostId| {
            let link = plan.links.iter().find(|it| it.ends.contains(&NodeId::Host(host)))?;
            let overhead = plan.overhead.get() as f64;
            let octets = frame + cnm + 2.0 * overhead;
            let wire = 2.0 * link.delay.ps() as f64 / 1e12 + octets * 8.0 / link.rate.bps() as f64;
            Some(wire + plan.hosts[host.0 as usize].adapter.reaction_delay.ps() as f64 / 1e12)
        };
        let hosts = self.flows.iter().map(|flow| plan.flows[flow.0 as usize].from);
        let delays: Vec<f64> = hosts.filter_map(delay_of).collect();
        let (least, most) =
            delays.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), it| (l.min(*it), m.max(*it)));
        match most <= least * 1.05 {
            true => Ok(most),
            false => Err("its sources are at different distances, and the model's at one".to_owned()),
        }
    }

    /// What changes at this port.
    fn services(&self, plan: &Plan) -> Result<Vec<Service>, String> {
        let wire = plan.links[self.link].rate.bps() as f64;
        let mut services = Vec::new();
        for Change { at, what } in &plan.changes {
            match what {
                What::PortService { link, from: NodeId::Switch(_), rate } if link.0 as usize == self.link => {
                    let capacity = rate.map_or(wire, |it| (it.bps() as f64).min(wire));
                    services.push(Service { from: at.ps() as f64 / 1e12, capacity });
                }
                What::PortService { .. } => {}
                What::ReceiveService { .. } => {
                    return Err("a receiver changes its pace, which the model does not know".to_owned());
                }
                What::Link { .. } => return Err("a link fails, which the model does not know".to_owned()),
            }
        }
        Ok(services)
    }
}
