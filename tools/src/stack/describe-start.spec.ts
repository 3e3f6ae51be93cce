import { expect, test } from '@jest/globals';
import { describeStart } from './describe-start.ts';

const content = {
  baseUrl: 'http://127.0.0.1:8080',
  adminUrl: 'http://127.0.0.1:8081',
  proxyUrls: ['http://127.0.0.1:8082'],
  admin: { username: 'admin', password: 'password-of-admin' },
  user: { username: 'demo', password: 'password-of-demo' },
  apiKey: 'sk-tg-2-key-of-demo',
  chatModel: 'demo-chat',
  embeddingModel: 'demo-embedding',
  upstreamUrl: 'http://127.0.0.1:8083',
};
const secrets = [content.admin.password, content.user.password, content.apiKey];

test('a terminal is shown passwords and a key; output that may be kept is not', () => {
  const shown = (isTerminal: boolean): string[] => {
    const text = describeStart(content, 'npm stop', { isTerminal });
    expect(text).toContain(content.baseUrl);
    return secrets.filter((secret) => text.includes(secret));
  };
  expect(shown(true)).toEqual(secrets);
  expect(shown(false)).toEqual([]);
});

test('a password that was changed is not shown; the command that sets a new one is', () => {
  const text = describeStart(content, 'npm stop', {
    isTerminal: true,
    changed: new Set([content.admin.username]),
  });
  expect(text).not.toContain(content.admin.password);
  expect(text).toContain('npm run ops -- reset-password admin');
  expect(text).toContain(content.user.password);
  expect(text).not.toContain('reset-password demo');
});
