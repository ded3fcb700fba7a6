//! The table of topics on the page of `play info`. In a narrow terminal some columns give way.

use std::fmt::Write as _;

use super::info::TopicInfo;
use super::names::printable;
use crate::bag::RecordedRate;
use crate::cli::report::units::{bytes, count};

/// The columns, by their heads.
const HEADS: [&str; 7] = ["topic", "type", "messages", "Hz", "size", "density", "QoS"];
const TOPIC: usize = 0;
const TYPE: usize = 1;
const SIZE: usize = 4;
const QOS: usize = 6;
/// What is between two columns.
const GAP: usize = 2;
/// Which columns give way, one after the other, until the table fits: they are shortened to no less than this. If that
/// is too wide, and there is no such number, they are left out.
const GIVE_WAY: [(usize, Option<usize>); 5] = [
    (QOS, None),
    (TYPE, Some(12)),
    (SIZE, None),
    (TYPE, None),
    (TOPIC, Some(16)),
];

/// Adds the table. If a width is given, in columns, it is made to fit, as far as that is possible.
pub(super) fn table(page: &mut String, topics: &[TopicInfo], width: Option<usize>) {
    let mut rows = vec![HEADS.map(str::to_owned)];
    rows.extend(topics.iter().map(row));
    let mut widths = [0; HEADS.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    if let Some(most) = width {
        fit(&mut widths, most);
    }
    for row in &rows {
        let mut line = String::new();
        let columns = row.iter().zip(widths).enumerate();
        for (column, (cell, width)) in columns.filter(|(_, (_, width))| *width > 0) {
            let cell = shortened(cell, width, column);
            // Numbers are aligned at their end, words at their beginning. Writing into a string does not fail.
            let _ = match column {
                2..=4 => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:<width$}  "),
            };
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
    let left_out = HEADS.iter().zip(widths).filter(|(_, width)| *width == 0);
    let left_out: Vec<&str> = left_out.map(|(head, _)| *head).collect();
    if let Some(columns) = width.filter(|_| !left_out.is_empty()) {
        let _ = writeln!(
            page,
            "not shown in {columns} columns: {}",
            left_out.join(", ")
        );
    }
}

/// Makes columns narrower, or 0 wide, until they fit into `most`.
fn fit(widths: &mut [usize; HEADS.len()], most: usize) {
    for (column, least) in GIVE_WAY {
        let shown = widths.iter().filter(|width| **width > 0);
        let all = shown.map(|width| width + GAP).sum::<usize>();
        let over = all.saturating_sub(GAP).saturating_sub(most);
        if over == 0 {
            return;
        }
        let width = &mut widths[column];
        *width = match least {
            Some(least) => width.saturating_sub(over).max(least.min(*width)),
            None => 0,
        };
    }
}

/// Of names the end is more telling, and stays.
fn shortened(cell: &str, width: usize, column: usize) -> String {
    let length = cell.chars().count();
    if length <= width {
        return cell.to_owned();
    }
    let left = width.saturating_sub(1);
    match column {
        TOPIC | TYPE => "…"
            .chars()
            .chain(cell.chars().skip(length - left))
            .collect(),
        _ => cell.chars().take(left).chain("…".chars()).collect(),
    }
}

fn row(topic: &TopicInfo) -> [String; 7] {
    let kind = match topic.encoding.as_str() {
        "cdr" => printable(&topic.type_name),
        encoding => printable(&format!("{} ({encoding})", topic.type_name)),
    };
    let mut qos = match topic.qos.len() {
        0 => "not recorded".into(),
        _ => topic.qos.join("; "),
    };
    if topic.latched {
        qos = format!("latched; {qos}");
    }
    let is_mean = topic.hz_is_mean;
    let rate = topic.hz.map(|hz| RecordedRate { hz, is_mean });
    [
        printable(&topic.name),
        kind,
        topic.message_count.map_or("?".into(), count),
        rate.map_or("–".into(), |rate| rate.to_string()),
        topic.bytes.map_or("?".into(), bytes),
        sparkline(&topic.density, &topic.lost),
        qos,
    ]
}

/// One column per part; the highest is the fullest part of this topic. A part without a message is blank. A part in
/// which messages are lost shows that, as the transport bar does, because the index lists them all the same.
fn sparkline(density: &[f64], lost: &[bool]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const LOST: char = '╳';
    let most = density.iter().copied().fold(0.0, f64::max);
    let bar = |share: f64| {
        if share <= 0.0 {
            return ' ';
        }
        let steps = [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];
        let step = steps.iter().take_while(|step| share / most > **step);
        BARS.get(step.count()).copied().unwrap_or('█')
    };
    let lost = lost.iter().copied().chain(std::iter::repeat(false));
    let parts = density.iter().zip(lost);
    parts
        .map(|(share, is_lost)| if is_lost { LOST } else { bar(*share) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_gaps_the_fullest_part_and_what_is_lost() {
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0, 0.1], &[]), " ▁▄█▁");
        let lost = [true, false, false, true, false];
        assert_eq!(sparkline(&[0.0, 1.0, 4.0, 8.0, 0.1], &lost), "╳▁▄╳▁");
        assert_eq!(sparkline(&[0.0; 3], &[false; 3]), "   ");
    }

    #[test]
    fn a_table_fits_into_a_narrow_terminal() {
        let topic = |name: &str| TopicInfo {
            type_name: "sensor_msgs/msg/PointCloud2".to_owned(),
            message_count: Some(123_456),
            hz: Some(9.987),
            bytes: Some(3_456_789_012),
            density: vec![1.0; 24],
            qos: vec!["reliable, volatile, keep last 10".to_owned()],
            ..TopicInfo::named(name)
        };
        let topics = [topic("/lidar/front/points"), topic("/imu")];
        let lines = |width| {
            let mut page = String::new();
            table(&mut page, &topics, width);
            page.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let whole = lines(None);
        assert!(whole[1].contains("sensor_msgs/msg/PointCloud2") && whole[1].ends_with("last 10"));
        assert_eq!(lines(Some(whole[1].chars().count())), whole);
        for width in [60, 72, 80, 100, 120] {
            let narrow = lines(Some(width));
            let longest = narrow.iter().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{width}: {narrow:#?}");
            // What a row is about stays.
            assert!(narrow[1].contains("front/points") && narrow[1].contains("123,456"));
            assert!(narrow[1].contains(&"█".repeat(24)), "{narrow:#?}");
            let told = format!("not shown in {width} columns: ");
            assert!(narrow[3].starts_with(&told), "{narrow:#?}");
        }
        assert_eq!(lines(Some(80))[3], "not shown in 80 columns: size, QoS");
    }
}
