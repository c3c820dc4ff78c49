//! What can be said to `stunnerctl status` alone.

use stunner_flags::flags;

flags! {}
