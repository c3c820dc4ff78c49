//! What can be said to `stunnerctl auth` alone.

use stunner_flags::flags;

flags! {}
