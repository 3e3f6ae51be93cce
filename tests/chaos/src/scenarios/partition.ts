import {
  sendRequest,
  type ClientRecord,
  type Finding,
  type Target,
  SHORT_CHAT,
} from '@tollgate/audit';
import { openStream, startTollgate, type Heard, type Tollgate, letPass } from '@tollgate/harness';
import { Network } from '../network.ts';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { readLeases, readNumber } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';
import { createTarget } from '../create-target.ts';

/** Holds the three cuts of T9: unnoticed by streams, over before their holds are, and longer than their holds. */
const CUTS_S = [5, 50, 120];
const FENCE_MS = 45_000;
const LEASE_MS = 60_000;
const FENCE_TOLERANCE_MS = 2_000;
/** The node waits 3 s for an overdue answer; from then on it knows. */
const NOTICED_WITHIN_MS = 4_000;
const REFUSED_WITHIN_MS = 1_000;
/** A checkpoint is due so often: the last one was at most this long before the cut. */
const CHECKPOINT_MS = 5_000;
const STREAMS_PER_PROTOCOL = 2;
const STREAM_TOKENS = 190;
const TOKEN_EVERY_MS = 400;
/** Is the number of charged tokens of a token: the model's weights. */
const WEIGHT = 1;
/** Leaves little beside the long streams' holds: other requests that spend from this balance use it up. */
const TIGHT_TOKENS = 1_200;

interface Probe extends ClientRecord {
  sentAtMs: number;
  tookMs: number;
}

interface Cut {
  cutAtMs: number;
  cutMs: number;
  heard: readonly Heard[];
  /** Streams that were ended by the node, timed from the cut and from the last renewal Redis knows. */
  fenced: { afterCutMs: number; afterRenewalMs: number }[];
  probes: readonly Probe[];
  greedy: readonly ClientRecord[];
  modelId: number;
}

/** Holds what a balance was overspent by, and the most it may be, in charged tokens. */
interface Overspent {
  overdraft: number;
  bound: number;
}

/** Plays T9: the way of one node to Redis falls silent while it serves long streams, and another node spends the same balance. */
export async function partition({ times = 1, seconds, seed, log }: Order): Promise<Outcome> {
  const network = new Network();
  const tollgate = await startTollgate({ nodes: 2, route: network.route });
  try {
    const scene = await Scene.set(tollgate);
    const load = new ConstantLoad(scene, { seed, clients: 4, onlyAddress: 1, pauseMs: 50 });
    const cuts: Cut[] = [];
    for (let round = 0; round < times; round += 1) {
      for (const cutS of seconds === undefined ? CUTS_S : [seconds]) {
        log(`cutting node-1 off from Redis for ${cutS} s`);
        cuts.push(await cutOff(tollgate, network, cutS * 1_000));
      }
    }
    const records = [
      ...(await load.stop()),
      ...cuts.flatMap(({ probes, greedy }) => [...probes, ...greedy]),
    ];
    const { findings, drainedInMs } = await closeBooks(tollgate, records, { wereCut: true });
    const judged = [];
    for (const cut of cuts)
      judged.push({
        ...cut,
        overdraft: await readOverdraft(tollgate, cut),
        bound: overspendBound(cut),
      });
    return {
      figures: [
        ...judged.flatMap(figuresOf),
        ['other load', describeEndings(load.records)],
        ['drained', inSeconds(drainedInMs)],
      ],
      findings: [...promisesOf(judged), ...findings],
    };
  } finally {
    await tollgate.stop();
    await network.close();
  }
}

/** Cuts one customer off who has a small balance, with streams on the node that is cut off and other requests on both nodes. */
async function cutOff(tollgate: Tollgate, network: Network, cutMs: number): Promise<Cut> {
  const [here = '', there = ''] = tollgate.nodeUrls;
  const target = await createTarget(tollgate, { tokens: TIGHT_TOKENS });
  const { apiKey: key, model, modelId } = target;
  const asks = (['chat', 'messages'] as const).flatMap((protocol) =>
    Array.from({ length: STREAMS_PER_PROTOCOL }, () => ({
      origin: here,
      key,
      model,
      protocol,
      tokens: STREAM_TOKENS,
      delayMs: TOKEN_EVERY_MS,
    })),
  );
  const streams = asks.map(openStream);
  await Promise.all(streams.map(({ begun }) => begun));
  const way = network.way('node-1 to redis');
  const cutAtMs = Date.now();
  way.cut('silence');
  const ending = new AbortController();
  const probing = repeat(target, ending.signal);
  const spending = repeat({ ...target, origin: there }, ending.signal);
  await letPass(Math.min(cutMs, FENCE_MS / 2), 'leases are read before the node fences itself');
  const leases = await readLeases(tollgate);
  await letPass(cutAtMs + cutMs - Date.now(), 'the cut lasts as long as ordered');
  way.heal();
  ending.abort();
  const heard = await Promise.all(streams.map(({ ended }) => ended));
  const [probes, greedy] = await Promise.all([probing, spending]);
  const fenced = heard
    .filter(({ ending }) => ending !== 'finished')
    .map(({ rid, endedAtMs }) => ({
      afterCutMs: endedAtMs - cutAtMs,
      afterRenewalMs: endedAtMs - ((leases.get(rid) ?? 0) - LEASE_MS),
    }));
  return { cutAtMs, cutMs, heard, fenced, probes, greedy, modelId };
}

/** Sends one request after the other until it is stopped. */
async function repeat(target: Target, signal: AbortSignal): Promise<Probe[]> {
  const records = [];
  while (!signal.aborted) {
    const sentAtMs = Date.now();
    const record = await sendRequest(SHORT_CHAT, target);
    records.push({ ...record, sentAtMs, tookMs: Date.now() - sentAtMs });
    await letPass(50, 'a client pauses between requests');
  }
  return records;
}

function readOverdraft({ databaseUrl }: Tollgate, { modelId }: Cut): Promise<number> {
  return readNumber(
    databaseUrl,
    'SELECT coalesce(sum(overdraft), 0) AS value FROM subscriptions WHERE model_id = $1',
    [modelId],
  );
}

/** Returns nothing while Redis keeps the holds; once it gave them up, what each stream can have used from its last checkpoint until it was ended (docs/design/metering.md#overspend-bound). */
function overspendBound({ cutMs, heard }: Cut): number {
  const isHeld = cutMs < LEASE_MS - CHECKPOINT_MS;
  return isHeld
    ? 0
    : heard.length *
        Math.ceil((FENCE_MS + CHECKPOINT_MS + FENCE_TOLERANCE_MS) / TOKEN_EVERY_MS) *
        WEIGHT;
}

function promisesOf(cuts: readonly (Cut & Overspent)[]): Finding[] {
  const noticed = cuts.flatMap((cut) =>
    cut.probes.filter(
      ({ sentAtMs }) =>
        sentAtMs > cut.cutAtMs + NOTICED_WITHIN_MS &&
        sentAtMs < cut.cutAtMs + cut.cutMs - REFUSED_WITHIN_MS,
    ),
  );
  const streams = cuts.flatMap((cut) =>
    cut.heard.map((stream) => ({ ...stream, isLong: cut.cutMs > FENCE_MS })),
  );
  const fenced = cuts.flatMap((cut) => cut.fenced);
  return [
    promised(
      'refused',
      `from ${inSeconds(NOTICED_WITHIN_MS)} after the cut on, every new request gets 503 within ${inSeconds(REFUSED_WITHIN_MS)}`,
      {
        compared: noticed.length,
        problems: noticed
          .filter(({ status, tookMs }) => status !== 503 || tookMs > REFUSED_WITHIN_MS)
          .map(({ status, tookMs }) => `status ${status} after ${tookMs} ms`),
      },
    ),
    promised(
      'streams',
      `a cut shorter than ${inSeconds(FENCE_MS)} is not felt; a longer one ends them with an error in their protocol`,
      {
        compared: streams.length,
        problems: streams
          .filter(({ ending, isLong }) => ending !== (isLong ? 'refused' : 'finished'))
          .map(({ rid, ending }) => `stream ${rid}: ${ending}`),
      },
    ),
    promised(
      'fence',
      `${inSeconds(FENCE_MS)} (+- ${inSeconds(FENCE_TOLERANCE_MS)}) after the last renewal, which was at most ${inSeconds(CHECKPOINT_MS)} before the cut`,
      {
        compared: fenced.length,
        problems: fenced
          .filter(
            ({ afterCutMs, afterRenewalMs }) =>
              afterRenewalMs > FENCE_MS + FENCE_TOLERANCE_MS ||
              afterCutMs < FENCE_MS - CHECKPOINT_MS - FENCE_TOLERANCE_MS,
          )
          .map(
            ({ afterCutMs, afterRenewalMs }) =>
              `ended ${inSeconds(afterCutMs)} after the cut, ${inSeconds(afterRenewalMs)} after its last renewal`,
          ),
      },
    ),
    promised(
      'overspend',
      `nothing in a cut shorter than a hold; in a longer one at most a token each ${TOKEN_EVERY_MS} ms of each stream, from its last checkpoint to its end`,
      {
        compared: cuts.length,
        problems: cuts
          .filter(({ overdraft, bound }) => overdraft > bound)
          .map(({ overdraft, bound }) => `overdraft ${overdraft}, bound ${bound}`),
      },
    ),
  ];
}

function figuresOf({
  cutAtMs,
  cutMs,
  heard,
  fenced,
  probes,
  greedy,
  overdraft,
  bound,
}: Cut & Overspent): [string, string][] {
  const name = `cut of ${cutMs / 1_000} s`;
  const first = probes.find(({ status }) => status === 503);
  const range = (values: readonly number[]): string =>
    values.length === 0
      ? 'none'
      : `${inSeconds(Math.min(...values))} to ${inSeconds(Math.max(...values))}`;
  return [
    [`${name}: first 503`, first ? inSeconds(first.sentAtMs + first.tookMs - cutAtMs) : 'none'],
    [`${name}: requests there`, describeEndings(probes)],
    [
      `${name}: streams`,
      `${heard.filter(({ ending }) => ending === 'finished').length} finished, ${fenced.length} ended`,
    ],
    [`${name}: ended after cut`, range(fenced.map(({ afterCutMs }) => afterCutMs))],
    [`${name}: after renewal`, range(fenced.map(({ afterRenewalMs }) => afterRenewalMs))],
    [
      `${name}: same balance`,
      `${describeEndings(greedy)} at the other node; overdraft ${overdraft}, bound ${bound}`,
    ],
  ];
}
