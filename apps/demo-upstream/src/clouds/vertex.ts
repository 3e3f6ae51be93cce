import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { CloudCall } from './bedrock.ts';
import { demoRequest, geminiDialect, geminiError } from './gemini.ts';
import { jsonOf, vectorCall, type VectorCall } from './google-vectors.ts';
import { messagesDialect } from '../messages-dialect.ts';
import { parseDemoRequest, type DemoRequest } from '../plan.ts';
import { hasToken } from './tokens.ts';

const PATH =
  /^\/v1(?:beta1)?\/projects\/[^/]+\/locations\/[^/]+\/publishers\/(google|anthropic)\/models\/([^/:]+):(\w+)$/;

const UNAUTHENTICATED = {
  status: 401,
  body: geminiError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'),
};

/** Describes Claude's own body: the version inside, the model outside. */
const rawSchema = z.looseObject({
  anthropic_version: z.enum(['vertex-2023-10-16', '2026-10-21']),
  model: z.undefined().optional(),
  stream: z.boolean().optional(),
});

type VertexCall = CloudCall | (VectorCall & Pick<CloudCall, 'refusal'>);

/** Returns null for a path that is not Vertex AI's. */
export function vertexCall(request: IncomingMessage, url: URL): VertexCall | null {
  const [, publisher, name, method = ''] = PATH.exec(url.pathname) ?? [];
  if (name === undefined) return null;
  const model = decodeURIComponent(name);
  const refusal = () => (hasToken(request) ? null : UNAUTHENTICATED);
  const isStream = method.startsWith('stream');
  if (publisher === 'anthropic' && /^(?:r|streamR)awPredict$/.test(method))
    return {
      protocol: 'messages',
      dialect: messagesDialect,
      refusal,
      read: (body: string) => readRaw(body, { model, isStream }),
    };
  if (publisher === 'google' && /^(?:g|streamG)enerateContent$/.test(method))
    return {
      protocol: 'chat',
      dialect: geminiDialect,
      refusal,
      read: (body: string) =>
        isStream && url.searchParams.get('alt') !== 'sse'
          ? undefined
          : demoRequest(body, { model, isStream }),
    };
  const vectors = vectorCall(model, method);
  return vectors && { ...vectors, refusal };
}

function readRaw(
  body: string,
  { model, isStream }: { model: string; isStream: boolean },
): DemoRequest | undefined {
  const { data } = rawSchema.safeParse(jsonOf(body));
  return data && (data.stream ?? false) === isStream
    ? parseDemoRequest(JSON.stringify({ ...data, model }))
    : undefined;
}
