import { describe, expect, test } from '@jest/globals';
import { endpointsOf } from './index.ts';

describe('endpointsOf', () => {
  test('what an upstream has is known by its host, unless the administrator says otherwise', () => {
    const known = { protocol: 'openai', base_url: 'https://api.openai.com/v1' } as const;
    const own = { protocol: 'openai', base_url: 'http://10.0.0.1/v1' } as const;
    expect(endpointsOf(known)).toEqual(['responses', 'completions']);
    expect(endpointsOf({ ...known, endpoints: [] })).toEqual([]);
    expect(endpointsOf(own)).toEqual([]);
    expect(endpointsOf({ ...own, endpoints: ['responses'] })).toEqual(['responses']);
    expect(endpointsOf({ ...own, protocol: 'anthropic', endpoints: ['responses'] })).toEqual([]);
  });

  test('message threads are of Anthropic itself, of servers that an administrator marks, and of no other protocol', () => {
    const vendor = { protocol: 'anthropic', base_url: 'https://api.anthropic.com/v1' } as const;
    const own = { protocol: 'anthropic', base_url: 'http://10.0.0.1/v1' } as const;
    expect(endpointsOf(vendor)).toEqual(['threads']);
    expect(endpointsOf({ ...vendor, endpoints: [] })).toEqual([]);
    expect(endpointsOf(own)).toEqual([]);
    expect(endpointsOf({ ...own, endpoints: ['threads'] })).toEqual(['threads']);
    expect(endpointsOf({ ...own, protocol: 'openai', endpoints: ['threads'] })).toEqual([]);
  });
});
