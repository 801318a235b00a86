use serde_json::Value;

use super::*;

const DATA_START: &str = r#"<script type="application/json" id="data">"#;

/// The data as a browser finds them: up to the first end of a script.
fn data_of(page: &str) -> Value {
    let (_, after) = page.split_once(DATA_START).unwrap();
    serde_json::from_str(after.split_once("</script").unwrap().0).unwrap()
}

fn named(name: &str) -> Page {
    Page { name: name.into(), ..Page::default() }
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029} {{script}} \"'";
    let run = Page { problem: hostile.into(), sentence: hostile.into(), ..named(hostile) };
    let page = render(&[run]);
    assert_eq!(data_of(&page)[0]["name"], hostile);
    assert_eq!(data_of(&page)[0]["problem"], hostile);
    assert!(!page.contains("<script>alert"));
    assert!(!data(&[named(hostile)]).contains(['<', '\u{2028}', '\u{2029}']));
    assert_eq!(page.matches("</script>").count(), 2);
}

#[test]
fn a_page_is_whole() {
    let page = render(&[named("rover")]);
    assert!(is_page(page.as_bytes()) && !is_page(b"<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(page.trim_end().ends_with("</html>"));
    assert!(page.contains("<title>rover</title>"));
    for element in ["html", "head", "style", "body", "main", "noscript"] {
        assert_eq!(page.matches(&format!("<{element}")).count(), 1, "{element}");
        assert_eq!(page.matches(&format!("</{element}>")).count(), 1, "{element}");
    }
    // Our own style and script must not end their elements either.
    assert!(!STYLE.contains('<'));
    assert!(
        SCRIPTS
            .iter()
            .chain(&[LIVE_SCRIPT, START])
            .all(|script| !script.contains("</script") && !script.contains("<!--"))
    );
}

#[test]
fn a_page_asks_for_nothing() {
    let page = render(&[named("rover")]);
    assert!(page.contains("default-src 'none'"));
    for request in ["@import", "src=", "fetch(", "XMLHttpRequest", "import(", "https:"] {
        assert!(!page.contains(request), "{request}");
    }
    // The one address is the name of a language.
    assert_eq!(page.matches("http:").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn several_runs_make_a_comparison() {
    let page = render(&[named("a"), named("b")]);
    assert!(page.contains("<title>Comparison of 2 runs</title>"));
    assert_eq!(data_of(&page).as_array().unwrap().len(), 2);
}

#[test]
fn numbers_survive() {
    let rounds = Rounds {
        objective: vec![],
        round: vec![1, 2],
        samples: vec![0, 0],
        distance: vec![0.1 + 0.2, f64::NAN],
        lower_bound: vec![f64::NEG_INFINITY, 0.0],
        z: vec![vec![1.0 / 3.0, f64::NAN]],
        lam: vec![vec![-1.25e-9, 0.0]],
    };
    let run = Page { seed: u64::MAX, confidence: Some(0.95), rounds, ..named("numbers") };
    let data = &data_of(&render(&[run]))[0];
    assert_eq!(data["seed"], u64::MAX.to_string());
    assert_eq!(data["confidence"], 0.95);
    assert_eq!(data["rounds"]["distance"], serde_json::json!([0.1 + 0.2, null]));
    assert_eq!(data["rounds"]["lower_bound"], serde_json::json!([null, 0.0]));
    assert_eq!(data["rounds"]["z"], serde_json::json!([[0.3333333, null]]));
    assert_eq!(data["rounds"]["lam"], serde_json::json!([[-1.25e-9, 0.0]]));
    assert_eq!(data["grid"], Value::Null);
}

#[test]
fn the_largest_page_is_under_three_megabytes() {
    let (points, measures) = (1_000, 66);
    let curve =
        |i: usize| (0..points).map(|t| -((t * measures + i) as f64).sin() / 300.0).collect::<Vec<f64>>();
    let curves: Vec<Vec<f64>> = (0..measures).map(curve).collect();
    let rounds = Rounds {
        objective: vec![],
        round: (1..=points).collect(),
        samples: (1..=points as u64).map(|t| t * 1_000_003).collect(),
        distance: curve(0),
        lower_bound: curve(1),
        z: curves.clone(),
        lam: curves,
    };
    let measure = |i| Measure { name: format!("visits[{i}]"), upper: Some(0.12), ..Measure::default() };
    let run = Page { measures: (0..measures).map(measure).collect(), rounds, ..named("large") };
    let size = render(&[run]).len();
    assert!(size < 3_000_000, "{size} bytes");
}
