//! [`SimTime`]: the parameter that tells nodes to follow `/clock`, true as long as a player is there that wants it.
//!
//! Several players may want it. Each has an entry among the parameters of the master, and the first one keeps there
//! what the parameter was before. The last one that leaves restores that. A player that was killed leaves its entry;
//! its address does not answer any more, so others do not count it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dxr::Value;

use super::client::{MasterClient, locked_in_time};
use crate::ros1::rpc::client::call;
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
/// How long another player may take to tell its name.
const PATIENCE: Duration = Duration::from_millis(200);

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

    /// Whether another player is there.
    fn has_other(&self, client: &MasterClient, here: &RpcUri) -> bool {
        let others = self.players.iter().filter(|(_, uri)| uri != here);
        others.take(MOST_PLAYERS).any(|(name, uri)| {
            if client.patience() < PATIENCE {
                // Too many are asked that do not answer: to restore it matters more.
                return false;
            }
            let limits = (&client.waits, PATIENCE);
            let caller = vec![Value::String(client.node.clone())];
            match call(uri, limits, "getName", caller) {
                Ok(Value::String(answer)) => answer == *name,
                // It has connected: the player is there, and busy or stopped.
                Err(RpcError::TimedOut) => true,
                // No program is there any more, or another one.
                _ => false,
            }
        })
    }
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

    /// Makes it what it was before the first player, unless another player is there that wants it.
    pub(crate) fn leave(&self, client: &MasterClient, here: &RpcUri) -> Result<(), RpcError> {
        let Some(mut held) = locked_in_time(&self.before, client) else {
            return Err(RpcError::TimedOut);
        };
        let Some(own) = held.take() else {
            return Ok(());
        };
        delete(client, &entry_of(here))?;
        let shared = Shared::read(client)?;
        if shared.has_other(client, here) {
            return Ok(());
        }
        let Before(before) = shared.before.unwrap_or(own);
        match before {
            Some(value) => client.set_param(USE_SIM_TIME, Some(value))?,
            None => delete(client, USE_SIM_TIME)?,
        }
        // What stays there does no harm: the parameter is what it was.
        let _ = delete(client, SHARED);
        Ok(())
    }
}

/// Makes it true. `held` is what it was, as far as this node has seen it, and is set before the master is asked for any
/// change.
fn hold(held: &mut Option<Before>, client: &MasterClient, here: &RpcUri) -> Result<(), RpcError> {
    // In this order: if another player has made it true meanwhile, its entry was there before.
    let now = client.param(USE_SIM_TIME)?;
    let shared = Shared::read(client)?;
    let is_true = now == Some(Value::Boolean(true));
    let known = shared.before.clone().or_else(|| held.clone());
    // If it is not true, no player has set it, whatever one that was killed has left.
    let before = known.filter(|_| is_true).unwrap_or(Before(now));
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
