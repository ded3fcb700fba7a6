//! What the script moves over a plot: the line at the pointer, the part that is selected, and the text beside them.

use maud::{Markup, html};

/// Goes into each plot, behind everything else.
pub(super) fn pointer() -> Markup {
    html! {
        div.selection hidden {}
        div.cursor hidden {}
        div.tip hidden {}
    }
}

/// The controls of all plots over the same time. Without a script they are not shown.
pub(super) fn zoom() -> Markup {
    html! {
        div.zoom hidden {
            span.range aria-live="polite" {}
            button type="button" data-zoom="out" aria-label="Zoom out" { "−" }
            button type="button" data-zoom="in" aria-label="Zoom in" { "+" }
            button type="button" data-zoom="all" { "All" }
        }
    }
}
