//! The program under test: it is started, watched and ended.
