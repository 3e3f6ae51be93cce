import type { UsageFinal } from '@tollgate/contracts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import { KeptHold, type HoldKeeper } from './checkpoints/kept-hold.ts';
import type { HoldHandle } from './usage-recorder.ts';

/** Ends a hold, or continues it without its request; `RequestRecorder` implements it. */
export interface HoldEnding {
  noteRun(hold: OpenHold, run: BackgroundRun): void;
  settle(kept: KeptHold, final: UsageFinal, onJournalled: () => void): void;
}

/** Represents the hold of a request whose usage is recorded. */
export class RecordedHold extends KeptHold implements HoldHandle {
  readonly #ending: HoldEnding;

  constructor(ending: HoldEnding, keeper: HoldKeeper, hold: OpenHold) {
    super(keeper, hold);
    this.#ending = ending;
  }

  detach(run: BackgroundRun): OpenHold {
    this.#ending.noteRun(this.hold, run);
    this.detached();
    return this.hold;
  }

  settle(final: UsageFinal, onJournalled: () => void): void {
    this.#ending.settle(this, final, onJournalled);
  }
}
