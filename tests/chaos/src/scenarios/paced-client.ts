import { Agent, request } from 'node:http';
import { quantile } from './scenario.ts';

const ERROR_CODE = /"error":\{.*?"code":"(\w+)"/;
const STAMP = /"system_fingerprint":"([\d.]+)","choices":\[\{/g;
/** Answers rarely end at their limit; the last tokens before it are watched closely by the node, and that is another matter. */
const SPARE_TOKENS = 100;
const agent = new Agent({ keepAlive: false, maxSockets: Infinity });

/** Holds what one stream of the paced upstream was like for its client. */
export interface PacedStream {
  status: number | null;
  /** Is the code of the connection's error. */
  failure: string | null;
  /** Is the code of the error that the gateway ended the stream with, or refused it by. */
  error: string | null;
  /** Counts chunks that carried a token; `isWhole` is true when the stream ended as the protocol ends it. */
  tokens: number;
  isWhole: boolean;
}

/** Collects the ms from the upstream's write to the read here. */
export class ChunkDelays {
  #values: number[] = [];

  add(delayMs: number): void {
    this.#values.push(delayMs);
  }

  /** Forgets what came while streams were still being opened. */
  restart(): void {
    this.#values = [];
  }

  get count(): number {
    return this.#values.length;
  }

  at(share: number): number {
    return quantile(this.#values, share);
  }
}

export function openPacedStream({
  origin,
  apiKey,
  model,
  tokens,
  delays,
}: {
  origin: string;
  apiKey: string;
  model: string;
  tokens: number;
  delays: ChunkDelays;
}): { begun: Promise<void>; ended: Promise<PacedStream>; isOpen: () => boolean } {
  let isOpen = true;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<PacedStream>();
  const stream: PacedStream = {
    status: null,
    failure: null,
    error: null,
    tokens: 0,
    isWhole: false,
  };
  const body = JSON.stringify({
    model,
    max_tokens: tokens + SPARE_TOKENS,
    stream: true,
    messages: [{ role: 'user', content: String(tokens) }],
  });
  const finish = (): void => {
    isOpen = false;
    begin();
    end(stream);
  };
  const fail = (error: NodeJS.ErrnoException): void => {
    stream.failure = error.code ?? error.message;
    finish();
  };
  const sent = request(
    `${origin}/v1/chat/completions`,
    {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    },
    (response) => {
      stream.status = response.statusCode ?? null;
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        const now = performance.timeOrigin + performance.now();
        const whole = rest + text;
        const lastLine = whole.lastIndexOf('\n') + 1;
        rest = whole.slice(lastLine);
        for (const [, stamp] of whole.slice(0, lastLine).matchAll(STAMP)) {
          if (stream.tokens < tokens) delays.add(now - Number(stamp));
          stream.tokens += 1;
        }
        stream.error ??= ERROR_CODE.exec(whole)?.[1] ?? null;
        if (whole.includes('data: [DONE]')) stream.isWhole = true;
        begin();
      });
      response.on('close', finish).on('error', fail);
    },
  );
  sent.on('error', fail);
  sent.end(body);
  return { begun, ended, isOpen: () => isOpen };
}
