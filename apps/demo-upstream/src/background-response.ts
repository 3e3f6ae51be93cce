import { setTimeout as delay } from 'node:timers/promises';
import { usageOf, type Exchange } from './answer.ts';
import { EventLog } from './event-log.ts';
import type { Item, ResponseStore } from './response-store.ts';
import { ResponsesDialect, responseOf, responsesUsage } from './responses-dialect.ts';
import { wordAt } from './words.ts';

const HIDDEN_STEP_MS = 10;
const STALL_MS = 50;
/** Runs in these modes never end by themselves. */
const ENDLESS: ReadonlySet<string> = new Set(['stalls', 'forgets']);

/** Holds one background response. */
interface Run {
  exchange: Exchange;
  items: readonly Item[];
  store: ResponseStore;
  events: EventLog;
  dialect: ResponsesDialect;
}

/** Generates the answer whether or not its caller asks for it again or reads its stream. */
export async function inBackground(
  exchange: Exchange,
  { items, store }: { items: readonly Item[]; store: ResponseStore },
): Promise<void> {
  const { plan, entry, record, request, response } = exchange;
  const events = new EventLog();
  const dialect = new ResponsesDialect((ended) =>
    store.keep({ response: ended, input: items, events }),
  );
  const run = { exchange, items, store, events, dialect };
  const queued = { ...responseOf({ request }, dialect.id), status: 'queued' };
  store.keep({ response: queued, input: items, events });
  if (request.stream) events.follow(response);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(queued));
  events.add(dialect.start(exchange));
  store.keep({ response: { ...queued, status: 'in_progress' }, input: items, events });
  const isDone = plan.mode === 'hidden' ? await think(run) : await write(run);
  if (!isDone) return;
  if (plan.mode !== 'no-usage') entry.reported = usageOf(exchange);
  events.add(dialect.finish(exchange));
  events.end();
  record.close(entry, 'finished');
}

/** Writes word by word; returns false when something ends it earlier. */
async function write(run: Run): Promise<boolean> {
  const { exchange, events, dialect } = run;
  const { plan, entry, response } = exchange;
  for (let index = 0; index < plan.tokens || ENDLESS.has(plan.mode); index += 1) {
    if (index === Math.floor(plan.tokens / 2)) {
      if (plan.mode === 'dies') response.destroy();
      if (plan.mode === 'error-mid') return failed(run);
    }
    if (index % plan.step === 0) await delay(index < plan.tokens ? plan.delayMs : STALL_MS);
    if (!isRunning(run)) return cancelled(run);
    if (index >= plan.tokens) continue;
    entry.emitted += 1;
    events.add(dialect.token(exchange, wordAt(index)));
  }
  return true;
}

/** Generates hidden tokens at its rate by the clock; returns false when it is cancelled. */
async function think(run: Run): Promise<boolean> {
  const { plan, entry } = run.exchange;
  const startedAt = performance.now();
  while (entry.emitted < plan.tokens) {
    await delay(HIDDEN_STEP_MS);
    if (!isRunning(run)) return cancelled(run);
    const seconds = (performance.now() - startedAt) / 1_000;
    entry.emitted = Math.min(plan.tokens, Math.floor(seconds * plan.tokensPerSecond));
  }
  return true;
}

function isRunning({ store, dialect }: Run): boolean {
  return store.get(dialect.id)?.response['status'] === 'in_progress';
}

/** Returns what a cancelled or deleted response leaves, by its mode. */
function cancelled({ exchange, items, store, events, dialect }: Run): false {
  const { plan, entry, record } = exchange;
  const stored = store.get(dialect.id);
  events.end();
  if (stored && plan.mode === 'cancel-usage') {
    entry.reported = usageOf(exchange);
    const usage = responsesUsage(entry.reported);
    store.keep({ ...stored, response: { ...stored.response, usage } });
  }
  if (stored && plan.mode === 'forgets') store.keep({ response: stored.response, input: items });
  record.close(entry, 'aborted');
  return false;
}

function failed({ exchange, items, store, events, dialect }: Run): false {
  const { record, entry, request } = exchange;
  const error = { code: 'server_error', message: 'the model failed' };
  const response = { ...responseOf({ request }, dialect.id), status: 'failed', error };
  store.keep({ response, input: items, events });
  events.end();
  record.close(entry, 'aborted');
  return false;
}
