import { createServer } from 'node:http';

/** Answers at once: 1 JSON body or a 64-event SSE stream in one write, so that a measurement of a proxy measures the proxy. Prints its port. */
const EVENTS = 64;
const head = { id: 'chatcmpl-bench', created: 1_767_225_600, model: 'bench-upstream' };
const usage = { prompt_tokens: 12, completion_tokens: EVENTS, total_tokens: 12 + EVENTS };
const json = Buffer.from(
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word '.repeat(EVENTS) },
        finish_reason: 'stop',
      },
    ],
    usage,
  }),
);
const chunk = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const sse = Buffer.from(
  [
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: EVENTS - 4 }, () => chunk({ content: ' word' })),
    chunk({}, 'stop'),
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ].join(''),
);

const server = createServer((request, response) => {
  let isStream = false;
  request.on('data', (bytes: Buffer) => (isStream ||= bytes.includes('"stream":true')));
  request.on('end', () => {
    const body = isStream ? sse : json;
    response.writeHead(200, {
      'content-type': isStream ? 'text/event-stream' : 'application/json',
      'content-length': body.length,
    });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${(server.address() as { port: number }).port}\n`),
);
