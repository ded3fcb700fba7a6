//! [`SimTime`]: the parameter that tells nodes to follow `/clock`, true as long as a node is there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dxr::Value;

use super::client::MasterClient;
use crate::ros1::rpc::error::RpcError;

const USE_SIM_TIME: &str = "/use_sim_time";

/// The parameter `/use_sim_time`.
#[derive(Debug, Default)]
pub(crate) struct SimTime {
    /// What it was; `None` if it is not set by this node. Locked during calls.
    before: Mutex<Option<Before>>,
}

/// `None` if it was not set at all.
#[derive(Debug)]
struct Before(Option<Value>);

impl SimTime {
    fn lock(&self) -> MutexGuard<'_, Option<Before>> {
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nodes that start follow `/clock`.
    pub(crate) fn is_true(client: &MasterClient) -> Result<bool, RpcError> {
        Ok(client.param(USE_SIM_TIME)? == Some(Value::Boolean(true)))
    }

    /// Makes it true.
    pub(crate) fn set(&self, client: &MasterClient) -> Result<(), RpcError> {
        let mut before = self.lock();
        let value = client.param(USE_SIM_TIME)?;
        client.set_param(USE_SIM_TIME, Some(Value::Boolean(true)))?;
        *before = Some(Before(value));
        Ok(())
    }

    /// Makes it true again if it was set and is not there any more: the master was started again.
    pub(crate) fn keep(&self, client: &MasterClient) -> Result<(), RpcError> {
        let mut before = self.lock();
        if before.is_some() && client.param(USE_SIM_TIME)?.is_none() {
            client.set_param(USE_SIM_TIME, Some(Value::Boolean(true)))?;
            *before = Some(Before(None));
        }
        Ok(())
    }

    /// Makes it what it was.
    pub(crate) fn restore(&self, client: &MasterClient) -> Result<(), RpcError> {
        match self.lock().take() {
            Some(Before(value)) => client.set_param(USE_SIM_TIME, value),
            None => Ok(()),
        }
    }
}
