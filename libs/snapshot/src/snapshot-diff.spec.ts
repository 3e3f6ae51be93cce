import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compileSnapshot, diffSnapshots, type UpstreamRow } from './index.ts';
import { PLAIN_UPSTREAM, rows } from '../test/routing-rows.ts';

describe('diffSnapshots', () => {
  test('finds nothing between equal documents and lists everything that came or went', () => {
    fc.assert(
      fc.property(rows, rows, (a, b) => {
        const [source, target] = [compileSnapshot(a), compileSnapshot(b)];
        const same = diffSnapshots(source, compileSnapshot(a));
        for (const kind of ['models', 'upstreams', 'routes'] as const) {
          expect(same[kind]).toEqual({ added: [], removed: [], changed: [] });
          const { added, removed } = diffSnapshots(source, target)[kind];
          expect(source[kind].length + added.length - removed.length).toBe(target[kind].length);
        }
        const { added } = diffSnapshots(source, target).routes;
        for (const { id, name } of added) {
          const route = target.routes.find((one) => one.id === id);
          const from = target.models.find((one) => one.id === route?.model_id)?.name;
          const to = target.upstreams.find((one) => one.id === route?.upstream_id)?.name;
          expect(name).toBe(`${from} → ${to}`);
        }
      }),
    );
  });

  test('gives the path and both values of a changed field, and of a secret only that it changed', () => {
    const base = {
      ...PLAIN_UPSTREAM,
      name: 'main',
      sealedApiKey: 'old',
      headers: { 'x-a': '1' },
    };
    const compile = (row: UpstreamRow) =>
      compileSnapshot({
        models: [],
        prices: [],
        upstreams: [row],
        routes: [],
        spokenProtocols: [],
      });
    expect(compile({ ...base, passesFileIds: true }).upstreams[0]?.passes_file_ids).toBe(true);
    expect(compile(base).upstreams[0]).not.toHaveProperty('passes_file_ids');
    expect(compile({ ...base, fields: 'known' }).upstreams[0]?.fields).toBe('known');
    expect(compile({ ...base, fields: 'all' }).upstreams[0]).not.toHaveProperty('fields');
    const { upstreams } = diffSnapshots(
      compile(base),
      compile({
        ...base,
        headers: { 'x-a': '2', 'x-b': '3' },
        sealedApiKey: 'new',
        maxConcurrency: 4,
      }),
    );
    expect(upstreams.changed).toEqual([
      {
        id: 1,
        name: 'main',
        changes: [
          { path: 'sealed_api_key' },
          { path: 'headers.x-a', from: '1', to: '2' },
          { path: 'headers.x-b', to: '3' },
          { path: 'max_concurrency', from: null, to: 4 },
        ],
      },
    ]);
  });

  test('shows no secret of a credential, nor of one that came or went', () => {
    const credential = { id: 0, authType: 'api_key', weight: 1, rpm: null, tpm: null } as const;
    const compile = (...sealed: string[]) =>
      compileSnapshot({
        ...{ models: [], prices: [], routes: [], spokenProtocols: ['credentials'] },
        upstreams: [
          {
            ...PLAIN_UPSTREAM,
            credentials: sealed.map((each, id) => ({
              ...credential,
              ...{ id, sealed: each, enabled: true },
            })),
          },
        ],
      });
    const documents = [['own'], ['own', 'second'], ['own', 'other'], ['own', 'second', 'third']];
    for (const source of documents)
      for (const target of documents) {
        const diff = JSON.stringify(diffSnapshots(compile(...source), compile(...target)));
        expect(diff).not.toMatch(/"(?:own|second|other|third)"/);
      }
    const [change] = diffSnapshots(compile('own', 'second'), compile('own', 'other')).upstreams
      .changed;
    expect(change?.changes).toEqual([{ path: 'credentials[1].sealed_api_key' }]);
  });
});
