//! The run: `ask()`, straight down the page, and the thread that owns the models.
