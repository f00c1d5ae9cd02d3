//! The state of the screen, and its reaction to keys, mouse and records. Nothing here touches a
//! terminal: a change outside is returned as an [`Effect`].

mod effect;
mod behind;
mod pace;
mod base;
mod drawing;
mod clock;
mod look;
mod page;
mod replay;
mod thread;
mod folder;
mod models;
mod overlay;
mod ask;
mod filter;
mod diagnosis;
mod offer;
mod tour;
mod records;
mod input;

pub use base::App;
pub use effect::Effect;

use super::keys::{Action, action_list};
use super::overlays;
use super::pane::Pane;

macro_rules! dispatch {
    ($($action:ident = $name:literal $context:ident [$($key:literal),*] $doc:literal => $does:expr;)+) => {
        impl Action {
            /// Runs an action, as the list of actions declares it.
            fn run(self, app: &mut App) {
                let does: fn(&mut App) = match self { $(Self::$action => $does),+ };
                does(app);
            }
        }
    };
}

action_list!(dispatch);
