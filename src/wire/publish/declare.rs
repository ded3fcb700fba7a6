//! What a [`Session`] declares for an output: publishers and the clock; and which zenoh session their messages
//! use.

use std::sync::Arc;

use crate::ros::Reliability;

use super::monitor::Row;
use super::publisher::{Spec, TopicPublisher};
use super::stalls::Stalls;
use super::wire_output::{Line, WireOutput};
use crate::wire::clock::clock_topic::Clock;
use crate::wire::error::WireError;
use crate::wire::net::blocking_session::{Lanes, Patient};
use crate::wire::net::zenoh_config;
use crate::wire::options::{ClockOptions, Congestion};
use crate::wire::rmw_zenoh::advertise::Planned;
use crate::wire::session::{LINK_PATIENCE, Session};

impl Session {
    /// The zenoh sessions for messages. The session for blocking puts is opened when a topic first needs it.
    pub(crate) fn lanes(&self, waits: bool) -> Result<Lanes, WireError> {
        let mut patient = self.patient();
        let timeout = self.options.stall_timeout;
        if waits
            && patient.is_none()
            && self.options.congestion == Congestion::Block
            && let Some(config) = zenoh_config::patient(self.config.clone(), timeout)?
        {
            let patience = self.is_answered.then_some(LINK_PATIENCE);
            *patient = Some(Patient::open(config, &self.path, &self.events, patience)?);
        }
        let patient = patient.as_ref().map(|patient| patient.zenoh.clone());
        Ok(Lanes {
            main: self.zenoh.clone(),
            patient: patient.filter(|_| waits),
        })
    }

    /// The clock of an output. In line with messages it waits for room as they do, if any of them does.
    pub(crate) fn clock(
        &self,
        output: &WireOutput,
        spec: Spec,
        options: ClockOptions,
    ) -> Result<Clock, WireError> {
        let spec = Spec {
            waits: output.waits,
            ..spec
        };
        let lanes = self.lanes(output.waits)?;
        let stalls = output.stalls.clone();
        Clock::start(&lanes, &spec, options, &self.events, stalls)
    }

    pub(crate) fn output(
        &self,
        planned: &[Planned],
        clock: Option<ClockOptions>,
        mut spec: impl FnMut(&Planned) -> Spec,
    ) -> Result<WireOutput, WireError> {
        // A message that must follow its clock takes the same way, whatever its profile.
        let is_in_line = clock.is_some_and(|clock| clock.per_message);
        let is_reliable = |one: &Planned| one.qos.reliability == Reliability::Reliable;
        let waits = is_in_line || planned.iter().any(is_reliable);
        let lanes = self.lanes(waits)?;
        let (graph, events) = (self.graph.clone(), self.events.clone());
        let timeout = self.options.stall_timeout;
        let stalls = Stalls::new(graph, events, timeout, lanes.patient.clone());
        let mut output = WireOutput {
            lines: Vec::with_capacity(planned.len()),
            routes: Vec::new(),
            clock: None,
            generation: None,
            graph: self.graph.clone(),
            events: self.events.clone(),
            stalls,
            waits,
            is_closed: false,
        };
        let mut waiting = Vec::new();
        for (index, one) in planned.iter().enumerate() {
            let mut spec = spec(one);
            spec.waits |= is_in_line;
            let (ids, name) = (one.ids.clone(), one.name.clone());
            let row = Arc::new(match spec.token {
                Some(_) => Row::ros(ids, name, one.qos),
                None => Row::plain(ids, name),
            });
            let publisher = TopicPublisher::declare(&lanes, &spec, &self.events, Some(&row))?;
            let is_cdr = spec.token.is_some();
            if spec.waits {
                waiting.push(Arc::clone(&row));
            }
            output.lines.push(Line {
                publisher,
                row,
                is_cdr,
                has_complained: false,
            });
            for id in &one.ids {
                if output.routes.len() <= id.index() {
                    output.routes.resize(id.index() + 1, None);
                }
                output.routes[id.index()] = Some(index);
            }
        }
        output.stalls.watch(waiting);
        Ok(output)
    }
}
