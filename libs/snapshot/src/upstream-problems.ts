import { isServed, isVendorsOwn, isVersioned } from '@tollgate/contracts';
import { problem, type ConfigProblem } from './config-problem.ts';
import type { RoutingRows } from './routing-rows.ts';

/** Finds upstreams that are not used, or that are used otherwise than probably meant. */
export function upstreamProblems(rows: RoutingRows): ConfigProblem[] {
  return [
    ...unusedUpstreams(rows),
    ...unspokenUpstreams(rows),
    ...openUpstreams(rows),
    ...unversionedUpstreams(rows),
  ];
}

function unspokenUpstreams({ upstreams, spokenProtocols }: RoutingRows): ConfigProblem[] {
  return upstreams
    .filter((upstream) => upstream.enabled && !isServed(upstream, spokenProtocols))
    .map(({ id, name, protocol, authType }) =>
      problem(
        'upstream_unspoken',
        'error',
        'upstream',
        id,
        `upstream "${name}" waits: a node has not reported that it speaks ${protocol} with a credential of type ${authType}; update it or remove it`,
      ),
    );
}

function unusedUpstreams(rows: RoutingRows): ConfigProblem[] {
  const used = new Set(rows.routes.map((route) => route.upstreamId));
  return rows.upstreams
    .filter((upstream) => upstream.enabled && !used.has(upstream.id))
    .map((upstream) =>
      problem(
        'upstream_unused',
        'warning',
        'upstream',
        upstream.id,
        `no route leads to upstream "${upstream.name}"`,
      ),
    );
}

/** A gateway or server behind the address takes what a caller writes there for its own instruction. */
function openUpstreams(rows: RoutingRows): ConfigProblem[] {
  return rows.upstreams
    .filter(({ enabled, fields }) => enabled && fields === 'all')
    .filter(({ protocol, baseUrl }) => !isVendorsOwn(protocol, baseUrl))
    .map((upstream) =>
      problem(
        'upstream_passes_all_fields',
        'warning',
        'upstream',
        upstream.id,
        `upstream "${upstream.name}" gets all fields of requests, also those by which a gateway or server there chooses routes, prices, adapters and addresses: set "fields": "known"`,
      ),
    );
}

/** Paths are appended to the address as it is: without `/v1` most providers answer 404. */
function unversionedUpstreams(rows: RoutingRows): ConfigProblem[] {
  return rows.upstreams
    .filter(({ enabled, protocol }) => enabled && isVersioned(protocol))
    .filter(({ baseUrl }) => !/[^/]\/v\d/i.test(baseUrl))
    .map((upstream) =>
      problem(
        'upstream_without_version',
        'warning',
        'upstream',
        upstream.id,
        `the address of upstream "${upstream.name}" has no version segment such as /v1`,
      ),
    );
}
