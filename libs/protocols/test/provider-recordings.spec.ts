import { describe, expect, test } from '@jest/globals';
import { outputTokensOf, promptTokensOf, type ReportedUsage } from '@tollgate/contracts';
import { ASKS, CLIENTS, received } from './client-reading.ts';
import { exchangeOf } from './drive.ts';
import { ask, HI, STREAM } from './gemini-client.ts';
import { describeRecorded, providerRecordings } from './fixtures.ts';
import { RECORDED_PROVIDERS } from './recorded-providers.ts';

/** Every recorded conversation of a provider is its answer to clients of each protocol. Its words and its report are read from the recording alone. */
describe.each(RECORDED_PROVIDERS)('$folder', ({ folder, protocol, baseUrl, isAnswer, read }) => {
  const answers = providerRecordings(folder).filter(
    (recording) => recording.status === 200 && isAnswer(recording),
  );
  const cases = answers.flatMap((recording) =>
    CLIENTS.map((client) => ({ client, name: recording.name, recording })),
  );
  describeRecorded('recorded answers', () => {
    test.each(cases)(
      '$name says the same to a client of $client, and is charged as reported',
      ({ client, recording }) => {
        const exchange = exchangeOf(
          client,
          protocol,
          client === 'generate' || !recording.isStream
            ? ASKS[client]
            : {
                ...{ ...ASKS[client], stream: true },
                ...(client === 'chat' && { stream_options: { include_usage: true } }),
              },
          {
            speech: { protocol, base_url: baseUrl },
            ...(client === 'generate' && recording.isStream && { ask: ask(HI, STREAM) }),
          },
        );
        const expected = read(recording);
        const { charged, finish: _, ...got } = received(client, exchange, recording);
        expect(got).toMatchObject(expected.says);
        const usage = charged as ReportedUsage;
        expect(usage).toMatchObject(expected.usage);
        expect({ prompt: promptTokensOf(usage), output: outputTokensOf(usage) }).toEqual({
          prompt: expected.says.prompt,
          output: expected.says.output,
        });
      },
    );
  });
});
