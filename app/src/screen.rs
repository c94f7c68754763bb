//! What every part of the screen shares.

use kernel::ids::LiftId;
use leptos::prelude::*;
use wasm_bindgen::JsCast;

use crate::boot::{Boot, CANVAS_COOKIE, Canvas, LOCALE_COOKIE, Page};
use crate::clock::Clock;
use crate::i18n::Locale;
use crate::live::{self, Link};
use crate::store::Store;

/// Cookies of the screen live this long: a year.
const COOKIE_MAX_AGE_S: u32 = 31_536_000;

/// The shared signals of one browser tab.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) link: RwSignal<Link>,
    pub(crate) locale: RwSignal<Locale>,
    pub(crate) canvas: RwSignal<Canvas>,
    /// The lift whose details are shown; none means the first.
    pub(crate) selected: RwSignal<Option<LiftId>>,
}

impl Screen {
    pub(crate) fn new(boot: Boot) -> Self {
        let selected = match &boot.page {
            Page::Lift(id) => Some(id.clone()),
            Page::Overview | Page::NoSuchLift(_) => None,
        };
        let screen = Self {
            store: Store::new(boot.snapshot),
            clock: Clock::new(),
            link: RwSignal::new(Link::Connecting),
            locale: RwSignal::new(boot.locale),
            canvas: RwSignal::new(boot.canvas),
            selected: RwSignal::new(selected),
        };
        // Effects run in the browser alone, after hydration: neither clock nor stream disturbs it.
        Effect::new(move |started: Option<()>| {
            if started.is_none() {
                screen.clock.start(&screen.store.plant.get_untracked().time_zone);
                live::start(screen.store, screen.clock, screen.link, boot.build.clone());
            }
        });
        Effect::new(move |_| keep("lang", LOCALE_COOKIE, screen.locale.get().code()));
        Effect::new(move |_| keep("data-canvas", CANVAS_COOKIE, screen.canvas.get().code()));
        Effect::new(move |_| set_root_attribute("data-link", link_code(screen.link.get())));
        screen
    }

    /// A fixed text in the present language.
    pub(crate) fn text(
        self,
        text: fn(Locale) -> &'static str,
    ) -> impl Fn() -> &'static str + Copy + Send + Sync {
        move || text(self.locale.get())
    }

    /// The lift whose details are shown.
    pub(crate) fn shown_lift(self) -> Option<LiftId> {
        let lifts = self.store.lifts.read();
        self.selected.get().filter(|id| lifts.contains_key(id)).or_else(|| lifts.keys().next().cloned())
    }

    /// Everything on the screen is a drill.
    pub(crate) fn is_drill(self) -> bool {
        self.store.node.read().drill
    }

    /// More control nodes than one ever took part, so it matters which is meant.
    pub(crate) fn has_peers(self) -> bool {
        self.store.peers.read().len() > 1
    }

    /// What is seen is what is: frames come.
    pub(crate) fn is_live(self) -> bool {
        self.link.get() == Link::Live
    }
}

fn link_code(link: Link) -> &'static str {
    match link {
        Link::Connecting => "connecting",
        Link::Live => "live",
        Link::Stale => "stale",
        Link::Lost => "lost",
        Link::Incompatible => "incompatible",
    }
}

/// Shows a choice at the root element and keeps it for the next visit, where the server reads it.
fn keep(attribute: &str, cookie: &str, value: &str) {
    set_root_attribute(attribute, value);
    let text = format!("{cookie}={value}; Path=/; Max-Age={COOKIE_MAX_AGE_S}; SameSite=Lax");
    let kept = document().unchecked_into::<web_sys::HtmlDocument>().set_cookie(&text);
    if kept.is_err() {
        leptos::logging::warn!("the browser keeps no cookie: {cookie} is forgotten with this tab");
    }
}

fn set_root_attribute(name: &str, value: &str) {
    let root = document().document_element();
    if root.is_some_and(|root| root.set_attribute(name, value).is_err()) {
        leptos::logging::warn!("the root element took no attribute {name}");
    }
}
