//! What was said to the lift lately, newest first: by whom, what became of it, and what contradicts what.

use kernel::wire::view::LiftCommandView;
use leptos::prelude::*;

use super::brackets::{Bracket, brackets};
use crate::components::issuer::{edge_mark, issuer_mark};
use crate::components::lift_panel::{answer, rank};
use crate::i18n::Locale;
use crate::screen::Screen;

/// The list.
pub(super) fn commands(screen: Screen, commands: &[LiftCommandView]) -> AnyView {
    let locale = screen.locale.get();
    if commands.is_empty() {
        return view! { <p class="quiet pad">{locale.no_commands()}</p> }.into_any();
    }
    let rows = commands.iter().zip(brackets(commands));
    let rows = rows.map(|(command, bracket)| row(screen, command, bracket, note(locale, command, commands)));
    view! {
        <table class="small said">
            <thead><tr>
                <th class="bracket" scope="col"><span class="hidden-label">{locale.contradiction()}</span></th>
                <th scope="col">{locale.at()}</th>
                <th scope="col">{locale.issuer()}</th>
                <th scope="col">{locale.token()}</th>
                <th scope="col">{locale.command()}</th>
                <th scope="col">{locale.answer()}</th>
                <th scope="col">{locale.note()}</th>
            </tr></thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn row(screen: Screen, command: &LiftCommandView, bracket: Bracket, note: AnyView) -> impl IntoView + use<> {
    let locale = screen.locale.get();
    // The letter in the mark says a name of one letter already.
    let name = command.issuer.to_string();
    let issuer = name.clone();
    let name_class = if name.chars().count() == 1 { "hidden-label" } else { "" };
    let by = match command.token {
        Some(token) => view! { {rank(token)} }.into_any(),
        None => view! { <span class="by-edge">{edge_mark()} {locale.edge_arbitration()}</span> }.into_any(),
    };
    let class = if command.joined.is_some() { "joined" } else { "" };
    view! {
        <tr class=class data-command=command.id.to_string() data-issuer=issuer>
            <td class=bracket.class()></td>
            <td class="figure-left">{screen.clock.exact_time_of_day(command.at)}</td>
            <td class="by">{issuer_mark(screen, &command.issuer)} <span class=name_class>{name}</span></td>
            <td>{by}</td>
            <td>{format!("{} · {}", locale.lift_action(command.action), command.floor)}</td>
            <td>{answer(locale, command)}</td>
            <td class="note">{note}</td>
        </tr>
    }
}

/// What a row is about beside its answer: a contradiction, or a call that was joined.
fn note(locale: Locale, command: &LiftCommandView, all: &[LiftCommandView]) -> AnyView {
    let find = |id: &kernel::ids::CommandId| all.iter().find(|it| it.id == *id);
    if let Some(id) = &command.contradicts {
        let other = find(id).map(|it| (it.issuer.to_string(), (command.at - it.at).num_milliseconds()));
        let text = match other {
            Some((issuer, ms)) => locale.contradicts(&issuer, ms),
            None => locale.contradicts_unlisted(id.as_str()),
        };
        return view! { <span class="alert p2">{text}</span> }.into_any();
    }
    let Some(id) = &command.joined else { return ().into_any() };
    let whose = find(id).map_or_else(|| id.to_string(), |it| it.issuer.to_string());
    let outcome = command.verdict.as_ref().map(|it| format!(" · {}", locale.verdict(it)));
    view! { {locale.joined_call(&whose)} {outcome} }.into_any()
}
