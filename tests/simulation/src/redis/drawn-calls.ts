import { ACCOUNT_LIMITS, BUDGETS, CLAIMS, LIMITS, ONE_A_MINUTE, VALUES } from './drawn-limits.ts';
import { keys, type FunctionName } from '../../../../libs/keyspace/test/past-the-stores.ts';
import type { Random } from '../random.ts';
import { CALL_WEIGHTS } from './call-weights.ts';

export interface DrawnCall {
  name: FunctionName;
  keys: string[];
  /** Holds the parameters; `relayed` is the first of the outbox, whose ids differ between two servers. */
  parameters: string[];
  isRelaying: boolean;
}

const SHARD = 's00';
const ODD = ['', 'x', '-1', '1.5', '9007199254740993'];
const HASHES = ['a', 'b'].map((digit) => digit.repeat(64));
const ADDRESS = '20010db8000000000000000000000001';
const RIDS = 16;

/** Returns the argument by which limits and budgets judge a request. */
const asked = ([price, prompt, bound, session, endUser, plain]: readonly string[]): string =>
  [prompt, bound, price, plain, session, endUser].join();

/** Draws calls of every function, on few requests and subscriptions, so that they meet. */
export class DrawnCalls {
  readonly #random: Random;
  readonly #rids: string[];
  readonly #baseMs: number;
  #aheadMs = 0;
  #revision = 1;

  constructor(random: Random, baseMs: number) {
    this.#random = random;
    this.#baseMs = baseMs;
    this.#rids = Array.from({ length: RIDS }, () =>
      random.uuidV7(baseMs - (random.chance(0.2) ? 3_600_000 : 0)),
    );
  }

  /** Returns what a first request of an account needs; a request that takes all, and one that finds nothing left. */
  opening(): DrawnCall[] {
    const calls: [FunctionName, string[], string][] = [
      [
        'put_key',
        [keys.key(SHARD, HASHES[0] ?? ''), keys.windows(SHARD, HASHES[0] ?? '')],
        `1 enabled 0 1 1 0 ${this.#random.pick(['', '', '', ONE_A_MINUTE])} *  `,
      ],
      [
        'put_account',
        [keys.account(SHARD, 1), keys.accountWindows(SHARD, 1)],
        `1 active 0 ${this.#random.pick(BUDGETS)} `,
      ],
      [
        'put_subscription',
        [keys.subscription(SHARD, 1, 3), keys.subscribedModels(SHARD, 1)],
        '3 13 active 1 0 1  7000 0 0 0',
      ],
      ...this.#rids
        .slice(0, 2)
        .map((rid): [FunctionName, string[], string] => [
          'admit',
          [
            keys.key(SHARD, HASHES[0] ?? ''),
            keys.account(SHARD, 1),
            keys.subscription(SHARD, 1, 3),
            ...[keys.hold(SHARD, rid), keys.holds(SHARD), keys.windows(SHARD, HASHES[0] ?? '')],
            keys.budgets(SHARD, 1),
            ...[keys.accountWindows(SHARD, 1), keys.running(SHARD, HASHES[0] ?? '')],
          ],
          `${rid} 1 3 gpt-4 2 7000 10  0 60000 n:0 ${this.#baseMs}     10,20,,,,`,
        ]),
    ];
    return calls.map(([name, functionKeys, words]) => ({
      name,
      keys: [keys.epoch(SHARD), ...functionKeys],
      parameters: ['e1', ...words.split(' ')],
      isRelaying: false,
    }));
  }

  next(): DrawnCall {
    const names = Object.keys(CALL_WEIGHTS) as FunctionName[];
    const name = this.#random.pick(names.flatMap((each) => Array(CALL_WEIGHTS[each]).fill(each)));
    const isRelaying = name === 'relay' && this.#random.chance(0.5);
    return { name, ...this.#draw(name), isRelaying };
  }

  #draw(name: FunctionName): { keys: string[]; parameters: string[] } {
    const pick = <T>(...values: T[]): T => this.#random.pick(values);
    const odd = (value: string | number): string =>
      this.#random.chance(0.02) ? this.#random.pick(ODD) : String(value);
    const size = (): string => odd(pick(0, 1, 7, 100, 450, 5_000, 60_000));
    const flag = (): string => pick('', '', '0', '1');
    const [account, model, rid] = [
      pick(1, 1, 1, 2),
      pick(3, 3, 3, 4),
      this.#random.pick(this.#rids),
    ];
    const hash = HASHES[account - 1] ?? '';
    const id = String(account * 10 + model);
    const epoch = pick('e1', 'e1', 'e1', 'e1', 'e1', 'e1', 'e1', 'e2');
    if (this.#random.chance(0.05)) this.#aheadMs += pick(900, 30_000, 70_000, 4_000_000, -50_000);
    const now = String(this.#baseMs + this.#aheadMs);
    const [E, K, A] = [
      keys.epoch(SHARD),
      keys.key(SHARD, this.#random.chance(0.9) ? hash : this.#random.pick(HASHES)),
      keys.account(SHARD, account),
    ];
    const S = keys.subscription(SHARD, account, model);
    const M = keys.subscribedModels(SHARD, account);
    const [H, Z, O] = [keys.hold(SHARD, rid), keys.holds(SHARD), keys.outbox(SHARD)];
    const [T, R, W] = [keys.latestTime(SHARD), keys.reaped(SHARD), keys.windows(SHARD, hash)];
    const B = keys.budgets(SHARD, account);
    const holdPrefix = keys.holdPrefix(SHARD);
    const claims = pick(...CLAIMS);
    const withdrawal = `00000000-0000-7000-8000-00000000000${pick(1, 2, 3)}`;
    const status = pick('active', 'active', 'active', 'active', 'closing', 'closed');
    const revision = (this.#revision += pick(0, 1, 1, -1)) + 1;
    const address = pick('', ADDRESS);
    const by = [rid, String(account), String(model)];
    const mac = pick('', 'mac"/\\');
    const draws: Record<FunctionName, () => [string[], string[]]> = {
      admit: () => [
        [E, K, A, S, H, Z, W, B, keys.accountWindows(SHARD, account), keys.running(SHARD, hash)],
        [
          epoch,
          ...by,
          pick('gpt-4', 'other'),
          '2',
          odd(pick(1, 450, 450, 5_000, 60_000)),
          pick('0', '0', '1', '1', '10', '400', '20000'),
          address,
          pick('0', '0', '2'),
          odd(60_000),
          'n:0',
          now,
          flag(),
          flag(),
          flag(),
          mac,
          asked([
            pick('0', '750000', '750000', '2500001', ''),
            odd(pick(0, 40)),
            odd(pick(0, 0, 0, 50, 200)),
            odd(pick('', ...VALUES.slice(0, 2))),
            odd(pick('', ...VALUES.slice(2))),
            odd(pick('', '200000+50', '200000+50', '0+300')),
          ]),
        ],
      ],
      access: () => [
        [E, K, A, M],
        [epoch, String(account), address, now],
      ],
      inquire: () => [
        [E, K, A, M, keys.inquiries(SHARD, hash), ...(this.#random.chance(0.5) ? [W] : [])],
        [epoch, String(account), address, odd(1), odd(1), now],
      ],
      checkpoint: () => [
        [E, K, A, S, H, Z, B],
        [epoch, ...by, size(), size(), odd(60_000), now, mac, 'n:1', size()],
      ],
      restore: () => [
        [E, S, H, Z, B],
        [
          epoch,
          ...by,
          id,
          String(account),
          '2',
          pick('1', '2'),
          'n:2',
          size(),
          size(),
          odd(60_000),
          now,
          mac,
          claims,
        ],
      ],
      settle: () => [
        [E, S, H, Z, O, T, B],
        [epoch, ...by, size(), '{"final":"ü/"}', flag(), now, claims, size(), size()],
      ],
      reap: () => [
        [E, S, H, Z, O, T, R, B],
        [epoch, ...by, now],
      ],
      credit: () => [
        [E, S],
        [epoch, odd(id), odd(pick(1, 2, 3, 4, 5, 6, 7, 8)), odd(pick(-200, 700, 50_000))],
      ],
      withdraw: () => [
        [E, S, M, O],
        [epoch, String(account), String(model), id, withdrawal, pick('0', '1'), odd(pick(0, 1, 3))],
      ],
      repeat_withdrawal: () => [
        [E, S],
        [epoch, id, withdrawal, size()],
      ],
      repeat_release: () => [
        [E, S, H, T],
        [epoch, id, withdrawal, size(), odd(this.#baseMs), now],
      ],
      repeat_reap: () => [
        [E, H, O],
        [epoch, rid],
      ],
      unbooked_reaps: () => [[R], [holdPrefix]],
      put_key: () => [
        [E, keys.key(SHARD, hash), W],
        [
          epoch,
          odd(revision),
          pick(...Array<string>(10).fill('enabled'), 'disabled', 'deleted'),
          pick('0', '1'),
          odd(account),
          odd(account),
          pick('0', '0', '0', '0', now),
          odd(this.#random.pick(LIMITS)),
          pick('', '*', 'gpt*', ' o*r ,gpt-4', 'o'),
          pick('', '', '', '', `${ADDRESS}/128`, `2001${'0'.repeat(28)}/13`),
          this.#random.pick(BUDGETS),
        ],
      ],
      put_account: () => [
        [E, A, keys.accountWindows(SHARD, account)],
        [
          epoch,
          odd(revision),
          pick(...Array<string>(8).fill('active'), 'frozen', 'deleted'),
          pick('0', '1'),
          this.#random.pick(BUDGETS),
          odd(this.#random.pick(ACCOUNT_LIMITS)),
        ],
      ],
      put_subscription: () => [
        [E, S, M],
        [
          ...[epoch, String(model), id, odd(status), odd(1 + Math.floor(revision / 3))],
          ...[pick('0', '1'), odd(revision), pick('', withdrawal), odd(pick(0, 9_000))],
          ...[odd(pick(0, 1)), odd(pick(0, 300)), odd(pick(0, 3_000)), '0'],
        ],
      ],
      recount: () => [
        [E, Z],
        [
          ...[epoch, holdPrefix, keys.subscriptionPrefix(SHARD), keys.budgetsPrefix(SHARD)],
          ...pick([], ['1:3', '2:4']),
        ],
      ],
      vouch: () => [
        [E, S],
        [epoch, id, odd(pick(0, 1_000))],
      ],
      raise_budget: () => [
        [E, B],
        [
          epoch,
          pick('1:0', '2:1700000000'),
          odd(pick(0, 40, 900)),
          pick('', '', VALUES[0] ?? ''),
          now,
        ],
      ],
      reset_credits: () => [
        [E, S],
        [epoch, id, odd(pick(1, 2)), odd(pick(1, 2))],
      ],
      advance_epoch: () => [[E], this.#random.pick(ADVANCES)],
      relay: () => [
        [keys.relay(SHARD), O, Z, E, T],
        [
          pick('one', 'two'),
          odd(pick(0, 30_000)),
          pick('2', '50'),
          pick('40', '9999'),
          pick('1', '50'),
          holdPrefix,
          now,
        ],
      ],
      publish: () => {
        const version = pick(1, 2, 3);
        return [
          [keys.currentSnapshot, keys.snapshot(version), keys.snapshotSeal(version)],
          [odd(version), '{}', 'seal', keys.snapshotPrefix, keys.snapshotSealSuffix, flag()],
        ];
      },
    };
    const [functionKeys, parameters] = draws[name]();
    return { keys: functionKeys, parameters };
  }
}

const ADVANCES = [
  ['e1', 'restoring:e1'],
  ...Array.from({ length: 4 }, () => ['restoring:e1', 'e1']),
  ...Array.from({ length: 3 }, () => ['e2', 'e1']),
];
