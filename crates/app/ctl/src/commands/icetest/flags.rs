//! What can be said to `stunnerctl icetest` alone.

use stunner_flags::flags;

flags! {}
