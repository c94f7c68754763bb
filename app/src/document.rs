//! The document around the page; the server alone writes it.

use leptos::prelude::*;

use crate::boot::{Boot, Page};
use crate::i18n::Locale;
use crate::page::{BOOT_ID, body};

/// The whole document around the body. The only scripts are files of the site itself.
pub(crate) fn document(boot: Boot, boot_json: String) -> impl IntoView {
    // In both languages: the tab keeps its title when the language changes.
    let mark = if boot.snapshot.node.drill { "演习 DRILL · " } else { "" };
    let place = match &boot.page {
        Page::Overview => String::new(),
        Page::Lift(lift) => format!("{lift} · "),
        Page::NoSuchLift(_) => "404 · ".to_owned(),
    };
    let title = format!("{mark}{place}{} · Hoistway", boot.snapshot.plant.name);
    let (locale, canvas) = (boot.locale, boot.canvas);
    view! {
        <!DOCTYPE html>
        <html lang=locale.code() data-canvas=canvas.code() data-link="connecting">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <title>{title}</title>
                <link rel="icon" href="/icon.svg" type="image/svg+xml"/>
                <link rel="stylesheet" href="/style.css"/>
                <link rel="modulepreload" href="/pkg/hoistway.js"/>
                <script id=BOOT_ID type="application/json" inner_html=boot_json></script>
                <script type="module" src="/pkg/start.js" data-failed=not_started(locale)></script>
            </head>
            <body>
                {body(boot)}
                <noscript><p class="no-script">{no_script(locale)}</p></noscript>
            </body>
        </html>
    }
}

fn no_script(locale: Locale) -> &'static str {
    match locale {
        Locale::ZhCn => "浏览器未启用脚本:以下为页面生成时的状态,不会更新。",
        Locale::En => {
            "Scripts are off in this browser: this is the state when the page was made, and it will not change."
        }
    }
}

/// What `start.js` shows when the program does not start.
fn not_started(locale: Locale) -> &'static str {
    match locale {
        Locale::ZhCn => "页面程序未能启动:以下状态不会更新,请重新加载。",
        Locale::En => "The page's program did not start: what you see will not change. Load the page again.",
    }
}
