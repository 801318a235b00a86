//! One policy for the mixture of a run.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::runs::{alter, appropo, copy, files, place, solve, text, verify, with_number};

fn distil(run: &Path, arguments: &[&str]) -> Output {
    appropo(&["distil"]).arg(run).args(arguments).output().unwrap()
}

/// One policy for a mixture is a run like any other, with the same bytes for the same seed.
#[test]
fn distilled_runs_are_runs() {
    let place = place("distilled");
    let (tables, networks) = (place.join("tables"), place.join("networks"));
    solve(&tables, &["mars-rover"]);
    solve(&networks, &["cart-pole", "--samples", "6000", "--seed", "1"]);
    let said = text(&distil(&tables, &[]));
    assert!(said.contains("mars-rover: feasible") && said.contains("; distilled, 1 policy"), "{said}");
    let exact = place.join("tables-distilled");
    let (status, said) = verify(&exact);
    assert!(status == Some(0) && said.contains("verified: feasible"), "{said}");
    let z = |folder: &Path| -> Vec<f64> {
        let result: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap();
        result["z"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let (mixed, one) = (z(&tables), z(&exact));
    assert!(mixed.iter().zip(&one).all(|(mixed, one)| (mixed - one).abs() < 1e-9));

    let arguments = |to: &str| {
        let out = place.join(to).to_str().unwrap().to_owned();
        ["--out", &out, "--samples", "3000", "--set", "distil.net_arch=[16]", "--quiet"].map(str::to_owned)
    };
    let learnt = |to: &str, seed: &str| {
        let arguments = arguments(to);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--seed", seed]).collect();
        let output = distil(&networks, &arguments);
        let folder = place.join(to);
        assert!(folder.join("report.html").is_file(), "{}", text(&output));
        folder
    };
    let (one, again, other) = (learnt("one", "5"), learnt("again", "5"), learnt("other", "6"));
    assert_eq!(files(&one), files(&again));
    assert_ne!(files(&one)["policies.safetensors"], files(&other)["policies.safetensors"]);
    let (status, said) = verify(&one);
    assert!(status == Some(0) && said.contains("1 policy that fits"), "{said}");
    for command in ["evaluate", "play", "report", "resume"] {
        let output = appropo(&[command]).arg(&one).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 4)), "{command}: {}", text(&output));
    }
    let onnx = place.join("one.onnx");
    let output = appropo(&["export"]).arg(&one).arg("--onnx").arg(&onnx).output().unwrap();
    assert!(output.status.success() && onnx.is_file(), "{}", text(&output));
    // What was learnt is counted, and no count can be altered.
    let altered = copy(&one, "altered-samples");
    alter(&altered, "result.json", |text| with_number(text, "evaluation_samples", "7"));
    assert_eq!(verify(&altered).0, Some(5));
    // One that was killed is done again, not gone on with.
    let killed = copy(&one, "killed");
    for file in ["result.json", "certificate.json", "manifest.json", "policies.safetensors"] {
        fs::remove_file(killed.join(file)).unwrap();
    }
    let output = appropo(&["resume"]).arg(&killed).output().unwrap();
    assert!(output.status.code() == Some(2), "{}", text(&output));
    assert!(text(&output).contains("use \"appropo distil RUN\""), "{}", text(&output));
}

#[test]
fn what_can_not_be_distilled_leaves_no_folder() {
    let place = place("not-distilled");
    let run = place.join("run");
    solve(&run, &["cart-pole", "--samples", "2000"]);
    let out = place.join("one");
    let to = out.to_str().unwrap();
    for (arguments, says) in [
        (
            &["--set", "distil.policy=table"][..],
            "needs a known model and a mixture of tables; use \"network\"",
        ),
        (&["--set", "distil.n_epoch=3"], "did you mean \"n_epochs\"?"),
        (&["--set", "distil.net_arch=[0]"], "net_arch"),
        (&["--set", "oracle=ppo"], "distilling asks no oracle"),
        (&["--samples", "0"], "--samples"),
    ] {
        let output = distil(&run, &[&["--out", to], arguments].concat());
        assert!(output.status.code() == Some(2) && text(&output).contains(says), "{}", text(&output));
        assert!(!out.exists(), "{says}");
    }
    let output = distil(&place.join("nothing"), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    // A folder that is not empty is not written to.
    let output = distil(&run, &["--out", run.to_str().unwrap(), "--samples", "500"]);
    assert!(output.status.code() == Some(2) && text(&output).contains("not empty"), "{}", text(&output));
    // Without a mixture there is nothing to distil.
    let output = appropo(&["solve", "mars-rover", "--method", "distil"]).output().unwrap();
    assert!(text(&output).contains("use \"appropo distil RUN\""), "{}", text(&output));
}
