import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const CHECK_TIMEOUT_MS = 2_000;

export interface ProxyNode {
  readonly url: string;
  isReady: boolean;
  /** Requests passed to it that have not ended. */
  inFlight: number;
}

/** Knows which proxy nodes are ready by asking each one's /readyz again and again. */
export class NodePool {
  readonly nodes: readonly ProxyNode[];
  private readonly checkIntervalMs: number;
  private readonly log: (line: string) => void;
  private readonly stopped = new AbortController();
  private turn = 0;

  constructor({
    urls,
    checkIntervalMs,
    log,
  }: {
    urls: readonly string[];
    checkIntervalMs: number;
    log: (line: string) => void;
  }) {
    this.nodes = urls.map((url) => ({ url, isReady: false, inFlight: 0 }));
    this.checkIntervalMs = checkIntervalMs;
    this.log = log;
  }

  /** Resolves after the first look at every node; continues looking until stopped. */
  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => this.check(node)));
    for (const node of this.nodes) void this.watch(node);
  }

  stop(): void {
    this.stopped.abort();
  }

  /** The ready node with the least to do, in turn among equals; undefined when none is left. */
  pick(refused: ReadonlySet<ProxyNode> = new Set()): ProxyNode | undefined {
    this.turn += 1;
    const inTurn = this.nodes.map(
      (_, index) => this.nodes[(index + this.turn) % this.nodes.length] as ProxyNode,
    );
    const [first, ...others] = inTurn.filter((node) => node.isReady && !refused.has(node));
    return (
      first && others.reduce((best, node) => (node.inFlight < best.inFlight ? node : best), first)
    );
  }

  /** Called by a request that could not connect: no other request tries the node before the next health check. */
  markUnreachable(node: ProxyNode): void {
    this.set(node, false);
  }

  private async watch(node: ProxyNode): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      await delay(this.checkIntervalMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.check(node);
    }
  }

  private async check(node: ProxyNode): Promise<void> {
    this.set(node, await isReady(node.url));
  }

  private set(node: ProxyNode, isReady: boolean): void {
    if (node.isReady !== isReady) this.log(`${node.url} is ${isReady ? 'ready' : 'not ready'}`);
    node.isReady = isReady;
  }
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    // A connection of its own: a look must not be answered by a connection that outlives the listener.
    const check = request(
      `${url}/readyz`,
      { agent: false, timeout: CHECK_TIMEOUT_MS },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    check.on('timeout', () => check.destroy());
    check.on('error', () => resolve(false));
    check.on('close', () => resolve(false));
    check.end();
  });
}
