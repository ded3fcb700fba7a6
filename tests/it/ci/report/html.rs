//! The page, as text. What it does in a browser is tested with one (`tests/interop/test_report_page.py`).

use bagplay::ci::report::{Check, Kind, Moment, RunRecord, Verdict, to_html};

use super::{failed, hostile, interrupted, is_clean, passed, undecided};

#[test]
fn a_run_that_failed_is_shown_with_everything_that_was_recorded() {
    let page = to_html(&[failed()]);
    for expected in [
        "<title>failed: warehouse</title>",
        "3 of 300 questions were given up",
        "/odom differs in 176 of 300 messages, first in message 124",
        "<code>pose.pose.position.z</code>",
        // What both values share is not marked.
        "0.<mark>18730517882</mark>",
        "at 12.400000 s",
        "/imu/data is not gated",
        "<code>pose.covariance[]</code></td><td class=\"n\">12</td>",
        "3 of 10 runs failed, 2 different digests",
        "map_cache (4711)",
        "falling back to the motion prior",
        "a41f09c2b7d85e6310fe92c47ab0d1e5",
        "5b9c1d0f6e0a4b2c8d3e7f1a2b3c4d5e",
        "2023-11-14 22:13:20.000 UTC – 2023-11-14 22:13:50.000 UTC",
        "aria-label=\"Sent: /points: 300\"",
        "aria-label=\"Gates: /points -&gt; /obstacles: 297, 3 missed\"",
        "aria-label=\"Received: /odom: 300\"",
        "Latencies of /points -&gt; /odom by stamp: p50 8.21 ms, p99 31.7 ms, max 212 ms",
        "<text x=\"33.333%\" dx=\"4\" text-anchor=\"start\" y=\"100%\" dy=\"-5\">10 s</text>",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn marks_lie_where_their_times_are() {
    let page = to_html(&[failed()]);
    let lane = page
        .split("aria-label=\"Sent: /points: 300\">")
        .nth(1)
        .unwrap();
    let path = lane
        .split(" d=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let places: Vec<u32> = path
        .split('M')
        .skip(1)
        .map(|mark| mark.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(places.len(), 300);
    // 10 s of 30 s.
    assert_eq!((places[0], places[100]), (0, 333_333));
}

#[test]
fn a_field_that_is_no_number_breaks_the_line() {
    let page = to_html(&[failed()]);
    let line = page
        .split("class=\"own\" data-name=\"this run\" d=\"")
        .nth(1)
        .unwrap();
    let line = line.split('"').next().unwrap();
    assert_eq!(line.matches('M').count(), 2, "{line}");
    assert_eq!(line.matches(['M', 'L']).count(), 49, "{line}");
}

#[test]
fn nothing_from_outside_is_interpreted() {
    let run = hostile();
    for runs in [vec![run.clone()], vec![run.clone(), run]] {
        let page = to_html(&runs);
        assert!(is_clean(&page));
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(page.matches("</script").count(), 1);
        assert!(!page.contains("<img") && !page.contains("onload=\""));
        assert!(page.contains("&lt;script&gt;alert(1)"));
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = to_html(&[failed(), passed()]);
    for reference in [
        "http:",
        "https:",
        "src=",
        "url(",
        "@import",
        "fetch(",
        "XMLHttpRequest",
    ] {
        let all = page.matches(reference).count();
        // The name of a namespace is no address.
        let names = page.matches("\"http://www.w3.org/2000/svg\"").count();
        let allowed = if reference == "http:" { names } else { 0 };
        assert_eq!(all, allowed, "{reference}");
    }
}

#[test]
fn a_suite_links_to_each_run_and_shows_the_worst_first() {
    let runs = [passed(), interrupted(), undecided(), failed()];
    let page = to_html(&runs);
    for at in 0..runs.len() {
        // From the strip and from the table.
        assert_eq!(page.matches(&format!("href=\"#run-{at}\"")).count(), 2);
        assert_eq!(page.matches(&format!("id=\"run-{at}\"")).count(), 1);
    }
    let places: Vec<_> = [1, 2, 3, 0]
        .map(|at| page.find(&format!("id=\"run-{at}\"")).unwrap())
        .into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(to_html(&[]).contains("there is no run"));
}

#[test]
fn a_link_leads_to_a_section_also_if_not_all_runs_have_one() {
    let runs: Vec<RunRecord> = (0..700)
        .map(|number| RunRecord {
            name: format!("case {number}"),
            ..RunRecord::default()
        })
        .collect();
    let page = to_html(&runs);
    let targets: Vec<&str> = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(targets.len(), 2 * 500);
    for target in targets {
        assert!(page.contains(&format!("id=\"{target}\"")), "{target}");
    }
    assert_eq!(page.matches("<th scope=\"row\"><a").count(), 700);
    assert!(page.contains("200 runs more"));
}

/// However much is recorded, the page stays small enough for a browser.
#[test]
fn a_page_is_of_bounded_size() {
    let mut long = failed();
    let moments = long.timeline.clone();
    for _ in 0..200 {
        long.timeline.extend(moments.iter().cloned());
    }
    for number in 0..500 {
        let of = format!("/topic{number}");
        long.timeline
            .extend(moments[..40].iter().map(|moment| Moment {
                of: of.clone(),
                ..moment.clone()
            }));
    }
    let reason = "x".repeat(10_000);
    let check = Check::new(Kind::Expectation, "long", Verdict::Failed, reason);
    long.checks.extend(vec![check; 5000]);
    long.notes = vec!["n".repeat(10_000); 5000];
    let page = to_html(&[long]);
    assert!(page.len() < 5 << 20, "{}", page.len());

    let suite: Vec<RunRecord> = (0..200)
        .map(|number| RunRecord {
            name: format!("case {number}"),
            ..failed()
        })
        .collect();
    let page = to_html(&suite);
    assert!(page.len() < 8 << 20, "{}", page.len());
    assert!(page.contains("id=\"run-199\""));
}
