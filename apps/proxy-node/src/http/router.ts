import type { IncomingMessage, ServerResponse } from 'node:http';

/** Holds the decoded values of a path's `:name` segments. */
export type PathParams = Readonly<Record<string, string>>;

/** Answers on the response itself, and handles its own errors. */
export type Handler = (exchange: Exchange, params: PathParams) => unknown;

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

export interface Route {
  readonly path: string;
  readonly methods: readonly string[];
  /** Holds the methods, including HEAD with GET. */
  readonly allowed: ReadonlySet<string>;
  readonly handler: Handler;
  /** Is null for a path without parameters. */
  readonly pattern: RegExp | null;
}

const NO_PARAMS: PathParams = {};

/**
 * Maps paths to handlers. A path may have segments `:name`; `:name+` takes the rest, except a `:method` after it. HEAD is served as GET. A trailing
 * slash names the same path. Paths without parameters precede the others, which are tried in order.
 */
export class Router {
  readonly #routes: Route[] = [];
  readonly #exact = new Map<string, Route>();
  readonly #patterns: Route[] = [];

  on(methods: readonly string[], path: string, handler: Handler): void {
    const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const pattern = path.includes('/:') ? patternOf(path) : null;
    const route = { path, methods, allowed: new Set(allowed), pattern, handler };
    this.#routes.push(route);
    if (pattern) this.#patterns.push(route);
    else this.#exact.set(path, route);
  }

  /** Lists the methods and paths, in the order in which they were added. */
  get served(): readonly Pick<Route, 'methods' | 'path'>[] {
    return this.#routes;
  }

  /** Calls the handler of the path and method; otherwise `otherwise`, with the route that has other methods, or null. */
  handle(
    exchange: Exchange,
    otherwise: (exchange: Exchange, route: Route | null) => unknown,
  ): unknown {
    const { method = '', url = '/' } = exchange.incoming;
    const path = pathOf(url);
    const exact = this.#exact.get(path);
    if (exact)
      return exact.allowed.has(method)
        ? exact.handler(exchange, NO_PARAMS)
        : otherwise(exchange, exact);
    for (const route of this.#patterns) {
      const match = route.pattern?.exec(path);
      if (match)
        return route.allowed.has(method)
          ? route.handler(exchange, paramsOf(match))
          : otherwise(exchange, route);
    }
    return otherwise(exchange, null);
  }
}

/** Formats `/v1/models/:name+` as `/v1/models/{name}`. */
export function readable(path: string): string {
  return path.replace(/\/:(\w+)\+?/g, '/{$1}');
}

function patternOf(path: string): RegExp {
  const source = path.replace(/\/:(\w+)\+/, '/(?<$1>.+)').replace(/\/:(\w+)/g, '/(?<$1>[^/]+)');
  return new RegExp(`^${source}$`);
}

/** Returns the path without query and trailing slash. A proxy may send the absolute form (RFC 9112 3.2.2). */
function pathOf(url: string): string {
  const local = url.startsWith('/') ? url : (URL.parse(url)?.pathname ?? '/');
  const query = local.indexOf('?');
  const path = query === -1 ? local : local.slice(0, query);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function paramsOf({ groups = {} }: RegExpExecArray): PathParams {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decoded(value)]));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
