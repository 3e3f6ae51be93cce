import { z } from 'zod';
import { parseDemoRequest, type DemoRequest } from '../plan.ts';

/** Describes one of Google's methods that make vectors: its request in the demo's form, and its answer. */
export interface VectorCall {
  readonly read: (body: string | undefined) => DemoRequest | undefined;
  readonly write: (vectors: readonly unknown[], promptTokens: number) => unknown;
}

const content = z.looseObject({ parts: z.array(z.looseObject({ text: z.string() })).length(1) });
const batchSchema = z.looseObject({
  requests: z.array(z.looseObject({ model: z.string().startsWith('models/'), content })).min(1),
});
const embedSchema = z.looseObject({ content });
const predictSchema = z.looseObject({
  instances: z.array(z.looseObject({ content: z.string() })).min(1),
});

const METHODS: Readonly<
  Record<string, { texts: (body: unknown) => string[] | null; write: VectorCall['write'] }>
> = {
  batchEmbedContents: {
    texts: (body) =>
      batchSchema.safeParse(body).data?.requests.map((each) => textOf(each.content)) ?? null,
    write: (vectors, promptTokenCount) => ({
      embeddings: vectors.map((values) => ({ values })),
      usageMetadata: { promptTokenCount },
    }),
  },
  embedContent: {
    texts: (body) => {
      const { data } = embedSchema.safeParse(body);
      return data ? [textOf(data.content)] : null;
    },
    write: ([values], promptTokenCount) => ({
      embedding: { values },
      usageMetadata: { promptTokenCount },
    }),
  },
  predict: {
    texts: (body) =>
      predictSchema.safeParse(body).data?.instances.map((each) => each.content) ?? null,
    // The first prediction names the tokens of all.
    write: (vectors, tokens) => ({
      predictions: vectors.map((values, index) => ({
        embeddings: { values, statistics: { token_count: index === 0 ? tokens : 0 } },
      })),
    }),
  },
};

/** Returns null for a method that makes no vectors. */
export function vectorCall(model: string, method: string): VectorCall | null {
  const known = METHODS[method];
  if (!known) return null;
  return {
    read: (body) => {
      const input = known.texts(jsonOf(body));
      return input ? parseDemoRequest(JSON.stringify({ model, input })) : undefined;
    },
    write: known.write,
  };
}

function textOf({ parts }: z.output<typeof content>): string {
  return parts.map(({ text }) => text).join('');
}

export function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
