import { createCustomer, createRoutedModel, subscribeWithKey } from '@tollgate/harness';
import type { Scene } from './scene.ts';

/** Describes one request that fails, and what a client of each protocol raises for it. */
export interface ErrorCase {
  readonly name: string;
  readonly apiKey: string;
  readonly model: string;
  readonly prompt: string;
  /** Adds to model and prompt. */
  readonly more?: { readonly temperature: number };
  readonly openai: Raised;
  readonly anthropic: Raised;
}

export interface Raised {
  readonly status: number;
  /** Names the exception of the official SDKs, the same in Node and Python. */
  readonly exception: string;
  /** Names the exception of LiteLLM, which decides by words. */
  readonly litellm: string;
}

const TOKENS = 1_000_000;
const PROMPT = 'hello @demo tokens=1';

const both = (
  status: number,
  exception: string,
  litellm = exception,
): Pick<ErrorCase, 'openai' | 'anthropic'> => ({
  openai: { status, exception, litellm },
  anthropic: { status, exception, litellm },
});

/**
 * Returns every way in which a client learns of an error before the first byte, with the keys and the models it takes. A failure rests its routes for some seconds, in
 * which they refuse each request: each failure has a model of its own, each client asks for cases of its own, and the scene's routes stay untouched.
 */
export async function errorCases({ tollgate, key, poorKey, models }: Scene): Promise<ErrorCase[]> {
  const customer = await createCustomer(tollgate);
  const [model, failing, overloaded] = [
    await createRoutedModel(tollgate),
    await createRoutedModel(tollgate),
    await createRoutedModel(tollgate),
  ];
  const modelIds = [model, failing, overloaded].map(({ id }) => id);
  const good = await subscribeWithKey(customer, { modelIds, tokens: TOKENS });
  const keyWith = async (change: object): Promise<string> =>
    (await customer.client.createKey({ name: JSON.stringify(change), ...change })).key;
  const narrow = await keyWith({ allowed_models: 'another-*' });
  // The limit is by the day: a minute would be over before a slow client asks.
  const spent = await keyWith({ rpd: 1 });
  await tollgate.admin.syncAll();
  await spend(tollgate.nodeUrls[0] ?? '', spent, model.name);
  const asked = { apiKey: good, model: model.name, prompt: PROMPT };
  return [
    {
      ...asked,
      name: 'a bad key',
      apiKey: `${key.slice(0, -4)}AAAA`,
      ...both(401, 'AuthenticationError'),
    },
    {
      ...asked,
      name: 'a model outside the key',
      apiKey: narrow,
      openai: { status: 403, exception: 'PermissionDeniedError', litellm: 'APIError' },
      anthropic: {
        status: 403,
        exception: 'PermissionDeniedError',
        litellm: 'PermissionDeniedError',
      },
    },
    { ...asked, name: 'an unknown model', model: 'no-such-model', ...both(404, 'NotFoundError') },
    { ...asked, name: 'a wrong field', more: { temperature: 3 }, ...both(400, 'BadRequestError') },
    {
      ...asked,
      name: 'a prompt over the context window',
      prompt: '@demo mode=overflow',
      ...both(400, 'BadRequestError', 'ContextWindowExceededError'),
    },
    { ...asked, name: 'the limit of the key', apiKey: spent, ...both(429, 'RateLimitError') },
    {
      ...asked,
      name: 'an empty balance',
      apiKey: poorKey,
      model: models.openai.name,
      openai: { status: 429, exception: 'RateLimitError', litellm: 'RateLimitError' },
      anthropic: {
        status: 402,
        exception: 'PaymentRequiredError',
        litellm: 'PaymentRequiredError',
      },
    },
    {
      ...asked,
      name: 'an upstream that fails',
      model: failing.name,
      prompt: '@demo mode=500',
      openai: { status: 502, exception: 'InternalServerError', litellm: 'BadGatewayError' },
      anthropic: { status: 500, exception: 'InternalServerError', litellm: 'InternalServerError' },
    },
    {
      ...asked,
      name: 'an upstream that is overloaded',
      model: overloaded.name,
      prompt: '@demo mode=529',
      openai: { status: 503, exception: 'InternalServerError', litellm: 'ServiceUnavailableError' },
      anthropic: { status: 529, exception: 'OverloadedError', litellm: 'InternalServerError' },
    },
  ];
}

async function spend(origin: string, apiKey: string, model: string): Promise<void> {
  const { status } = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: PROMPT }] }),
  });
  if (status !== 200) throw new Error(`the key's one request was answered ${status}`);
}
