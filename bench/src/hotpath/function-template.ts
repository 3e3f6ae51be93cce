import { EpochCache, Epochs, FunctionLibrary, MeteringStore } from '@tollgate/keyspace';
import type { RedisConnection } from '@tollgate/keyspace';
import { readFunctionSource } from '../../../libs/keyspace/src/functions/function-source.ts';

/** These stand in a template for what differs from one request to the next. */
const SLOTS = {
  /** This is a request id: UUIDs are equally long, so it may be a part of a key. */
  rid: '00000000-0000-7000-8000-00000000f100',
  mac: 'f1'.repeat(32),
  charge: 987_654_321,
  payload: '{"payload":true}',
} as const;
type Slot = keyof typeof SLOTS;

const SLOT_OF = new Map<string, Slot>(
  (Object.keys(SLOTS) as Slot[]).map((slot) => [String(SLOTS[slot]), slot]),
);
/** Matches a whole argument, or a request id within a key. */
const SLOT_TEXTS = new RegExp(`(${[...SLOT_OF.keys()].join('|')})`);

export interface Call {
  accountId: number;
  keyHash: string;
  modelId: number;
  modelName: string;
  priceVersionId: number;
  wantTokens: number;
  node: string;
}

/**
 * Makes the commands of `admit` and `settle` as `MeteringStore` sends them for a request, with slots: a program fills and sends them without the library, at
 * the least cost, and a change of a function's arguments cannot pass it by.
 */
export async function functionTemplates(
  redis: RedisConnection,
  { shards, ...call }: Call & { shards: number },
): Promise<{ admit: Pieces; settle: Pieces }> {
  const library = new RecordingLibrary(redis);
  const epochs = new EpochCache(new Epochs(redis, library));
  const store = new MeteringStore({ library, epochs, shards, signHold: () => SLOTS.mac });
  const { accountId, modelId } = call;
  const rest = { minTokens: call.wantTokens, addressHex: '0'.repeat(32), leaseMs: 60_000 };
  const request = { rid: SLOTS.rid, ...call, ...rest, concurrencyMax: 0, pricePerMillion: 10_000 };
  // The library records the call and answers nothing, which no reply is.
  await store.admit(request).catch(() => undefined);
  const ended = { chargeTokens: SLOTS.charge, payload: SLOTS.payload, reEmit: false };
  await store.settle({ rid: SLOTS.rid, accountId, modelId, ...ended }).catch(() => undefined);
  return { admit: library.commandOf('admit'), settle: library.commandOf('settle') };
}

type FunctionCall = Parameters<FunctionLibrary['call']>;

const SOURCE = readFunctionSource();

class RecordingLibrary extends FunctionLibrary {
  readonly #calls = new Map<string, Pieces>();

  override async call(...[name, keys, args]: FunctionCall): Promise<unknown> {
    const parts = ['FCALL', SOURCE.nameOf(name), keys.length, ...keys, ...args].map(String);
    this.#calls.set(name, piecesOf(parts));
    return null;
  }

  commandOf(name: string): Pieces {
    const command = this.#calls.get(name);
    if (!command) throw new Error(`${name} was not called`);
    return command;
  }
}

/** Holds text of RESP2; every second piece is the name of a slot, or `text` and `length` of one. */
export type Pieces = readonly string[];

function piecesOf(parts: readonly string[]): Pieces {
  const text = parts.map((part) =>
    // The length of these arguments differs.
    part === SLOTS.payload || part === String(SLOTS.charge)
      ? part
      : `$${Buffer.byteLength(part)}\r\n${part}\r\n`,
  );
  return `*${parts.length}\r\n${text.join('')}`
    .split(SLOT_TEXTS)
    .map((piece, index) => (index % 2 === 1 ? (SLOT_OF.get(piece) as string) : piece));
}

/** Writes the command of one request. All of it is ASCII. */
export function filled(pieces: Pieces, values: Readonly<Partial<Record<Slot, string>>>): string {
  let text = pieces[0] as string;
  for (let index = 1; index < pieces.length; index += 2) {
    const slot = pieces[index] as Slot;
    const value = values[slot] ?? '';
    const isWhole = slot === 'payload' || slot === 'charge';
    text += isWhole ? `$${value.length}\r\n${value}\r\n` : value;
    text += pieces[index + 1] as string;
  }
  return text;
}
