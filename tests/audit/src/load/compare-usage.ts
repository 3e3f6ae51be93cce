import { TOKEN_FIELDS } from '@tollgate/contracts';
import type { RecordEntry } from '@tollgate/demo-upstream';
import type { Finding } from '../books/finding.ts';
import { OUTPUT_MAX, type ClientRecord } from './client-record.ts';
import { premiumsOf } from './load-models.ts';
import { chargeFor, dearestChargeFor, type TokensByClass, type UsageRow } from './usage-rows.ts';

type Report = RecordEntry['reported'];

export interface Witnesses {
  /** Holds what clients remember. */
  clients: readonly ClientRecord[];
  /** Holds what the provider remembers, oldest first; a request may have several attempts. */
  provider: readonly RecordEntry[];
  /** Holds what the books say, by rid. */
  usage: ReadonlyMap<string, UsageRow>;
  /** Processes were killed: answers may have broken off in their last moments, and the provider may have forgotten requests that were running when it died. */
  wereKilled: boolean;
  /** Nothing died, yet answers may have broken off; whatever was delivered is still charged. */
  wereCut?: boolean;
}

/** Is the audit's core: compares three independent witnesses of the same requests, one request at a time. */
export function compareUsage(witnesses: Witnesses): Finding[] {
  const attempts = Map.groupBy(
    witnesses.provider.filter(({ ending }) => ending !== 'refused'),
    ({ rid }) => rid,
  );
  const of = (ending: ClientRecord['ending']): ClientRecord[] =>
    witnesses.clients.filter((client) => client.ending === ending);
  const [ended, completed] = partition(of('completed'), (client) =>
    isExhausted(witnesses.usage.get(client.rid ?? '')),
  );
  const findings = [
    {
      name: 'completed',
      promise: 'what the upstream reported == usage row == what left the balance',
      compared: completed.length,
      problems: completed.flatMap((client) => problemOfCompleted(client, attempts, witnesses)),
    },
    {
      name: 'exhausted',
      promise: 'ended by a balance or a budget: delivered <= charged <= emitted',
      compared: ended.length,
      problems: ended.flatMap((client) => problemOfCutOff(client, attempts, witnesses)),
    },
    {
      name: 'hung up',
      promise: 'delivered <= charged <= emitted',
      compared: of('hung_up').length,
      problems: of('hung_up').flatMap((client) => problemOfCutOff(client, attempts, witnesses)),
    },
    {
      name: 'refused',
      promise: 'costs nothing',
      compared: of('refused').length,
      problems: of('refused').flatMap(({ rid, status }) => {
        const delta = witnesses.usage.get(rid ?? '')?.delta ?? 0;
        return delta === 0 ? [] : [`request ${rid} was answered ${status} and charged ${delta}`];
      }),
    },
    brokenFinding(of('broken'), attempts, witnesses),
    {
      name: 'unreached',
      promise: witnesses.wereKilled ? 'reached no node: nothing to compare' : 'none without a kill',
      compared: of('unreached').length,
      problems: witnesses.wereKilled
        ? []
        : of('unreached').map(({ plan }) => `a ${plan.protocol} request was not answered`),
    },
    {
      name: 'nothing lost',
      promise: 'every request the upstream answered is in the books',
      compared: attempts.size,
      problems: [...attempts].flatMap(([rid, entries]) =>
        // A node's probe is the installation's own request: it is in no books.
        witnesses.usage.has(rid) ||
        entries.every(({ emitted, isDirected }) => emitted === 0 || !isDirected)
          ? []
          : [
              `request ${rid}: the upstream emitted ${last(entries).emitted} tokens, the books know nothing`,
            ],
      ),
    },
    {
      name: 'nothing invented',
      promise: 'every charge has its request at the upstream',
      compared: witnesses.usage.size,
      problems: [...witnesses.usage.values()].flatMap((row) =>
        row.delta === 0 || attempts.has(row.rid) || witnesses.wereKilled
          ? []
          : [`request ${row.rid} was charged ${row.delta}, the upstream knows nothing of it`],
      ),
    },
  ];
  return findings.filter(({ compared, problems }) => compared > 0 || problems.length > 0);
}

/** A stream that its balance or a budget ended is whole to its client. */
export function isExhausted(row: UsageRow | undefined): boolean {
  return row?.outcome === 'balance_exhausted';
}

function partition<Item>(items: readonly Item[], isSo: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isSo), items.filter((item) => !isSo(item))];
}

function brokenFinding(
  broken: readonly ClientRecord[],
  attempts: ReadonlyMap<string, RecordEntry[]>,
  witnesses: Witnesses,
): Finding {
  const found = { name: 'broken off', compared: broken.length };
  if (!witnesses.wereKilled && !witnesses.wereCut)
    return {
      ...found,
      promise: 'none without a kill',
      problems: broken.map(
        ({ rid, status }) =>
          `request ${rid ?? 'without an id'} (status ${status ?? 'none'}) broke off`,
      ),
    };
  const arrived = ({ deliveredTokens, recentTokens }: ClientRecord): number =>
    witnesses.wereKilled ? deliveredTokens - recentTokens : deliveredTokens;
  return {
    ...found,
    promise: `delivered${witnesses.wereKilled ? ', but for the last moments' : ''} <= charged <= emitted`,
    problems: broken.flatMap((client) =>
      problemOfCutOff(
        { ...client, deliveredTokens: arrived(client), recentTokens: 0 },
        attempts,
        witnesses,
      ),
    ),
  };
}

function problemOfCompleted(
  { rid, plan }: ClientRecord,
  attempts: ReadonlyMap<string, RecordEntry[]>,
  { usage, wereKilled }: Witnesses,
): string[] {
  const row = usage.get(rid ?? '');
  if (!row) return [`request ${rid}: completed, not in the books`];
  const reported = attempts.get(row.rid)?.findLast((entry) => entry.reported)?.reported;
  if (!reported)
    return wereKilled ? [] : [`request ${rid}: completed, the upstream remembers no report`];
  const tokens = tokensReported(reported);
  const asked = { ...row, premiums: premiumsOf(plan) };
  const charge = chargeFor(asked, tokens);
  const says = `upstream ${describeTokens(tokens)}, row ${describeTokens(row.tokens)} (${row.basis}, ${row.outcome}), asked for ${asked.premiums.join(', ') || 'nothing dearer'}, charged as ${row.premiums.join(', ') || 'nothing dearer'}, charge ${row.charge}, left the balance ${row.delta}, expected ${charge}`;
  const isEqual =
    describeTokens(row.tokens) === describeTokens(tokens) &&
    row.premiums.join() === asked.premiums.join() &&
    row.charge === charge &&
    row.delta === charge &&
    row.basis === 'reported';
  return isEqual ? [] : [`request ${rid}: ${says}`];
}

/** Returns tokens by class; a report that names none is of plain tokens. */
export function tokensReported(reported: NonNullable<Report>): TokensByClass {
  return reported.classes ?? { input_tokens: reported.prompt, output_tokens: reported.output };
}

function describeTokens(tokens: TokensByClass): string {
  const used = TOKEN_FIELDS.filter((name) => (tokens[name] ?? 0) > 0);
  return used.map((name) => `${name} ${tokens[name]}`).join(' ');
}

function problemOfCutOff(
  { rid, plan, deliveredTokens, recentTokens }: ClientRecord,
  attempts: ReadonlyMap<string, RecordEntry[]>,
  { usage, wereKilled }: Witnesses,
): string[] {
  if (rid === null) return [];
  const booked = usage.get(rid);
  const entries = attempts.get(rid);
  if (!booked)
    return deliveredTokens > 0
      ? [`request ${rid}: ${deliveredTokens} tokens delivered, not in the books`]
      : [];
  // The reap of a hold names no premiums, and charges by them.
  const row = { ...booked, premiums: premiumsOf(plan) };
  const most = entries && {
    prompt: Math.max(...entries.map(({ promptTokens }) => promptTokens)),
    output: Math.max(...entries.map(({ emitted }) => emitted)),
  };
  if (!most && !wereKilled)
    return row.delta === 0
      ? []
      : [`request ${rid}: charged ${row.delta}, the upstream knows nothing of it`];
  // A node that dies loses what it had not journalled yet, also of a request whose client was faster to leave.
  const isLost = wereKilled && row.outcome === 'node_lost';
  const least = chargeFor(row, {
    output_tokens: isLost ? deliveredTokens - recentTokens : deliveredTokens,
  });
  const limit = most ? limitOf(plan, row, most) : Number.POSITIVE_INFINITY;
  return least <= row.delta && row.delta <= limit
    ? []
    : [
        `request ${rid}: delivered ${deliveredTokens} (at least ${least}), charged ${row.delta} (${describeTokens(row.tokens)}, ${row.outcome}), emitted at most ${limit}`,
      ];
}

/** The provider's record does not name the class of the tokens if the answer was cut off. */
function limitOf(
  { isEveryClass, protocol }: ClientRecord['plan'],
  row: UsageRow,
  most: { prompt: number; output: number },
): number {
  // Text that a background run may have generated unseen is charged by its time.
  if (protocol === 'responses')
    return chargeFor(row, { input_tokens: most.prompt, output_tokens: OUTPUT_MAX });
  return isEveryClass
    ? dearestChargeFor(row, most)
    : chargeFor(row, { input_tokens: most.prompt, output_tokens: most.output });
}

function last(entries: readonly RecordEntry[]): RecordEntry {
  const entry = entries.at(-1);
  if (!entry) throw new Error('a group is never empty');
  return entry;
}
