//! A stage that runs only where its lookup wants it and the time that is left holds it.
//!
//! `select` wraps the stages that can be left out, so that neither the pipeline nor a stage asks.

use crate::engine::error::RunError;
use crate::engine::run::{
    HitStage, Known, Meter, Passages, Refiner, Rewriter, Run, UnderstandingMeter,
};
use crate::event::Part;

/// A stage with the name under which it is left out.
pub struct Limited<S>(pub Part, pub S);

impl<S: Rewriter> Rewriter for Limited<S> {
    fn rewrite(&mut self, run: &mut Run<'_>) -> Result<String, RunError> {
        if run.should_run(self.0, 0) {
            self.1.rewrite(run)
        } else {
            Ok(run.question.to_owned())
        }
    }
}

impl<S: HitStage> HitStage for Limited<S> {
    fn apply(&mut self, run: &mut Run<'_>, passages: Passages) -> Result<Passages, RunError> {
        if run.should_run(self.0, passages.hits.len()) {
            self.1.apply(run, passages)
        } else {
            Ok(passages)
        }
    }
}

impl<S: UnderstandingMeter> UnderstandingMeter for Limited<S> {
    fn measure(&mut self, run: &mut Run<'_>, passages: &Passages) -> Result<Known, RunError> {
        if run.should_run(self.0, passages.hits.len()) {
            self.1.measure(run, passages)
        } else {
            Ok(None)
        }
    }
}

impl<S: Refiner> Refiner for Limited<S> {
    fn refine(
        &mut self,
        run: &mut Run<'_>,
        passages: Passages,
        understood: Known,
    ) -> Result<Passages, RunError> {
        if run.should_run(self.0, passages.hits.len()) {
            self.1.refine(run, passages, understood)
        } else {
            Ok(passages)
        }
    }
}

impl<S: Meter> Meter for Limited<S> {
    fn measure(&mut self, run: &mut Run<'_>, passages: &Passages) -> Result<(), RunError> {
        if run.should_run(self.0, passages.hits.len()) {
            self.1.measure(run, passages)
        } else {
            Ok(())
        }
    }
}
