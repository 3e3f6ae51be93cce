import { letPass } from '@tollgate/harness';
import { z } from 'zod';
import { Arrivals, headersOf, OUTPUT_MAX, promptOf, unreached } from './client-record.ts';
import type { ClientRecord, Target } from './client-record.ts';
import type { RequestPlan } from './plan-requests.ts';

const CALL_MS = 20_000;
const RUN_MS = 45_000;
const LOOK_MS = 250;
const CANCEL_AFTER_MAX_MS = 1_000;
const DELTA = 'event: response.output_text.delta';

const responseSchema = z.object({
  id: z.string(),
  status: z.string(),
  output: z.array(z.object({ content: z.array(z.object({ text: z.string() })).default([]) })),
});

/** Has an answer made in the background and asks for it until it is over, or cancels it where the plan hangs up. It never throws. */
export async function sendRun(plan: RequestPlan, target: Target): Promise<ClientRecord> {
  const record = unreached(plan);
  const call = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(target.origin + path, {
      method,
      headers: headersOf(plan, target),
      signal: AbortSignal.timeout(CALL_MS),
      ...(body && { body: JSON.stringify(body) }),
    });
  try {
    const begun = await call('POST', '/v1/responses', bodyOf(plan, target.model));
    record.rid = begun.headers.get('x-request-id');
    record.status = begun.status;
    record.ending = begun.status === 200 ? 'broken' : 'refused';
    const answer = await begun.json();
    if (begun.status === 200) await follow(record, responseSchema.parse(answer).id, call);
  } catch {
    // `record` already says how far the request came.
  }
  return record;
}

type Call = (method: string, path: string) => Promise<Response>;

async function follow(record: ClientRecord, id: string, call: Call): Promise<void> {
  const { isStream, hangUpAtByte } = record.plan;
  if (isStream) await read(record, await call('GET', `/v1/responses/${id}?stream=true`));
  else if (hangUpAtByte !== null)
    await letPass(hangUpAtByte % CANCEL_AFTER_MAX_MS, 'a client cancels in the middle of a run');
  if (hangUpAtByte !== null) {
    const cancelled = await call('POST', `/v1/responses/${id}/cancel`);
    if (await isOver(record, cancelled)) return;
  }
  const until = Date.now() + RUN_MS;
  while (Date.now() < until) {
    const seen = await call('GET', `/v1/responses/${id}`).catch(() => undefined);
    if (seen && (await isOver(record, seen))) return;
    await letPass(LOOK_MS, 'a client looks again');
  }
}

/** Reads the events to their end, or to the byte at which the client leaves. */
async function read(record: ClientRecord, response: Response): Promise<void> {
  const { hangUpAtByte } = record.plan;
  const arrivals = new Arrivals(record);
  let text = '';
  for await (const chunk of response.status === 200 ? (response.body ?? []) : []) {
    text += Buffer.from(chunk).toString('utf8');
    arrivals.deliver(text.slice(0, text.lastIndexOf('\n\n')).split(DELTA).length - 1);
    if (hangUpAtByte !== null && text.length >= hangUpAtByte) break;
  }
  arrivals.end();
}

/** Records the end of a run; returns false while it goes on. */
async function isOver(record: ClientRecord, answer: Response): Promise<boolean> {
  if (answer.status !== 200) return false;
  const { status, output } = responseSchema.parse(await answer.json());
  const words = output.flatMap(({ content }) => content.flatMap(({ text }) => text.split(' ')));
  record.deliveredTokens = Math.max(record.deliveredTokens, words.filter(Boolean).length);
  if (status === 'completed') record.ending = 'completed';
  if (status === 'cancelled') record.ending = 'hung_up';
  return status !== 'queued' && status !== 'in_progress';
}

/** Half of the runs that are cancelled report their usage. */
function bodyOf(plan: RequestPlan, model: string): object {
  const mode = plan.tokens % 2 === 0 ? 'ok' : 'cancel-usage';
  return { model, input: promptOf(plan, mode), background: true, max_output_tokens: OUTPUT_MAX };
}
