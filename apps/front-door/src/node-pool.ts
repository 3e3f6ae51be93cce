import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const CHECK_TIMEOUT_MS = 3_000;
/** Looks in a row that a node leaves unanswered before requests avoid it: a node that is short of CPU answers late, and its neighbours are short of it as well. */
const STRIKES = 3;
/** While a smaller share of the nodes is ready, those that only answer late are used as well: to send all requests to the few would end these too. */
const PANIC_SHARE = 0.5;

/** `silent`: it accepts connections and does not answer in time. `away`: it says that it takes no requests, or nothing listens there. */
type Standing = 'ready' | 'silent' | 'away';

export interface ProxyNode {
  readonly url: string;
  standing: Standing;
  /** Looks in a row that it left unanswered. */
  strikes: number;
  /** Counts the requests passed to it that have not ended. */
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
    this.nodes = urls.map((url) => ({ url, standing: 'away', strikes: 0, inFlight: 0 }));
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

  get isAnyUsable(): boolean {
    return this.usable().length > 0;
  }

  /** Returns the usable node with the least to do, in turn among equals; undefined when none is left. */
  pick(refused: ReadonlySet<ProxyNode> = new Set()): ProxyNode | undefined {
    this.turn += 1;
    const left = this.usable().filter((node) => !refused.has(node));
    const [first, ...others] = left.map(
      (_, index) => left[(index + this.turn) % left.length] as ProxyNode,
    );
    return (
      first && others.reduce((best, node) => (node.inFlight < best.inFlight ? node : best), first)
    );
  }

  /** Notes that a request could not connect: no other request tries the node before the next health check. */
  markUnreachable(node: ProxyNode): void {
    this.set(node, 'away');
  }

  /** A node that is away is never among them. */
  private usable(): ProxyNode[] {
    const ready = this.nodes.filter(({ standing }) => standing === 'ready');
    if (ready.length >= this.nodes.length * PANIC_SHARE) return ready;
    return this.nodes.filter(({ standing }) => standing !== 'away');
  }

  private async watch(node: ProxyNode): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      await delay(this.checkIntervalMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.check(node);
    }
  }

  private async check(node: ProxyNode): Promise<void> {
    const found = await standingOf(node.url);
    node.strikes = found === 'silent' ? node.strikes + 1 : 0;
    const isForgiven = node.standing === 'ready' && node.strikes < STRIKES;
    if (found !== 'silent' || !isForgiven) this.set(node, found);
  }

  private set(node: ProxyNode, standing: Standing): void {
    const isReady = standing === 'ready';
    if ((node.standing === 'ready') !== isReady)
      this.log(`${node.url} is ${isReady ? 'ready' : 'not ready'}`);
    node.standing = standing;
  }
}

function standingOf(url: string): Promise<Standing> {
  return new Promise((resolve) => {
    // The look has a connection of its own: it must not be answered by a connection that outlives the listener.
    const check = request(
      `${url}/readyz`,
      { agent: false, timeout: CHECK_TIMEOUT_MS },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200 ? 'ready' : 'away');
      },
    );
    check.on('timeout', () => {
      resolve('silent');
      check.destroy();
    });
    check.on('error', () => resolve('away'));
    check.on('close', () => resolve('away'));
    check.end();
  });
}
