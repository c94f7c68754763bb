//! What the server hands to the browser with the page: the same values on both sides, so that hydration matches.

use kernel::ids::LiftId;
use kernel::wire::live::Snapshot;
use serde::{Deserialize, Serialize};

use crate::i18n::Locale;

/// Name of the cookie that keeps the language.
pub const LOCALE_COOKIE: &str = "hoistway_lang";
/// Name of the cookie that keeps the canvas.
pub const CANVAS_COOKIE: &str = "hoistway_canvas";

/// Background of the screen. A person switches it, never the operating system: a control room dims at night.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Canvas {
    /// Light grey.
    #[default]
    Day,
    /// Dark grey.
    Night,
}

impl Canvas {
    /// Value of the `data-canvas` attribute and of the cookie.
    pub fn code(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Night => "night",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Day => Self::Night,
            Self::Night => Self::Day,
        }
    }
}

/// Which page of the site it is; its address says so, and a link leads from each to the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Page {
    /// `/`: the whole site.
    #[default]
    Overview,
    /// `/lifts/{lift}`: one lift.
    Lift(LiftId),
    /// Where a lift was looked for that the site does not have: what was asked for.
    NoSuchLift(String),
}

/// Everything that the first paint shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Boot {
    /// What the node knew when it rendered the page.
    pub snapshot: Snapshot,
    /// The server's build, as its `hello` says it: another one makes the browser reload.
    pub build: String,
    /// Language of the first paint.
    pub locale: Locale,
    /// Canvas of the first paint.
    pub canvas: Canvas,
    /// Which page.
    pub page: Page,
}

impl Boot {
    /// Chooses language and canvas by the request's `Cookie` and `Accept-Language` headers. A cookie wins; without
    /// any hint the page is Chinese and the canvas is day.
    pub fn for_request(
        snapshot: Snapshot,
        build: &str,
        cookies: Option<&str>,
        accept_language: Option<&str>,
    ) -> Self {
        let cookie = |name| cookies.and_then(|header| cookie_value(header, name));
        let locale = cookie(LOCALE_COOKIE).and_then(Locale::by_code);
        let canvas = match cookie(CANVAS_COOKIE) {
            Some("night") => Canvas::Night,
            Some(_) | None => Canvas::Day,
        };
        let locale = locale.or_else(|| accept_language.and_then(Locale::by_accept_language));
        let (build, locale) = (build.to_owned(), locale.unwrap_or_default());
        Self { snapshot, build, locale, canvas, page: Page::Overview }
    }

    /// The same for another page than the overview.
    #[must_use]
    pub fn at(self, page: Page) -> Self {
        Self { page, ..self }
    }

    /// JSON that may stand inside a script element: no `<` is left that could end it.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    pub fn to_script_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)?.replace('<', "\\u003c"))
    }
}

fn cookie_value<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_cookie_wins_over_the_browser_and_the_browser_over_the_default() {
        let rows: &[(Option<&str>, Option<&str>, Locale, Canvas)] = &[
            (None, None, Locale::ZhCn, Canvas::Day),
            (None, Some("en-GB,en;q=0.8,zh;q=0.5"), Locale::En, Canvas::Day),
            (None, Some("fr-FR, de"), Locale::ZhCn, Canvas::Day),
            (None, Some("fr, zh-TW;q=0.9, en;q=0.8"), Locale::ZhCn, Canvas::Day),
            (None, Some("zh-CN;q=0.2, en;q=0.9"), Locale::En, Canvas::Day),
            (None, Some("en;q=0, zh"), Locale::ZhCn, Canvas::Day),
            (Some("a=1; hoistway_lang=en"), Some("zh-CN"), Locale::En, Canvas::Day),
            (Some("hoistway_canvas=night"), Some("en"), Locale::En, Canvas::Night),
            (Some("hoistway_canvas=pink; hoistway_lang=xx"), None, Locale::ZhCn, Canvas::Day),
        ];
        for (cookies, accept, locale, canvas) in rows {
            let boot = Boot::for_request(sample::snapshot(), "b1", *cookies, *accept);
            assert_eq!((boot.locale, boot.canvas), (*locale, *canvas), "{cookies:?} {accept:?}");
        }
    }

    #[test]
    fn no_text_of_the_site_can_end_the_script_element() {
        let mut snapshot = sample::snapshot();
        snapshot.plant.name = "</script><script>alert(1)</script>".to_owned();
        let boot = Boot::for_request(snapshot, "b1", None, None);
        let boot = boot.at(Page::NoSuchLift("</script>".to_owned()));
        let json = boot.to_script_json().unwrap();
        assert!(!json.contains('<'), "{json}");
        assert_eq!(serde_json::from_str::<Boot>(&json).unwrap(), boot);
    }
}
