//! Many runs: scenarios, how they are spread over machines, and how their records come together again.
