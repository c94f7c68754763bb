//! The two languages and how one of them is chosen.

use serde::{Deserialize, Serialize};

/// Language of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Locale {
    /// Simplified Chinese.
    #[default]
    ZhCn,
    /// English.
    En,
}

impl Locale {
    /// BCP 47 code, for the `lang` attribute and the cookie.
    pub fn code(self) -> &'static str {
        match self {
            Self::ZhCn => "zh-CN",
            Self::En => "en",
        }
    }

    /// The locale of a code that [`Self::code`] wrote.
    pub fn by_code(code: &str) -> Option<Self> {
        [Self::ZhCn, Self::En].into_iter().find(|it| it.code() == code)
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::ZhCn => Self::En,
            Self::En => Self::ZhCn,
        }
    }

    /// The best match of an `Accept-Language` header; none when it asks for neither.
    pub fn by_accept_language(header: &str) -> Option<Self> {
        let mut best: Option<(u16, Self)> = None;
        for range in header.split(',') {
            let (tag, params) = range.trim().split_once(';').unwrap_or((range.trim(), ""));
            let Some(locale) = Self::by_primary_tag(tag) else { continue };
            let rank = weight(params);
            if rank > 0 && best.is_none_or(|(highest, _)| rank > highest) {
                best = Some((rank, locale));
            }
        }
        best.map(|(_, locale)| locale)
    }

    fn by_primary_tag(tag: &str) -> Option<Self> {
        match tag.split('-').next()?.to_ascii_lowercase().as_str() {
            "zh" => Some(Self::ZhCn),
            "en" => Some(Self::En),
            _ => None,
        }
    }
}

/// Thousandths of a `q` parameter; a missing or broken one counts as 1.
fn weight(params: &str) -> u16 {
    let text = params.split(';').find_map(|it| it.trim().strip_prefix("q="));
    let value: f32 = text.and_then(|it| it.trim().parse().ok()).unwrap_or(1.0);
    (value.clamp(0.0, 1.0) * 1000.0) as u16
}
