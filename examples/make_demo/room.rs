//! The room the robot drives in, and what a ray in it meets: for the laser and the camera.

/// What a ray met.
#[derive(Clone, Copy)]
pub(crate) struct Hit {
    /// Metres along the ray.
    pub(crate) distance: f64,
    pub(crate) surface: Surface,
    /// Metres along the surface, from one of its ends: where its stripes are.
    pub(crate) along: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Across the room's long axis, along it.
    ShortWall,
    LongWall,
    Door,
    Cabinet,
    Pillar,
}

/// A straight piece of wall between two points.
struct Wall {
    from: (f64, f64),
    to: (f64, f64),
    surface: Surface,
}

const fn wall(from: (f64, f64), to: (f64, f64), surface: Surface) -> Wall {
    Wall { from, to, surface }
}

/// 7 m × 4.8 m around the middle, a door in one wall, a cabinet in a corner.
const WALLS: [Wall; 7] = [
    wall((-3.5, -2.4), (3.5, -2.4), Surface::LongWall),
    wall((3.5, -2.4), (3.5, 2.4), Surface::ShortWall),
    wall((3.5, 2.4), (1.2, 2.4), Surface::LongWall),
    wall((1.2, 2.4), (0.3, 2.4), Surface::Door),
    wall((0.3, 2.4), (-3.5, 2.4), Surface::LongWall),
    wall((-3.5, 1.9), (-2.3, 1.9), Surface::Cabinet),
    wall((-2.3, 1.9), (-2.3, 2.4), Surface::Cabinet),
];
const FAR_WALL: Wall = wall((-3.5, 2.4), (-3.5, -2.4), Surface::ShortWall);

/// Middle and radius of the pillars inside the loops of the eight.
const PILLARS: [((f64, f64), f64); 2] = [((1.25, 0.0), 0.15), ((-1.25, 0.0), 0.15)];

/// The nearest thing in direction `angle` (radians) from `origin`, which is inside the room.
pub(crate) fn cast(origin: (f64, f64), angle: f64) -> Option<Hit> {
    let ray = (angle.cos(), angle.sin());
    let walls = WALLS
        .iter()
        .chain([&FAR_WALL])
        .filter_map(|wall| meet_wall(origin, ray, wall));
    let pillars = PILLARS
        .iter()
        .filter_map(|pillar| meet_pillar(origin, ray, *pillar));
    walls
        .chain(pillars)
        .min_by(|a, b| a.distance.total_cmp(&b.distance))
}

fn meet_wall(origin: (f64, f64), ray: (f64, f64), wall: &Wall) -> Option<Hit> {
    let span = (wall.to.0 - wall.from.0, wall.to.1 - wall.from.1);
    let to_wall = (wall.from.0 - origin.0, wall.from.1 - origin.1);
    let cross = ray.0 * span.1 - ray.1 * span.0;
    // A ray along the wall sees its edge only.
    if cross.abs() < 1e-12 {
        return None;
    }
    let distance = (to_wall.0 * span.1 - to_wall.1 * span.0) / cross;
    let part = (to_wall.0 * ray.1 - to_wall.1 * ray.0) / cross;
    (distance > 0.0 && (0.0..=1.0).contains(&part)).then(|| Hit {
        distance,
        surface: wall.surface,
        along: part * span.0.hypot(span.1),
    })
}

fn meet_pillar(origin: (f64, f64), ray: (f64, f64), pillar: ((f64, f64), f64)) -> Option<Hit> {
    let (middle, radius) = pillar;
    let to_middle = (middle.0 - origin.0, middle.1 - origin.1);
    let nearest = to_middle.0 * ray.0 + to_middle.1 * ray.1;
    let aside = to_middle.0 * ray.1 - to_middle.1 * ray.0;
    let distance = nearest - (radius * radius - aside * aside).sqrt();
    // Where the ray misses, the root is NaN and so is the distance.
    (distance > 0.0).then_some(Hit {
        distance,
        surface: Surface::Pillar,
        along: radius + aside,
    })
}
