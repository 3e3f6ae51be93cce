import { describe, expect, test } from '@jest/globals';
import { parseOutboundPolicy } from '@tollgate/contracts';
import { startLocalUpstream } from './testing/local-upstream.ts';
import { guardedConnector } from './upstream/guarded-connector.ts';
import { chat, HONEST, node, upstreamSays } from './security-under-test.ts';

describe('where a node connects to', () => {
  const dial = (protocol: 'http:' | 'https:', hostname: string) =>
    new Promise<string>((resolve) => {
      const connector = guardedConnector({
        policy: parseOutboundPolicy(''),
        connectTimeoutMs: 500,
      });
      connector({ hostname, host: hostname, protocol, port: '9' }, (error, socket) => {
        socket?.destroy();
        resolve(error && 'code' in error ? String(error.code) : 'dialled');
      });
    });

  test.each([
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '100.64.0.1',
    '10.0.0.1',
    '[::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ])('S1, S2: %s is refused at connect', async (hostname) => {
    for (const protocol of ['http:', 'https:'] as const)
      expect(await dial(protocol, hostname)).toBe('ADDRESS_REFUSED');
  });

  test('S3: a name is judged by the address it leads to when it is dialled', async () => {
    for (const protocol of ['http:', 'https:'] as const)
      expect(await dial(protocol, 'localhost')).toBe('ADDRESS_REFUSED');
  });

  test('S5: a key is never sent unencrypted to a public address', async () => {
    expect(await dial('http:', '93.184.215.14')).toBe('ADDRESS_REFUSED');
  });

  test('S6: nothing a client sends, at the top or nested, chooses where its request goes', async () => {
    upstreamSays.usage = HONEST;
    const elsewhere = await startLocalUpstream((response) => response.end());
    const target = {
      api_base: elsewhere.baseUrl,
      base_url: elsewhere.baseUrl,
      custom_host: elsewhere.baseUrl,
    };
    const response = await node.post(
      '/v1/chat/completions',
      chat({ ...target, user_config: target, metadata: target, extra_body: target }),
      {
        'x-portkey-custom-host': elsewhere.baseUrl,
        'x-api-base': elsewhere.baseUrl,
        host: 'evil.example',
      },
    );
    expect(response.status).toBe(200);
    expect(elsewhere.requests).toHaveLength(0);
    await elsewhere.close();
  });
});
