/// A protobuf message under construction: its fields, in the order they were added.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

/// The wire types, as <https://protobuf.dev/programming-guides/encoding> numbers them.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;
const FIXED32: u32 = 5;

impl Message {
    pub(crate) fn integer(mut self, field: u32, value: u64) -> Self {
        self.tag(field, VARINT);
        self.varint(value);
        self
    }

    pub(crate) fn float(mut self, field: u32, value: f32) -> Self {
        self.tag(field, FIXED32);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn double(mut self, field: u32, value: f64) -> Self {
        self.tag(field, FIXED64);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Text or bytes.
    pub(crate) fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.tag(field, LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(crate) fn message(self, field: u32, value: Message) -> Self {
        self.bytes(field, value.0)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message::default()
    }

    #[test]
    fn varints_are_those_of_the_specification() {
        for (value, expected) in [
            (0, vec![0]),
            (1, vec![1]),
            (127, vec![0x7f]),
            (128, vec![0x80, 0x01]),
            (150, vec![0x96, 0x01]),
            (86942, vec![0x9e, 0xa7, 0x05]),
            (u64::MAX, [vec![0xff; 9], vec![0x01]].concat()),
        ] {
            let found = message().integer(1, value).into_bytes();
            assert_eq!(found, [vec![0x08], expected].concat(), "{value}");
        }
    }

    #[test]
    fn fields_are_those_of_the_specification() {
        assert_eq!(message().bytes(2, "testing").into_bytes(), b"\x12\x07testing");
        let nested = message().integer(1, 150);
        assert_eq!(message().message(3, nested).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(message().float(2, 1.0).into_bytes(), [0x15, 0, 0, 0x80, 0x3f]);
        assert_eq!(message().double(1, 1.0).into_bytes(), [0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        // From field 16 on, the tag itself takes two bytes.
        assert_eq!(message().integer(20, 2).into_bytes(), [0xa0, 0x01, 0x02]);
    }
}
