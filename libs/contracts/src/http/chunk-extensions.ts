import { ChunkLines } from './chunk-lines.ts';

/** Names the members of node:http's socket that this file uses: the parser, whose current read is not public, and the reads that follow. */
export interface ReadSocket {
  parser?: { getCurrentBuffer?: () => Uint8Array } | null;
  prependListener: (event: 'data', listener: (bytes: Uint8Array) => void) => unknown;
  removeListener: (event: 'data', listener: (bytes: Uint8Array) => void) => unknown;
}

/** A chunk size never contains this byte, so Node's parser answers 400 and closes the connection. */
const REFUSED_BYTE = 0;

/**
 * Returns whether the read that ended the head of a chunked request already has a chunk extension; else watches the reads that follow, and
 * spoils the first extension for the parser, which then refuses the body as it refuses any other malformed one.
 * To be called while the `request` event is emitted, for requests with Transfer-Encoding alone: the listener takes the connection off
 * Node's fast path, where reads never reach JavaScript.
 */
export function hasChunkExtension(socket: ReadSocket): boolean {
  const read = socket.parser?.getCurrentBuffer?.();
  if (read === undefined) return false;
  const bodies: ChunkLines[] = [];
  for (const start of endsOfHead(read)) {
    const body = new ChunkLines();
    if (body.findExtension(read, start) >= 0) return true;
    if (!body.isOver) bodies.push(body);
  }
  if (bodies.length > 0) watch(socket, bodies);
  return false;
}

function watch(socket: ReadSocket, bodies: readonly ChunkLines[]): void {
  let left = bodies;
  const look = (bytes: Uint8Array): void => {
    for (const body of left) {
      const at = body.findExtension(bytes);
      if (at >= 0) {
        bytes[at] = REFUSED_BYTE;
        left = [];
        break;
      }
    }
    left = left.filter((body) => !body.isOver);
    if (left.length === 0) socket.removeListener('data', look);
  };
  // This listener runs before Node's own, which passes the same bytes to the parser.
  socket.prependListener('data', look);
}

/**
 * Returns the positions at which the body may begin. The read can contain the end of an earlier request, and the head can have begun in an earlier
 * read; but a head always ends with two line ends. Text after another such pair is not a chunk size, or is in a body that no route accepts: JSON has
 * no semicolon at the beginning of a line.
 */
function endsOfHead(read: Uint8Array): number[] {
  const text = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
  const ends = ['\n\r\n', '\r\n', '\n']
    .filter((rest) => text.subarray(0, rest.length).equals(Buffer.from(rest)))
    .map((rest) => rest.length);
  for (let at = text.indexOf('\r\n\r\n'); at >= 0; at = text.indexOf('\r\n\r\n', at + 1))
    ends.push(at + 4);
  return ends;
}
