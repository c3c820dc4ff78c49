//! What can be said to `stunner init`.

use stunner_flags::flags;

flags! {
    HELP = super::HELP;
}
