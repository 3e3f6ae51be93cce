import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { startControlPlane, type ControlPlane } from '../../testing/control-plane-under-test.ts';

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({}, { isHashingFull: true });
}, 60_000);
afterAll(() => plane?.stop());

describe('fifty connection tests beside two hundred sign-ins, and a DNS server that never answers', () => {
  const before = dns.getServers();
  const server = createSocket('udp4');
  const asked = new Set<string>();
  const answers: (() => void)[] = [];
  let isSilent = true;
  beforeAll(async () => {
    server.on('message', (question, { port, address }) => {
      asked.add(question.toString('latin1', 13, 23));
      // The answer says that there is no such name (RFC 1035).
      const answer = () => server.send(question.fill('\x81\x83', 2, 4, 'latin1'), port, address);
      if (isSilent) answers.push(answer);
      else answer();
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    dns.setServers([`127.0.0.1:${server.address().port}`]);
  });
  afterAll(() => {
    dns.setServers(before);
    server.close();
  });

  test('every name is asked for at once, and the rest of the interface answers before any of them', async () => {
    const { token } = await plane.createUser('onlooker');
    const upstreams = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const body = {
          name: `silent-${index + 10}`,
          protocol: 'openai',
          base_url: `https://silent-${index + 10}.test/v1`,
        };
        return (await plane.call('POST', '/upstreams', { token: plane.adminToken, body })).body.id;
      }),
    );
    const tests = upstreams.map((id) =>
      plane.call('POST', `/upstreams/${id}/test`, {
        token: plane.adminToken,
        body: { model: 'm' },
      }),
    );
    const logins = Array.from({ length: 200 }, (_, index) =>
      plane.call('POST', '/auth/login', {
        body: { username: `flood${index}`, password: 'wrong password' },
        headers: { 'x-forwarded-for': `10.2.${index}.1` },
      }),
    );
    const rest = async () => {
      while (asked.size < upstreams.length) await plane.call('GET', '/keys', { token });
      for (let request = 0; request < 5; request += 1) {
        expect((await plane.call('GET', '/keys', { token })).status).toBe(200);
        // A new connection to PostgreSQL or Redis waits for this.
        await dns.promises.lookup('localhost');
      }
      return 'the rest';
    };
    expect(await Promise.race([rest(), ...tests])).toBe('the rest');
    isSilent = false;
    for (const answer of answers) answer();
    for (const { body } of await Promise.all(tests)) expect(body).toMatchObject({ ok: false });
    await Promise.all(logins);
  }, 60_000);
});
