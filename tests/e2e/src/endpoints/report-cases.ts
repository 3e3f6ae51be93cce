import { expect } from '@jest/globals';
import { invalid, unknown, type EndpointCase } from './endpoint-case.ts';

/** Covers usage, dashboard, alerts and the activity log. */
export const REPORT_CASES = {
  'GET /usage/statistics': {
    access: 'user',
    good: ({ model, userToken }) => ({
      path: '/usage/statistics?interval=hour&group_by=model',
      token: userToken,
      status: 200,
      answer: { data: [{ model_id: model.id, requests: 1 }] },
    }),
    bad: ({ userToken }) =>
      invalid('interval', { path: '/usage/statistics?interval=fortnight', token: userToken }),
  },
  'GET /usage/logs': {
    access: 'user',
    good: ({ rid, model, customer, userToken }) => ({
      path: `/usage/logs?rid=${rid}`,
      token: userToken,
      status: 200,
      answer: {
        next_cursor: null,
        data: [
          {
            rid,
            user_id: customer.id,
            model_id: model.id,
            outcome: 'completed',
            basis: 'reported',
          },
        ],
      },
    }),
    bad: ({ userToken }) =>
      invalid('outcome', { path: '/usage/logs?outcome=happy', token: userToken }),
  },
  'GET /admin/dashboard': {
    access: 'admin',
    good: () => ({
      status: 200,
      answer: {
        users: { active: expect.any(Number) },
        nodes: { online: 2 },
        today: { requests: 1 },
        money: { currency: 'USD' },
        alerts: { open: expect.any(Number) },
      },
    }),
    // It takes no input: only its address can be wrong.
    bad: () => unknown('/admin/dashboard/today'),
  },
  'GET /admin/alerts': {
    access: 'admin',
    good: () => ({
      path: '/admin/alerts?status=all',
      status: 200,
      answer: { page: 1, data: expect.any(Array) },
    }),
    bad: () => invalid('severity', { path: '/admin/alerts?severity=mild' }),
  },
  'GET /activity/logs': {
    access: 'admin',
    good: ({ customer }) => ({
      path: `/activity/logs?target_kind=user&target_id=${customer.id}&action=user.approve`,
      status: 200,
      answer: {
        data: [
          {
            actor_name: 'admin',
            action: 'user.approve',
            before: { status: 'pending' },
            after: { status: 'active' },
          },
        ],
      },
    }),
    bad: () => invalid('from', { path: '/activity/logs?from=yesterday' }),
  },
} satisfies Record<string, EndpointCase>;
