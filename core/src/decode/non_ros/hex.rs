//! Bytes as offset, hexadecimal digits and ASCII.

use crate::decode::decoded::{LineWriter, Stop};

/// Writes the bytes, as many per line as fit.
pub(in crate::decode) fn dump(payload: &[u8], out: &mut LineWriter) -> Result<(), Stop> {
    // Three characters for the digits of a byte, one for its ASCII form, and three around the ASCII part.
    let fitting = out.limits.characters.saturating_sub(3) / 4;
    let width = [16, 8, 4, 1]
        .into_iter()
        .find(|it| *it <= fitting)
        .unwrap_or(1);
    for (index, row) in payload.chunks(width).enumerate() {
        let digits: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = digits.join(" ");
        let letter = |byte: &u8| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        };
        let letters: String = row.iter().map(letter).collect();
        let value = format!("{digits:0$}  |{letters}|", width * 3 - 1);
        out.line(0, &format!("{:08x}", index * width), value)?;
    }
    Ok(())
}
