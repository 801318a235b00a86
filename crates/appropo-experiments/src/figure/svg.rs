//! The few shapes figures are drawn with, and their pixels.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// PNGs are drawn with the first, which is built in, so they need no fonts on the machine.
pub const FONT_FAMILY: &str = "DejaVu Sans, Verdana, Helvetica, sans-serif";
pub const INK: &str = "#262626";

pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Two decimals, less those that are zero.
pub fn number(x: f64) -> String {
    let fixed = format!("{x:.2}");
    match fixed.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".into(),
        short => short.into(),
    }
}

pub fn place((x, y): (f64, f64)) -> String {
    format!("{} {}", number(x), number(y))
}

/// A path through the points, to be stroked or filled.
pub fn through(points: &[(f64, f64)]) -> String {
    let places: Vec<String> = points.iter().map(|point| place(*point)).collect();
    if places.is_empty() { String::new() } else { format!("M{}", places.join("L")) }
}

pub fn stroke(path: &str, color: &str, width: f64, dashes: &str) -> String {
    let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\" \
         stroke-linejoin=\"round\"{dashes}/>\n"
    )
}

pub fn rectangle((x, y): (f64, f64), (width, height): (f64, f64), fill: &str) -> String {
    let [x, y, width, height] = [x, y, width, height].map(number);
    format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>\n")
}

/// In the colour around it, ink unless another is set.
pub fn text(x: f64, y: f64, size: f64, anchor: Anchor, words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let [x, y, size] = [x, y, size].map(number);
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{}</text>\n",
        escape(words)
    )
}

/// Text that reads upwards, its middle at the place.
pub fn upward_text(at: (f64, f64), size: f64, words: &str) -> String {
    let words = text(0.0, 0.0, size, Anchor::Middle, words);
    format!("<g transform=\"translate({}) rotate(-90)\">{words}</g>\n", place(at))
}

pub fn translate(x: f64, y: f64, shapes: &str) -> String {
    format!("<g transform=\"translate({})\">\n{shapes}</g>\n", place((x, y)))
}

/// Shapes cut off at the edges of a box whose corner is the origin. A nested image cuts without an id, so that
/// several figures can share a page.
pub fn clip((width, height): (f64, f64), shapes: &str) -> String {
    format!("<svg width=\"{}\" height=\"{}\">\n{shapes}</svg>\n", number(width), number(height))
}

fn escape(words: &str) -> String {
    let mut escaped = String::new();
    for letter in words.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            // XML allows no control characters, not even escaped.
            _ if letter.is_control() => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Pixels of an SVG, `scale` of them to one of its units.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    let mut options = Options::default();
    options.fontdb_mut().load_font_data(dejavu::sans::regular().to_vec());
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size().to_int_size().scale_by(scale);
    let mut pixels = size
        .and_then(|size| Pixmap::new(size.width(), size.height()))
        .ok_or_else(|| format!("no picture is {scale} times the size of this one"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}
