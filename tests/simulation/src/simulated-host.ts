import { Host } from '../../../apps/control-plane/src/platform/host/host.ts';
import type { SimulatedProcess } from './process.ts';
import type { Random } from './random.ts';

/** Clocks, timers and random names of a simulated process. */
export class SimulatedHost extends Host {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly random: Random,
  ) {
    super();
  }
  override unixMs(): number {
    return this.process.unixMs();
  }
  override monotonicMs(): number {
    return this.process.monotonicMs();
  }
  override after(ms: number, act: () => void): () => void {
    return this.process.after(ms, act);
  }
  override uuid(): string {
    return this.random.uuidV7(this.process.unixMs());
  }
}
