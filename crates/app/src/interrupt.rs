//! Ctrl-C, from the first moment on: the process ends with its own exit code, never by the signal.

use crate::exit::Exit;
use std::process;
use std::sync::Mutex;

type Action = Box<dyn Fn() + Send>;

/// What Ctrl-C does; without one it ends the process at once.
static ACTION: Mutex<Option<Action>> = Mutex::new(None);

/// Begins to listen. Comes first in `main`, so that there is no moment at which a signal is not answered.
pub(crate) fn listen() {
    let handler = || match ACTION.lock().expect("no thread panics while it holds this").as_ref() {
        Some(act) => act(),
        // Nothing was computed yet that could be kept.
        None => end(),
    };
    // Without a handler Ctrl-C simply ends the process; finished runs are on disk either way.
    let _ = ctrlc::set_handler(handler);
}

/// Does this at Ctrl-C from now on.
pub(crate) fn then(act: impl Fn() + Send + 'static) {
    *ACTION.lock().expect("no thread panics while it holds this") = Some(Box::new(act));
}

/// Ends the process at once.
pub(crate) fn end() -> ! {
    process::exit(i32::from(Exit::Interrupted.code()))
}
