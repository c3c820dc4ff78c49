//! What can be said to `stunnerctl doctor` alone.

use stunner_flags::flags;

flags! {}
