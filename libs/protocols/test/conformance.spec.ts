import { expect, test } from '@jest/globals';
import { usageOf, type ReportedUsage, type TokenUsage } from '@tollgate/contracts';
import { readChatUsage, readMessagesUsage } from '../src/index.ts';
import type { Exchange } from '../src/index.ts';
import { checkedBlocks } from './checked-blocks.ts';
import { readChat, readMessages } from './direct-reading.ts';
import type { Reading } from './direct-reading.ts';
import { drive, exchangeOf, jsonEvents, wireEvents } from './drive.ts';
import type { Loose } from './drive.ts';
import { describeRecorded, recordings, upstreamBytes } from './fixtures.ts';
import type { Recording } from './fixtures.ts';

/** Every recorded answer is the upstream's, through every exchange that can carry it. It is cut at odd places, so that no test depends on chunk borders. */
const CUTS = [1, 7, 64, 3, 1024];

/** Is true for two messages that were joined when the recording was saved; as one stream it is against the protocol. */
const isSpliced = ({ file }: Recording): boolean => file.includes('spliced-message-start');

const answers = recordings(
  ({ protocol, status, hasError }) =>
    (protocol === 'chat' || protocol === 'messages') && status === 200 && !hasError,
);
const named = (where: (recording: Recording) => boolean): [string, Recording][] =>
  answers.filter(where).map((recording) => [recording.file, recording]);

const ASKS = {
  chat: { model: 'alias', messages: [{ role: 'user', content: 'hi' }] },
  messages: { model: 'alias', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] },
};
const dialectOf = ({ protocol }: Recording): 'openai' | 'anthropic' =>
  protocol === 'chat' ? 'openai' : 'anthropic';

function exchangeFor(
  client: 'chat' | 'messages',
  recording: Recording,
  more: object = {},
): Exchange {
  return exchangeOf(client, dialectOf(recording), {
    ...ASKS[client],
    ...more,
    ...(recording.isStream ? { stream: true } : {}),
  });
}

function reportedUsage({ protocol, usage }: Recording): TokenUsage | null {
  return countsOf(protocol === 'chat' ? readChatUsage(usage) : readMessagesUsage(usage));
}

/** Leaves out the tier, which a translation does not keep. */
function countsOf(usage: ReportedUsage | null): TokenUsage | null {
  return usage && usageOf(({ key }) => usage[key]);
}

/** Returns what the recording says. A chat answer with tool calls has stopped for them, whatever its finish_reason (behaviour 21). */
function direct(recording: Recording): Reading {
  if (recording.protocol === 'messages')
    return readMessages(upstreamBytes(recording), recording.isStream);
  const reading = readChat(upstreamBytes(recording), recording.isStream);
  return reading.finish === 'stop' && reading.tools.length > 0
    ? { ...reading, finish: 'tool_calls' }
    : reading;
}

interface Answered {
  body: Buffer;
  usage: TokenUsage | null;
  outputText: string;
}

function answered(exchange: Exchange, recording: Recording): Answered {
  const upstream = upstreamBytes(recording);
  if (recording.isStream) {
    const { text, reader, generated } = drive(exchange, upstream, CUTS);
    expect(reader.state).toBe('finished');
    return { body: Buffer.from(text), usage: countsOf(reader.usage), outputText: generated };
  }
  const reading = exchange.readJson(upstream);
  if (reading.kind !== 'answer') throw new Error(reading.error.message);
  return {
    body: Buffer.from(reading.body),
    usage: countsOf(reading.usage),
    outputText: reading.outputText,
  };
}

describeRecorded('same protocol: recorded JSON', () => {
  test.each(named(({ isStream }) => !isStream))(
    '%s keeps every byte but the model value',
    (_, recording) => {
      const { body, usage } = answered(
        exchangeFor(recording.protocol === 'chat' ? 'chat' : 'messages', recording),
        recording,
      );
      const upstream = upstreamBytes(recording).toString('utf8');
      const given = JSON.parse(upstream).model;
      const head = upstream.search(/"model"\s*:/);
      const at = upstream.indexOf(JSON.stringify(given), head + '"model"'.length);
      expect(body.toString('utf8')).toBe(
        `${upstream.slice(0, at)}"alias"${upstream.slice(at + JSON.stringify(given).length)}`,
      );
      expect(usage).toEqual(reportedUsage(recording));
    },
  );
});

describeRecorded('same protocol: recorded streams', () => {
  test.each(named(({ isStream, protocol }) => isStream && protocol === 'messages'))(
    '%s keeps every byte but the model value of message_start',
    (_, recording) => {
      const { body, usage } = answered(exchangeFor('messages', recording), recording);
      const upstream = upstreamBytes(recording).toString('utf8');
      const expected = upstream.replaceAll(
        /(data: \{"type":"message_start","message":\{.*?"model":)"[^"]*"/g,
        '$1"alias"',
      );
      expect(body.toString('utf8')).toBe(expected);
      expect(usage).toEqual(reportedUsage(recording));
    },
  );

  test.each(named(({ isStream, protocol }) => isStream && protocol === 'chat'))(
    '%s keeps every byte but the closed list',
    (_, recording) => {
      const upstream = upstreamBytes(recording);
      for (const include_usage of [false, true]) {
        const { body, usage } = answered(
          exchangeFor('chat', recording, { stream_options: { include_usage } }),
          recording,
        );
        expect(usage).toEqual(reportedUsage(recording));
        expectClosedList(upstream.toString('utf8'), body.toString('utf8'), include_usage);
      }
    },
  );

  test.each(named(({ isStream, protocol }) => isStream && protocol === 'chat'))(
    "%s asked under the upstream's own model name keeps its content chunks as the very bytes",
    (_, recording) => {
      const upstream = upstreamBytes(recording).toString('utf8');
      const models = new Set(jsonEvents(upstream).map(({ model }) => String(model)));
      const model = [...models].find((name) => name !== '') ?? '';
      const exchange = exchangeOf(
        'chat',
        'openai',
        { ...ASKS.chat, model, stream: true, stream_options: { include_usage: true } },
        { upstreamModel: model },
      );
      const sent = new Set(
        wireEvents(drive(exchange, upstream, CUTS).text).map(({ data }) => data),
      );
      const [first, ...rest] = wireEvents(upstream);
      expect(first).toBeDefined();
      for (const { data } of rest.slice(1))
        if (!/"usage":\s*\{|"role":\s*"assistant"/.test(data)) expect(sent).toContain(data);
    },
  );
});

/** Compares chunk by chunk, with the closed list's members removed from both sides. */
function expectClosedList(upstream: string, client: string, includeUsage: boolean): void {
  const isUsageChunk = (chunk: Loose): boolean =>
    (chunk['choices'] ?? []).length === 0 &&
    typeof chunk['usage'] === 'object' &&
    chunk['usage'] !== null;
  const core = (chunk: Loose, isFirst: boolean): Loose => {
    const { model: _, usage: __, ...rest } = chunk;
    const choices = (rest['choices'] ?? []).map((choice: Loose) => {
      const { role: ___, ...delta } = choice['delta'] ?? {};
      return { ...choice, delta };
    });
    if (!isFirst) return { ...rest, choices };
    const { id: ____, created: _____, object: ______, ...first } = rest;
    return { ...first, choices };
  };
  const given = jsonEvents(upstream).filter((chunk) => !isUsageChunk(chunk));
  const all = jsonEvents(client);
  const got = all.filter((chunk) => !isUsageChunk(chunk));
  expect(got.map((chunk, at) => core(chunk, at < 2))).toEqual(
    given.map((chunk, at) => core(chunk, at < 2)),
  );
  for (const chunk of all) expect(chunk['model']).toBe('alias');
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
  const roles = all.flatMap(({ choices }) => choices).map(({ delta }: Loose) => delta?.role);
  expect(roles.filter((role) => role !== undefined && role !== null)).toEqual(['assistant']);
  expect(roles[0]).toBe('assistant');
  expect(wireEvents(client).at(-1)?.data).toBe('[DONE]');
  if (includeUsage) expect(all.filter(isUsageChunk)).toEqual([all.at(-1)]);
  else expect(all.every((chunk) => !('usage' in chunk))).toBe(true);
}

describeRecorded('translated: recorded answers', () => {
  test.each(named((recording) => !isSpliced(recording)))(
    '%s says the same in the other protocol',
    (_, recording) => {
      const client = recording.protocol === 'chat' ? 'messages' : 'chat';
      const { body, usage, outputText } = answered(
        exchangeFor(client, recording, { stream_options: { include_usage: true } }),
        recording,
      );
      const reading = (client === 'chat' ? readChat : readMessages)(body, recording.isStream);
      expect(reading).toEqual(direct(recording));
      const hasTwo =
        upstreamBytes(recording).toString('utf8').split('"type":"message_start"').length > 2;
      if (!hasTwo) expect(usage).toEqual(reportedUsage(recording));
      expect(toldUsage(client, body, recording.isStream)).toEqual(
        client === 'messages' ? asMessages(usage) : usage,
      );
      expect(outputText).toContain(reading.text.slice(0, 20));
      if (client === 'messages' && recording.isStream) checkedBlocks(body.toString('utf8'));
    },
  );
});

describeRecorded('translated: recorded answers for /v1/responses', () => {
  test.each(named((recording) => !isSpliced(recording)))(
    '%s says the same in output items',
    (_, recording) => {
      const exchange = exchangeOf('responses', dialectOf(recording), {
        model: 'alias',
        input: 'hi',
        ...(recording.isStream ? { stream: true } : {}),
      });
      const { body } = answered(exchange, recording);
      const text = body.toString('utf8');
      const response = recording.isStream ? jsonEvents(text).at(-1).response : JSON.parse(text);
      const items: Loose[] = response.output;
      const parts = (type: string, field: string): string =>
        items
          .filter((item) => item.type === type)
          .flatMap((item) => item[field] ?? [])
          .map((part: Loose) => part.text ?? '')
          .join('');
      const expected = direct(recording);
      expect([parts('message', 'content'), parts('reasoning', 'summary')]).toEqual([
        expected.text,
        expected.thinking,
      ]);
      expect(
        items
          .filter(({ type }) => type === 'function_call')
          .map((item) => ({ name: item.name, args: JSON.parse(item.arguments) })),
      ).toEqual(expected.tools);
      expect(response.status).toBe(
        expected.finish === 'length' || expected.finish === 'content_filter'
          ? 'incomplete'
          : 'completed',
      );
    },
  );
});

/** Reads the usage that the client received back into normal form. */
/** Messages have no words for audio and images: they are part of their input and output. */
function asMessages(usage: TokenUsage | null): TokenUsage | null {
  return (
    usage && {
      ...usage,
      input: usage.input + usage.audioInput + usage.imageInput,
      output: usage.output + usage.audioOutput + usage.imageOutput,
      ...{ audioInput: 0, audioOutput: 0, imageInput: 0, imageOutput: 0 },
    }
  );
}

function toldUsage(
  client: 'chat' | 'messages',
  body: Buffer,
  isStream: boolean,
): TokenUsage | null {
  const last = isStream
    ? jsonEvents(body.toString('utf8')).findLast((event) => 'usage' in event)
    : JSON.parse(body.toString('utf8'));
  const read = countsOf(
    client === 'chat' ? readChatUsage(last?.usage) : readMessagesUsage(last?.usage),
  );
  const isSilent = read !== null && Object.values(read).every((count) => count === 0);
  return isSilent ? null : read;
}
