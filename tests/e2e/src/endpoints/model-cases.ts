import { expect } from '@jest/globals';
import { invalid, UNKNOWN_ID, refused, unknown, type EndpointCase } from './endpoint-case.ts';

/** Covers the catalogue, subscriptions and API keys. */
export const MODEL_CASES = {
  'GET /models': {
    access: 'admin',
    good: ({ model }) => ({
      path: `/models?q=${model.name}`,
      status: 200,
      answer: {
        total: 1,
        data: [{ id: model.id, name: model.name, kind: 'chat', is_on_shelf: true }],
      },
    }),
    bad: () => invalid('sort', { path: '/models?sort=secret' }),
  },
  'POST /models': {
    access: 'admin',
    good: ({ unique }) => {
      const name = unique('added');
      return {
        body: { name, price: { price_per_million: '2' }, is_on_shelf: true },
        status: 201,
        answer: { id: expect.any(Number), name, is_on_shelf: true },
      };
    },
    bad: () => invalid('name', { body: { name: 'two words' } }),
  },
  'GET /models/market': {
    access: 'user',
    good: ({ model, userToken }) => ({
      path: `/models/market?q=${model.name}`,
      token: userToken,
      status: 200,
      answer: { total: 1, data: [{ id: model.id, name: model.name }] },
    }),
    bad: ({ userToken }) => invalid('page', { path: '/models/market?page=0', token: userToken }),
  },
  'GET /models/my': {
    access: 'user',
    good: ({ model, userToken }) => ({
      token: userToken,
      status: 200,
      answer: {
        data: [
          { model_id: model.id, tokens: expect.any(Number), held: expect.any(Number), as_of: null },
        ],
      },
    }),
    bad: ({ userToken }) => unknown(`/models/my?user_id=${UNKNOWN_ID}`, { token: userToken }),
  },
  'POST /models/subscribe': {
    access: 'user',
    good: async ({ newModel, userToken }) => {
      const model_id = await newModel();
      const body = {
        model_id,
        tokens: 500,
        auto_recharge_threshold: 10,
        auto_recharge_amount: 100,
      };
      return {
        token: userToken,
        body,
        status: 201,
        answer: {
          model_id,
          tokens: 500,
          auto_recharge_threshold: 10,
          auto_recharge_amount: 100,
          cost: '0.0005',
        },
      };
    },
    bad: ({ model, userToken }) =>
      invalid('auto_recharge_amount', {
        token: userToken,
        body: { model_id: model.id, tokens: 5, auto_recharge_threshold: 10 },
      }),
  },
  'POST /models/unsubscribe': {
    access: 'user',
    good: async ({ newSubscription }) => {
      const { userId, modelId } = await newSubscription();
      return {
        body: { user_id: userId, model_id: modelId },
        status: 200,
        answer: {
          status: 'closed',
          refunded_tokens: 1000,
          refunded_amount: '0.001',
          currency: 'USD',
        },
      };
    },
    bad: ({ userToken }) =>
      refused(404, 'not_subscribed', { token: userToken, body: { model_id: UNKNOWN_ID } }),
  },
  'POST /models/renew': {
    access: 'user',
    good: async ({ newSubscription }) => {
      const { userId, modelId } = await newSubscription();
      return {
        body: { user_id: userId, model_id: modelId, tokens: 50 },
        status: 200,
        answer: { model_id: modelId, tokens: 1050 },
      };
    },
    bad: ({ model, userToken }) =>
      invalid('tokens', { token: userToken, body: { model_id: model.id, tokens: 0 } }),
  },
  'POST /models/set-auto-recharge': {
    access: 'user',
    good: async ({ newSubscription }) => {
      const { userId, modelId } = await newSubscription();
      return {
        body: { user_id: userId, model_id: modelId, threshold: 5, amount: 70 },
        status: 200,
        answer: { auto_recharge_threshold: 5, auto_recharge_amount: 70 },
      };
    },
    bad: ({ model, userToken }) =>
      invalid('threshold', {
        token: userToken,
        body: { model_id: model.id, threshold: 1.5, amount: 70 },
      }),
  },
  'POST /models/{id}/disable': {
    access: 'admin',
    good: async ({ newModel }) => ({
      path: `/models/${await newModel()}/disable`,
      status: 200,
      answer: { is_on_shelf: false },
    }),
    bad: () => unknown(`/models/${UNKNOWN_ID}/disable`),
  },
  'POST /models/{id}/enable': {
    access: 'admin',
    // It is on the shelf already: both are idempotent.
    good: async ({ newModel }) => ({
      path: `/models/${await newModel()}/enable`,
      status: 200,
      answer: { is_on_shelf: true },
    }),
    bad: () => unknown(`/models/${UNKNOWN_ID}/enable`),
  },
  'DELETE /models/{id}': {
    access: 'admin',
    good: async ({ newModel }) => ({ path: `/models/${await newModel()}`, status: 204 }),
    bad: ({ model }) => refused(409, 'model_has_subscribers', { path: `/models/${model.id}` }),
  },
  'GET /models/pricing': {
    access: 'user',
    good: ({ model, userToken }) => ({
      path: `/models/pricing?model_id=${model.id}&in_force=true`,
      token: userToken,
      status: 200,
      answer: {
        total: 1,
        data: [{ model_id: model.id, price_per_million: '1', weight_input: '1' }],
      },
    }),
    bad: ({ userToken }) =>
      invalid('model_id', { path: '/models/pricing?model_id=x', token: userToken }),
  },
  'POST /models/pricing': {
    access: 'admin',
    good: async ({ newModel }) => {
      const model_id = await newModel();
      return {
        body: { model_id, price_per_million: '2.5', weight_output: '4' },
        status: 201,
        answer: { model_id, price_per_million: '2.5', weight_input: '1', weight_output: '4' },
      };
    },
    bad: ({ model }) =>
      invalid('weight_output', {
        body: { model_id: model.id, price_per_million: '1', weight_output: '-1' },
      }),
  },

  'GET /keys': {
    access: 'user',
    good: ({ userToken, customer }) => ({
      token: userToken,
      status: 200,
      answer: {
        data: [
          {
            user_id: customer.id,
            allowed_models: '*',
            key_prefix: expect.stringMatching(/^sk-tg-/),
            status: 'enabled',
          },
        ],
      },
    }),
    bad: ({ userToken }) => invalid('status', { path: '/keys?status=lost', token: userToken }),
  },
  'POST /keys': {
    access: 'user',
    good: ({ unique, model }) => {
      const body = { name: unique('key'), allowed_models: model.name, rpm: 1, rph: 2, rpd: 3 };
      return {
        body,
        status: 201,
        answer: { ...body, key: expect.stringMatching(/^sk-tg-[0-9a-z]+-[\w-]{43}$/) },
      };
    },
    bad: ({ userToken }) => invalid('rpm', { token: userToken, body: { name: 'key', rpm: -1 } }),
  },
  'POST /keys/{id}/enable': {
    access: 'user',
    good: async ({ newKey }) => ({
      path: `/keys/${await newKey()}/enable`,
      status: 200,
      answer: { status: 'enabled' },
    }),
    bad: async ({ newKey, userToken }) =>
      unknown(`/keys/${await newKey()}/enable`, { token: userToken }),
  },
  'POST /keys/{id}/disable': {
    access: 'user',
    good: async ({ newKey }) => ({
      path: `/keys/${await newKey()}/disable`,
      status: 200,
      answer: { status: 'disabled' },
    }),
    bad: async ({ newKey, userToken }) =>
      unknown(`/keys/${await newKey()}/disable`, { token: userToken }),
  },
  'PUT /keys/{id}': {
    access: 'user',
    good: async ({ newKey }) => ({
      path: `/keys/${await newKey()}`,
      body: { rpd: 9 },
      status: 200,
      answer: { rpd: 9, rpm: 0, status: 'enabled' },
    }),
    bad: async ({ newKey }) =>
      invalid('allowed_models', {
        path: `/keys/${await newKey()}`,
        body: { allowed_models: 'a b' },
      }),
  },
  'DELETE /keys/{id}': {
    access: 'user',
    good: async ({ newKey }) => ({ path: `/keys/${await newKey()}`, status: 204 }),
    bad: async ({ newKey, userToken }) => unknown(`/keys/${await newKey()}`, { token: userToken }),
  },
} satisfies Record<string, EndpointCase>;
