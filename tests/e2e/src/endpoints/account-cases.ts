import { expect } from '@jest/globals';
import { invalid, UNKNOWN_ID, refused, unknown, type EndpointCase } from './endpoint-case.ts';

/** Covers sign-in, users and wallets. */
export const ACCOUNT_CASES = {
  'POST /auth/login': {
    access: async ({ newUser, password }) =>
      refused(403, 'account_pending', {
        token: null,
        body: { username: (await newUser('pending')).username, password },
      }),
    good: async ({ newUser, password }) => {
      const { id, username } = await newUser();
      return {
        token: null,
        body: { username, password },
        status: 200,
        answer: { token: expect.stringMatching(/^ey/), user: { id, username, role: 'user' } },
      };
    },
    bad: () => invalid('password', { token: null, body: { username: 'someone' } }),
  },
  'POST /auth/register': {
    // Registering gives an account that may not come in: its right password is answered with the reason.
    access: async ({ newUser, password }) =>
      refused(403, 'account_pending', {
        path: '/auth/login',
        token: null,
        body: { username: (await newUser('pending')).username, password },
      }),
    good: ({ unique, password }) => {
      const username = unique('new');
      return {
        token: null,
        body: { username, password },
        status: 201,
        answer: { id: expect.any(Number), username, status: 'pending' },
      };
    },
    bad: ({ unique, password }) => ({
      token: null,
      body: { username: unique('new'), password, role: 'admin' },
      status: 400,
      answer: { code: 'invalid_request' },
    }),
  },

  'GET /users': {
    access: 'admin',
    good: ({ customer }) => ({
      path: `/users?q=${customer.username}&status=active`,
      status: 200,
      answer: {
        page: 1,
        page_size: 20,
        total: 1,
        data: [{ id: customer.id, role: 'user', status: 'active' }],
      },
    }),
    bad: () => invalid('status', { path: '/users?status=happy' }),
  },
  'GET /users/{id}': {
    access: 'admin',
    good: ({ customer: { id, username } }) => ({
      path: `/users/${id}`,
      status: 200,
      answer: { id, username, role: 'user', status: 'active' },
    }),
    bad: () => unknown(`/users/${UNKNOWN_ID}`),
  },
  'POST /users/{id}/approve': {
    access: 'admin',
    good: async ({ newUser }) => ({
      path: `/users/${(await newUser('pending')).id}/approve`,
      status: 200,
      answer: { status: 'active' },
    }),
    bad: async ({ customer }) =>
      refused(409, 'invalid_transition', { path: `/users/${customer.id}/approve` }),
  },
  'POST /users/{id}/reject': {
    access: 'admin',
    good: async ({ newUser }) => ({
      path: `/users/${(await newUser('pending')).id}/reject`,
      status: 200,
      answer: { status: 'rejected' },
    }),
    bad: ({ customer }) =>
      refused(409, 'invalid_transition', { path: `/users/${customer.id}/reject` }),
  },
  'POST /users/{id}/freeze': {
    access: 'admin',
    good: async ({ newUser }) => ({
      path: `/users/${(await newUser()).id}/freeze`,
      status: 200,
      answer: { status: 'frozen' },
    }),
    bad: async ({ newUser }) =>
      refused(409, 'invalid_transition', {
        path: `/users/${(await newUser('pending')).id}/freeze`,
      }),
  },
  'POST /users/{id}/unfreeze': {
    access: 'admin',
    good: async ({ newUser }) => ({
      path: `/users/${(await newUser('frozen')).id}/unfreeze`,
      status: 200,
      answer: { status: 'active' },
    }),
    bad: ({ customer }) =>
      refused(409, 'invalid_transition', { path: `/users/${customer.id}/unfreeze` }),
  },
  'DELETE /users/{id}': {
    access: 'admin',
    good: async ({ newUser }) => ({ path: `/users/${(await newUser()).id}`, status: 204 }),
    bad: ({ customer }) => refused(409, 'account_not_empty', { path: `/users/${customer.id}` }),
  },

  'GET /wallet': {
    access: 'user',
    good: ({ userToken }) => ({
      token: userToken,
      status: 200,
      answer: { balance: expect.stringMatching(/^\d+(\.\d{1,6})?$/), currency: 'USD' },
    }),
    bad: ({ userToken }) => invalid('user_id', { path: '/wallet?user_id=me', token: userToken }),
  },
  'GET /wallet/logs': {
    access: 'user',
    good: ({ userToken }) => ({
      path: '/wallet/logs?kind=admin_recharge',
      token: userToken,
      status: 200,
      answer: {
        total: 1,
        data: [{ kind: 'admin_recharge', amount: '1000', balance_after: '1000' }],
      },
    }),
    bad: ({ userToken }) =>
      invalid('kind', { path: '/wallet/logs?kind=present', token: userToken }),
  },
  'POST /wallet/recharge': {
    access: 'user',
    good: ({ userToken }) => ({
      token: userToken,
      body: { amount: '12.5' },
      status: 201,
      answer: { provider: 'sandbox', amount: '12.5', currency: 'USD' },
    }),
    bad: ({ userToken }) => invalid('amount', { token: userToken, body: { amount: '-1' } }),
  },
  'POST /wallet/admin-recharge': {
    access: 'admin',
    good: async ({ newUser }) => {
      const { id } = await newUser();
      return {
        body: { user_id: id, amount: 0.1, note: 'welcome' },
        status: 200,
        answer: { balance: '0.1', currency: 'USD' },
      };
    },
    bad: ({ customer }) => invalid('amount', { body: { user_id: customer.id, amount: '1e3' } }),
  },
} satisfies Record<string, EndpointCase>;
