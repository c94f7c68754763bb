//! The acknowledgement budget: what an answer may take, in its four parts, and how much of it is used.

use kernel::timing::LinkBudget;
use leptos::prelude::*;

use crate::components::section::pct;
use crate::i18n::Locale;

/// Between two parts.
const GAP_PCT: f64 = 1.0;

/// A text in whichever language.
type Text = fn(Locale) -> &'static str;

/// A part of the budget, in percent of the whole.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) name: Text,
    pub(crate) share_pct: f64,
    /// How much of this part is used.
    pub(crate) used_pct: f64,
}

/// The four parts, used from the first to the last.
pub(crate) fn parts(budget: &LinkBudget, used_ms: u64) -> [Part; 4] {
    let spans: [(Text, u64); 4] = [
        (Locale::budget_transport, budget.transport_ms.times(2).0),
        (Locale::budget_execution, budget.execution_ms.0),
        (Locale::budget_lift, budget.lift_ms.0),
        (Locale::budget_roaming, budget.roaming_ms.0),
    ];
    let whole = budget.ack_deadline().0.max(1) as f64;
    let mut before = 0;
    spans.map(|(name, span)| {
        let used = used_ms.saturating_sub(before).min(span);
        before += span;
        Part {
            name,
            share_pct: span as f64 / whole * 100.0,
            used_pct: used as f64 / span.max(1) as f64 * 100.0,
        }
    })
}

/// The bar. `label` says the same in words. Drawn with attributes: the content security policy takes no styles.
pub(crate) fn bar(parts: [Part; 4], locale: Locale, label: String) -> impl IntoView {
    let mut left = 0.0;
    let drawn = parts.map(|part| {
        let (x, width) = (left, part.share_pct);
        left += width;
        let used = width * part.used_pct / 100.0;
        view! {
            <g>
                <title>{(part.name)(locale)}</title>
                <rect class="part" x=pct(x) width=pct(width - GAP_PCT) height="100%"/>
                <rect class="used" x=pct(x) width=pct((used - GAP_PCT).max(0.0)) height="100%"/>
            </g>
        }
    });
    view! { <svg class="budget" role="img" aria-label=label>{drawn.into_iter().collect_view()}</svg> }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_used_one_after_the_other() {
        let rows = [
            (0, [0.0, 0.0, 0.0, 0.0]),
            (1_500, [50.0, 0.0, 0.0, 0.0]),
            (8_000, [100.0, 50.0, 0.0, 0.0]),
            (23_000, [100.0, 100.0, 100.0, 0.0]),
            (90_000, [100.0, 100.0, 100.0, 100.0]),
        ];
        for (used_ms, expected) in rows {
            assert_eq!(
                parts(&LinkBudget::REPORTED, used_ms).map(|part| part.used_pct),
                expected,
                "{used_ms}"
            );
        }
    }

    #[test]
    fn shares_make_up_the_whole() {
        let sum: f64 = parts(&LinkBudget::REPORTED, 0).iter().map(|part| part.share_pct).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{sum}");
    }
}
