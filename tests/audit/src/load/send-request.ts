import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Arrivals, headersOf, OUTPUT_MAX, promptOf, unreached } from './client-record.ts';
import type { ClientRecord, Target } from './client-record.ts';
import { PREMIUM_FIELDS_ASKED } from './load-models.ts';
import type { RequestPlan } from './plan-requests.ts';
import { sendRun } from './send-run.ts';

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

/** Has the first bytes of a PNG of 1,024 by 1,024 pixels. */
const PNG_HEAD = 'iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB/HSuD';

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

export function closeClient(): void {
  agent.destroy();
}

/** Sends one request and reads its answer, or hangs up where the plan says so. Never throws: whatever happens is the record. */
export function sendRequest(plan: RequestPlan, target: Target): Promise<ClientRecord> {
  if (plan.protocol === 'responses') return sendRun(plan, target);
  const path = PATHS[plan.protocol];
  const record = unreached(plan);
  const body = JSON.stringify(bodyOf(plan, target.model));
  return new Promise((resolve) => {
    const sent = httpRequest(target.origin + path, {
      method: 'POST',
      agent,
      timeout: REQUEST_TIMEOUT_MS,
      headers: {
        ...headersOf(plan, target),
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
  const arrivals = new Arrivals(record);
  let text = '';
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    text += chunk.toString('utf8');
    if (plan.isStream && record.status === 200) {
      arrivals.deliver(tokensIn(text));
      if (plan.hangUpAtByte !== null && bytes >= plan.hangUpAtByte) hangUp();
    }
  });
  response.on('error', () => undefined);
  response.on('close', () => {
    arrivals.end();
    if (record.ending === 'hung_up') return;
    if (record.status !== 200) record.ending = 'refused';
    else if (plan.isStream ? ENDINGS.test(text) : response.complete && isJson(text))
      record.ending = 'completed';
    if (record.ending === 'completed' && plan.protocol !== 'embeddings' && !plan.isStream)
      record.deliveredTokens = plan.tokens;
  });
}

/** Counts whole lines only: half a line is not delivered. */
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
  const text = promptOf(plan);
  if (plan.protocol === 'embeddings') return { model, input: text };
  return {
    model,
    max_tokens: OUTPUT_MAX,
    stream: plan.isStream,
    messages: [{ role: 'user', content: plan.images === 0 ? text : withImages(plan, text) }],
    ...(plan.hasTool && { tools: [toolOf(plan)] }),
    ...(plan.isPremium && PREMIUM_FIELDS_ASKED[plan.protocol]),
  };
}

/** Returns the tool that the demo upstream calls. */
function toolOf({ protocol }: RequestPlan): object {
  const about = { name: 'get_weather', description: 'the weather in a city' };
  const input = { type: 'object', properties: { city: { type: 'string' } } };
  return protocol === 'messages'
    ? { ...about, input_schema: input }
    : { type: 'function', function: { ...about, parameters: input } };
}

function withImages({ protocol, images }: RequestPlan, text: string): unknown[] {
  const image =
    protocol === 'messages'
      ? { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG_HEAD } }
      : { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG_HEAD}` } };
  return [{ type: 'text', text }, ...Array.from({ length: images }, () => image)];
}
