import { afterAll } from '@jest/globals';
import {
  startControlPlane,
  type ControlPlane,
  type PlaneOptions,
} from './control-plane-under-test.ts';

let start: (() => Promise<ControlPlane>) | undefined;
let shared: Promise<ControlPlane> | undefined;

/** Starts one control plane, which serves all parts (`*.part.spec.ts`) and ends after whatever they clean up; a spec calls it behind the imports of its parts. */
export function shareControlPlane(
  overrides: Record<string, string> = {},
  options: PlaneOptions = {},
): void {
  start = () => startControlPlane(overrides, options);
  // Other suites of a worker share this module.
  shared = undefined;
  afterAll(async () => (await shared)?.stop());
}

/** Starts the control plane for the first part that asks. */
export function sharedControlPlane(): Promise<ControlPlane> {
  if (!start) throw new Error('the spec that imports this part does not call shareControlPlane');
  shared ??= start();
  return shared;
}
