import { crc32 } from 'node:zlib';

/** Writes a message after the description of the format, not by the library that reads it. */
export function awsMessage(headers: Record<string, string>, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.from([0, value.length]);
      return Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ]);
    }),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + head.length + body.length);
  prelude.writeUInt32BE(head.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const whole = Buffer.concat([prelude, head, body]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(whole));
  return Buffer.concat([whole, sum]);
}

/** Writes an event of one member, which is its type. */
export function awsEvent(event: object): Buffer {
  const [[type, payload] = ['', null]] = Object.entries(event);
  return awsMessage({ ':message-type': 'event', ':event-type': type }, JSON.stringify(payload));
}
