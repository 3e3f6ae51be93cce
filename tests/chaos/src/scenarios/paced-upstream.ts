import { createServer, type ServerResponse } from 'node:http';
import { z } from 'zod';

/**
 * Is a provider of chat streams at an even pace: one token every so many ms, as many as the user's text says, each chunk stamped with the moment it was written
 * (`system_fingerprint`, unix ms), so that the receiver knows how long it took. The arguments are the port and the ms between tokens. It prints a line once it listens.
 */
const everyMs = Number(process.argv[3]);
const PROMPT_TOKENS = 10;
const bodySchema = z.looseObject({
  messages: z.tuple([z.looseObject({ content: z.coerce.number() })]),
});

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () =>
    stream(
      response,
      bodySchema.parse(JSON.parse(Buffer.concat(parts).toString('utf8'))).messages[0].content,
    ),
  );
});
server.keepAliveTimeout = 0;
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4_096 }, () =>
  process.stdout.write('ready\n'),
);

function stream(response: ServerResponse, tokens: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  // Streams that are opened together do not speak together.
  setTimeout(() => pace(response, tokens), Math.random() * everyMs);
}

function pace(response: ServerResponse, tokens: number): void {
  let sent = 0;
  const timer = setInterval(() => {
    sent += 1;
    response.write(
      chunk({
        choices: [
          {
            index: 0,
            delta: { ...(sent === 1 ? { role: 'assistant' } : {}), content: ' a' },
            finish_reason: null,
          },
        ],
      }),
    );
    if (sent < tokens) return;
    clearInterval(timer);
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.write(
      chunk({
        choices: [],
        usage: {
          prompt_tokens: PROMPT_TOKENS,
          completion_tokens: sent,
          total_tokens: PROMPT_TOKENS + sent,
        },
      }),
    );
    response.end('data: [DONE]\n\n');
  }, everyMs);
  response.on('close', () => clearInterval(timer));
}

function chunk(content: object): string {
  return `data: ${JSON.stringify({ id: 'chatcmpl-paced', object: 'chat.completion.chunk', created: 1, model: 'paced', system_fingerprint: String(performance.timeOrigin + performance.now()), ...content })}\n\n`;
}
