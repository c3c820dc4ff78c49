//! What can be said to `stunnerctl completion` alone.

use stunner_flags::flags;

flags! {}
