import { TEXT } from './wire.ts';
import type { Fault } from './fault-scene.ts';
import { CONNECTIONS } from './connection-faults.ts';
import { STATUSES } from './status-faults.ts';
import { BODIES } from './body-faults.ts';
import { ODD_CONTENTS } from './odd-contents.ts';
import { ODD_FRAMING } from './odd-framing.ts';
import { USAGES } from './usage-faults.ts';

/** Lists upstream misbehaviours, with the answer the client must get and the charge that must result. */
export const FAULTS: readonly Fault[] = [
  ...CONNECTIONS,
  ...STATUSES,
  ...BODIES,
  ...USAGES,
  ...ODD_FRAMING,
  ...ODD_CONTENTS,
];

export const SAID = TEXT.slice(0, 7);
