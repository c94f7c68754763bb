//! The control nodes: who serves this page, who else runs, and who is missing. One node alone is named and no more.

use kernel::ids::NodeId;
use kernel::wire::view::{NodeStanding, PeerView};
use leptos::prelude::*;

use crate::i18n::Locale;
use crate::screen::Screen;

/// Id of the table, for the button that opens it.
const PANEL_ID: &str = "node-panel";

/// The names in the strip; a button that opens the table when there are several.
pub(crate) fn node_names(screen: Screen, opened: RwSignal<bool>) -> impl IntoView {
    let serving = move || screen.store.node.read().id.to_string();
    let names = move || {
        let peers = screen.store.peers.get();
        peers.into_iter().map(|peer| node_name(screen, peer)).collect_view()
    };
    view! {
        <Show when=move || screen.has_peers() fallback=serving>
            <button type="button" class="node-list" aria-controls=PANEL_ID
                aria-expanded=move || opened.get().to_string()
                on:click=move |_| opened.update(|it| *it = !*it)>
                {names}
                <span class="chevron" aria-hidden="true"></span>
            </button>
        </Show>
    }
}

/// One name: bare while its node runs, with a mark, a word and an age when it is missing.
fn node_name(screen: Screen, peer: PeerView) -> impl IntoView {
    let here = is_serving(screen, &peer.id);
    let (standing, since, n_tasks) = (peer.standing, peer.since, peer.tasks);
    let cut_off = is_cut_off(&peer);
    let state = move || {
        let locale = screen.locale.get();
        let word = locale.node_standing(standing);
        match standing {
            NodeStanding::Running => cut_off.then(|| format!(" {}", locale.hears_no_broker())),
            NodeStanding::Stopped => Some(format!(" {word}")),
            NodeStanding::Silent | NodeStanding::Lost => {
                Some(format!(" {word} {}", screen.clock.span_since(since, locale)))
            }
        }
    };
    let tasks = move || screen.locale.get().node_tasks(n_tasks);
    view! {
        <span class=format!("node {}", class_of(standing, cut_off)) data-node=peer.id.to_string()
            data-standing=standing_code(standing)>
            <span class="node-id">{peer.id.to_string()}</span>
            {state}
            {here.then(|| view! { <span class="quiet">" · " {screen.text(Locale::this_page)}</span> })}
            <span class="node-tasks">" · " {tasks}</span>
        </span>
    }
}

/// The table behind the names.
pub(crate) fn node_panel(screen: Screen, opened: RwSignal<bool>) -> impl IntoView {
    let rows = move || {
        let peers = screen.store.peers.get();
        peers.into_iter().map(|peer| node_row(screen, peer)).collect_view()
    };
    view! {
        <Show when=move || screen.has_peers()>
            <section class="node-panel" id=PANEL_ID aria-label=screen.text(Locale::nodes)
                hidden=move || !opened.get()>
                <table>
                    <thead><tr>
                        <th scope="col">{screen.text(Locale::node)}</th>
                        <th scope="col">{screen.text(Locale::state_of_task)}</th>
                        <th scope="col">{screen.text(Locale::since)}</th>
                        <th scope="col">{screen.text(Locale::last_beat)}</th>
                        <th scope="col">{screen.text(Locale::claimed_tasks)}</th>
                        <th scope="col">{screen.text(Locale::version)}</th>
                    </tr></thead>
                    <tbody>{rows}</tbody>
                </table>
            </section>
        </Show>
    }
}

fn node_row(screen: Screen, peer: PeerView) -> impl IntoView {
    let here = is_serving(screen, &peer.id);
    let (standing, since, heard_at) = (peer.standing, peer.since, peer.heard_at);
    let cut_off = is_cut_off(&peer);
    let age = move |at| {
        let locale = screen.locale.get();
        screen.clock.seconds_since(at).map(|seconds| locale.age(&locale.span(seconds)))
    };
    let heard = move || heard_at.and_then(age);
    let word = move || {
        let locale = screen.locale.get();
        if cut_off { locale.hears_no_broker() } else { locale.node_standing(standing) }
    };
    let meaning = move || {
        let locale = screen.locale.get();
        if cut_off { locale.hears_no_broker_meaning() } else { locale.node_standing_meaning(standing) }
    };
    view! {
        <tr>
            <th scope="row">
                {peer.id.to_string()}
                {here.then(|| view! { <span class="quiet">" " {screen.text(Locale::this_page)}</span> })}
            </th>
            <td>
                <span class=class_of(standing, cut_off)>{word}</span>
                <span class="quiet">{meaning}</span>
            </td>
            <td>{move || screen.clock.span_since(since, screen.locale.get())}</td>
            <td>{heard}</td>
            <td>{peer.tasks}</td>
            <td>{peer.version.unwrap_or_default()}</td>
        </tr>
    }
}

/// Who claims a task, where that can be one of several; marked when that node is missing.
pub(crate) fn claimant(screen: Screen, id: &NodeId) -> impl IntoView + use<> {
    let name = id.to_string();
    let standing = screen.store.peers.read().iter().find(|peer| peer.id == *id).map(|peer| peer.standing);
    let class = standing.map_or("", standing_class);
    let label = move || {
        let locale = screen.locale.get();
        let state = standing.map(|it| locale.node_standing(it)).unwrap_or_default();
        format!("{} {state}", locale.claimed_by())
    };
    view! { <span class=class><span class="hidden-label">{label} " "</span>{name}</span> }
}

fn is_serving(screen: Screen, id: &NodeId) -> bool {
    screen.store.node.read().id == *id
}

/// It runs, and the broker does not reach it: so neither do vehicles and gateways.
fn is_cut_off(peer: &PeerView) -> bool {
    peer.standing == NodeStanding::Running && peer.hears_broker == Some(false)
}

fn class_of(standing: NodeStanding, cut_off: bool) -> &'static str {
    if cut_off { standing_class(NodeStanding::Silent) } else { standing_class(standing) }
}

/// Grey unless somebody is missing: a lost node leaves the site without its second.
fn standing_class(standing: NodeStanding) -> &'static str {
    match standing {
        NodeStanding::Running | NodeStanding::Stopped => "",
        NodeStanding::Silent => "alert missing p3",
        NodeStanding::Lost => "alert missing p2",
    }
}

fn standing_code(standing: NodeStanding) -> &'static str {
    match standing {
        NodeStanding::Running => "running",
        NodeStanding::Silent => "silent",
        NodeStanding::Stopped => "stopped",
        NodeStanding::Lost => "lost",
    }
}
