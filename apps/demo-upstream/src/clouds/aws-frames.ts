import { crc32 } from 'node:zlib';

/** Builds a message of an AWS event stream: https://smithy.io/2.0/aws/amazon-eventstream.html */
function awsFrame(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const head = Buffer.concat(Object.entries(headers).map(headerOf));
  const body = Buffer.from(payload);
  const total = 12 + head.length + body.length + 4;
  const lengths = Buffer.concat([uint32(total), uint32(head.length)]);
  const message = Buffer.concat([lengths, uint32(crc32(lengths)), head, body]);
  return Buffer.concat([message, uint32(crc32(message))]);
}

/** The type of a text is 7. */
function headerOf([name, value]: [string, string]): Buffer {
  const [key, text] = [Buffer.from(name), Buffer.from(value)];
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([7]), length, text]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function awsEvent(type: string, payload: unknown): Buffer {
  return awsFrame(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(payload),
  );
}

export function awsException(type: string, message: string): Buffer {
  return awsFrame(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  );
}
