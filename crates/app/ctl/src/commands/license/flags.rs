//! What can be said to `stunnerctl license` alone.

use stunner_flags::flags;

flags! {}
