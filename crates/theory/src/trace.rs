//! A model followed through time.

use crate::delay::{PLACES, Past, State, System, solve};
use crate::model::{ALPHA, Model, QUEUE, RATE, TARGET};
use crate::outside::{Outside, within};
use crate::series::{self, Period};

/// Values that a trace keeps; more no figure shows.
const MOST_POINTS: usize = 20_000;

/// How a trace begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Octets queued.
    pub queue: f64,
    /// The rate of each flow, as a multiple of its share. One below its share has that for its target.
    pub rate: f64,
}

impl Start {
    /// An empty queue and all sources at full rate: what a network does before it hears of congestion.
    pub fn full(model: &Model) -> Start {
        Start { queue: 0.0, rate: model.path().line / model.path().capacity * f64::from(model.path().flows) }
    }
}

/// A change of the queue's service while time goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Seconds from the start.
    pub from: f64,
    /// Bits per second from then on.
    pub capacity: f64,
}

/// Queue and rate over time, at equal steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Seconds between values; the first stands at zero.
    pub step: f64,
    /// Octets queued.
    pub queue: Vec<f64>,
    /// Bits per second of each flow.
    pub rate: Vec<f64>,
}

/// A trace in numbers, over a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Mean octets queued.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Mean share of the capacity that the flows offer; above one while the queue grows.
    pub load: f64,
    /// The period of its oscillation, if there is one.
    pub period: Option<Period>,
}

impl Trace {
    /// Follows a model for `span` seconds.
    pub fn of(model: &Model, start: Start, span: f64) -> Result<Trace, Outside> {
        Trace::with_service(model, start, span, &[])
    }

    /// Follows a model from its equilibrium, pushed off it: by this share of its queue.
    pub fn disturbed(model: &Model, push: f64, span: f64) -> Result<Trace, Outside> {
        let mut state = model.equilibrium()?.state;
        state[QUEUE] *= 1.0 + push;
        Trace::solved(model, state, span, &[])
    }

    /// Follows a model whose service changes, in order of time.
    pub fn with_service(
        model: &Model,
        start: Start,
        span: f64,
        changes: &[Service],
    ) -> Result<Trace, Outside> {
        model.check()?;
        within("the queue at the start", start.queue, start.queue >= 0.0, "zero or more")?;
        within("the rate at the start", start.rate, start.rate >= 0.0, "zero or more")?;
        let mut state: State = [0.0; PLACES];
        state[QUEUE] = start.queue;
        state[RATE] = model.path().share() * start.rate;
        state[TARGET] = state[RATE].max(model.path().share());
        if matches!(model, Model::Dcqcn(_)) {
            state[ALPHA] = 1.0;
        }
        Trace::solved(model, state, span, changes)
    }

    fn solved(model: &Model, mut state: State, span: f64, changes: &[Service]) -> Result<Trace, Outside> {
        within("the time to look at", span, span > 0.0, "more than zero")?;
        model.confine(&mut state);
        let served = Served { model: *model, changes };
        let history = solve(&served, state, model.longest_delay(), span, model.step())?;
        let every = history.states().len().div_ceil(MOST_POINTS).max(1);
        let values = |of: &dyn Fn(&State) -> f64| history.states().iter().step_by(every).map(of).collect();
        Ok(Trace {
            step: history.step() * every as f64,
            queue: values(&|it| it[QUEUE]),
            rate: values(&|it| it[RATE] * 8.0),
        })
    }

    /// What it comes to, from a time on until another.
    pub fn summary(&self, model: &Model, from: f64, to: f64) -> Summary {
        let place = |time: f64| ((time / self.step).round() as usize).min(self.queue.len());
        let last = place(to);
        let first = place(from).min(last.saturating_sub(1));
        let queue = &self.queue[first..last];
        let per_flow = series::mean(&self.rate[first..last]).unwrap_or(0.0);
        Summary {
            mean: series::mean(queue).unwrap_or(0.0),
            deviation: series::deviation(queue).unwrap_or(0.0),
            load: per_flow * f64::from(model.path().flows) / model.path().capacity,
            period: series::period(queue, self.step),
        }
    }
}

/// A model whose queue is served at different rates at different times. Its parameters stay those of the model.
struct Served<'a> {
    model: Model,
    changes: &'a [Service],
}

impl System for Served<'_> {
    fn slope(&self, time: f64, now: &State, past: &Past<'_>) -> State {
        match self.changes.iter().rev().find(|it| it.from <= time) {
            None => self.model.slope(time, now, past),
            Some(change) => {
                let path = crate::Path { capacity: change.capacity, ..*self.model.path() };
                self.model.with_path(path).slope(time, now, past)
            }
        }
    }

    fn confine(&self, state: &mut State) {
        self.model.confine(state);
    }
}
