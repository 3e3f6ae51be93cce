import { expect, test } from '@jest/globals';
import { settledRows } from './books.ts';
import { key, model, tollgate } from './security-under-test.ts';

const ask = async (origin: string | undefined, stream: boolean) => {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: model.name,
      stream,
      messages: [{ role: 'user', content: '@demo tokens=40' }],
    }),
  });
  await response.text();
  const rows = await settledRows(tollgate, response.headers.get('x-request-id') ?? '');
  return {
    status: response.status,
    rows: rows.map(({ outcome, charge, input_tokens: input, output_tokens: output }) => [
      outcome,
      charge,
      input,
      output,
    ]),
  };
};

test.each([false, true])(
  'a node that takes the paths of libraries answers and charges as another node does (stream: %s)',
  async (stream) => {
    const [own, libraries] = [
      await ask(tollgate.nodeUrls[0], stream),
      await ask(tollgate.nodeUrls[1], stream),
    ];
    expect(libraries).toEqual(own);
    expect(own).toEqual({ status: 200, rows: [['completed', 49, 9, 40]] });
  },
  60_000,
);
