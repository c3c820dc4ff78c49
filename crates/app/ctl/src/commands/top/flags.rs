//! What can be said to `stunnerctl top` alone.

use stunner_flags::flags;

flags! {}
