/** Holds a size in pixels. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Is the number of base64 characters that contain the size in every format except JPEG. */
const START_CHARS = 64;
/** The head of an image contains its size; a JPEG may have a preview before it. */
const HEAD_CHARS = 128 * 1024;

/** Returns the size of a PNG, JPEG, GIF or WebP from its base64; null where it cannot be read. */
export function imageSize(base64: string): ImageSize | null {
  return certainImageSize(base64) ?? positive(gif(start(base64)));
}

/** Returns the size that every reader sees; null for a GIF, whose frames may be larger than its screen. */
export function certainImageSize(base64: string): ImageSize | null {
  const bytes = start(base64);
  return positive(png(bytes) ?? webp(bytes) ?? jpeg(bytes, base64));
}

function start(base64: string): Buffer {
  return Buffer.from(base64.slice(0, START_CHARS), 'base64');
}

function positive(size: ImageSize | null): ImageSize | null {
  return size && size.width > 0 && size.height > 0 ? size : null;
}

function png(bytes: Buffer): ImageSize | null {
  if (bytes.length < 24 || bytes.readUInt32BE(0) !== 0x89504e47) return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gif(bytes: Buffer): ImageSize | null {
  if (bytes.length < 10 || bytes.toString('latin1', 0, 3) !== 'GIF') return null;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** See https://developers.google.com/speed/webp/docs/riff_container */
function webp(bytes: Buffer): ImageSize | null {
  if (bytes.length < 30 || bytes.toString('latin1', 8, 12) !== 'WEBP') return null;
  const form = bytes.toString('latin1', 12, 16);
  if (form === 'VP8X')
    return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
  if (form === 'VP8L') {
    const bits = bytes.readUInt32LE(21);
    return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
  }
  return form === 'VP8 '
    ? { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    : null;
}

/** No length follows these markers: no decoder reads the following bytes as one. */
const LENGTHLESS = /^d[0-9]$/;

/** Frames with a size have the markers C0 to CF except the tables C4, C8 and CC. */
function jpeg(first: Buffer, base64: string): ImageSize | null {
  if (first.length < 4 || first.readUInt16BE(0) !== 0xffd8) return null;
  const bytes = Buffer.from(base64.slice(0, HEAD_CHARS), 'base64');
  for (let at = 2; at + 9 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff || marker < 0xc0 || LENGTHLESS.test(marker.toString(16))) return null;
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}
