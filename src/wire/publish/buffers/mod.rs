//! What the system still holds of the links of this process.

mod socket_diag;
pub(super) mod sockets;
