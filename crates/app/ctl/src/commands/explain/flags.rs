//! What can be said to `stunnerctl explain` alone.

use stunner_flags::flags;

flags! {}
