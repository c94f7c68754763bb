//! Files of the site directory: the browser's code, the style sheet, icons, the road descriptions.

use std::path::Path;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

/// Serves the directory. A `.gz` beside a file is sent to whoever takes it. File names stay the same over builds,
/// so browsers ask each time whether theirs is still the newest; the answer is usually an empty 304.
pub(super) fn service(site_dir: &Path) -> Router {
    let files = ServeDir::new(site_dir).precompressed_gzip().append_index_html_on_directories(false);
    let revalidate = HeaderValue::from_static("no-cache");
    Router::new()
        .fallback_service(files)
        .layer(SetResponseHeaderLayer::if_not_present(CACHE_CONTROL, revalidate))
}
