import assert from 'node:assert/strict';
import { addressHex } from '../src/index.ts';
import { keys } from '../src/keys.ts';
import { refuses } from './tenant-acts.ts';
import {
  admitted,
  contents,
  funds,
  KEY_ID,
  MODEL_ID,
  openAccount,
  OTHER_MODEL_ID,
  putKey,
  putSubscription,
  request,
  SUBSCRIPTION_ID,
  type Checks,
  type Tenant,
} from './world.ts';
import { listed } from './checks-callers.ts';

const OWN = { owner: 'key', models: '' } as const;

export const admissionChecks: Checks = {
  'an admission answers what it granted, what is left and where every limit stands': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 2, rpd: 10 });
    const reply = await tenant.store.admit(request(tenant));
    assert.deepEqual(reply, {
      ...{
        kind: 'admitted',
        grantedTokens: 100,
        availableTokens: 900,
        keyId: KEY_ID,
        subscriptionId: SUBSCRIPTION_ID,
        generation: 1,
        expiresAtMs: 0,
        outputTokensMax: 0,
        epoch: 'e1',
        claims: '',
      },
      windows: [
        { window: 'rpm', ...OWN, limit: 2, remaining: 1, resetMs: resetMs(tenant, 1_000) },
        { window: 'rpd', ...OWN, limit: 10, remaining: 9, resetMs: resetMs(tenant, 1_440_000) },
      ],
    });
  },
  'a refusal changes nothing, and the first reason in order is the one given': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 150, rpm: 1 });
    await admitted(tenant);
    // Every reason is present at once; each step takes the first away and shows the next.
    await putKey(tenant, {
      status: 'disabled',
      expiresAtMs: tenant.clock.now,
      allowlist: listed('10.0.0.0/8'),
      allowedModels: 'other',
      rpm: 1,
      revision: 2,
    });
    await tenant.live.putAccount({
      accountId: tenant.accountId,
      status: 'frozen',
      drain: false,
      revision: 2,
    });
    await putSubscription(tenant, { status: 'closing', revision: 2 });
    const asked = { concurrencyMax: 1, addressHex: addressHex('11.0.0.1') };
    await refuses(tenant, asked, 'key_disabled');
    await putKey(tenant, {
      expiresAtMs: tenant.clock.now,
      allowlist: listed('10.0.0.0/8'),
      allowedModels: 'other',
      rpm: 1,
      revision: 3,
    });
    await refuses(tenant, asked, 'key_expired');
    await putKey(tenant, {
      expiresAtMs: tenant.clock.now + 1,
      allowlist: listed('10.0.0.0/8'),
      allowedModels: 'other',
      rpm: 1,
      revision: 4,
    });
    await refuses(tenant, asked, 'address_not_allowed');
    await putKey(tenant, { allowedModels: 'other', rpm: 1, revision: 5 });
    await refuses(tenant, asked, 'account_not_active');
    await tenant.live.putAccount({
      accountId: tenant.accountId,
      status: 'active',
      drain: false,
      revision: 3,
    });
    await refuses(tenant, asked, 'model_not_allowed');
    await putKey(tenant, { allowedModels: 'gpt*', rpm: 1, revision: 6 });
    await refuses(tenant, asked, 'subscription_closing');
    await putSubscription(tenant, { status: 'closed', revision: 3 });
    await refuses(tenant, asked, 'not_subscribed');
    await putSubscription(tenant, { generation: 2, revision: 4 });
    await refuses(tenant, asked, 'concurrency_exceeded');
    await refuses(tenant, { ...asked, concurrencyMax: 2 }, 'rate_limited');
    await putKey(tenant, { allowedModels: 'gpt*', revision: 7 });
    await refuses(tenant, { ...asked, concurrencyMax: 2, minTokens: 51 }, 'tokens_held');
    await refuses(
      tenant,
      { ...asked, concurrencyMax: 2, wantTokens: 900, minTokens: 151 },
      'balance_too_low',
    );
    await admitted(tenant, { ...asked, concurrencyMax: 2, minTokens: 50 });
  },
  'the same rid is admitted once, and asking again answers the same hold': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    const rid = await admitted(tenant, { wantTokens: 70 });
    const before = await contents(tenant);
    const again = await tenant.store.admit(request(tenant, { rid, wantTokens: 500 }));
    assert.deepEqual(again, {
      kind: 'duplicate',
      state: 'open',
      grantedTokens: 70,
      keyId: KEY_ID,
      subscriptionId: SUBSCRIPTION_ID,
      generation: 1,
      claims: '',
      epoch: 'e1',
    });
    assert.deepEqual(await contents(tenant), before);
  },
  'a hold is lowered to what is there, down to the minimum': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 130 });
    await admitted(tenant);
    const reply = await tenant.store.admit(request(tenant, { minTokens: 30 }));
    assert.ok(
      reply.kind === 'admitted' && reply.grantedTokens === 30 && reply.availableTokens === 0,
    );
    assert.deepEqual(await tenant.store.admit(request(tenant, { minTokens: 1 })), {
      kind: 'tokens_held',
      balance: 130,
      held: 130,
      dueTokens: 0,
    });
    assert.equal(
      (await tenant.store.admit(request(tenant, { wantTokens: 130, minTokens: 130 }))).kind,
      'tokens_held',
      'alone it would fit',
    );
    assert.deepEqual(
      await tenant.store.admit(request(tenant, { wantTokens: 200, minTokens: 131 })),
      { kind: 'balance_too_low', balance: 130, subscriptionId: SUBSCRIPTION_ID, dueTokens: 0 },
    );
  },
  'a request that a due purchase would cover is answered so; above the threshold no hold and no output limit causes a purchase':
    async (world) => {
      const tenant = await world.tenant();
      await openAccount(tenant, { tokens: 130 });
      await admitted(tenant);
      const ask = async (changes: Parameters<typeof request>[1]) => {
        const reply = await tenant.store.admit(request(tenant, changes));
        return reply.kind === 'admitted' ? reply.grantedTokens : reply.kind;
      };
      let revision = 1;
      const arm = (threshold: number, amount: number) =>
        putSubscription(tenant, {
          autoRecharge: { threshold, amount },
          revision: (revision += 1),
        });
      const before = await funds(tenant);
      // The balance has 130 tokens, 100 of them held: 30 are available.
      await arm(30, 50);
      assert.equal(await ask({ wantTokens: 80, minTokens: 80 }), 'recharge_due');
      assert.equal(await ask({ wantTokens: 81, minTokens: 81 }), 'tokens_held');
      assert.equal(
        await ask({ wantTokens: 180, minTokens: 180 }),
        'tokens_held',
        'with what is held',
      );
      assert.equal(await ask({ wantTokens: 181, minTokens: 181 }), 'balance_too_low');
      assert.equal(await ask({ wantTokens: 80, minTokens: 10, isWhole: true }), 'recharge_due');
      await arm(129, 50);
      assert.equal(await ask({ wantTokens: 130, minTokens: 130 }), 'recharge_due', 'two purchases');
      assert.equal(await ask({ wantTokens: 131, minTokens: 131 }), 'tokens_held');
      await arm(29, 50);
      assert.equal(
        await ask({ wantTokens: 80, minTokens: 80 }),
        'tokens_held',
        'above the threshold the hold of another request causes no purchase',
      );
      await arm(29, 101);
      assert.equal(
        await ask({ wantTokens: 131, minTokens: 131 }),
        'recharge_due',
        'the balance itself is too low for it',
      );
      assert.equal(await ask({ wantTokens: 132, minTokens: 132 }), 'tokens_held');
      await putSubscription(tenant, { revision: (revision += 1) });
      assert.equal(await ask({ wantTokens: 131, minTokens: 131 }), 'balance_too_low');
      assert.deepEqual(await funds(tenant), before);
      await arm(29, 50);
      assert.equal(await ask({ wantTokens: 31, minTokens: 10, isWhole: true }), 30, 'shortened');
    },
  'a request that leaves half takes half of what is free, and at least its minimum': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 201 });
    const granted = async (wantTokens: number, minTokens: number): Promise<number | string> => {
      const asked = request(tenant, { wantTokens, minTokens, leavesHalf: true });
      const reply = await tenant.store.admit(asked);
      return reply.kind === 'admitted' ? reply.grantedTokens : reply.kind;
    };
    assert.equal(await granted(1_000, 10), 100, 'half of 201');
    assert.equal(await granted(20, 10), 20, 'what it wants, of 101');
    assert.equal(await granted(1_000, 61), 71, 'of 81 the minimum and half of the rest');
    assert.equal(await granted(1_000, 11), 'tokens_held', 'of 10');
    assert.deepEqual(await funds(tenant), {
      balance: 201,
      held: 191,
      running: 3,
      status: 'active',
    });
  },
  'a model that costs nothing needs no balance': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { tokens: 0 });
    await admitted(tenant, { wantTokens: 0, minTokens: 0 });
    assert.deepEqual(await funds(tenant), { balance: 0, held: 0, running: 1, status: 'active' });
  },
  'another model of the same account is another subscription': async (world) => {
    const tenant = await world.tenant();
    await openAccount(tenant);
    await refuses(tenant, { modelId: OTHER_MODEL_ID }, 'not_subscribed');
  },
  'amounts that are not whole numbers from zero up are refused and change nothing': async (
    world,
  ) => {
    const tenant = await world.tenant();
    await openAccount(tenant, { rpm: 5 });
    const { shard, accountId, keyHash, library } = tenant;
    const rid = tenant.rid();
    const functionKeys = [
      keys.epoch(shard),
      keys.key(shard, keyHash),
      keys.account(shard, accountId),
      keys.subscription(shard, accountId, MODEL_ID),
      keys.hold(shard, rid),
      keys.holds(shard),
      keys.windows(shard, keyHash),
      keys.budgets(shard, accountId),
      keys.accountWindows(shard, accountId),
      keys.running(shard, keyHash),
    ];
    const good = [
      ...['e1', rid, accountId, MODEL_ID],
      ...['gpt-4', 2, 100, 10, '', 0],
      ...[60_000, 'node-1:0', tenant.clock.now],
      ...['', '', '', '', '5,5,,,,'],
    ];
    const before = await contents(tenant);
    const badArguments = (bad: string): (string | number)[][] => [
      ...[6, 7, 9, 10].map((position) => good.with(position, bad)),
      ...[`${bad},5,,,,`, `5,${bad},,,,`, `5,5,,,s${bad},`].map((asked) => good.with(17, asked)),
    ];
    for (const bad of [
      '-1',
      '1.5',
      '1e3',
      'nan',
      'inf',
      '',
      ' 1',
      '0x10',
      '9007199254740992',
      '99999999999999999',
    ])
      for (const args of badArguments(bad))
        await assert.rejects(library.call('admit', functionKeys, args), /invalid admit/, bad);

    await assert.rejects(
      library.call('admit', functionKeys, good.with(7, 101)),
      /invalid admit/,
      'the minimum is above the wish',
    );
    assert.deepEqual(await contents(tenant), before);
    await library.call('admit', functionKeys, good.with(6, '9007199254740991'));
    assert.equal((await funds(tenant))?.held, 1_000);
  },
};

function resetMs({ clock }: Tenant, bucketMs: number): number {
  return (Math.floor(clock.now / bucketMs) + 60) * bucketMs - clock.now;
}
