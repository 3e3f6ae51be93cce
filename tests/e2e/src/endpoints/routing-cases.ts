import { expect } from '@jest/globals';
import { invalid, unknown, UNKNOWN_ID, type EndpointCase } from './endpoint-case.ts';

/** Covers upstreams, routes and proxy nodes. */
export const ROUTING_CASES = {
  'GET /upstreams': {
    access: 'admin',
    good: () => ({
      path: '/upstreams?protocol=anthropic',
      status: 200,
      answer: { total: 1, data: [{ protocol: 'anthropic', enabled: true }] },
    }),
    bad: () => invalid('protocol', { path: '/upstreams?protocol=smtp' }),
  },
  'POST /upstreams': {
    access: 'admin',
    good: ({ unique, tollgate }) => {
      const name = unique('upstream');
      return {
        body: {
          name,
          protocol: 'openai',
          base_url: `${tollgate.upstreamUrl}/v1`,
          api_key: 'write-only',
        },
        status: 201,
        answer: { id: expect.any(Number), name, protocol: 'openai' },
      };
    },
    bad: ({ unique }) =>
      invalid('base_url', {
        body: {
          name: unique('upstream'),
          protocol: 'openai',
          base_url: 'http://169.254.169.254/v1',
        },
      }),
  },
  'PUT /upstreams/{id}': {
    access: 'admin',
    good: async ({ newUpstream }) => ({
      path: `/upstreams/${await newUpstream()}`,
      body: { max_concurrency: 7 },
      status: 200,
      answer: { max_concurrency: 7, enabled: true },
    }),
    bad: async ({ newUpstream }) =>
      invalid('base_url', {
        path: `/upstreams/${await newUpstream()}`,
        body: { base_url: 'file:///etc/passwd' },
      }),
  },
  'DELETE /upstreams/{id}': {
    access: 'admin',
    good: async ({ newUpstream }) => ({ path: `/upstreams/${await newUpstream()}`, status: 204 }),
    bad: () => unknown(`/upstreams/${UNKNOWN_ID}`),
  },

  'GET /routing': {
    access: 'admin',
    good: ({ model }) => ({
      path: `/routing?model_id=${model.id}`,
      status: 200,
      answer: {
        total: 2,
        data: [
          { model_id: model.id, upstream_model: 'demo-ok', enabled: true },
          { model_id: model.id },
        ],
      },
    }),
    bad: () => invalid('enabled', { path: '/routing?enabled=perhaps' }),
  },
  'POST /routing': {
    access: 'admin',
    good: async ({ newModel, newUpstream }) => {
      const body = {
        model_id: await newModel(),
        upstream_id: await newUpstream(),
        upstream_model: 'theirs',
        priority: 2,
        weight: 3,
        output_limit_field: 'max_completion_tokens',
      };
      return { body, status: 201, answer: { ...body, enabled: true } };
    },
    bad: async ({ newModel, newUpstream }) =>
      invalid('weight', {
        body: { model_id: await newModel(), upstream_id: await newUpstream(), weight: 0 },
      }),
  },
  'PUT /routing/{id}': {
    access: 'admin',
    good: async ({ newRoute }) => ({
      path: `/routing/${(await newRoute()).id}`,
      body: { enabled: false },
      status: 200,
      answer: { enabled: false },
    }),
    bad: async ({ newRoute }) =>
      invalid('output_limit_field', {
        path: `/routing/${(await newRoute()).id}`,
        body: { output_limit_field: 'tokens' },
      }),
  },
  'DELETE /routing/{id}': {
    access: 'admin',
    good: async ({ newRoute }) => ({ path: `/routing/${(await newRoute()).id}`, status: 204 }),
    bad: () => unknown(`/routing/${UNKNOWN_ID}`),
  },
} satisfies Record<string, EndpointCase>;
