import { isDone, looseJson, textEvents, type Loose, type TextEvent } from './event-text.ts';

/** Holds what a same-protocol answer may not change. Each function answers the first difference in words, null when there is none. */

export interface Changed {
  upstream: string;
  client: string;
  /** Is the name that the client asked for. */
  model: string;
}

/** Compares a whole answer: every byte but the value of `model`, and the id of a container. */
export function jsonDifference({ upstream, client: shown, model }: Changed): string | null {
  const client = unsealed(looseJson(upstream), shown);
  const given = looseJson(upstream)?.model;
  if (given === undefined) return upstream === client ? null : 'an answer without a model changed';
  return differsInModelOnly({ upstream, client, model }, JSON.stringify(given))
    ? null
    : 'bytes differ beyond the model value';
}

/** Compares a messages stream: every byte but the model value of message_start, the id of a container, and a missing message_stop. */
export function messagesDifference({ upstream, client, model }: Changed): string | null {
  const given = textEvents(upstream).filter((event) => !isDone(event));
  const got = textEvents(client);
  if (
    got.length === given.length + 1 &&
    got.at(-1)?.name === 'message_stop' &&
    given.at(-1)?.name !== 'message_stop'
  )
    got.pop();
  if (got.length !== given.length) return `${given.length} events became ${got.length}`;
  const at = given.findIndex((event, index) => {
    const twin = got[index];
    if (twin === undefined) return false;
    const value = looseJson(event.data);
    const client = unsealed(value, twin.raw);
    if (client === event.raw) return false;
    const name = value?.message?.model;
    return (
      name === undefined ||
      !differsInModelOnly({ upstream: event.raw, client, model }, JSON.stringify(name))
    );
  });
  return at === -1
    ? null
    : `event ${at} changed: ${given[at]?.raw.slice(0, 200)} -> ${got[at]?.raw.slice(0, 200)}`;
}

/** Returns the text that the client saw, with the native id of a container in place of the sealed one. */
function unsealed(given: Loose, client: string): string {
  const container = given?.container ?? given?.delta?.container ?? given?.message?.container;
  const native: unknown = container?.id;
  if (typeof native !== 'string') return client;
  if (client.includes(native)) return `the id of a container is not sealed: ${client}`;
  return client.replace(/container_tg[\w-]{40,}/, native);
}

/** Compares a chat stream but for model values, id of the first chunk, role in the first chunk of a choice only, usage removed or moved right before [DONE]. */
export function chatDifference(
  { upstream, client, model }: Changed,
  wantsUsage: boolean,
): string | null {
  const all = textEvents(client);
  const last = all.pop();
  if (!last || !isDone(last)) return 'the stream does not end with [DONE]';
  const usageChunks = all.filter((event) => isUsageOnly(looseJson(event.data)));
  const misplaced = usageFault(all, usageChunks, wantsUsage);
  if (misplaced !== null) return misplaced;
  const given = textEvents(upstream).filter(
    (event) => !isDone(event) && !isUsageOnly(looseJson(event.data)),
  );
  const got = all.filter((event) => !usageChunks.includes(event));
  if (given.length !== got.length) return `${given.length} chunks became ${got.length}`;
  return (
    given
      .map((event, at) => chunkDifference(event, got[at], { model, isFirst: at < 2 }))
      .find((difference) => difference !== null) ?? identityFault(got, model)
  );
}

function usageFault(
  all: readonly TextEvent[],
  usageChunks: readonly TextEvent[],
  wantsUsage: boolean,
): string | null {
  if (!wantsUsage)
    return all.some((event) => 'usage' in looseJson(event.data))
      ? 'usage is shown without a request for it'
      : null;
  if (usageChunks.length !== 1) return `${usageChunks.length} usage chunks`;
  if (usageChunks[0] !== all.at(-1)) return 'the usage chunk is not the last one';
  const isElsewhere = all.slice(0, -1).some((event) => looseJson(event.data)?.usage);
  return isElsewhere ? 'usage is also shown elsewhere' : null;
}

function isUsageOnly(chunk: Loose): boolean {
  return (
    (chunk?.choices ?? []).length === 0 && typeof chunk?.usage === 'object' && chunk.usage !== null
  );
}

/** Compares byte for byte where only the model value may change; by value where members of the closed list had to go. */
function chunkDifference(
  event: TextEvent,
  twin: TextEvent | undefined,
  { model, isFirst }: { model: string; isFirst: boolean },
): string | null {
  if (twin?.raw === event.raw) return null;
  const given = looseJson(event.data);
  const got = looseJson(twin?.data ?? '');
  const inWords = `chunk changed: ${event.raw.slice(0, 300)} -> ${twin?.raw.slice(0, 300)}`;
  const isPlain =
    !('usage' in given) &&
    !isFirst &&
    given.id &&
    given.model !== undefined &&
    given.choices &&
    !given.choices.some((choice: Loose) => choice.delta?.role);
  if (isPlain)
    return differsInModelOnly(
      { upstream: event.raw, client: twin?.raw ?? '', model },
      JSON.stringify(given.model),
    )
      ? null
      : inWords;
  const isLent = isFirst || !given.id;
  return JSON.stringify(core(given, isLent)) === JSON.stringify(core(got, isLent)) ? null : inWords;
}

const ALWAYS_OPEN = new Set(['model', 'usage']);
/** Holds what a nameless chunk is lent. */
const LENT = new Set(['model', 'usage', 'id', 'created', 'object']);

const ROLE = new Set(['role']);

/** Returns a chunk without the members that may change, in any order where some were added. */
function core(chunk: Loose, isLent: boolean): Loose {
  const choices = (chunk.choices ?? []).map((choice: Loose) => ({
    ...choice,
    delta: sorted(choice.delta ?? {}, ROLE),
  }));
  return { ...sorted({ ...chunk, choices: [] }, isLent ? LENT : ALWAYS_OPEN), choices };
}

function sorted(value: Loose, except: ReadonlySet<string> = new Set()): Loose {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !except.has(key))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function identityFault(got: readonly TextEvent[], model: string): string | null {
  const chunks = got.map(({ data }) => looseJson(data));
  if (chunks.some((chunk) => chunk.model !== model)) return 'a chunk has another model name';
  if (chunks.some(({ id }) => typeof id !== 'string' || id === '')) return 'a chunk has no id';
  const deltas = chunks.flatMap(({ choices }) => choices ?? []).filter(({ delta }) => delta);
  const spoken = new Map<unknown, number>();
  for (const { index, delta } of deltas)
    spoken.set(index, (spoken.get(index) ?? 0) + (delta.role ? 1 : 0));
  if (deltas[0] && !deltas[0].delta.role) return 'the first chunk has no role';
  return [...spoken.values()].every((times) => times === 1) ? null : 'role stands more than once';
}

/** Returns true when cutting one model value out of each leaves the same text. */
function differsInModelOnly({ upstream, client, model }: Changed, given: string): boolean {
  const alias = JSON.stringify(model);
  for (let at = client.indexOf(alias); at !== -1; at = client.indexOf(alias, at + 1)) {
    if (client.slice(0, at) + given + client.slice(at + alias.length) === upstream) return true;
  }
  return upstream === client;
}
