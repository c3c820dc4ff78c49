//! What can be said to `stunnerctl config` alone.

use stunner_flags::flags;

flags! {}
