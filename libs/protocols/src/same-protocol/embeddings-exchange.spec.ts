import { describe, expect, test } from '@jest/globals';
import { exchangeOf } from '../../test/drive.ts';
import { describeRecorded, recordings, upstreamBytes } from '../../test/fixtures.ts';

describe('embeddings -> embeddings', () => {
  test('behaviour 31: tokens and the base64 default go up as they are, base64 and floats come back as they are', () => {
    const source = '{"input":[[1,2],[50000]],"model":"alias","encoding_format":"base64"}';
    const exchange = exchangeOf('embeddings', 'openai', source);
    expect(Buffer.from(exchange.requestBody).toString()).toBe(
      source.replace('alias', 'upstream-model'),
    );
    for (const embedding of ['"zczMPc3MTD4="', '[0.1,2.0e-1]']) {
      const answer = `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${embedding}}],"model":"upstream-model","usage":{"prompt_tokens":3,"total_tokens":3}}`;
      const reading = exchange.readJson(Buffer.from(answer));
      if (reading.kind !== 'answer') throw new Error('no answer');
      expect(Buffer.from(reading.body).toString()).toBe(answer.replace('upstream-model', 'alias'));
      expect(reading.usage).toMatchObject({ input: 3, output: 0 });
    }
  });

  test('behaviour 25: a 200 without data is an error', () => {
    for (const body of ['{"detail":"x"}', '{"error":{"message":"x"}}', '{}', '<html>'])
      expect(
        exchangeOf('embeddings', 'openai', { model: 'm', input: 'x' }).readJson(Buffer.from(body))
          .kind,
      ).toBe('error');
  });
});

describeRecorded('recorded embeddings', () => {
  test.each(
    recordings(({ protocol, status }) => protocol === 'embeddings' && status === 200).map(
      (recording) => [recording.file, recording] as const,
    ),
  )('%s keeps all but the model', (_, recording) => {
    const upstream = upstreamBytes(recording);
    const reading = exchangeOf('embeddings', 'openai', { model: 'alias', input: 'x' }).readJson(
      upstream,
    );
    if (reading.kind !== 'answer') throw new Error(reading.error.message);
    expect(JSON.parse(Buffer.from(reading.body).toString())).toEqual({
      ...JSON.parse(upstream.toString()),
      model: 'alias',
    });
    expect(reading.usage).toMatchObject({
      input: Object(recording.usage).prompt_tokens,
      output: 0,
    });
  });
});
