import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { model, route, rows } from '../test/routing-rows.ts';
import { knownWindow } from './known-window.ts';

const [someModel] = fc.sample(model, 1).map((only) => ({ ...only, id: 1, contextWindow: null }));
const [someRoute] = fc
  .sample(route, 1)
  .map((only) => ({ ...only, modelId: 1, upstreamId: 1, enabled: true, contextWindow: null }));
const [someRows] = fc.sample(
  rows.filter(({ upstreams }) => upstreams.length > 0),
  1,
);
const [someUpstream] = someRows?.upstreams ?? [];
if (!someModel || !someRoute || !someUpstream) throw new Error('no samples');
const upstreams = [1, 2].map((id) => ({ ...someUpstream, id, enabled: id === 1 }));
const known = (familyContextWindow: number | null, more: object = {}) => ({
  ...someRoute,
  familyContextWindow,
  ...more,
});

test.each([
  ['its own, whatever its routes lead to', { contextWindow: 5 }, [known(400)], 5],
  ['that of its only route', {}, [known(400)], 400],
  ['the largest of its routes', {}, [known(200), known(400), known(300)], 400],
  ['what is set for a route, not what is known of it', {}, [known(400, { contextWindow: 9 })], 9],
  ['not known where it is not of one route', {}, [known(200), known(null)], null],
  ['not known without a route', {}, [], null],
  ['not that of a disabled route', {}, [known(200), known(900, { enabled: false })], 200],
  ['not that of a disabled upstream', {}, [known(200), known(900, { upstreamId: 2 })], 200],
  ['not that of the route of another model', {}, [known(900, { modelId: 2 })], null],
])('the window of a model is %s', (_name, own, routes, window) => {
  expect(knownWindow({ ...someModel, ...own }, { routes, upstreams })).toBe(window);
});
