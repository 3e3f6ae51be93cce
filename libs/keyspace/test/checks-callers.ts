import assert from 'node:assert/strict';
import { addressHex, normaliseAllowlist } from '../src/index.ts';
import { refuses } from './tenant-acts.ts';
import {
  admitted,
  hashOf,
  openAccount,
  putKey,
  request,
  type Checks,
  type Tenant,
} from './world.ts';

export const callerChecks: Checks = {
  'a key that was never issued, was deleted or belongs to another account is unknown': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await refuses(tenant, { keyHash: hashOf(1_000_000) }, 'key_unknown');
    await refuses(tenant, { accountId: tenant.otherAccountId }, 'key_unknown');
    await putKey(tenant, { status: 'deleted', revision: 2 });
    await refuses(tenant, {}, 'key_unknown');
  },
  'a key admits until the millisecond of its expiry': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await putKey(tenant, { expiresAtMs: tenant.clock.now + 1_000, revision: 2 });
    tenant.clock.now += 999;
    await admitted(tenant);
    tenant.clock.now += 1;
    await refuses(tenant, {}, 'key_expired');
  },
  'an account that is not in Redis is not active': async (world) => {
    const tenant = await world.tenant();
    await putKey(tenant);
    assert.deepEqual(await tenant.store.admit(request(tenant)), {
      kind: 'account_not_active',
      status: 'unknown',
    });
  },
  'a key with an allow-list refuses an address that is not known': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await putKey(tenant, { allowlist: listed('0.0.0.0/0, ::/0'), revision: 2 });
    await refuses(tenant, { addressHex: '' }, 'address_not_allowed');
    await admitted(tenant, { addressHex: addressHex('8.8.8.8') });
  },
  'an address is compared to the bit': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 1_000_000 });
    const cases = [
      ['10.0.0.0/9', '10.127.255.255', '10.128.0.0'],
      ['10.0.0.1', '10.0.0.1', '10.0.0.0'],
      ['192.168.4.0/22', '192.168.7.255', '192.168.8.0'],
      ['2001:db8::/29', '2001:dbf::1', '2001:dc0::1'],
      ['2001:db8::/32', '2001:db8:ffff::', '2001:db9::'],
      ['1.1.1.1,2.2.2.0/25,3.3.3.3', '2.2.2.127', '2.2.2.128'],
    ] as const;
    for (const [index, [list, inside, outside]] of cases.entries()) {
      await putKey(tenant, { allowlist: listed(list), revision: 10 + index });
      await admitted(tenant, { addressHex: addressHex(inside) });
      await refuses(tenant, { addressHex: addressHex(outside) }, 'address_not_allowed');
    }
  },
  'allowed_models takes names and stars, spaces trimmed, and nothing else is special': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 1_000_000 });
    const cases = [
      ...[
        ['', 'x', true],
        ['*', 'x', true],
        ['  ', 'x', true],
        [',', 'x', false],
        ['gpt-4', 'gpt-4', true],
        ['gpt-4', 'gpt-4o', false],
        ['gpt-4*', 'gpt-4', true],
      ],
      ...[
        ['*-4', 'gpt-4', true],
        ['*-4', 'gpt-4o', false],
        ['g*4', 'gpt-4', true],
        ['g*4*4', 'gpt-4', false],
        ['*p*t*', 'gpt-4', true],
        ['*t*p*', 'gpt-4', false],
      ],
      ...[
        ['a , gpt-4 ,b', 'gpt-4', true],
        ['gpt.4', 'gpt-4', false],
        ['gpt%-4', 'gpt-4', false],
        ['[g]pt-4', 'gpt-4', false],
        ['gp**4', 'gpt-4', true],
        ['gq*', 'gpt-4', false],
        ['gpt-4*gpt-4', 'gpt-4', false],
      ],
      ...[
        ['aa*aa', 'aaa', false],
        ['aa*aa', 'aaaa', true],
        ['*ab*', 'aab', true],
        ['a*b*c', 'abxbc', true],
        ['**', '', true],
      ],
    ] as const;
    for (const [index, [allowedModels, modelName, isAllowed]] of cases.entries()) {
      await putKey(tenant, { allowedModels: allowedModels, revision: 10 + index });
      const reply = await tenant.store.admit(request(tenant, { modelName: modelName }));
      assert.equal(
        reply.kind,
        isAllowed ? 'admitted' : 'model_not_allowed',
        `${allowedModels} against ${modelName}`,
      );
    }
  },
  'the CPU time of model globs grows no faster than their length, up to 100 kB (S35)': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const globs: ((bytes: number) => string)[] = [
      (bytes) => `${'*a'.repeat(bytes / 2)}b`,
      (bytes) => 'a*b,'.repeat(bytes / 4),
      (bytes) => 'b,'.repeat(bytes / 2),
      (bytes) => `${'*'.repeat(bytes)}b`,
      (bytes) => `${' '.repeat(bytes)}b`,
      (bytes) => '*aab'.repeat(bytes / 4),
    ];
    for (const [index, ofBytes] of globs.entries()) {
      const halfMs: number[] = [];
      const wholeMs: number[] = [];
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const revision = 10 + index * 10 + attempt * 2;
        halfMs.push(await refusalCpuMs(tenant, ofBytes(50_000), revision));
        wholeMs.push(await refusalCpuMs(tenant, ofBytes(100_000), revision + 1));
      }
      // A linear matcher doubles its time, a quadratic one takes four times as long.
      const limitMs = 3 * Math.min(...halfMs) + 1;
      assert.ok(
        Math.min(...wholeMs) < limitMs,
        `case ${index}: ${wholeMs.join(', ')} ms for 100 kB, ${halfMs.join(', ')} ms for 50 kB`,
      );
    }
  },
};

/** Returns the CPU time that Redis takes to refuse a request of a key with this list of models, in milliseconds. */
async function refusalCpuMs(
  tenant: Tenant,
  allowedModels: string,
  revision: number,
): Promise<number> {
  await putKey(tenant, { allowedModels, revision });
  const before = await serverCpuMs(tenant);
  const reply = await tenant.store.admit(request(tenant, { modelName: 'a'.repeat(255) }));
  assert.equal(reply.kind, 'model_not_allowed');
  return (await serverCpuMs(tenant)) - before;
}

export function listed(text: string): string {
  return normaliseAllowlist(text);
}

async function serverCpuMs({ redis }: Tenant): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return 1_000 * (seconds('used_cpu_user_main_thread') + seconds('used_cpu_sys_main_thread'));
}
