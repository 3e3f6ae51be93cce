import { expect, test } from '@jest/globals';
import { awsMessage as message } from '../../test/aws-event.ts';
import { AwsEventFramer, AWS_MESSAGE_BYTES_MAX } from './aws-event-framer.ts';

const event = (payload: string) =>
  message({ ':message-type': 'event', ':event-type': 'chunk' }, payload);

function read(bytes: Buffer, size = bytes.length) {
  const framer = new AwsEventFramer(
    ({ type, payload }) => `data: ${type} ${payload.toString()}\n\n`,
  );
  const events: string[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    const chunk = bytes.subarray(from, from + size);
    for (let at = 0; at < chunk.length; at = framer.eventEnd) {
      const next = framer.next(chunk, at);
      if (!next) break;
      events.push(next.raw.toString());
    }
  }
  return { events, hasFailed: framer.hasFailed };
}

const STREAM = Buffer.concat([event('{"a":"é"}'), event('{}'), event('{"b":2}')]);
const SAID = ['data: chunk {"a":"é"}\n\n', 'data: chunk {}\n\n', 'data: chunk {"b":2}\n\n'];

test.each([1, 2, 3, 5, 16, 61, 1_000])(
  'an event stream in pieces of %i bytes has the same events',
  (size) => {
    expect(read(STREAM, size)).toEqual({ events: SAID, hasFailed: false });
  },
);

test('a wrong byte anywhere in a message ends the stream there', () => {
  const first = event('{"a":1}');
  for (let at = 4; at < first.length; at += 1) {
    const broken = Buffer.from(Buffer.concat([event('{}'), first]));
    const place = event('{}').length + at;
    broken.writeUInt8(broken.readUInt8(place) ^ 1, place);
    expect(read(broken)).toEqual({ events: ['data: chunk {}\n\n'], hasFailed: true });
  }
});

test.each([
  ['longer than the format allows', AWS_MESSAGE_BYTES_MAX + 1],
  ['shorter than its own frame', 15],
])('a message that says it is %s ends the stream before it has come', (_, length) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  expect(read(bytes)).toEqual({ events: [], hasFailed: true });
});

test('a message that is cut off is no event', () => {
  expect(read(STREAM.subarray(0, -1)).events).toEqual(SAID.slice(0, 2));
});

test.each([
  ['throttlingException', 'rate_limit_error'],
  ['modelStreamErrorException', 'api_error'],
])('the exception %s is an error of the type %s', (exception, type) => {
  const thrown = message(
    { ':message-type': 'exception', ':exception-type': exception },
    '{"message":"m"}',
  );
  expect(read(thrown).events).toEqual([
    `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"m"}}\n\n`,
  ]);
});
