import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { PREMIUM_FIELDS_ASKED } from './load-models.ts';
import type { RequestPlan } from './plan-requests.ts';

/** Holds what a client remembers of its request. */
export interface ClientRecord {
  plan: RequestPlan;
  /** From the response header; null when none arrived. */
  rid: string | null;
  status: number | null;
  /** completed: the whole answer arrived. hung_up: by the client. refused: a status other than 200. broken: the answer ended by itself. unreached: there was none. */
  ending: 'completed' | 'hung_up' | 'refused' | 'broken' | 'unreached';
  /** Generated tokens the client received whole. */
  deliveredTokens: number;
  /** Counts those tokens that were received in the last moments before the end. */
  recentTokens: number;
}

export interface Target {
  origin: string;
  apiKey: string;
  model: string;
}

/** A node journals counts every 100 ms; that it died may be seen much later here, on a machine that starts other processes. */
const RECENT_MS = 1_000;
const REQUEST_TIMEOUT_MS = 60_000;
const JSON_HANG_UP_MAX_MS = 40;
const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
} as const;
/** The demo upstream sends each token as one piece that begins with a blank. */
const TOKEN = /"(?:content|text)":" [a-z]/g;
const ENDINGS = /^(?:data: \[DONE\]|event: message_stop)/m;

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

export function closeClient(): void {
  agent.destroy();
}

/** Sends one request and reads its answer, or hangs up where the plan says so. Never throws: whatever happens is the record. */
export function sendRequest(plan: RequestPlan, target: Target): Promise<ClientRecord> {
  const record: ClientRecord = {
    plan,
    rid: null,
    status: null,
    ending: 'unreached',
    deliveredTokens: 0,
    recentTokens: 0,
  };
  const body = JSON.stringify(bodyOf(plan, target.model));
  return new Promise((resolve) => {
    const sent = httpRequest(target.origin + PATHS[plan.protocol], {
      method: 'POST',
      agent,
      timeout: REQUEST_TIMEOUT_MS,
      headers: {
        authorization: `Bearer ${target.apiKey}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(plan.protocol === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      },
    });
    const hangUp = (): void => {
      record.ending = 'hung_up';
      sent.destroy();
    };
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => undefined);
    let answer: IncomingMessage | undefined;
    sent.on('close', () =>
      answer && !answer.closed ? answer.once('close', () => resolve(record)) : resolve(record),
    );
    sent.on('response', (response) => {
      answer = response;
      read(response, record, hangUp);
    });
    sent.end(body);
    // A JSON answer comes in one piece: its client leaves while the answer is being made.
    if (plan.hangUpAtByte !== null && !plan.isStream)
      setTimeout(
        () => !sent.destroyed && record.ending === 'unreached' && hangUp(),
        plan.hangUpAtByte % JSON_HANG_UP_MAX_MS,
      );
  });
}

function read(response: IncomingMessage, record: ClientRecord, hangUp: () => void): void {
  const { plan } = record;
  const rid = response.headers['x-request-id'];
  record.rid = typeof rid === 'string' ? rid : null;
  record.status = response.statusCode ?? null;
  record.ending = record.ending === 'hung_up' ? 'hung_up' : 'broken';
  const arrivals: { atMs: number; tokens: number }[] = [];
  let text = '';
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    text += chunk.toString('utf8');
    if (plan.isStream && record.status === 200) {
      record.deliveredTokens = tokensIn(text);
      arrivals.push({ atMs: performance.now(), tokens: record.deliveredTokens });
      if (plan.hangUpAtByte !== null && bytes >= plan.hangUpAtByte) hangUp();
    }
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    const before =
      arrivals.findLast(({ atMs }) => atMs < performance.now() - RECENT_MS)?.tokens ?? 0;
    record.recentTokens = record.deliveredTokens - before;
    if (record.ending === 'hung_up') return;
    if (record.status !== 200) record.ending = 'refused';
    else if (plan.isStream ? ENDINGS.test(text) : response.complete && isJson(text))
      record.ending = 'completed';
    if (record.ending === 'completed' && plan.protocol !== 'embeddings')
      record.deliveredTokens = plan.tokens;
  });
}

/** Whole lines only: half a line is not delivered. */
function tokensIn(text: string): number {
  return (text.slice(0, text.lastIndexOf('\n') + 1).match(TOKEN) ?? []).length;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function bodyOf(plan: RequestPlan, model: string): unknown {
  const words = Array.from({ length: plan.promptWords }, (_, index) => `word${index}`).join(' ');
  if (plan.protocol === 'embeddings') return { model, input: words };
  const classes = plan.isEveryClass ? ' classes=all' : '';
  const content = `${words}\n@demo tokens=${plan.tokens} delay=${plan.delayMs}${classes}`;
  return {
    model,
    max_tokens: 200,
    stream: plan.isStream,
    messages: [{ role: 'user', content }],
    ...(plan.isPremium && PREMIUM_FIELDS_ASKED[plan.protocol]),
  };
}
