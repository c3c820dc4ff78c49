//! What can be said to `stunnerctl sessions` alone.

use stunner_flags::flags;

flags! {}
