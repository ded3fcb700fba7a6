//! [`SimTime`]: the parameter that tells nodes to follow `/clock`, true as long as a player is there that wants it.
//!
//! Several players may want it. Each has an entry among the parameters of the master, and the first one keeps there
//! what the parameter was before. The last one that leaves restores that. A player that was killed leaves its entry;
//! its address does not answer any more, so others do not count it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dxr::Value;

use super::client::{MasterClient, locked_in_time};
use super::left::SimTimeLeft;
use super::presence::is_player;
use crate::ros1::rpc::error::RpcError;
use crate::ros1::rpc::uri::RpcUri;

const USE_SIM_TIME: &str = "/use_sim_time";
/// What players keep at the master.
const SHARED: &str = "/bagplay_use_sim_time";
/// In it: what the parameter was before the first player.
const BEFORE: &str = "before";
/// In it: the players, by their addresses.
const PLAYERS: &str = "players";
/// The most entries of other players that are looked at.
const MOST_PLAYERS: usize = 16;

/// The parameter `/use_sim_time`.
#[derive(Debug, Default)]
pub(crate) struct SimTime {
    /// What it was; `None` if it is not set by this node. Locked during calls.
    before: Mutex<Option<Before>>,
}

/// `None` if it was not set at all.
#[derive(Clone, PartialEq, Debug)]
struct Before(Option<Value>);

impl Before {
    fn into_value(self) -> Value {
        Value::Array(self.0.into_iter().collect())
    }

    fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Array(parts) if parts.len() < 2 => Some(Self(parts.first().cloned())),
            _ => None,
        }
    }
}

/// What players keep at the master.
#[derive(Debug, Default)]
struct Shared {
    before: Option<Before>,
    /// Names and addresses.
    players: Vec<(String, RpcUri)>,
}

impl Shared {
    fn read(client: &MasterClient) -> Result<Self, RpcError> {
        let Some(Value::Struct(shared)) = client.param(SHARED)? else {
            return Ok(Self::default());
        };
        let players = match shared.get(PLAYERS) {
            Some(Value::Struct(players)) => players.values().filter_map(player).collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            before: shared.get(BEFORE).and_then(Before::of_value),
            players,
        })
    }

    /// Whether another player needs the parameter.
    fn others(&self, client: &MasterClient, here: &RpcUri) -> Others {
        let others = self.players.iter().filter(|(_, uri)| uri != here);
        let mut unsure = None;
        for (asked, (name, uri)) in others.enumerate() {
            // More are not asked: their entries may be those of players that were killed.
            let found = if asked < MOST_PLAYERS {
                is_player(client, (name, uri))
            } else {
                None
            };
            match found {
                Some(true) => return Others::Need,
                Some(false) => {}
                None => unsure = unsure.or_else(|| Some(uri.to_string())),
            }
        }
        unsure.map_or(Others::None, Others::Unsure)
    }
}

/// Whether other players need the parameter.
enum Others {
    /// One is there.
    Need,
    None,
    /// It is not known whether the one at this address is there.
    Unsure(String),
}

fn player(entry: &Value) -> Option<(String, RpcUri)> {
    match entry {
        Value::Array(parts) => match parts.as_slice() {
            [Value::String(name), Value::String(uri)] => Some((name.clone(), uri.parse().ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// The name of the entry of a player. Names of nodes are not used: they may be parts of each other.
fn entry_of(here: &RpcUri) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let authority: String = here.authority().chars().map(letter).collect();
    format!("{SHARED}/{PLAYERS}/at_{authority}")
}

impl SimTime {
    fn lock(&self) -> MutexGuard<'_, Option<Before>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nodes that start follow `/clock`.
    pub(crate) fn is_true(client: &MasterClient) -> Result<bool, RpcError> {
        Ok(client.param(USE_SIM_TIME)? == Some(Value::Boolean(true)))
    }

    /// Makes it true. Nothing changes if this node has done so before.
    pub(crate) fn set(&self, client: &MasterClient, here: &RpcUri) -> Result<(), RpcError> {
        let mut held = self.lock();
        if held.is_some() {
            return Ok(());
        }
        hold(&mut held, client, here)
    }

    /// Makes it true again if the master was started again since it was set.
    pub(crate) fn keep(&self, client: &MasterClient, here: &RpcUri) -> Result<(), RpcError> {
        let mut held = self.lock();
        if held.is_none() {
            return Ok(());
        }
        let is_kept = client.param(&entry_of(here))?.is_some();
        if is_kept && client.param(USE_SIM_TIME)?.is_some() {
            return Ok(());
        }
        hold(&mut held, client, here)
    }

    /// Makes it what it was before the first player, unless another player needs it. Returns why it stays true, if no
    /// other player is known to need it.
    pub(crate) fn leave(
        &self,
        client: &MasterClient,
        here: &RpcUri,
    ) -> Result<Option<SimTimeLeft>, RpcError> {
        let Some(mut held) = locked_in_time(&self.before, client) else {
            return Err(RpcError::TimedOut);
        };
        let Some(own) = held.take() else {
            return Ok(None);
        };
        delete(client, &entry_of(here))?;
        let shared = Shared::read(client)?;
        match shared.others(client, here) {
            Others::Need => return Ok(None),
            Others::Unsure(uri) => return Ok(Some(SimTimeLeft::OtherPlayer { uri })),
            Others::None => {}
        }
        let Before(before) = shared.before.unwrap_or(own);
        match before {
            Some(value) => client.set_param(USE_SIM_TIME, Some(value))?,
            None => delete(client, USE_SIM_TIME)?,
        }
        // What stays there does no harm: the parameter is what it was.
        let _ = delete(client, SHARED);
        Ok(None)
    }
}

/// Makes it true. `held` is what it was, as far as this node has seen it, and is set before the master is asked for any
/// change.
fn hold(held: &mut Option<Before>, client: &MasterClient, here: &RpcUri) -> Result<(), RpcError> {
    // In this order: if another player has made it true meanwhile, its entry was there before.
    let now = client.param(USE_SIM_TIME)?;
    let shared = Shared::read(client)?;
    let is_true = now == Some(Value::Boolean(true));
    // If it is not true, no player has set it, whatever one that was killed has left. What this node has seen before
    // does not count: if the master was started again, the value is that of somebody else.
    let known = shared.before.clone().filter(|_| is_true);
    let before = known.unwrap_or(Before(now));
    *held = Some(before.clone());
    let entry = [&client.node, &here.to_string()].map(|text| Value::String(text.clone()));
    client.set_param(&entry_of(here), Some(Value::Array(entry.into())))?;
    if shared.before.as_ref() != Some(&before) {
        client.set_param(&format!("{SHARED}/{BEFORE}"), Some(before.into_value()))?;
    }
    client.set_param(USE_SIM_TIME, Some(Value::Boolean(true)))
}

/// Deletes a parameter; one that is not there is no error.
fn delete(client: &MasterClient, name: &str) -> Result<(), RpcError> {
    match client.set_param(name, None) {
        Err(RpcError::Refused { .. }) => Ok(()),
        done => done,
    }
}
