//! Plots as SVG: lines over two logarithmic axes, in colours that can be read on white and on dark backgrounds.

use std::fmt::Write as _;

use super::report::{Series, Summary};
use super::table::number;

/// All plots of the page. A series names the plot that it belongs to.
pub(super) const PLOTS: [Plot; 14] = [
    Plot {
        name: "lateness",
        title: "Lateness in one process, 1,000 messages a second",
        x: SHARE,
        y: Axis {
            label: "later than due, µs",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "lateness-busy",
        title: "The same while other threads compute on all processors",
        x: SHARE,
        y: Axis {
            label: "later than due, µs",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "lateness-busy-one",
        title: "The same while one other thread computes",
        x: SHARE,
        y: Axis {
            label: "later than due, µs",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "order",
        title: "Lateness of an imu at 200 Hz beside images of 1 MB at 30 Hz",
        x: SHARE,
        y: Axis {
            label: "later than due, ms",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "throughput",
        title: "Messages a second at full speed, by size",
        x: Axis {
            label: "bytes per message",
            scale: Scale::Log,
        },
        y: Axis {
            label: "messages a second",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "shared-memory",
        title: "Bytes a second at full speed to a subscriber that reads all of them",
        x: Axis {
            label: "bytes per message",
            scale: Scale::Log,
        },
        y: Axis {
            label: "MB a second",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "compare-small",
        title: "Lateness at a subscriber: 1,000 strings a second",
        x: SHARE,
        y: Axis {
            label: "later than due, ms",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "compare-image",
        title: "Lateness at a subscriber: 30 images of 1 MB and 200 imu messages a second",
        x: SHARE,
        y: Axis {
            label: "later than due, ms",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "growth-size",
        title: "Time by size of the recording",
        x: Axis {
            label: "bytes",
            scale: Scale::Log,
        },
        y: MICROS,
    },
    Plot {
        name: "growth-topics",
        title: "Time by number of topics, 200,000 messages",
        x: Axis {
            label: "topics",
            scale: Scale::Log,
        },
        y: MICROS,
    },
    Plot {
        name: "growth-splits",
        title: "Time by number of files, 200,000 messages",
        x: Axis {
            label: "files",
            scale: Scale::Log,
        },
        y: MICROS,
    },
    Plot {
        name: "growth-memory",
        title: "Memory while playing",
        x: Axis {
            label: "MB, topics or files",
            scale: Scale::Log,
        },
        y: Axis {
            label: "MiB",
            scale: Scale::Log,
        },
    },
    Plot {
        name: "growth-subscribers",
        title: "Time by number of subscribers in one session",
        x: Axis {
            label: "subscribers",
            scale: Scale::Log,
        },
        y: MICROS,
    },
    Plot {
        name: "growth-sessions",
        title: "Time by number of sessions with a subscriber",
        x: Axis {
            label: "sessions",
            scale: Scale::Log,
        },
        y: MICROS,
    },
];

const MICROS: Axis = Axis {
    label: "µs",
    scale: Scale::Log,
};

const SHARE: Axis = Axis {
    label: "share of the messages",
    scale: Scale::Share,
};

pub(super) struct Plot {
    pub(super) name: &'static str,
    title: &'static str,
    x: Axis,
    y: Axis,
}

struct Axis {
    label: &'static str,
    scale: Scale,
}

#[derive(Clone, Copy)]
enum Scale {
    /// Each step is ten times the one before.
    Log,
    /// Shares below 1; each step leaves a tenth of the rest: 0, 0.9, 0.99.
    Share,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// The area of the lines: left, top, right, bottom.
const AREA: [f64; 4] = [110.0, 64.0, 670.0, 340.0];
/// Of medium lightness, so that they differ from white and from black.
const COLORS: [&str; 5] = ["#2f81f7", "#d9730d", "#2da44e", "#a371f7", "#c9499b"];
const DASHES: [&str; 5] = ["none", "8 3", "3 3", "10 3 2 3", "14 4"];
const INK: &str = "#767676";

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Self::Log => value.max(1e-9).log10(),
            Self::Share => -(1.0 - value).max(1e-9).log10(),
        }
    }

    /// The range of an axis, in whole steps.
    fn range(self, values: impl Iterator<Item = f64>) -> [f64; 2] {
        let places: Vec<f64> = values
            .filter(|it| *it > 0.0)
            .map(|it| self.place(it))
            .collect();
        let low = places.iter().copied().fold(f64::INFINITY, f64::min);
        let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The last decimals of a logarithm do not begin another step.
        let (low, high) = ((low + 1e-6).floor(), (high - 1e-6).ceil());
        [low, high.max(low + 1.0)]
    }

    /// Places with a line, and their texts.
    fn ticks(self, [low, high]: [f64; 2]) -> Vec<(f64, String)> {
        let steps = std::iter::successors(Some(low), |at| Some(at + 1.0));
        let steps = steps.take_while(|at| *at <= high);
        match self {
            Self::Log => steps
                .map(|at| {
                    let value = super::report::rounded(10_f64.powf(at));
                    // As an exact power of ten, without the decimals of a measured value.
                    let is_small = value < 100.0;
                    let text = if is_small {
                        value.to_string()
                    } else {
                        number(value)
                    };
                    (at, text)
                })
                .collect(),
            Self::Share => {
                let named = [(0.0, 0.0), (0.5, 50.0), (0.9, 90.0), (0.99, 99.0)];
                let named = named.into_iter().chain([(0.999, 99.9), (0.9999, 99.99)]);
                named
                    .map(|(share, percent)| (self.place(share), format!("{percent} %")))
                    .filter(|(at, _)| *at <= high + 1e-9)
                    .collect()
            }
        }
    }
}

impl Plot {
    /// Its file, relative to `docs/`.
    pub(super) fn file(&self) -> String {
        format!("performance/{}.svg", self.name)
    }

    pub(super) fn link(&self, summary: &Summary) -> String {
        if self.series(summary).is_empty() {
            return format!("There are no figures for the plot “{}”.", self.title);
        }
        format!("![{}]({})", self.title, self.file())
    }

    fn series<'a>(&self, summary: &'a Summary) -> Vec<&'a Series> {
        let all = summary.runs.iter().flat_map(|run| &run.series);
        all.filter(|series| series.plot == self.name).collect()
    }

    /// `None` if there is nothing to draw.
    pub(super) fn svg(&self, summary: &Summary) -> Option<String> {
        let series = self.series(summary);
        let values = |at: usize| {
            series
                .iter()
                .flat_map(move |it| it.points.iter().map(move |p| p[at]))
        };
        values(0).next()?;
        let [x_range, y_range] = [self.x.scale.range(values(0)), self.y.scale.range(values(1))];
        let [left, top, right, bottom] = AREA;
        let between = |[from, to]: [f64; 2], [low, high]: [f64; 2], place: f64| {
            from + (to - from) * ((place - low) / (high - low)).clamp(0.0, 1.0)
        };
        let across = |place| between([left, right], x_range, place);
        let up = |place| between([bottom, top], y_range, place);

        let mut drawn = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"{INK}\" role=\"img\">\n\
             <title>{0}</title>\n",
            escaped(self.title)
        );
        let line = |[x1, y1]: [f64; 2], [x2, y2]: [f64; 2]| {
            format!(
                "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"{INK}\" stroke-opacity=\"0.4\"/>\n"
            )
        };
        let text = |[x, y]: [f64; 2], anchor: &str, words: &str| {
            let words = escaped(words);
            format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
        };
        for (at, words) in self.x.scale.ticks(x_range) {
            drawn += &line([across(at), top], [across(at), bottom]);
            drawn += &text([across(at), bottom + 18.0], "middle", &words);
        }
        for (at, words) in self.y.scale.ticks(y_range) {
            drawn += &line([left, up(at)], [right, up(at)]);
            drawn += &text([left - 8.0, up(at) + 4.0], "end", &words);
        }
        drawn += &text([left, 20.0], "start", self.title);
        let middle = f64::midpoint(left, right);
        drawn += &text([middle, HEIGHT - 18.0], "middle", self.x.label);
        let middle = f64::midpoint(top, bottom);
        let turned = format!("transform=\"rotate(-90 16 {middle})\" text-anchor");
        let label = text([16.0, middle], "middle", self.y.label);
        drawn += &label.replace("text-anchor", &turned);

        let legend = legend(&series);
        let styles = COLORS.iter().zip(DASHES).cycle();
        for ((one, [x, y]), (color, dash)) in series.iter().zip(legend).zip(styles) {
            let stroke =
                format!("stroke=\"{color}\" stroke-width=\"2.5\" stroke-dasharray=\"{dash}\"");
            let at = |[x, y]: &[f64; 2]| {
                let (x, y) = (self.x.scale.place(*x), self.y.scale.place(*y));
                format!("{:.1},{:.1}", across(x), up(y))
            };
            let points: Vec<String> = one.points.iter().map(at).collect();
            let points = points.join(" ");
            let _ = writeln!(
                drawn,
                "<polyline fill=\"none\" {stroke} points=\"{points}\"/>"
            );
            let _ = writeln!(drawn, "<path {stroke} d=\"M{x:.1} {}h28\"/>", y - 4.0);
            drawn += &text([x + 34.0, y], "start", &one.name);
        }
        Some(drawn + "</svg>\n")
    }
}

/// Where the name of each series begins, above the area of the lines, in as many rows as it takes.
fn legend(series: &[&Series]) -> Vec<[f64; 2]> {
    let [left, _, right, _] = AREA;
    let (mut x, mut row) = (left, 0.0);
    let mut places = Vec::new();
    for one in series {
        let letters = u16::try_from(one.name.chars().count()).unwrap_or(0);
        let width = 34.0 + 7.5 * f64::from(letters);
        if x > left && x + width > right {
            (x, row) = (left, row + 1.0);
        }
        places.push([x, row]);
        x += width + 24.0;
    }
    // One row is in the middle between the title and the area.
    let first = 46.0 - 10.0 * row;
    let baseline = |[x, row]: [f64; 2]| [x, first + 18.0 * row];
    places.into_iter().map(baseline).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
