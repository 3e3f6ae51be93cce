/** Is one server-sent event as text, read plainly and independently of the product's own framer. */
export interface TextEvent {
  /** Has its lines without the closing blank one. */
  raw: string;
  name: string;
  data: string;
}

/** Returns the events of a stream in order; comments and blank events are omitted. */
export function textEvents(text: string): TextEvent[] {
  const blocks = text
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n')
    .split(/\n\n+/);
  return blocks.flatMap((raw) => {
    const lines = raw.split('\n');
    const field = (name: string): string[] =>
      lines
        .filter((line) => line.startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
    const data = field('data').join('\n');
    return data.trim() === '' ? [] : [{ raw, name: field('event')[0] ?? '', data }];
  });
}

export const isDone = ({ data }: TextEvent): boolean => data.trim() === '[DONE]';

/** Answers of others are read loosely: a wrong guess shows as a failed check. */
export type Loose = ReturnType<typeof JSON.parse>;

export function looseJson(text: string): Loose {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
