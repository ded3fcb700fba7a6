//! Where the robot is: one lap of a lying figure of eight, with an emergency stop in the first half.
//!
//! All of it is a closed formula of the time, so that odometry, gyro, accelerometer, transforms, laser
//! and camera agree with each other at any instant. Time is in seconds since the recording's start.

use std::f64::consts::TAU;

/// When the sensors lose their power, and when it is back. The robot stands still in between.
pub(crate) const POWER_CUT: std::ops::Range<f64> = 14.0..18.0;
/// When the emergency stop was pressed.
pub(crate) const STOP_PRESSED: f64 = 12.2;
/// The recording's length.
pub(crate) const LENGTH: f64 = 30.0;
/// Half the length and the whole height of the eight, in metres.
const WIDE: f64 = 2.1;
const HIGH: f64 = 2.4;
/// Distance of a wheel from the middle, and its radius, in metres (as in `robot.urdf`).
pub(crate) const HALF_TRACK: f64 = 0.16;
pub(crate) const WHEEL_RADIUS: f64 = 0.05;

/// How the robot moves at an instant.
pub(crate) struct Motion {
    /// Position in the room, metres from its middle.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Heading in the room, radians.
    pub(crate) yaw: f64,
    /// Forward speed (m/s), turn rate (rad/s).
    pub(crate) speed: f64,
    pub(crate) turn: f64,
    /// Acceleration along the heading and to the left of it, m/s².
    pub(crate) forward: f64,
    pub(crate) left: f64,
}

impl Motion {
    pub(crate) fn at(time: f64) -> Self {
        let lap = Progress::at(LENGTH).distance;
        let p = Progress::at(time);
        let k = TAU / lap;
        // The curve's parameter and its two derivatives by time.
        let (q, dq, ddq) = (p.distance * k, p.speed * k, p.acceleration * k);
        // First and second derivative of the curve by its parameter.
        let (x1, y1) = (WIDE * q.cos(), HIGH * (2.0 * q).cos());
        let (x2, y2) = (-WIDE * q.sin(), -2.0 * HIGH * (2.0 * q).sin());
        let length = x1.hypot(y1);
        let (ax, ay) = (x2 * dq * dq + x1 * ddq, y2 * dq * dq + y1 * ddq);
        Self {
            x: WIDE * q.sin(),
            y: HIGH / 2.0 * (2.0 * q).sin(),
            yaw: y1.atan2(x1),
            speed: length * dq,
            turn: (x1 * y2 - y1 * x2) / (length * length) * dq,
            forward: (ax * x1 + ay * y1) / length,
            left: (ay * x1 - ax * y1) / length,
        }
    }

    /// The pose in the odometry frame, which is where and how the robot stood when it was switched on.
    pub(crate) fn odometry(&self) -> (f64, f64, f64) {
        let start = Self::at(0.0);
        let (sin, cos) = start.yaw.sin_cos();
        let (x, y) = (self.x - start.x, self.y - start.y);
        let yaw = (self.yaw - start.yaw)
            .sin()
            .atan2((self.yaw - start.yaw).cos());
        (x * cos + y * sin, y * cos - x * sin, yaw)
    }

    /// A point of the robot (`ahead` of its middle) in the room.
    pub(crate) fn point(&self, ahead: f64) -> (f64, f64) {
        (
            self.x + ahead * self.yaw.cos(),
            self.y + ahead * self.yaw.sin(),
        )
    }
}

/// How far the left and the right wheel have turned, radians.
#[derive(Default)]
pub(crate) struct Wheels {
    pub(crate) left: f64,
    pub(crate) right: f64,
}

impl Wheels {
    /// From `self` at `from` on to `to`, by Simpson's rule: a short step.
    pub(crate) fn rolled(&self, from: f64, to: f64) -> Self {
        let ends = [
            Motion::at(from),
            Motion::at(f64::midpoint(from, to)),
            Motion::at(to),
        ];
        let turned = |side: f64| {
            let [a, b, c] = ends
                .each_ref()
                .map(|m| (m.speed + side * m.turn) / WHEEL_RADIUS);
            (to - from) / 6.0 * (a + 4.0 * b + c)
        };
        Self {
            left: self.left + turned(-HALF_TRACK),
            right: self.right + turned(HALF_TRACK),
        }
    }
}

/// Progress along the lap in "seconds at full speed".
#[derive(Clone, Copy)]
struct Progress {
    distance: f64,
    speed: f64,
    acceleration: f64,
}

impl Progress {
    /// (from, to, speed before, speed after): between two entries the speed stays.
    const RAMPS: [(f64, f64, f64, f64); 4] = [
        (1.0, 2.5, 0.0, 1.0),
        (STOP_PRESSED, STOP_PRESSED + 0.9, 1.0, 0.0),
        (POWER_CUT.end + 1.0, POWER_CUT.end + 2.5, 0.0, 1.0),
        (27.5, 29.0, 1.0, 0.0),
    ];

    fn at(time: f64) -> Self {
        let mut p = Self {
            distance: 0.0,
            speed: 0.0,
            acceleration: 0.0,
        };
        // The end of the ramp before.
        let mut now = 0.0;
        for (from, to, before, after) in Self::RAMPS {
            p.distance += before * (time.min(from) - now).max(0.0);
            if time > from {
                let span = to - from;
                let u = ((time - from) / span).min(1.0);
                let gain = after - before;
                // Smoothstep, its integral and its derivative.
                p.distance += span * (before * u + gain * (u * u * u - u * u * u * u / 2.0));
                p.speed = before + gain * (3.0 - 2.0 * u) * u * u;
                p.acceleration = if u < 1.0 {
                    gain * 6.0 * u * (1.0 - u) / span
                } else {
                    0.0
                };
            }
            now = to;
        }
        p
    }
}
