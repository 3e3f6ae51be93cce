import { expect, test } from '@jest/globals';
import { exchangeOf } from '../../test/drive.ts';
import { azure } from './azure.ts';

const RESOURCE = 'https://r.openai.azure.com';
const ASK = { model: 'alias', messages: [{ role: 'user', content: 'hi' }] };

const INPUT = { model: 'alias', input: 'hi' };
const pathAt = (
  protocol: 'chat' | 'embeddings' | 'responses',
  base_url: string,
  endpoints: readonly 'responses'[] = [],
) =>
  exchangeOf(protocol, 'azure', protocol === 'chat' ? ASK : INPUT, {
    upstreamModel: 'gpt 5/eu',
    speech: { protocol: 'azure', base_url, endpoints },
    ids: { seal: (id) => id, open: (id) => id, isSealed: () => false },
  }).path;

test.each([
  ['chat', `${RESOURCE}/openai/v1`, '/chat/completions'],
  ['embeddings', `${RESOURCE}/openai/v1/`, '/embeddings'],
  [
    'chat',
    `${RESOURCE}/openai`,
    '/deployments/gpt%205%2Feu/chat/completions?api-version=2024-10-21',
  ],
  [
    'embeddings',
    `${RESOURCE}/openai`,
    '/deployments/gpt%205%2Feu/embeddings?api-version=2024-10-21',
  ],
  [
    'chat',
    'https://r.services.ai.azure.com/models',
    '/chat/completions?api-version=2024-05-01-preview',
  ],
] as const)('a request of %s to the address %s asks the path %s', (protocol, baseUrl, path) => {
  expect(pathAt(protocol, baseUrl)).toBe(path);
});

test('the newer interface has responses of its own; a client of the older one gets them through chat', () => {
  expect(pathAt('responses', `${RESOURCE}/openai/v1`, ['responses'])).toBe('/responses');
  expect(pathAt('responses', `${RESOURCE}/openai`)).toContain('/chat/completions?');
});

test('the key goes into the header that Azure reads, and the connection test asks the same path', () => {
  const request = { method: 'POST', origin: RESOURCE, path: '/', headers: {}, body: null } as const;
  const auth = { type: 'api_key', api_key: 'k' } as const;
  expect(azure.sign(request, { auth, token: null, nowMs: 0 })).toEqual({ 'api-key': 'k' });
  const speech = { protocol: 'azure', base_url: `${RESOURCE}/openai` } as const;
  expect(azure.probe('d', 'chat', speech)?.path).toBe(
    '/deployments/d/chat/completions?api-version=2024-10-21',
  );
});
