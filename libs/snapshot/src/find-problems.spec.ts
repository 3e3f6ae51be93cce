import { weightFields } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { findProblems, type RoutingRows } from './index.ts';
import { PLAIN_UPSTREAM } from '../test/routing-rows.ts';

const BEDROCK = 'https://bedrock-runtime.eu-west-1.amazonaws.com';

describe('findProblems', () => {
  const chat = {
    id: 1,
    name: 'm',
    aliases: [],
    displayName: 'm',
    kind: 'chat' as const,
    ownedBy: 'o',
    createdAtMs: 0,
    contextWindow: 1_000,
    maxOutputTokens: null,
    defaultOutputTokens: null,
    unboundedInputTokens: null,
    isOnShelf: true,
    readsMoreThanSent: false,
    cachesPrompts: false,
    failover: {},
  };
  const priced = {
    id: 1,
    modelId: 1,
    effectiveAtMs: 0,
    weights: weightFields(1),
    multipliers: {},
    tiers: [],
    pricePerMillion: 1_000_000,
    isUndeclaredZero: false,
  };
  const provider = PLAIN_UPSTREAM;
  const path = {
    id: 1,
    modelId: 1,
    upstreamId: 1,
    upstreamModel: 'x',
    priority: 0,
    weight: 1,
    enabled: true,
    outputLimitField: 'max_tokens' as const,
    familyLimitField: null,
    familyContextWindow: null,
    contextWindow: null,
  };
  const codes = (each: Partial<RoutingRows>) =>
    findProblems(
      {
        models: [chat],
        prices: [priced],
        upstreams: [provider],
        routes: [path],
        spokenProtocols: [],
        ...each,
      },
      10,
    ).map((entry) => entry.code);

  test.each<[string, Partial<RoutingRows>, string[]]>([
    ['nothing wrong', {}, []],
    [
      'a model for whose documents nothing could be held',
      { models: [{ ...chat, contextWindow: null }] },
      ['model_input_unbounded'],
    ],
    [
      'nothing about one whose routes lead to a model of a known window',
      {
        models: [{ ...chat, contextWindow: null }],
        routes: [{ ...path, familyContextWindow: 400_000 }],
      },
      [],
    ],
    [
      'nothing about one with a bound of its own',
      { models: [{ ...chat, contextWindow: null, unboundedInputTokens: 0 }] },
      [],
    ],
    ['a model without route', { routes: [] }, ['model_without_route', 'upstream_unused']],
    [
      'a route to a disabled upstream',
      { upstreams: [{ ...provider, enabled: false }] },
      ['model_without_route', 'route_to_disabled_upstream'],
    ],
    ['a model without any price', { prices: [] }, ['model_without_price']],
    [
      'a fallback to a model that does not exist',
      {
        models: [
          {
            ...chat,
            failover: {
              fallbacks: [
                { model: 'gone', on: ['error'] },
                { model: 'm', on: ['rest'] },
              ],
            },
          },
        ],
      },
      ['fallback_to_unknown_model'],
    ],
    [
      'a model that was never priced',
      { prices: [{ ...priced, isUndeclaredZero: true }] },
      ['model_never_priced'],
    ],
    [
      'nothing about a model priced or declared free since',
      {
        prices: [
          { ...priced, isUndeclaredZero: true },
          { ...priced, id: 2 },
        ],
      },
      [],
    ],
    [
      'a price that is not in force yet',
      { prices: [{ ...priced, effectiveAtMs: 11 }] },
      ['model_not_yet_priced'],
    ],
    [
      'two models of one name',
      {
        models: [chat, { ...chat, id: 2, isOnShelf: false }],
        prices: [priced, { ...priced, id: 2, modelId: 2 }],
      },
      ['duplicate_model_name'],
    ],
    ['the same route twice', { routes: [path, { ...path, id: 2 }] }, ['duplicate_route']],
    [
      'embeddings sent to the messages protocol',
      {
        models: [{ ...chat, kind: 'embedding' }],
        upstreams: [{ ...provider, protocol: 'anthropic' }],
      },
      ['embedding_route_to_anthropic'],
    ],
    [
      'an address without a version segment',
      { upstreams: [{ ...provider, baseUrl: 'https://v1.test' }] },
      ['upstream_without_version'],
    ],
    [
      'nothing about a version segment in the middle',
      { upstreams: [{ ...provider, baseUrl: 'https://x.test/v1beta/openai' }] },
      [],
    ],
    [
      'nothing about a version segment where the protocol has none',
      {
        upstreams: [{ ...provider, protocol: 'bedrock', baseUrl: BEDROCK }],
      },
      ['upstream_unspoken'],
    ],
    ['a route to a model that is gone', { models: [] }, ['route_to_missing_model']],
  ])('reports what is wrong with %s', (_name, each, expected) => {
    expect(codes(each)).toEqual(expected);
  });

  test.each<[Partial<typeof provider>, boolean]>([
    [{ fields: 'all' }, true],
    [{ fields: 'known' }, false],
    [{ fields: 'all', enabled: false }, false],
    [{ fields: 'all', baseUrl: 'https://api.openai.com/v1' }, false],
    [{ fields: 'all', baseUrl: 'http://api.openai.com/v1' }, true],
    [{ fields: 'all', protocol: 'bedrock', baseUrl: BEDROCK }, false],
    [
      {
        fields: 'all',
        protocol: 'bedrock',
        baseUrl: 'https://a.execute-api.eu-west-1.amazonaws.com',
      },
      true,
    ],
    [{ fields: 'all', baseUrl: 'https://api.anthropic.com/v1' }, true],
  ])('names an upstream that gets all fields where its vendor is not: %j', (change, isNamed) => {
    const upstreams = [{ ...provider, ...change }];
    const found = findProblems(
      { models: [], prices: [], routes: [], upstreams, spokenProtocols: [] },
      0,
    );
    expect(found.some(({ code }) => code === 'upstream_passes_all_fields')).toBe(isNamed);
  });
});
