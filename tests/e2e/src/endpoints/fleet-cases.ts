import { expect } from '@jest/globals';
import { invalid, refused, unknown, UNKNOWN_ID, type EndpointCase } from './endpoint-case.ts';

const NODES = ['node-1', 'node-2'];
const named = (more: object) => ({
  nodes: expect.arrayContaining(NODES.map((name) => expect.objectContaining({ name, ...more }))),
});
const ofUnknown = (path: string) => unknown(`${path}?node_id=${UNKNOWN_ID}`);

export const FLEET_CASES = {
  'GET /proxy-nodes': {
    access: 'admin',
    good: () => ({
      path: '/proxy-nodes?q=node-1',
      status: 200,
      answer: { total: 1, data: [{ name: 'node-1', state: 'online', enabled: true }] },
    }),
    bad: () => invalid('enabled', { path: '/proxy-nodes?enabled=1' }),
  },
  'POST /proxy-nodes': {
    access: 'admin',
    good: ({ unique }) => {
      const name = unique('added');
      return {
        body: { name },
        status: 201,
        answer: { id: expect.any(Number), name, state: 'offline', credential: expect.any(String) },
      };
    },
    bad: () => refused(409, 'node_name_taken', { body: { name: 'node-1' } }),
  },
  'GET /proxy-nodes/{id}': {
    access: 'admin',
    good: async ({ newNode }) => {
      const id = await newNode();
      return {
        path: `/proxy-nodes/${id}`,
        status: 200,
        answer: { id, state: 'offline', workers: [] },
      };
    },
    bad: () => unknown(`/proxy-nodes/${UNKNOWN_ID}`),
  },
  'PUT /proxy-nodes/{id}': {
    access: 'admin',
    good: async ({ newNode }) => ({
      path: `/proxy-nodes/${await newNode()}`,
      body: { url: 'https://node.example.com' },
      status: 200,
      answer: { url: 'https://node.example.com' },
    }),
    bad: async ({ newNode }) =>
      invalid('name', { path: `/proxy-nodes/${await newNode()}`, body: { name: 'a b' } }),
  },
  'DELETE /proxy-nodes/{id}': {
    access: 'admin',
    good: async ({ newNode }) => ({ path: `/proxy-nodes/${await newNode()}`, status: 204 }),
    bad: () => unknown(`/proxy-nodes/${UNKNOWN_ID}`),
  },
  'POST /proxy-nodes/{id}/toggle': {
    access: 'admin',
    good: async ({ newNode }) => ({
      path: `/proxy-nodes/${await newNode()}/toggle`,
      status: 200,
      answer: { enabled: false },
    }),
    bad: async ({ newNode }) =>
      invalid('enabled', {
        path: `/proxy-nodes/${await newNode()}/toggle`,
        body: { enabled: 'no' },
      }),
  },
  'POST /proxy-nodes/sync-all': {
    access: 'admin',
    good: () => ({
      status: 200,
      answer: {
        version: expect.any(Number),
        ...named({ outcome: 'applied', applied_at: expect.any(String) }),
      },
    }),
    // It takes nothing, so the only thing to get wrong is the way of asking.
    bad: () => refused(400, 'malformed_json', { body: '{' }),
  },
  'POST /proxy-nodes/{id}/sync-config': {
    access: 'admin',
    good: async ({ nodeId }) => ({
      path: `/proxy-nodes/${await nodeId('node-2')}/sync-config`,
      status: 200,
      answer: { nodes: [{ name: 'node-2', outcome: 'applied' }] },
    }),
    bad: () => unknown(`/proxy-nodes/${UNKNOWN_ID}/sync-config`),
  },

  'GET /proxy/status': {
    access: 'admin',
    good: () => ({
      status: 200,
      answer: {
        version: expect.any(Number),
        checksum: expect.any(String),
        ...named({ state: 'online' }),
      },
    }),
    bad: () => ofUnknown('/proxy/status'),
  },
  'POST /proxy/start': {
    access: 'admin',
    good: () => ({ status: 200, answer: named({ state: 'online' }) }),
    bad: () => ofUnknown('/proxy/start'),
  },
  'POST /proxy/stop': {
    access: 'admin',
    good: async ({ newNode }) => {
      const id = await newNode();
      return {
        path: `/proxy/stop?node_id=${id}`,
        status: 200,
        answer: { nodes: [{ id, stopped: true }] },
      };
    },
    bad: () => ofUnknown('/proxy/stop'),
  },
  'POST /proxy/reload': {
    access: 'admin',
    good: () => ({ status: 200, answer: { version: expect.any(Number), ...named({}) } }),
    bad: () => ofUnknown('/proxy/reload'),
  },
  'GET /proxy/config-check': {
    access: 'admin',
    good: ({ newModel }) =>
      newModel().then(() => ({
        status: 200,
        answer: {
          ok: false,
          problems: expect.arrayContaining([
            expect.objectContaining({ code: 'model_without_route' }),
          ]),
        },
      })),
    bad: () => ofUnknown('/proxy/config-check'),
  },
  'GET /proxy/stats': {
    access: 'admin',
    good: async ({ nodeId }) => ({
      path: `/proxy/stats?node_id=${await nodeId('node-1')}`,
      status: 200,
      answer: {
        nodes: [
          {
            name: 'node-1',
            outcome: 'answered',
            tables: expect.arrayContaining([
              expect.objectContaining({ table: expect.any(String), entries: expect.any(Number) }),
            ]),
          },
        ],
      },
    }),
    bad: () => ofUnknown('/proxy/stats'),
  },
  'GET /proxy/health': {
    access: 'admin',
    good: () => ({
      status: 200,
      answer: {
        status: expect.any(String),
        ...named({ state: 'online', healthy: expect.any(Boolean) }),
      },
    }),
    bad: () => ofUnknown('/proxy/health'),
  },
  'POST /proxy/sync-config': {
    access: 'admin',
    good: () => ({ status: 200, answer: { version: expect.any(Number), ...named({}) } }),
    bad: () => ofUnknown('/proxy/sync-config'),
  },
  'GET /proxy/stats/dict': {
    access: 'admin',
    good: async ({ nodeId }) => ({
      path: `/proxy/stats/dict?table=models&page_size=1&node_id=${await nodeId('node-1')}`,
      status: 200,
      answer: {
        table: 'models',
        nodes: [
          {
            name: 'node-1',
            outcome: 'answered',
            total: expect.any(Number),
            rows: [{ key: expect.any(String) }],
          },
        ],
      },
    }),
    bad: () => invalid('page_size', { path: '/proxy/stats/dict?page_size=1000' }),
  },
} satisfies Record<string, EndpointCase>;
